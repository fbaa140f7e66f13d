package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Products of float32 without tensor cores work like those with tensor cores, on stages of shared memory that are
// filled while another one is read, but with scalar multiplications and additions. A warp computes 32 rows of a tile; a
// thread computes the elements in every eighth row and fourth column, or in groups of four adjacent ones, so that it
// can load these at once. Small tiles have few sums, so several warps share each: each warp takes some k of each stage,
// and at the end the warps' sums are added up in the order of k.

// plain is the layout for scalar multiplications.
var plain = &unit{size: 4, step: 1}

// Cut says how a float32 product is divided without tensor cores: the rows and columns of a tile, such as "64x32", and
// the number of parts of k that separate blocks compute. Any other name selects the kernels for devices without
// asynchronous copies, which all devices use for small products.
type Cut struct {
	Tile  string
	Parts int
}

// plainWay is a tile, and the estimated fraction of the device's peak that it reaches, given how much a thread loads
// for each multiplication.
type plainWay struct {
	way
	efficiency float64
}

// plainWays are the tiles, from small to large.
var plainWays = []plainWay{
	{way{32, 32, 32, 32, 4, false, false, 8, 32}, 0.45},
	{way{64, 32, 32, 32, 4, false, false, 4, 32}, 0.6},
	{way{32, 64, 32, 32, 4, false, false, 4, 32}, 0.6},
	{way{64, 64, 32, 32, 3, false, false, 2, 32}, 0.7},
	{way{128, 128, 64, 32, 3, false, false, 1, 16}, 0.75},
}

// isPlain reports whether a contraction is computed this way. With few k there is nothing to copy ahead: on an H100 a
// convolution with 9 of them took 12.4 µs instead of 10.4, a product with 16 of them 15.8 instead of 8.4.
func (s *scope) isPlain(c contraction, out ir.Type) bool {
	float := func(t ir.Type) bool { return t.DType == ir.Float32 }
	return s.options.Capability >= 80 && c.k >= 32 && float(out) && float(s.p.Type(c.a.value)) && float(s.p.Type(c.b.value)) &&
		((c.m > 16 || c.n > 16) && c.m*c.n*c.batch*c.k >= 1<<15 || c.k >= 256)
}

// lastBytes is how much the last block of a tile may read to add up its parts. If it is more, another kernel with many
// blocks does that.
const lastBytes = 128 << 10

// pickPlain picks the tile and the parts of k with the least estimated time. The model is a device of 128
// multiprocessors: concurrent blocks share a multiprocessor's throughput, and parts are written, read and added up, by
// the last block or by another launch.
func (s *scope) pickPlain(c contraction) (way, int) {
	const (
		rate    = 128  // multiplications per clock of a multiprocessor
		start   = 3000 // clocks before a kernel's first multiplication
		last    = 2000 // clocks for the last block of a tile to read the others' parts
		another = 3500 // clocks of an additional kernel
		memory  = 1700 // bytes per clock, read and written by the whole device
	)
	best, parts, least := plainWays[0].way, 1, 0.0
	for i, p := range plainWays {
		if !s.allows(p, c) {
			continue
		}
		blocks := (c.m + p.m - 1) / p.m * ((c.n + p.n - 1) / p.n) * c.batch
		for _, n := range []int{1, 2, 3, 4, fullDevice / blocks} {
			if n = min(n, c.k/(2*p.depth), 64); n < 1 {
				n = 1
			}
			length := partLength(c.k, n, p.depth)
			n = (c.k + length - 1) / length
			clocks := start + float64((blocks*n+fullDevice-1)/fullDevice*length*p.m*p.n)/(rate*p.efficiency)
			if n > 1 && s.statistics != nil { // another kernel computes them then
				clocks += another
			}
			switch {
			case n > 1 && n*p.m*p.n*4 <= lastBytes:
				clocks += last + float64(8*n*c.m*c.n*c.batch)/memory
			case n > 1:
				clocks += another + float64(8*n*c.m*c.n*c.batch)/memory
			}
			if i == 0 && n == 1 || clocks < least {
				best, parts, least = p.way, n, clocks
			}
		}
	}
	return best, parts
}

