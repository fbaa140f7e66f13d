package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"slices"
)

// findShares looks for select(x > y, dy, select(x = y, dy·½, 0)), which has a kernel of its own.
func (b *vmBuilder) findShares() {
	for _, i := range b.u.Nodes {
		s, ok := b.ShareOf(&b.Program.Nodes[i])
		if !ok || b.UnitOf[s.Inner[0]] != b.u {
			continue
		}
		first := slices.Min(s.Inner)
		if !b.overwrittenBetween(s.X, first, i) && !b.overwrittenBetween(s.Y, first, i) {
			b.shares[i] = s
		}
	}
	// Nodes that only these selects read need not run. Later nodes come first, because they read the earlier ones.
	for _, i := range slices.Backward(b.u.Nodes) {
		v := b.Program.Nodes[i].Outputs[0]
		within := func(s fuse.Share) bool { return slices.Contains(s.Inner, i) }
		inner, operand := false, false
		for j, s := range b.shares {
			inner = inner || within(s)
			operand = operand || s.X == v || s.Y == v || b.Program.Nodes[j].Inputs[1] == v
		}
		if !inner || operand || b.Operands[v].Mem != nil {
			continue
		}
		b.skip[i] = !slices.ContainsFunc(b.Users[v], func(user int) bool {
			s, shares := b.shares[user]
			return !b.skip[user] && !(shares && within(s))
		})
	}
}
