package lower

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// side is an operand of a contraction C[b,m,n] = Σ_k A[b,m,k]·B[b,k,n], with the functions that locate its elements.
// The part of the address that depends on the outer index (m or n, and the batch) is computed once, the part that
// depends on k in each step, and both are combined for each element.
type side struct {
	value ir.Value
	outer func(b, m ptx.Operand) []ptx.Operand
	inner func(k ptx.Operand) []ptx.Operand
	// join returns the element's number and whether the element exists; if valid is zero, it always does.
	join func(outer, inner []ptx.Operand) (number, valid ptx.Operand)
	fast bool // elements adjacent along k are adjacent in memory
	// run is the length of runs in memory: aligned groups of so many elements along k, if fast, or else along the outer
	// index, are contiguous and aligned. Either all elements of a run exist, or none.
	run int
}

// contraction is a batch of matrix products.
type contraction struct {
	batch, m, n, k int
	a, b           side
	// number returns the number of an element of the result.
	number func(b, m, n ptx.Operand) ptx.Operand
	sums   []sideSum // sums of the operands that the kernel also computes
	dense  *Product  // the product for a library, if the operands are strided matrices; else nil

	convolution *Convolution // nil if it is not one
}

// axis is a length and the stride of its elements in memory.
type axis struct{ length, stride int }

// collapse merges adjacent axes that are contiguous in memory.
func collapse(axes []axis) []axis {
	var out []axis
	for _, a := range axes {
		if a.length == 1 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].stride == a.length*a.stride {
			out[last] = axis{out[last].length * a.length, a.stride}
			continue
		}
		out = append(out, a)
	}
	return out
}

// distance is the offset of element i along several axes.
func (g *gen) distance(axes []axis, i ptx.Operand) ptx.Operand {
	shape, strides := make(ir.Shape, len(axes)), make([]int, len(axes))
	for j, a := range axes {
		shape[j], strides[j] = a.length, a.stride
	}
	return g.sum(g.decompose(i, shape), strides)
}

// axesOf picks axes of a dense value.
func axesOf(shape ir.Shape, which []int) []axis {
	strides := shape.Strides()
	axes := make([]axis, len(which))
	for i, w := range which {
		axes[i] = axis{shape[w], strides[w]}
	}
	return collapse(axes)
}

func lengthOf(shape ir.Shape, which []int) int {
	n := 1
	for _, w := range which {
		n *= shape[w]
	}
	return n
}

// strided returns a side whose elements are at fixed strides along its axes.
func (g *gen) strided(v ir.Value, batch, outer, inner []int) side {
	shape := g.p.Type(v).Shape
	b, o, k := axesOf(shape, batch), axesOf(shape, outer), axesOf(shape, inner)
	fast := len(k) > 0 && k[len(k)-1].stride == 1
	run := runOf(k, o, b)
	if !fast {
		run = runOf(o, k, b)
	}
	return side{
		value: v,
		outer: func(batch, m ptx.Operand) []ptx.Operand {
			return []ptx.Operand{g.add(g.distance(b, batch), g.distance(o, m))}
		},
		inner: func(i ptx.Operand) []ptx.Operand { return []ptx.Operand{g.distance(k, i)} },
		join: func(outer, inner []ptx.Operand) (ptx.Operand, ptx.Operand) {
			return g.add(outer[0], inner[0]), ptx.Operand{}
		},
		fast: fast,
		run:  run,
	}
}

// runOf is the length of runs along axes, the last of which is the innermost, given the value's other axes.
func runOf(along []axis, others ...[]axis) int {
	last := len(along) - 1
	if last < 0 || along[last].stride != 1 {
		return 1
	}
	run := along[last].length
	for _, a := range slices.Concat(append(others, along[:last])...) {
		run = common(run, a.stride)
	}
	return run
}