// allows reports whether a contraction can use a tile. Without 16-byte copies, threads that fill a large tile would
// have to keep too many addresses.
func (s *scope) allows(p plainWay, c contraction) bool {
	return p.slices > 1 || s.byChunks(c.a) && s.byChunks(c.b)
}

// partLength is the length of a part of k, in whole stages.
func partLength(k, parts, depth int) int {
	return ((k+parts-1)/parts + depth - 1) / depth * depth
}

// multiplyPlain writes the kernels of a contraction with scalar multiplications; false means that another kind of
// kernel was chosen.
func (s *scope) multiplyPlain(g *gen, c contraction, out ir.Type, n *ir.Node, root ir.Value) bool {
	w, parts := s.pickPlain(c)
	if s.options.Cut != nil {
		cut := s.options.Cut(Cut{w.tile(), parts})
		i := slices.IndexFunc(plainWays, func(w plainWay) bool { return w.tile() == cut.Tile })
		if i < 0 || !s.allows(plainWays[i], c) {
			return false
		}
		w, parts = plainWays[i].way, cut.Parts
	}
	write := func() {
		t := g.newTensor(c, plain, w)
		blocks := t.rows() * t.columns()
		addUp := s.addUp
		if parts > 1 && parts*t.m*t.n*4 <= lastBytes {
			addUp = s.addUpLast
		}
		addUp(g, c, parts, out, n, root, func(to outcome) {
			t.write(parts, to)
			g.plain = true
			g.launch([3]int{blocks * c.batch * parts, 1, 1}, t.threads())
		})
		s.laterStatistics(g, root)
	}
	if !s.byLibrary(g, c, w.String(), n, root, write) {
		write()
	}
	return true
}

// plainPlace computes where a thread's sums are: its warp's part of k, and its own first row and column in the tile.
func (t *tensor) plainPlace() (slice, row, column ptx.Operand) {
	g := t.gen
	warps := t.warpsM * (t.n / t.warpN)
	warp := g.mod(t.warp, warps)
	slice = g.over(t.warp, warps)
	own := func(s side, number ptx.Operand) ptx.Operand {
		if s.fast {
			return number
		}
		return g.times(number, 4)
	}
	row = g.add(g.times(g.mod(warp, t.warpsM), t.warpM), own(t.c.a, g.over(t.lane, 4)))
	column = g.add(g.times(g.over(warp, t.warpsM), t.warpN), own(t.c.b, g.mod(t.lane, 4)))
	return slice, row, column
}

// further is the distance from a thread's first row or column to its i-th, if the given number of threads share them.
func further(s side, i, threads int) int {
	if s.fast {
		return i * threads
	}
	return i/4*4*threads + i%4
}

// plainProducts is products with scalar multiplications.
func (t *tensor) plainProducts() func(stage ptx.Operand) {
	g, k := t.gen, t.k
	slice, row, column := t.plainPlace()
	each := t.depth / t.slices
	rows, columns := t.warpM/8, t.warpN/4
	read := func(p *panel, s side, first ptx.Operand, count, threads int) func(stage ptx.Operand) func(step int) [4][]ptx.Operand {
		perOuter, perK := p.strides()
		own := g.add(g.times(first, perOuter), g.times(slice, each*perK))
		own = g.mov(ptx.B32, g.add(g.add(own, t.base), ptx.Int32(int64(p.offset))))
		return func(stage ptx.Operand) func(step int) [4][]ptx.Operand {
			from := k.Op(ptx.B32, "add.s32", own, stage)
			four := func(bytes int) []ptx.Operand {
				r := []ptx.Operand{k.Reg(ptx.F32), k.Reg(ptx.F32), k.Reg(ptx.F32), k.Reg(ptx.F32)}
				k.Line("ld.shared.v4.f32 {%v, %v, %v, %v}, [%v+%d]", r[0], r[1], r[2], r[3], from, bytes)
				return r
			}
			return func(step int) (all [4][]ptx.Operand) {
				for i := range count {
					if s.fast {
						for e, x := range four(further(s, i, threads)*perOuter + 4*step*perK) {
							all[e] = append(all[e], x)
						}
						continue
					}
					e := i * 4 / count // distribute the loads over k
					all[e] = append(all[e], four(further(s, i%(count/4)*4, threads)*perOuter+(4*step+e)*perK)...)
				}
				return all
			}
		}
	}
	readA, readB := read(&t.a, t.c.a, row, rows, 8), read(&t.b, t.c.b, column, columns, 4)
	return func(stage ptx.Operand) {
		a, b := readA(stage), readB(stage)
		for step := range each / 4 {
			left, right := a(step), b(step)
			for e := range left {
				for i, x := range left[e] {
					for j, y := range right[e] {
						d := t.sums[i*columns+j]
						k.To(d, "fma.rn.f32", x, y, d)
					}
				}
			}
		}
	}
}

