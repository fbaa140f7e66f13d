package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// findReluGradients looks for select(y > 0, dy, 0), which has a kernel of its own.
func (b *vmBuilder) findReluGradients() {
	for _, i := range b.u.Nodes {
		n := &b.Program.Nodes[i]
		y, mask, ok := b.ReluGradient(n)
		if !ok || b.UnitOf[mask] != b.u || b.Operands[b.Program.Nodes[mask].Outputs[0]].Mem != nil || len(b.Users[b.Program.Nodes[mask].Outputs[0]]) != 1 {
			continue
		}
		if b.overwrittenBetween(y, mask, i) {
			continue
		}
		b.reluMask[i], b.skip[mask] = y, true
	}
}

// overwrittenBetween reports whether the unit overwrites the memory of y after node first and before node last, so that
// y is lost when node last runs.
func (b *vmBuilder) overwrittenBetween(y ir.Value, first, last int) bool {
	m := b.Operands[b.u.Accesses[y].Source].Mem
	return m != nil && slices.ContainsFunc(b.u.Nodes, func(i int) bool {
		return i > first && i < last && b.Operands[b.Program.Nodes[i].Outputs[0]].Mem == m
	})
}
