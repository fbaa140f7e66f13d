package cpu

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// findReluGradients looks for select(y > 0, dy, 0), which has a kernel of its own.
func (b *vmBuilder) findReluGradients() {
	for _, i := range b.u.nodes {
		n := &b.p.Nodes[i]
		y, mask, ok := b.reluGradient(n)
		if !ok || b.unitOf[mask] != b.u || b.operands[b.p.Nodes[mask].Outputs[0]].mem != nil || len(b.users[b.p.Nodes[mask].Outputs[0]]) != 1 {
			continue
		}
		if b.overwrittenBetween(y, mask, i) {
			continue
		}
		b.reluMask[i], b.skip[mask] = y, true
	}
}

// overwrittenBetween reports whether the unit writes into the memory of y after node first and before node last: y is then
// gone when node last runs.
func (b *vmBuilder) overwrittenBetween(y ir.Value, first, last int) bool {
	m := b.operands[b.u.accesses[y].source].mem
	return m != nil && slices.ContainsFunc(b.u.nodes, func(i int) bool {
		return i > first && i < last && b.operands[b.p.Nodes[i].Outputs[0]].mem == m
	})
}

// reluGradient reports whether the node is select(y > 0, dy, 0) on float32 or float64, and returns y and the comparison's node.
func (g *graph) reluGradient(n *ir.Node) (y ir.Value, mask int, ok bool) {
	if n.Op != ir.Select || !hasEpilogue(g.p.Type(n.Outputs[0]).DType) || !g.isZero(n.Inputs[2]) || g.def[n.Inputs[0]] < 0 {
		return 0, 0, false
	}
	mask = g.def[n.Inputs[0]]
	m := &g.p.Nodes[mask]
	if m.Op != ir.Compare || m.Attrs.(ir.CompareAttrs).Direction != ir.Gt || !g.isZero(m.Inputs[1]) {
		return 0, 0, false
	}
	y = m.Inputs[0]
	return y, mask, g.p.Type(y).DType == g.p.Type(n.Outputs[0]).DType
}

// isZero reports whether v is a constant filled with +0.
func (g *graph) isZero(v ir.Value) bool {
	n := g.node(v)
	if n == nil || n.Op != ir.Constant {
		return false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	return l.Splat && l.At(0) == 0 && !math.Signbit(l.At(0))
}
