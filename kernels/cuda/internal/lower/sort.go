package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// sorting is a stable sort of the lines along an axis. Chunks are sorted by counting, then pairs of runs are merged
// until one is left. Merging finds each element's position by bisection in the neighboring run, so that nothing depends
// on the order of threads.
type sorting struct {
	n          *ir.Node
	t          ir.Type
	axis       int
	lines      ir.Shape
	length     int
	keep       int // how many elements of each line are wanted
	descending bool
	// read returns an element; nil means an element of the node's first operand.
	read func(g *gen, x *index) ptx.Operand
}

func (o sorting) element(g *gen, line []ptx.Operand, k ptx.Operand) ptx.Operand {
	x := g.inLine(o.t.Shape, o.axis, line, k)
	if o.read != nil {
		return o.read(g, x)
	}
	return g.register(o.t.DType, g.value(o.n.Inputs[0], x))
}

// chunk is the length of the runs that are sorted by counting.
const chunk = 64

// sortedRuns is a partly sorted copy of all lines, one after the other.
type sortedRuns struct{ values, positions Place }

func (s *scope) sort(n *ir.Node) {
	t := s.p.Type(n.Inputs[0])
	o := sorting{n: n, t: t, axis: len(t.Shape) - 1, descending: true}
	switch a := n.Attrs.(type) {
	case ir.SortAttrs:
		o.axis, o.descending, o.keep = a.Axis, a.Descending, t.Shape[a.Axis]
	case ir.TopKAttrs:
		o.keep = a.K
	}
	if t.Shape.Size() == 0 || o.keep == 0 {
		return
	}
	o.lines, o.length = t.Shape.Without(o.axis), t.Shape[o.axis]
	result := sortedRuns{s.places[n.Outputs[0]], s.places[n.Outputs[1]]}
	if o.length <= chunk {
		s.countRanks(o, result, true)
		return
	}
	s.sortRuns(o, result, true)
}

// sortRuns sorts by merging: into the result, or, if there is none, into a copy that it returns, with a function that
// frees the copy.
func (s *scope) sortRuns(o sorting, result sortedRuns, wanted bool) (sorted sortedRuns, giveBack func()) {
	positions := ir.Type{DType: ir.Int32, Shape: o.t.Shape}
	take := func() sortedRuns {
		return sortedRuns{Place{Space: Arena, Offset: s.arena.take(o.t.Bytes())}, Place{Space: Arena, Offset: s.arena.take(positions.Bytes())}}
	}
	give := func(r sortedRuns) {
		s.arena.give(r.values.Offset, o.t.Bytes())
		s.arena.give(r.positions.Offset, positions.Bytes())
	}
	from, to := take(), take()
	s.countRanks(o, from, false)
	for width := chunk; width < o.length; width *= 2 {
		if 2*width >= o.length && wanted {
			s.merge(o, width, from, result, true)
		} else {
			s.merge(o, width, from, to, false)
		}
		from, to = to, from
	}
	give(to)
	if wanted {
		give(from)
	}
	return from, func() { give(from) }
}

// put writes an element at its rank: into contiguous lines, or into the result.
func (g *gen) put(o sorting, to sortedRuns, last bool, line, rank, value, position ptx.Operand) {
	values, positions := g.place(to.values), g.place(to.positions)
	where := g.add(g.times(line, o.length), rank)
	if last {
		if o.keep < o.length {
			g.k.BranchIf(g.compare("ge", "u32", rank, ptx.Int32(int64(o.keep))), g.exit)
		}
		shape := g.p.Type(o.n.Outputs[0]).Shape
		where = g.number(g.inLine(shape, o.axis, g.decompose(line, o.lines), rank))
	}
	g.store(o.t.DType, g.element(values, where, o.t.DType.Size()), value)
	g.store(ir.Int32, g.element(positions, where, 4), position)
}

