package fuse

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// ReluGradient reports whether the node is select(y > 0, dy, 0) on float32 or float64, and returns y and the
// comparison's node.
func (g *Graph) ReluGradient(n *ir.Node) (y ir.Value, mask int, ok bool) {
	if !g.Program.Type(n.Outputs[0]).DType.IsWideFloat() {
		return 0, 0, false
	}
	return g.keptWherePositive(n)
}

// keptWherePositive is ReluGradient for any floats.
func (g *Graph) keptWherePositive(n *ir.Node) (y ir.Value, mask int, ok bool) {
	if n.Op != ir.Select || !g.Program.Type(n.Outputs[0]).DType.IsFloat() || !g.isZero(n.Inputs[2]) || g.Def[n.Inputs[0]] < 0 {
		return 0, 0, false
	}
	mask = g.Def[n.Inputs[0]]
	m := &g.Program.Nodes[mask]
	if m.Op != ir.Compare || m.Attrs.(ir.CompareAttrs).Direction != ir.Gt || !g.isZero(m.Inputs[1]) {
		return 0, 0, false
	}
	y = m.Inputs[0]
	return y, mask, g.Program.Type(y).DType == g.Program.Type(n.Outputs[0]).DType
}

// isZero reports whether v is a constant filled with +0.
func (g *Graph) isZero(v ir.Value) bool {
	n := g.Node(v)
	if n == nil || n.Op != ir.Constant {
		return false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	return l.Splat && l.At(0) == 0 && !math.Signbit(l.At(0))
}

// isSplat reports whether v is a constant filled with x.
func (g *Graph) isSplat(v ir.Value, x float64) bool {
	n := g.Node(v)
	if n == nil || n.Op != ir.Constant {
		return false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	return l.Splat && l.At(0) == x
}