// common is the greatest common divisor.
func common(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// dot is the contraction that computes a Dot.
func (g *gen) dot(n *ir.Node) contraction {
	a := n.Attrs.(ir.DotAttrs)
	x, y := g.p.Type(n.Inputs[0]).Shape, g.p.Type(n.Inputs[1]).Shape
	free := func(rank int, used ...[]int) []int {
		var f []int
		for i := range rank {
			if !slices.Contains(slices.Concat(used...), i) {
				f = append(f, i)
			}
		}
		return f
	}
	lhs, rhs := free(len(x), a.LhsBatch, a.LhsContract), free(len(y), a.RhsBatch, a.RhsContract)
	c := contraction{batch: lengthOf(x, a.LhsBatch), m: lengthOf(x, lhs), n: lengthOf(y, rhs), k: lengthOf(x, a.LhsContract)}
	c.a = g.strided(n.Inputs[0], a.LhsBatch, lhs, a.LhsContract)
	c.b = g.strided(n.Inputs[1], a.RhsBatch, rhs, a.RhsContract)
	c.dense = dense(c, x, y, [2][3][]int{{a.LhsBatch, lhs, a.LhsContract}, {a.RhsBatch, a.RhsContract, rhs}})
	c.number = func(b, m, n ptx.Operand) ptx.Operand {
		return g.add(g.times(g.add(g.times(b, c.m), m), c.n), n)
	}
	return c
}

// splits is the number of parts of k that separate blocks compute, if there would be too few blocks otherwise.
func (c contraction) splits(tiles int) int {
	s := 1
	for s < 64 && c.k/(2*s) >= 128 && tiles*c.batch*s < 128 {
		s *= 2
	}
	return s
}

// contract writes the kernel of a contraction: blocks of 256 threads compute square tiles of the result from strips of
// 16 columns and rows in shared memory. Large results have tiles of 64, in which each thread computes 16 elements. Sums
// of 16-bit floats are float32. Each sum is added up in the order of k, and parts of k in their order.
func (s *scope) contract(n *ir.Node, root ir.Value, describe func(g *gen, n *ir.Node) contraction) {
	g := s.kernel(n)
	c := describe(g, n)
	c.sums = s.sums
	out := s.p.Type(n.Outputs[0])
	if out.Shape.Size() == 0 {
		return
	}
	g.flops = 2 * int64(c.batch) * int64(c.m) * int64(c.n) * int64(c.k)
	if u := s.unit(c, out); u != nil {
		s.multiply(g, c, u, out, n, root)
		return
	}
	if s.isPlain(c, out) && s.multiplyPlain(g, c, out, n, root) {
		return
	}
	tile := 16
	if c.m >= 48 && c.n >= 48 && c.m*c.n*c.batch >= 1<<16 {
		tile = 64
	}
	rows, columns := (c.m+tile-1)/tile, (c.n+tile-1)/tile
	parts := c.splits(rows * columns)
	write := func() {
		s.addUp(g, c, parts, out, n, root, func(to outcome) {
			g.tiles(c, out, tile, rows, columns, parts, to)
			g.launch([3]int{rows * columns * c.batch * parts, 1, 1}, 256)
		})
		s.laterStatistics(g, root)
	}
	if !s.byLibrary(g, c, fmt.Sprintf("%dx%d", tile, tile), n, root, write) {
		write()
	}
}

const depth = 16 // columns of A in shared memory

// tiles writes the loop over k and passes on the results.
func (g *gen) tiles(c contraction, out ir.Type, tile, rows, columns, parts int, to outcome) {
	k := g.k
	class := classOf(out.DType)
	size := sizeOf(class)
	pitch := tile + 1
	sharedA, sharedB := k.Shared(depth*pitch*size), k.Shared(depth*pitch*size)
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.mov(ptx.B32, special("%ctaid.x"))
	column, rest := g.mod(cta, columns), g.over(cta, columns)
	row, rest := g.mod(rest, rows), g.over(rest, rows)
	batch, part := g.mod(rest, c.batch), g.over(rest, c.batch)
	firstM, firstN := g.times(row, tile), g.times(column, tile)
	tx, ty := g.mod(tid, 16), g.over(tid, 16)
	each := tile / 16
	sums := make([]ptx.Operand, each*each)
	for i := range sums {
		sums[i] = g.mov(class, g.constantOf(class))
	}
	length := (c.k + parts - 1) / parts
	length = (length + depth - 1) / depth * depth
	st := g.statisticsOf(c, tile, rows, columns, 256, parts)
	if st != nil {
		st.table = g.shared(k.Shared(tile * pitch * size))
	}
	first := g.times(part, length)
	limit := g.add(first, ptx.Int32(int64(length)))
	if parts*length != c.k || parts > 1 {
		limit = k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, limit), ptx.Int32(int64(c.k)))
	}
	baseA, baseB := g.shared(sharedA), g.shared(sharedB)
	loadA := g.strip(c.a, batch, firstM, c.m, tile, pitch, class, baseA)
	loadB := g.strip(c.b, batch, firstN, c.n, tile, pitch, class, baseB)
	summing := g.summing(c, tid, firstM, firstN, tile, tile, 256, class)
	readA := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, ty), ptx.Int32(int64(size)), baseA)
	readB := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, tx), ptx.Int32(int64(size)), baseB)
	g.loop(first, limit, depth, func(at ptx.Operand) {
		loadA(tid, at, limit)
		loadB(tid, at, limit)
		k.Barrier()
		g.multiplyStrips(sums, each, readA, readB, pitch, class)
		g.addStrips(summing, baseA, baseB, pitch, class)
		k.Barrier()
	})
	for i := range each {
		for j := range each {
			down, across := g.add(ty, ptx.Int32(int64(16*i))), g.add(tx, ptx.Int32(int64(16*j)))
			m, n := g.mov(ptx.B32, g.add(firstM, down)), g.mov(ptx.B32, g.add(firstN, across))
			g.where(g.both(g.compare("lt", "u32", m, ptx.Int32(int64(c.m))), g.compare("lt", "u32", n, ptx.Int32(int64(c.n)))), func() {
				stored := to.element(batch, m, n, part, g.wrap(out.DType, sums[i*each+j]))
				if st != nil {
					st.keep(g, down, across, stored)
				}
			})
		}
	}
	g.handOut(summing, part, to.side)
	if st != nil {
		st.ofTile(g, tid, firstM, firstN, row, column)
	}
}