// countRanks sorts chunks: an element's rank is the number of elements before it.
func (s *scope) countRanks(o sorting, to sortedRuns, last bool) {
	g := s.kernel(o.n)
	for _, v := range o.n.Outputs {
		g.commit(v)
	}
	d := o.t.DType
	thread, grid, block := g.threads(o.t.Shape.Size())
	line, mine := g.over(thread, o.length), g.mov(ptx.B32, g.mod(thread, o.length))
	at := g.decompose(line, o.lines)
	e := o.element(g, at, mine)
	first := g.mov(ptx.B32, g.times(g.over(mine, chunk), chunk))
	limit := g.k.Op(ptx.B32, "min.u32", g.k.Op(ptx.B32, "add.s32", first, ptx.Int32(chunk)), ptx.Int32(int64(o.length)))
	rank := g.mov(ptx.B32, first)
	g.loop(first, limit, 1, func(k ptx.Operand) {
		other := o.element(g, at, k)
		before, after := g.less(d, other, e), g.less(d, e, other)
		if o.descending {
			before, after = after, before
		}
		earlier := g.both(g.not(after), g.compare("lt", "u32", k, mine))
		g.k.Line("@%v add.s32 %v, %v, 1", g.either(before, earlier), rank, rank)
	})
	g.put(o, to, last, line, rank, e, mine)
	g.launch(grid, block)
}

// merge merges pairs of sorted runs.
func (s *scope) merge(o sorting, width int, from, to sortedRuns, last bool) {
	g := s.kernel(o.n)
	for _, v := range o.n.Outputs {
		if last {
			g.commit(v)
		}
	}
	k, d := g.k, o.t.DType
	values, positions := g.place(from.values), g.place(from.positions)
	thread, grid, block := g.threads(o.t.Shape.Size())
	line, mine := g.over(thread, o.length), g.mov(ptx.B32, g.mod(thread, o.length))
	start := g.mov(ptx.B32, g.times(line, o.length))
	e := g.register(d, g.load(d, g.element(values, thread, d.Size())))
	position := g.load(ir.Int32, g.element(positions, thread, 4))
	run := g.over(mine, width)
	right := g.compare("ne", "s32", k.Op(ptx.B32, "and.b32", run, ptx.Int32(1)), ptx.Int32(0))
	own := g.times(run, width)
	other := g.pick(right, k.Op(ptx.B32, "sub.s32", own, ptx.Int32(int64(width))), k.Op(ptx.B32, "add.s32", own, ptx.Int32(int64(width))))
	// In the other run, the elements before e end between low and high.
	length := ptx.Int32(int64(o.length))
	low := g.mov(ptx.B32, k.Op(ptx.B32, "min.u32", other, length))
	first := g.mov(ptx.B32, low)
	high := g.mov(ptx.B32, k.Op(ptx.B32, "min.u32", k.Op(ptx.B32, "add.s32", other, ptx.Int32(int64(width))), length))
	again, end := k.Label(), k.Label()
	k.Place(again)
	k.BranchIf(g.compare("ge", "u32", low, high), end)
	middle := k.Op(ptx.B32, "shr.u32", k.Op(ptx.B32, "add.s32", low, high), ptx.Int32(1))
	x := g.register(d, g.load(d, g.element(values, k.Op(ptx.B32, "add.s32", start, middle), d.Size())))
	before, after := g.less(d, x, e), g.less(d, e, x)
	if o.descending {
		before, after = after, before
	}
	// Of equal elements, those of the left run come first.
	before = g.either(before, g.both(right, g.not(after)))
	g.assign(low, g.pick(before, k.Op(ptx.B32, "add.s32", middle, ptx.Int32(1)), low))
	g.assign(high, g.pick(before, high, middle))
	k.Branch(again)
	k.Place(end)
	count := k.Op(ptx.B32, "sub.s32", low, first)
	base := g.pick(right, other, own)
	rank := k.Op(ptx.B32, "add.s32", base, k.Op(ptx.B32, "add.s32", count, g.sub(mine, own)))
	g.put(o, to, last, line, rank, e, position)
	g.launch(grid, block)
}
