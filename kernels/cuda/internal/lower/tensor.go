package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// unit says how tensor cores multiply a type: an instruction makes 16 by 8 sums from step columns of A.
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

// unit returns how tensor cores compute a contraction; nil if they cannot: other types and devices, and products with
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
	lineBytes      = 64  // of k in a tile
	groupLineBytes = 128 // the same for warp groups
	chunkBytes     = 16  // that a thread copies at once, if they are adjacent
)

// tensor is a kernel that multiplies with tensor cores. A block computes a tile of the result; each of its warps, or
// warp groups, computes an equal part of that in registers. Stages of shared memory hold tiles of the operands: while
// one is multiplied, others are filled.
type tensor struct {
	*gen
	way
	c      contraction
	unit   *unit
	warpsM int // warps, or warp groups, along m
	block  int
	a, b   panel
	stage  int // bytes
	base   ptx.Operand

	batch, part, firstM, firstN ptx.Operand
	row, column                 ptx.Operand // first ones of the tile
	lane, warp                  ptx.Operand
	sums                        []ptx.Operand // four for each 16 by 8 product
}

func (g *gen) newTensor(c contraction, u *unit, w way) *tensor {
	t := &tensor{gen: g, way: w, c: c, unit: u, warpsM: w.m / w.warpM, block: w.block()}
	switch {
	case w.depth > 0:
	case w.group:
		t.depth = groupLineBytes / u.size
	default:
		t.depth = lineBytes / u.size
	}
	t.a, t.b = t.panel(c.a, c.m, t.m), t.panel(c.b, c.n, t.n)
	t.b.offset = t.a.bytes()
	t.stage = t.a.bytes() + t.b.bytes()
	return t
}

func (t *tensor) rows() int    { return (t.c.m + t.m - 1) / t.m }
func (t *tensor) columns() int { return (t.c.n + t.n - 1) / t.n }

// sharedBytes is the launch's dynamic shared memory.
func (t *tensor) sharedBytes() int {
	bytes := max(t.stages*t.stage, t.staged())
	if t.bulk {
		bytes += t.stages * 2 * mbarrierBytes
	}
	if t.group {
		bytes += patternBytes // for aligning the start to a pattern
	}
	return bytes
}

// multiply writes the kernels of a contraction with tensor cores.
func (s *scope) multiply(g *gen, c contraction, u *unit, out ir.Type, n *ir.Node, root ir.Value) {
	ways := s.ways(g, c, u)
	way := ways[s.pick(g, ways, usual(ways, c))]
	write := func() {
		t := g.newTensor(c, u, way)
		blocks := t.rows() * t.columns()
		parts := c.splits(blocks)
		s.addUp(g, c, parts, out, n, root, func(to outcome) {
			t.write(parts, to)
			g.launch([3]int{blocks * c.batch * parts, 1, 1}, t.threads())
		})
		s.laterStatistics(g, root)
	}
	if !s.byLibrary(g, c, way.String(), n, root, write) {
		write()
	}
}

// write writes the loop over k. The first stages are filled before it; in each round one stage is filled while another
// one is multiplied.
func (t *tensor) write(parts int, to outcome) {
	g, k := t.gen, t.k
	k.Ampere, k.Hopper, k.Dynamic = true, t.group, t.sharedBytes()
	t.base = k.DynamicBase()
	if t.group {
		t.base = g.patternStart(t.base)
	}
	t.locate()
	t.sums = make([]ptx.Operand, t.m*t.n*max(1, t.slices)/t.block)
	for i := range t.sums {
		t.sums[i] = g.mov(ptx.F32, ptx.Float32(0))
	}
	length := (t.c.k + parts - 1) / parts
	length = (length + t.depth - 1) / t.depth * t.depth
	first := g.mov(ptx.B32, g.times(t.part, length))
	limit := k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, g.add(first, ptx.Int32(int64(length)))), ptx.Int32(int64(t.c.k)))
	summing, add := t.addSums()
	if t.bulk {
		t.writeBulk(first, limit, add)
	} else {
		t.writeCopies(first, limit, add)
	}
	st := g.statisticsOf(t.c, t.n, t.rows(), t.columns(), t.block, parts)
	if t.slices > 0 {
		t.plainResults(to.element, st)
	} else {
		t.results(to.element, st)
	}
	g.handOut(summing, t.part, to.side)
	if to.last != nil {
		to.last(t, summing)
	}
	if st != nil {
		st.finish(g, k.Op(ptx.B32, "mov.u32", special("%tid.x")), t.firstN, t.row, t.column)
	}
}