// multiplyStrips adds the products of the strips, which begin at two addresses, to a square of sums.
func (g *gen) multiplyStrips(sums []ptx.Operand, each int, readA, readB ptx.Operand, pitch int, class ptx.Class) {
	k, size := g.k, sizeOf(class)
	for step := range depth {
		a, b := make([]ptx.Operand, each), make([]ptx.Operand, each)
		for i := range each {
			offset := "+" + itoa((step*pitch+16*i)*size) + "]"
			a[i] = k.Op(class, "ld.shared."+sharedType(class), ptx.Raw("["+readA.String()+offset))
			b[i] = k.Op(class, "ld.shared."+sharedType(class), ptx.Raw("["+readB.String()+offset))
		}
		for i := range each {
			for j := range each {
				k.To(sums[i*each+j], multiplyAdd(class), a[i], b[j], sums[i*each+j])
			}
		}
	}
}

// where writes code that only threads execute for which p is true.
func (g *gen) where(p ptx.Operand, body func()) {
	skip := g.k.Label()
	g.k.BranchUnless(p, skip)
	g.apart(body)
	g.k.Place(skip)
}

func (g *gen) constantOf(c ptx.Class) ptx.Operand {
	switch c {
	case ptx.F32:
		return ptx.Float32(0)
	case ptx.F64:
		return ptx.Float64(0)
	}
	return g.integer(c, 0)
}

func multiplyAdd(c ptx.Class) string {
	return [...]string{ptx.B32: "mad.lo.s32", ptx.B64: "mad.lo.s64", ptx.F32: "fma.rn.f32", ptx.F64: "fma.rn.f64"}[c]
}

// strip prepares the loads of an operand's strip into shared memory, [depth][pitch], and returns a function that writes
// them for a given k. Elements outside are 0.
func (g *gen) strip(s side, batch, first ptx.Operand, outerLength, tile, pitch int, class ptx.Class, base ptx.Operand) func(tid, at, limit ptx.Operand) {
	k := g.k
	d := g.p.Type(s.value).DType
	size := sizeOf(class)
	memory := g.pointer(s.value)
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	count := tile * depth / 256
	type lane struct {
		outer  []ptx.Operand
		inside ptx.Operand
		row    ptx.Operand // row within the strip
		column ptx.Operand // index along k
	}
	lanes := make([]lane, count)
	for e := range lanes {
		l := &lanes[e]
		if s.fast {
			l.column, l.row = g.mod(tid, depth), g.add(g.over(tid, depth), ptx.Int32(int64(e*256/depth)))
		} else {
			l.row, l.column = g.mod(tid, tile), g.add(g.over(tid, tile), ptx.Int32(int64(e*256/tile)))
		}
		if !s.fast && e > 0 {
			l.outer, l.inside = lanes[0].outer, lanes[0].inside
			continue
		}
		m := g.mov(ptx.B32, g.add(first, l.row))
		l.inside = g.compare("lt", "u32", m, ptx.Int32(int64(outerLength)))
		l.outer = s.outer(batch, m)
	}
	return func(_, at, limit ptx.Operand) {
		var inner []ptx.Operand
		var insideK ptx.Operand
		for e, l := range lanes {
			if e == 0 || !s.fast {
				i := k.Op(ptx.B32, "add.s32", at, l.column)
				insideK = g.compare("lt", "u32", i, limit)
				inner = s.inner(i)
			}
			valid := g.both(l.inside, insideK)
			number, there := s.join(l.outer, inner)
			if !there.IsZero() {
				valid = g.both(valid, there)
			}
			x := g.loadIf(d, valid, memory, number)
			slot := g.add(g.times(g.add(g.times(l.column, pitch), l.row), size), base)
			k.To(address(slot), "st.shared."+sharedType(class), x)
		}
	}
}

// loadIf loads an element if it exists; else it gives 0.
func (g *gen) loadIf(d ir.DType, valid, memory, number ptx.Operand) ptx.Operand {
	r := g.mov(accumulator(d), g.constantOf(accumulator(d)))
	skip := g.k.Label()
	g.k.BranchUnless(valid, skip)
	g.assign(r, g.toAccumulator(d, g.load(d, g.element(memory, number, d.Size()))))
	g.k.Place(skip)
	return r
}
