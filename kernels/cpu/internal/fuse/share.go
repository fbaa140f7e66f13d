package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Share is the gradient of the larger of two values with respect to one of them: dy where x > y, half of it where they
// are equal, else 0. The rules of operations write it as five nodes.
type Share struct {
	X, Y  ir.Value
	Inner []int // the nodes inside
}

// ShareOf reports whether the node is such a gradient on float32 or float64.
func (g *Graph) ShareOf(n *ir.Node) (s Share, ok bool) {
	if n.Op != ir.Select || !g.Program.Type(n.Outputs[0]).DType.IsWideFloat() {
		return s, false
	}
	greater, tie := g.Node(n.Inputs[0]), g.Node(n.Inputs[2])
	if greater == nil || greater.Op != ir.Compare || tie == nil || tie.Op != ir.Select || !g.isZero(tie.Inputs[2]) {
		return s, false
	}
	x, y := greater.Inputs[0], greater.Inputs[1]
	switch greater.Attrs.(ir.CompareAttrs).Direction {
	case ir.Gt:
	case ir.Lt:
		x, y = y, x
	default:
		return s, false
	}
	same := g.Node(tie.Inputs[0])
	if same == nil || same.Op != ir.Compare || same.Attrs.(ir.CompareAttrs).Direction != ir.Eq || g.Program.Type(x).DType != g.Program.Type(n.Outputs[0]).DType ||
		!slices.Equal(same.Inputs, []ir.Value{x, y}) && !slices.Equal(same.Inputs, []ir.Value{y, x}) {
		return s, false
	}
	s = Share{X: x, Y: y, Inner: []int{g.Def[n.Inputs[0]], g.Def[n.Inputs[2]], g.Def[tie.Inputs[0]]}}
	half := g.Node(tie.Inputs[1])
	if half == nil || half.Op != ir.Mul || !(half.Inputs[0] == n.Inputs[1] && g.isSplat(half.Inputs[1], 0.5) || half.Inputs[1] == n.Inputs[1] && g.isSplat(half.Inputs[0], 0.5)) {
		return s, false
	}
	s.Inner = append(s.Inner, g.Def[tie.Inputs[1]])
	return s, true
}