// threads is the number of threads of a block: those that multiply, and the warp that makes bulk copies.
func (t *tensor) threads() int {
	if t.bulk {
		return t.block + 32
	}
	return t.block
}

// writeCopies writes the loop over k in which all threads copy.
func (t *tensor) writeCopies(first, limit ptx.Operand, add func(stage ptx.Operand)) {
	g, k := t.gen, t.k
	fillA, fillB := t.fill(&t.a, t.c.a, t.firstM), t.fill(&t.b, t.c.b, t.firstN)
	multiply := t.products()
	ahead := t.ahead()
	writing, reading := g.mov(ptx.B32, ptx.Int32(0)), g.mov(ptx.B32, ptx.Int32(0))
	fill := func(at ptx.Operand) {
		fillA(at, limit, writing)
		fillB(at, limit, writing)
		k.Line("cp.async.commit_group")
		t.next(writing)
	}
	full := k.Op(ptx.B32, "add.s32", first, ptx.Int32(int64(ahead*t.depth)))
	g.loop(first, full, t.depth, fill)
	g.loop(first, limit, t.depth, func(at ptx.Operand) {
		k.Line("cp.async.wait_group %d", ahead-1)
		if t.group {
			k.Line("fence.proxy.async.shared::cta") // makes the copies visible to warp groups
		}
		k.Barrier()
		next := k.Op(ptx.B32, "add.s32", at, ptx.Int32(int64(ahead*t.depth)))
		if t.group {
			multiply(reading)
			fill(next)
			add(reading)
			k.Line("wgmma.wait_group.sync.aligned 1") // afterwards the round after the next may overwrite what was read
		} else {
			fill(next)
			multiply(reading)
			add(reading)
		}
		t.next(reading)
	})
	if t.group {
		k.Line("wgmma.wait_group.sync.aligned 0")
	}
	k.Line("cp.async.wait_group 0")
	k.Barrier()
}

// next advances a stage's offset to the next stage.
func (t *tensor) next(stage ptx.Operand) {
	k := t.k
	k.To(stage, "add.s32", stage, ptx.Int32(int64(t.stage)))
	around := t.compare("eq", "s32", stage, ptx.Int32(int64(t.stages*t.stage)))
	k.To(stage, "selp.b32", ptx.Int32(0), stage, around)
}

// locate computes which tile a block makes. Concurrent blocks have neighboring tiles, so that they read the same
// operands.
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
	t.row, t.column = row, column
	t.firstM, t.firstN = g.mov(ptx.B32, g.times(row, t.m)), g.mov(ptx.B32, g.times(column, t.n))
}

