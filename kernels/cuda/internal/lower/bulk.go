package lower

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The operands of a matrix product may be copied in bulk: one thread names a box of a matrix, and the hardware copies
// it, computes the addresses in shared memory and fills elements outside with zeros. A dedicated warp does only that,
// and runs ahead of the warp groups by up to the number of stages. Two mbarriers per stage synchronize them: one ends
// its phase when all bytes have arrived, the other when all warps have used the stage.

const (
	mbarrierBytes = 8
	boxElements   = groupLineBytes / 2 // per line
)

// boxes reports whether the operands of a contraction can be copied in bulk: they are matrices, and their lines and the
// matrices themselves begin at multiples of 16 bytes.
func (s *scope) boxes(c contraction) bool {
	if !s.options.Bulk || c.dense == nil || c.a.fast == c.dense.A.Turned || c.b.fast != c.dense.B.Turned {
		return false
	}
	fits := func(elements int) bool { return elements > 0 && elements*2%chunkBytes == 0 && elements*2 < 1<<40 }
	for _, m := range []Matrix{c.dense.A, c.dense.B} {
		if !fits(m.Stride) || c.batch > 1 && !fits(m.Batch) {
			return false
		}
	}
	return true
}

// tiled describes an operand for bulk copies.
func (t *tensor) tiled(m Matrix, p *panel, alongK bool) Tiled {
	tiled := Tiled{BFloat16: p.dtype == ir.BFloat16, Rank: 2, Lengths: [3]int{p.length, t.c.k}, Strides: [2]int{m.Stride * p.size}, Box: [3]int{boxElements, p.depth}}
	if alongK {
		tiled.Lengths, tiled.Box[1] = [3]int{t.c.k, p.length}, p.outer
	}
	if t.c.batch > 1 {
		tiled.Rank, tiled.Lengths[2], tiled.Strides[1], tiled.Box[2] = 3, t.c.batch, m.Batch*p.size, 1
	}
	return tiled
}

// ring is a position in the ring of stages: the stage's offset, the offset of its mbarriers, and the parity of their
// phases.
type ring struct{ stage, barrier, parity ptx.Operand }

func (t *tensor) ring() ring {
	zero := func() ptx.Operand { return t.mov(ptx.B32, ptx.Int32(0)) }
	return ring{zero(), zero(), zero()}
}

// turn advances a position to the next stage.
func (t *tensor) turn(r ring) {
	k := t.k
	k.To(r.stage, "add.s32", r.stage, ptx.Int32(int64(t.stage)))
	k.To(r.barrier, "add.s32", r.barrier, ptx.Int32(2*mbarrierBytes))
	around := t.compare("eq", "s32", r.stage, ptx.Int32(int64(t.stages*t.stage)))
	k.To(r.stage, "selp.b32", ptx.Int32(0), r.stage, around)
	k.To(r.barrier, "selp.b32", ptx.Int32(0), r.barrier, around)
	k.To(r.parity, "xor.b32", r.parity, k.Op(ptx.B32, "selp.b32", ptx.Int32(1), ptx.Int32(0), around))
}

// await waits for the phase of a parity to end.
func (g *gen) await(barrier, parity ptx.Operand) {
	k := g.k
	again := k.Label()
	k.Place(again)
	over := k.Reg(ptx.Pred)
	k.Line("mbarrier.try_wait.parity.shared::cta.b64 %v, [%v], %v", over, barrier, parity)
	k.BranchUnless(over, again)
}

// writeBulk writes the loop over k, in which one warp makes bulk copies and warp groups multiply. Only the latter
// execute what follows it.
func (t *tensor) writeBulk(first, limit ptx.Operand, add func(stage ptx.Operand)) {
	g, k := t.gen, t.k
	full := g.mov(ptx.B32, g.add(t.base, ptx.Int32(int64(t.stages*t.stage))))
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	t.makeBarriers(tid, full)
	k.Barrier()
	consumers := k.Label()
	k.BranchIf(g.compare("lt", "u32", tid, ptx.Int32(int64(t.block))), consumers)
	k.BranchIf(g.compare("ne", "s32", tid, ptx.Int32(int64(t.block))), g.exit) // a single thread copies
	t.writeProducer(first, limit, full)
	k.Branch(g.exit)
	k.Place(consumers)
	k.Team = t.block
	multiply := t.products()
	r, last := t.ring(), t.mov(ptx.B32, ptx.Int32(0))
	g.loop(first, limit, t.depth, func(at ptx.Operand) {
		g.await(k.Op(ptx.B32, "add.s32", full, r.barrier), r.parity)
		multiply(r.stage)
		add(r.stage)
		k.Line("wgmma.wait_group.sync.aligned 1") // the previous round has used its stage
		t.freeStage(k.Op(ptx.B32, "add.s32", full, last), g.compare("ne", "s32", at, first))
		g.assign(last, r.barrier)
		t.turn(r)
	})
	k.Line("wgmma.wait_group.sync.aligned 0")
	k.Barrier()
}

