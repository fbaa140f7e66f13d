package lower

import (
	"maps"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// unit is how tensor cores multiply a type: an instruction makes 16 by 8 sums from step columns of A.
type unit struct {
	instruction string
	size        int // bytes of an element
	step        int
}

var units = map[ir.DType]*unit{
	ir.BFloat16: {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 2, 16},
	ir.Float16:  {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 2, 16},
	ir.Float32:  {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 8},
}

// unit returns how tensor cores make a contraction; nil where they do not: other types and devices, and products with
// too few rows or columns to fill an instruction.
func (s *scope) unit(c contraction, out ir.Type) *unit {
	d := out.DType
	if s.options.Capability < 80 || d == ir.Float32 && !s.options.TF32 || c.m < 16 || c.n < 8 || c.k < 16 {
		return nil
	}
	if s.p.Type(c.a.value).DType != d || s.p.Type(c.b.value).DType != d {
		return nil
	}
	return units[d]
}

const (
	lineBytes  = 64 // of k in a tile
	chunkBytes = 16 // that a thread copies at once, where they are neighbours
)

// tensor is a kernel that multiplies with tensor cores. A block makes a tile of the result; each of its warps makes a
// part of that, of equal size, in registers. Two stages of shared memory hold tiles of the operands: while one is
// multiplied, the other is filled.
type tensor struct {
	*gen
	c            contraction
	unit         *unit
	m, n         int // of the tile
	depth        int // of k in a stage
	warpsM       int // along m; along n there are warps/warpsM
	warpM, warpN int // a warp's part of the tile
	block        int
	a, b         panel
	stage        int // bytes
	base         ptx.Operand

	batch, part, firstM, firstN ptx.Operand
	lane, warp                  ptx.Operand
	sums                        []ptx.Operand // four for each product of 16 by 8
}

// newTensor chooses tiles: large ones where they fill the device.
func (g *gen) newTensor(c contraction, u *unit) *tensor {
	t := &tensor{gen: g, c: c, unit: u, m: 64, n: 64, warpsM: 2, warpM: 32, warpN: 32, depth: lineBytes / u.size}
	if (c.m+127)/128*((c.n+127)/128)*c.batch >= 96 {
		t.m, t.n, t.warpM, t.warpN = 128, 128, 64, 32
	}
	t.block = t.warpsM * (t.n / t.warpN) * 32
	t.a, t.b = t.panel(c.a, c.m, t.m), t.panel(c.b, c.n, t.n)
	t.b.offset = t.a.bytes()
	t.stage = t.a.bytes() + t.b.bytes()
	return t
}

func (t *tensor) rows() int    { return (t.c.m + t.m - 1) / t.m }
func (t *tensor) columns() int { return (t.c.n + t.n - 1) / t.n }

// multiply writes the kernels of a contraction for tensor cores.
func (s *scope) multiply(g *gen, c contraction, u *unit, out ir.Type, n *ir.Node, root ir.Value) {
	t := g.newTensor(c, u)
	blocks := t.rows() * t.columns()
	parts := c.splits(blocks)
	s.addUp(g, c, parts, out, n, root, func(result func(b, m, n, part, sum ptx.Operand)) {
		t.write(parts, result)
		g.launch([3]int{blocks * c.batch * parts, 1, 1}, t.block)
	})
}

// write writes the loop over k. In its first round it only fills a stage, in its last one it only multiplies.
func (t *tensor) write(parts int, result func(b, m, n, part, sum ptx.Operand)) {
	g, k := t.gen, t.k
	k.Ampere = true
	shared := k.Shared(max(2*t.stage, t.staged()))
	t.base = g.shared(shared)
	t.locate()
	t.sums = make([]ptx.Operand, t.warpM/16*(t.warpN/8)*4)
	for i := range t.sums {
		t.sums[i] = g.mov(ptx.F32, ptx.Float32(0))
	}
	length := (t.c.k + parts - 1) / parts
	length = (length + t.depth - 1) / t.depth * t.depth
	first := g.mov(ptx.B32, g.times(t.part, length))
	limit := k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, g.add(first, ptx.Int32(int64(length)))), ptx.Int32(int64(t.c.k)))
	last := k.Op(ptx.B32, "add.s32", limit, ptx.Int32(int64(t.depth)))
	fillA, fillB := t.fill(&t.a, t.c.a, t.firstM), t.fill(&t.b, t.c.b, t.firstN)
	readA, readB := t.fragments(&t.a, t.a.warp(t, true)), t.fragments(&t.b, t.b.warp(t, false))
	writing := g.mov(ptx.B32, ptx.Int32(0))
	g.loop(first, last, t.depth, func(at ptx.Operand) {
		filled := k.Label()
		k.BranchIf(g.compare("ge", "u32", at, limit), filled)
		fillA(at, limit, writing)
		fillB(at, limit, writing)
		k.Place(filled)
		k.Line("cp.async.commit_group")
		k.To(writing, "sub.s32", g.mov(ptx.B32, ptx.Int32(int64(t.stage))), writing)
		empty := k.Label()
		k.BranchIf(g.compare("eq", "s32", at, first), empty)
		t.products(readA, readB, writing)
		k.Place(empty)
		k.Line("cp.async.wait_group 0")
		k.Barrier()
	})
	t.results(result)
}