// products prepares the multiplication of a stage's tiles, and returns a function that writes it for a stage's offset.
func (t *tensor) products() func(stage ptx.Operand) {
	switch {
	case t.group:
		return t.groupProducts()
	case t.slices > 0:
		return t.plainProducts()
	}
	readA, readB := t.fragments(&t.a, t.a.warp(t, true)), t.fragments(&t.b, t.b.warp(t, false))
	return func(stage ptx.Operand) {
		a, b := readA(stage), readB(stage)
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
}

// strips is the number of warps that have different strips of 16 rows, one below the other.
func (t *tensor) strips() int {
	if t.group {
		return 4 * t.warpsM
	}
	return t.warpsM
}

// staged is the shared memory that results go through.
func (t *tensor) staged() int {
	if t.slices > 0 {
		return t.slices * t.m * t.plainPitch() * 4
	}
	return t.strips() * 16 * (t.n + 8) * 4
}

// stripRow is the first row of a strip: those of a warp are consecutive; those of a warp group's warps are interleaved.
func (t *tensor) stripRow(strip ptx.Operand, i int) ptx.Operand {
	g := t.gen
	if t.group {
		row := g.add(g.times(g.over(strip, 4), t.warpM), g.times(g.mod(strip, 4), 16))
		return g.add(row, ptx.Int32(int64(64*i)))
	}
	return g.add(g.times(strip, t.warpM), ptx.Int32(int64(16*i)))
}

// results passes on the sums, 16 rows of each warp at a time: they go through shared memory, so that adjacent threads
// have adjacent elements of a row, and the code of what follows the product is written only once.
func (t *tensor) results(result func(b, m, n, part, sum ptx.Operand) ptx.Operand, st *statistics) {
	g, k := t.gen, t.k
	pitch := t.n + 8
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	strips := t.strips()
	strip, across := g.mod(t.warp, strips), g.over(t.warp, strips)
	row := g.add(g.times(strip, 16), g.over(t.lane, 4))
	column := g.add(g.times(across, t.warpN), g.times(g.mod(t.lane, 4), 2))
	slot := k.Op(ptx.B32, "mad.lo.s32", g.add(g.times(row, pitch), column), ptx.Int32(4), t.base)
	tiles := t.warpN / 8
	for i := range len(t.sums) / (4 * tiles) {
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
		// each goes through some elements of the strips: their address in shared memory, their row and column.
		each := func(first ptx.Operand, step int, body func(from, m, n ptx.Operand) ptx.Operand, then func(from, x ptx.Operand)) {
			t.eachOfStrips(i, strips, pitch, first, step, body, then)
		}
		if st != nil {
			st.ofStrips(g, tid, each, func(from, m, n ptx.Operand) ptx.Operand {
				return result(t.batch, m, n, t.part, k.Op(ptx.F32, "ld.shared.f32", address(from)))
			})
			continue
		}
		each(tid, t.block, func(from, m, n ptx.Operand) ptx.Operand {
			return result(t.batch, m, n, t.part, k.Op(ptx.F32, "ld.shared.f32", address(from)))
		}, nil)
	}
}

const (
	wovenResults      = 16   // elements of a thread whose operands are loaded before any is computed
	wovenInstructions = 1600 // instructions of these together
)

// eachOfStrips goes through elements of the strips. If the tile is complete, it interleaves several of them: otherwise
// a thread would wait for memory at each. What then does with their results stays in order.
func (t *tensor) eachOfStrips(round, strips, pitch int, first ptx.Operand, step int, body func(from, m, n ptx.Operand) ptx.Operand, then func(from, x ptx.Operand)) {
	g, k := t.gen, t.k
	total := strips * 16 * t.n
	element := func(e ptx.Operand) (from, m, n ptx.Operand) {
		r, c := g.over(e, t.n), g.mod(e, t.n)
		m = g.mov(ptx.B32, g.add(g.add(t.firstM, t.stripRow(g.over(r, 16), round)), g.mod(r, 16)))
		n = g.mov(ptx.B32, g.add(t.firstN, c))
		return k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.add(g.times(r, pitch), c)), ptx.Int32(4), t.base), m, n
	}
	one := func(e ptx.Operand) {
		from, m, n := element(e)
		g.where(g.both(g.compare("lt", "u32", m, ptx.Int32(int64(t.c.m))), g.compare("lt", "u32", n, ptx.Int32(int64(t.c.n)))), func() {
			x := body(from, m, n)
			if then != nil {
				then(from, x)
			}
		})
	}
	if t.c.m < t.m || t.c.n < t.n {
		g.loop(first, ptx.Int32(int64(total)), step, one)
		return
	}
	some, end := k.Label(), k.Label()
	whole := true
	for _, edge := range []struct {
		first        ptx.Operand
		length, tile int
	}{{t.firstM, t.c.m, t.m}, {t.firstN, t.c.n, t.n}} {
		if edge.length%edge.tile != 0 {
			k.BranchIf(g.compare("gt", "u32", g.mov(ptx.B32, edge.first), ptx.Int32(int64(edge.length-edge.tile))), some)
			whole = false
		}
	}
	most := 1
	for most < wovenResults && total/step%(2*most) == 0 {
		most *= 2
	}
	e, again := g.mov(ptx.B32, first), k.Label()
	k.Place(again)
	from, results := make([]ptx.Operand, most), make([]ptx.Operand, most)
	done := k.Weave(most, wovenInstructions, func(i int) {
		g.apart(func() {
			var m, n ptx.Operand
			from[i], m, n = element(k.Op(ptx.B32, "add.s32", e, ptx.Int32(int64(i*step))))
			results[i] = body(from[i], m, n)
		})
	})
	for i := range done {
		if then != nil {
			then(from[i], results[i])
		}
	}
	k.To(e, "add.s32", e, ptx.Int32(int64(done*step)))
	k.BranchIf(g.compare("lt", "u32", e, ptx.Int32(int64(total))), again)
	if whole {
		return
	}
	k.Branch(end)
	k.Place(some)
	g.loop(first, ptx.Int32(int64(total)), step, one)
	k.Place(end)
}