// users is the number of threads that report the use of a stage: one of each warp, or all if they read the stage
// themselves.
func (t *tensor) users() int {
	if len(t.c.sums) > 0 {
		return t.block
	}
	return t.block / 32
}

// freeStage reports that a stage has been used, if it has.
func (t *tensor) freeStage(full, was ptx.Operand) {
	g, k := t.gen, t.k
	used := k.Op(ptx.B32, "add.s32", full, ptx.Int32(mbarrierBytes))
	if t.users() < t.block {
		was = g.both(was, g.compare("eq", "s32", g.mov(ptx.B32, t.lane), ptx.Int32(0)))
	}
	k.Line("@%v mbarrier.arrive.shared::cta.b64 _, [%v]", was, used)
}

// makeBarriers lets one thread initialize the mbarriers and make them visible to copies.
func (t *tensor) makeBarriers(tid, full ptx.Operand) {
	g, k := t.gen, t.k
	skip := k.Label()
	k.BranchIf(g.compare("ne", "s32", tid, ptx.Int32(0)), skip)
	for i := range t.stages {
		for j, count := range []int{1, t.users()} {
			at := k.Op(ptx.B32, "add.s32", full, ptx.Int32(int64((2*i+j)*mbarrierBytes)))
			k.Line("mbarrier.init.shared::cta.b64 [%v], %d", at, count)
		}
	}
	k.Line("fence.proxy.async.shared::cta")
	k.Place(skip)
}

// writeProducer writes the copying thread's loop.
func (t *tensor) writeProducer(first, limit, full ptx.Operand) {
	g, k := t.gen, t.k
	copyA, copyB := t.boxesOf(&t.a, t.c.a, t.c.dense.A, t.firstM), t.boxesOf(&t.b, t.c.b, t.c.dense.B, t.firstN)
	r := t.ring()
	g.loop(first, limit, t.depth, func(at ptx.Operand) {
		here := k.Op(ptx.B32, "add.s32", full, r.barrier)
		used := k.Op(ptx.B32, "add.s32", here, ptx.Int32(mbarrierBytes))
		g.await(used, k.Op(ptx.B32, "xor.b32", r.parity, ptx.Int32(1))) // the first round does not wait
		k.Line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%v], %d", here, t.stage)
		copyA(at, r.stage, here)
		copyB(at, r.stage, here)
		t.turn(r)
	})
}

// boxesOf prepares the copies of a panel, and returns a function that writes them for a given k.
func (t *tensor) boxesOf(p *panel, s side, m Matrix, first ptx.Operand) func(at, stage, barrier ptx.Operand) {
	g, k := t.gen, t.k
	tiled := t.tiled(m, p, s.fast)
	matrix := k.TensorMap()
	g.maps = append(g.maps, Arg{Kind: TensorMap, Place: g.places[s.value], Tiled: tiled})
	batch := g.mov(ptx.B32, t.batch)
	return func(at, stage, barrier ptx.Operand) {
		columns := p.outer / boxElements
		if s.fast {
			columns = 1
		}
		for i := range columns {
			to := k.Op(ptx.B32, "add.s32", k.Op(ptx.B32, "add.s32", t.base, stage), ptx.Int32(int64(p.offset+i*p.depth*groupLineBytes)))
			outer := g.mov(ptx.B32, g.add(first, ptx.Int32(int64(i*boxElements))))
			place := fmt.Sprintf("%v, %v", outer, at)
			if s.fast {
				place = fmt.Sprintf("%v, %v", at, outer)
			}
			if tiled.Rank == 3 {
				place += ", " + batch.String()
			}
			k.Line("cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [%v], [%v, {%s}], [%v]", tiled.Rank, to, matrix, place, barrier)
		}
	}
}