// locate says which tile a block makes. Blocks that run at the same time have neighbouring tiles, so that they read the
// same operands.
func (t *tensor) locate() {
	g, rows, columns := t.gen, t.rows(), t.columns()
	tid := g.k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.mov(ptx.B32, special("%ctaid.x"))
	t.lane, t.warp = g.mod(tid, 32), g.over(tid, 32)
	band := 1
	for band < 8 && rows%(2*band) == 0 {
		band *= 2
	}
	row := g.mod(cta, band)
	rest := g.over(cta, band)
	column, rest := g.mod(rest, columns), g.over(rest, columns)
	row = g.add(row, g.times(g.mod(rest, rows/band), band))
	rest = g.over(rest, rows/band)
	t.batch, t.part = g.mod(rest, t.c.batch), g.over(rest, t.c.batch)
	t.firstM, t.firstN = g.mov(ptx.B32, g.times(row, t.m)), g.mov(ptx.B32, g.times(column, t.n))
}

// products multiplies the tiles of the stage that is not being filled.
func (t *tensor) products(readA, readB func(writing ptx.Operand) func(tile, step int) []ptx.Operand, writing ptx.Operand) {
	// writing has moved on already: it is the stage that the next round fills, which was filled in the last one.
	a, b := readA(writing), readB(writing)
	for step := range t.depth / t.unit.step {
		var left, right [][]ptx.Operand
		for i := range t.warpM / 16 {
			left = append(left, a(i, step))
		}
		for j := range t.warpN / 8 {
			right = append(right, b(j, step))
		}
		for i, x := range left {
			for j, y := range right {
				d := t.sums[(i*len(right)+j)*4:]
				t.k.Line("%s {%v, %v, %v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v, %v, %v}", t.unit.instruction,
					d[0], d[1], d[2], d[3], x[0], x[1], x[2], x[3], y[0], y[1], d[0], d[1], d[2], d[3])
			}
		}
	}
}

// staged is the shared memory that results go through.
func (t *tensor) staged() int { return t.warpsM * 16 * (t.n + 8) * 4 }

// results hands out the sums, 16 rows of each warp at a time: they go through shared memory, so that neighbouring
// threads have neighbours in a row, and what follows the product is written once for all.
func (t *tensor) results(result func(b, m, n, part, sum ptx.Operand)) {
	g, k := t.gen, t.k
	pitch := t.n + 8
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	wm, wn := g.mod(t.warp, t.warpsM), g.over(t.warp, t.warpsM)
	row := g.add(g.times(wm, 16), g.over(t.lane, 4))
	column := g.add(g.times(wn, t.warpN), g.times(g.mod(t.lane, 4), 2))
	slot := k.Op(ptx.B32, "mad.lo.s32", g.add(g.times(row, pitch), column), ptx.Int32(4), t.base)
	tiles := t.warpN / 8
	for i := range t.warpM / 16 {
		if i > 0 {
			k.Barrier()
		}
		for j := range tiles {
			for e := range 4 {
				at := ptx.Raw("[" + slot.String() + "+" + itoa((e/2*8*pitch+e%2+8*j)*4) + "]")
				k.To(at, "st.shared.f32", t.sums[(i*tiles+j)*4+e])
			}
		}
		k.Barrier()
		g.loop(tid, ptx.Int32(int64(t.warpsM*16*t.n)), t.block, func(e ptx.Operand) {
			r, c := g.over(e, t.n), g.mod(e, t.n)
			m := g.add(g.add(t.firstM, g.times(g.over(r, 16), t.warpM)), g.add(g.mod(r, 16), ptx.Int32(int64(16*i))))
			n := g.mov(ptx.B32, g.add(t.firstN, c))
			skip := k.Label()
			k.BranchUnless(g.both(g.compare("lt", "u32", g.mov(ptx.B32, m), ptx.Int32(int64(t.c.m))), g.compare("lt", "u32", n, ptx.Int32(int64(t.c.n)))), skip)
			from := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.add(g.times(r, pitch), c)), ptx.Int32(4), t.base)
			sum := k.Op(ptx.F32, "ld.shared.f32", address(from))
			saved := maps.Clone(g.memo)
			result(t.batch, m, n, t.part, sum)
			g.memo = saved
			k.Place(skip)
		})
	}
}