// plainPitch is the distance of the tile's rows in shared memory, in elements, chosen so that a warp's threads write to
// different banks as far as possible.
func (t *tensor) plainPitch() int {
	switch {
	case !t.c.b.fast && t.c.a.fast:
		return t.n + 17
	case !t.c.b.fast:
		return t.n + 5
	case t.c.a.fast:
		return t.n + 4
	}
	return t.n + 1
}

// plainResults passes on the sums, through shared memory, so that adjacent threads have adjacent elements of a row.
func (t *tensor) plainResults(result func(b, m, n, part, sum ptx.Operand) ptx.Operand, st *statistics) {
	g, k := t.gen, t.k
	pitch := t.plainPitch()
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	slice, row, column := t.plainPlace()
	slot := g.add(g.times(g.add(g.times(slice, t.m), row), pitch), column)
	slot = k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, slot), ptx.Int32(4), t.base)
	columns := t.warpN / 4
	for i, sum := range t.sums {
		at := further(t.c.a, i/columns, 8)*pitch + further(t.c.b, i%columns, 4)
		k.To(ptx.Raw("["+slot.String()+"+"+itoa(4*at)+"]"), "st.shared.f32", sum)
	}
	k.Barrier()
	each := func(first ptx.Operand, step int, body func(from, m, n ptx.Operand) ptx.Operand, then func(from, x ptx.Operand)) {
		t.each(first, step, func(r, c, m, n ptx.Operand) {
			from := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.add(g.times(r, pitch), c)), ptx.Int32(4), t.base)
			then(from, body(from, m, n))
		})
	}
	write := func(from, m, n ptx.Operand) ptx.Operand {
		sum := k.Op(ptx.F32, "ld.shared.f32", address(from))
		for i := 1; i < t.slices; i++ {
			sum = k.Op(ptx.F32, "add.rn.f32", sum, k.Op(ptx.F32, "ld.shared.f32", ptx.Raw("["+from.String()+"+"+itoa(4*i*t.m*pitch)+"]")))
		}
		return result(t.batch, m, n, t.part, sum)
	}
	if st != nil {
		st.ofStrips(g, tid, each, write)
		return
	}
	each(tid, t.block, write, func(_, _ ptx.Operand) {})
}

// each goes through the elements of the tile that are in the result, from a number on in steps: their row and column in
// the tile, and in the result.
func (t *tensor) each(first ptx.Operand, step int, body func(r, c, m, n ptx.Operand)) {
	g := t.gen
	g.loop(first, ptx.Int32(int64(t.m*t.n)), step, func(e ptx.Operand) {
		r, c := g.over(e, t.n), g.mod(e, t.n)
		m, n := g.mov(ptx.B32, g.add(t.firstM, r)), g.mov(ptx.B32, g.add(t.firstN, c))
		g.where(g.both(g.compare("lt", "u32", m, ptx.Int32(int64(t.c.m))), g.compare("lt", "u32", n, ptx.Int32(int64(t.c.n)))), func() {
			body(r, c, m, n)
		})
	})
}
