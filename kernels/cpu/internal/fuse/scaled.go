package fuse

import "github.com/gokeras/gokeras/kernels/ir"

// scaledKernel looks for a convolution's kernel, or a product's matrix, that is an input of the program whose columns
// are multiplied by numbers (see pass.FoldScales). It records both in e, and returns the node that multiplies, which
// then belongs to the product's unit. Scaled kernels can be kept.
func (g *Graph) scaledKernel(n *ir.Node, e *Epilogue) (node int, ok bool) {
	j := g.Def[n.Inputs[1]]
	if j < 0 || g.Program.Nodes[j].Op != ir.Mul || g.constant[j] || g.UnitOf[j] != nil {
		return 0, false
	}
	kernel := g.Program.Type(n.Inputs[1])
	if a, isDot := n.Attrs.(ir.DotAttrs); isDot && (len(a.LhsBatch) > 0 || len(kernel.Shape) != 2 || len(a.RhsContract) != 1 || a.RhsContract[0] != 0) {
		return 0, false
	}
	if only, ok := g.onlyReader(n.Inputs[1]); !ok || g.Program.Nodes[only].Outputs[0] != n.Outputs[0] || !kernel.DType.IsWideFloat() || len(kernel.Shape) == 0 {
		return 0, false
	}
	columns := kernel.Shape[len(kernel.Shape)-1]
	for side, v := range g.Program.Nodes[j].Inputs {
		k, s := resolve(g.Program, g.Def, v), resolve(g.Program, g.Def, g.Program.Nodes[j].Inputs[1-side])
		if !k.Dense || g.Def[k.Source] >= 0 {
			continue
		}
		vector := s.period() == columns && s.Offset == 0 && g.Program.Type(s.Source).Shape.Size() == columns
		if c := g.Node(s.Source); c != nil && c.Op == ir.Constant && s.Dense {
			vector = c.Attrs.(ir.ConstantAttrs).Literal.Splat // as many copies as there are columns
		}
		if vector {
			e.Kernel, e.Scale = k.Source, s.Source
			return j, true
		}
	}
	return 0, false
}
