package lower

import "github.com/gokeras/gokeras/kernels/cuda/internal/ptx"

// Many blocks compute parts of a large sum. Another kernel could add up the parts, but would cost a launch. Instead
// each block draws a ticket when its part is in memory, and the block that draws the last one adds up all parts, in
// order: the bits do not depend on which block that is. Tickets are counters that reset themselves.

// lastBlock ends the kernel for all blocks of a group but the last to arrive, which sees what the others have written.
// All threads of the block must call it. In a group of one block, that is the last one.
func (g *gen) lastBlock(tid, group ptx.Operand, groups int, blocks ptx.Operand) {
	k := g.k
	others := g.mov(ptx.B32, g.sub(blocks, ptx.Int32(1)))
	g.plan.Tickets = max(g.plan.Tickets, groups)
	drawn := g.shared(k.Shared(4))
	tickets := g.place(Place{Space: Tickets})
	k.Barrier()
	skip := k.Label()
	k.BranchIf(g.compare("ne", "s32", tid, ptx.Int32(0)), skip)
	k.Line("fence.acq_rel.gpu") // what the block has written comes before its ticket
	before := k.Op(ptx.B32, "atom.global.inc.u32", g.element(tickets, g.mov(ptx.B32, group), 4), others)
	k.Line("fence.acq_rel.gpu") // and the other tickets before what it reads
	k.To(address(drawn), "st.shared.b32", before)
	k.Place(skip)
	k.Barrier()
	k.BranchIf(g.compare("ne", "s32", k.Op(ptx.B32, "ld.shared.b32", address(drawn)), others), g.exit)
}
