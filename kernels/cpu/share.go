package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// share is the gradient of the larger of two values for one of them: dy where x > y, half of it where they are equal, else 0. As the rules of
// operations write it, it takes five nodes.
type share struct {
	x, y  ir.Value
	inner []int // the nodes within
}

// findShares looks for select(x > y, dy, select(x = y, dy·½, 0)), which has a kernel of its own.
func (b *vmBuilder) findShares() {
	for _, i := range b.u.nodes {
		s, ok := b.share(&b.p.Nodes[i])
		if !ok || b.unitOf[s.inner[0]] != b.u {
			continue
		}
		first := slices.Min(s.inner)
		if !b.overwrittenBetween(s.x, first, i) && !b.overwrittenBetween(s.y, first, i) {
			b.shares[i] = s
		}
	}
	// What only these selects read is not computed: the later nodes first, since they read the earlier ones.
	for _, i := range slices.Backward(b.u.nodes) {
		v := b.p.Nodes[i].Outputs[0]
		within := func(s share) bool { return slices.Contains(s.inner, i) }
		inner, operand := false, false
		for j, s := range b.shares {
			inner = inner || within(s)
			operand = operand || s.x == v || s.y == v || b.p.Nodes[j].Inputs[1] == v
		}
		if !inner || operand || b.operands[v].mem != nil {
			continue
		}
		b.skip[i] = !slices.ContainsFunc(b.users[v], func(user int) bool {
			s, shares := b.shares[user]
			return !b.skip[user] && !(shares && within(s))
		})
	}
}

// share reports whether the node is such a gradient on float32 or float64.
func (g *graph) share(n *ir.Node) (s share, ok bool) {
	if n.Op != ir.Select || !hasEpilogue(g.p.Type(n.Outputs[0]).DType) {
		return s, false
	}
	greater, tie := g.node(n.Inputs[0]), g.node(n.Inputs[2])
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
	same := g.node(tie.Inputs[0])
	if same == nil || same.Op != ir.Compare || same.Attrs.(ir.CompareAttrs).Direction != ir.Eq || g.p.Type(x).DType != g.p.Type(n.Outputs[0]).DType ||
		!slices.Equal(same.Inputs, []ir.Value{x, y}) && !slices.Equal(same.Inputs, []ir.Value{y, x}) {
		return s, false
	}
	s = share{x: x, y: y, inner: []int{g.def[n.Inputs[0]], g.def[n.Inputs[2]], g.def[tie.Inputs[0]]}}
	half := g.node(tie.Inputs[1])
	if half == nil || half.Op != ir.Mul || !(half.Inputs[0] == n.Inputs[1] && g.isSplat(half.Inputs[1], 0.5) || half.Inputs[1] == n.Inputs[1] && g.isSplat(half.Inputs[0], 0.5)) {
		return s, false
	}
	s.inner = append(s.inner, g.def[tie.Inputs[1]])
	return s, true
}

// isSplat reports whether v is a constant filled with x.
func (g *graph) isSplat(v ir.Value, x float64) bool {
	n := g.node(v)
	if n == nil || n.Op != ir.Constant {
		return false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	return l.Splat && l.At(0) == x
}
