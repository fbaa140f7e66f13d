package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// softmaxAlongAxes is the pass for gradients of softmax, and of its logarithm, along an axis other than the last. The
// softmax lies between two transposes, and its gradient reads what is between them, which then has to be stored beside
// the transposed result. The pass lets it read that result through a transpose of its own, so that all transposes are
// part of the two units, which compute strips of columns where they lie.
func softmaxAlongAxes() pass.Pass {
	return pass.New("softmax along axes", func(p *ir.Program) (*ir.Program, error) {
		moved := movedSoftmaxGrads(p)
		if len(moved) == 0 {
			return p, nil
		}
		r := pass.NewRewriter(p)
		back := map[ir.Value]ir.Value{} // by result of a softmax: the transposed one, in the new program
		for i := range p.Nodes {
			n := &p.Nodes[i]
			in := r.Operands(n)
			if there := moved[i]; there != nil {
				y := n.Inputs[0]
				if _, ok := back[y]; !ok {
					out, err := r.To.Add(n.Scope, ir.Transpose, ir.TransposeAttrs{Perm: ints.Inverse(there)}, in[0])
					if err != nil {
						return nil, err
					}
					back[y] = out[0]
				}
				out, err := r.To.Add(n.Scope, ir.Transpose, ir.TransposeAttrs{Perm: there}, back[y])
				if err != nil {
					return nil, err
				}
				in[0] = out[0]
			}
			out, err := r.To.Add(n.Scope, n.Op, n.Attrs, in...)
			if err == nil {
				err = r.Define(n, out)
			}
			if err != nil {
				return nil, err
			}
			if n.Op == ir.Transpose && isMovedBack(moved, p, n) {
				back[n.Inputs[0]] = out[0]
			}
		}
		return r.Finish(), nil
	})
}

// isMovedBack reports whether a transpose of the result of a softmax moves it back, where its gradient moves it again.
func isMovedBack(moved map[int][]int, p *ir.Program, n *ir.Node) bool {
	for i, there := range moved {
		if p.Nodes[i].Inputs[0] == n.Inputs[0] {
			return slices.Equal(n.Attrs.(ir.TransposeAttrs).Perm, ints.Inverse(there))
		}
	}
	return false
}

// movedSoftmaxGrads returns, by node of a gradient, the transpose of both operands of the softmax and of its gradient.
// Nothing else may read the result of the softmax between its transposes.
func movedSoftmaxGrads(p *ir.Program) map[int][]int {
	moved := map[int][]int{}
	uses, def := pass.Uses(p)
	transpose := func(v ir.Value) []int {
		if def[v] < 0 || p.Nodes[def[v]].Op != ir.Transpose || uses[v] != 1 {
			return nil
		}
		return p.Nodes[def[v]].Attrs.(ir.TransposeAttrs).Perm
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op != ir.SoftmaxGrad && n.Op != ir.LogSoftmaxGrad || def[n.Inputs[0]] < 0 {
			continue
		}
		y := &p.Nodes[def[n.Inputs[0]]]
		if y.Op != ir.Softmax && y.Op != ir.LogSoftmax {
			continue
		}
		there := transpose(y.Inputs[0])
		if there == nil || !slices.Equal(there, transpose(n.Inputs[1])) {
			continue
		}
		t := p.Type(n.Outputs[0])
		axis, ok := fuse.MovedAxis(there, false)
		last := len(there) - 1
		if ok && t.Shape.Size() > 0 && paysInStrips(t.DType, 2, t.Shape[last], t.Shape[axis:last].Size()) && readBackOrBy(p, n.Inputs[0], i, ints.Inverse(there), uses) {
			moved[i] = there
		}
	}
	return moved
}

// readBackOrBy reports whether a value is read by one node, and by nothing else but transposes back.
func readBackOrBy(p *ir.Program, v ir.Value, reader int, back []int, uses []int) bool {
	known := 0
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !slices.Contains(n.Inputs, v) {
			continue
		}
		if i != reader && (n.Op != ir.Transpose || !slices.Equal(n.Attrs.(ir.TransposeAttrs).Perm, back)) {
			return false
		}
		known++
	}
	return known == uses[v]
}
