package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// findSoftmax looks for a softmax, its logarithm or the gradient of either along an axis other than the last: its
// operand is transposed before it, and its result is transposed back. The kernel transposes a few rows at a time
// instead. For 16 bits, all of its operands and its result must be transposed.
func (g *Graph) findSoftmax(i int) {
	n := &g.Program.Nodes[i]
	switch n.Op {
	case ir.Softmax, ir.SoftmaxGrad, ir.LogSoftmax, ir.LogSoftmaxGrad:
	default:
		return
	}
	t := g.Program.Type(n.Outputs[0])
	if g.constant[i] || !t.DType.IsWideFloat() && !t.DType.IsHalf() || t.Shape.Size() == 0 {
		return
	}
	e, nodes := NewEpilogue(i, n.Outputs[0]), []int{}
	moves := func(node int, back bool) bool {
		axis, ok := MovedAxis(g.Program.Nodes[node].Attrs.(ir.TransposeAttrs).Perm, back)
		if !ok || e.Axis >= 0 && axis != e.Axis || slices.Contains(nodes, node) {
			return false
		}
		e.Axis, nodes = axis, append(nodes, node)
		return true
	}
	for _, v := range n.Inputs {
		j := g.Def[v]
		if j < 0 || g.Program.Nodes[j].Op != ir.Transpose || g.constant[j] || g.UnitOf[j] != nil {
			continue
		}
		if _, only := g.onlyReader(v); only {
			moves(j, false)
		}
	}
	nodes = append(nodes, i)
	if next, ok := g.onlyReader(n.Outputs[0]); ok && g.Program.Nodes[next].Op == ir.Transpose && moves(next, true) {
		e.Result = g.Program.Nodes[next].Outputs[0]
	}
	if t.DType.IsHalf() && len(nodes) < len(n.Inputs)+2 { // 16-bit rows are widened on their way to scratch memory
		return
	}
	if len(nodes) > 1 && movesTogether(t.DType, n.Op, t.Shape[e.Axis:len(t.Shape)-1].Size()) {
		g.fuse(&Unit{Nodes: nodes, position: i, Fused: e})
	}
}

// The number of contiguous elements from which on the kernel is faster than separate transposes. It moves so many at a
// time.
const (
	softmaxSide     = 3
	softmaxSideGrad = 5 // for gradients, which move two operands
	softmaxSideHalf = 16
)

// movesTogether reports whether the kernel should move rows that lie along an axis with the given number of contiguous
// elements.
func movesTogether(d ir.DType, op ir.Op, side int) bool {
	switch {
	case d.IsHalf():
		return side >= softmaxSideHalf && (side >= 2*softmaxSideHalf || side%softmaxSideHalf == 0)
	case op == ir.SoftmaxGrad || op == ir.LogSoftmaxGrad:
		return side >= softmaxSideGrad
	}
	return side >= softmaxSide
}

// MovedAxis returns the axis that a transpose moves to the end or, if back is set, moves back from there. ok is false
// if the transpose moves other axes too.
func MovedAxis(perm []int, back bool) (axis int, ok bool) {
	last := len(perm) - 1
	if axis = slices.Index(perm, last); !back {
		axis = perm[last]
	}
	for k, p := range perm {
		want := k
		switch {
		case k < axis:
		case back && k == axis, !back && k == last:
			continue
		case back:
			want = k - 1
		default:
			want = k + 1
		}
		if p != want {
			return 0, false
		}
	}
	return axis, axis < last
}
