package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// finish stores the value root at an index, given the result of the kernel's anchor there. It returns the number as
// stored.
func (g *gen) finish(anchor, root ir.Value, x *index, result ptx.Operand, to ptx.Operand) ptx.Operand {
	g.memo[read{anchor, x}] = result
	r := result
	if root != anchor {
		r = inlined[g.makers[root].Op](g, g.makers[root], x)
	}
	d := g.p.Type(root).DType
	r = g.register(d, r)
	g.store(d, g.element(to, g.number(x), d.Size()), r)
	r = g.asStored(d, r)
	g.memo[read{root, x}] = r
	return r
}

// asStored rounds a number as storing it would.
func (g *gen) asStored(d ir.DType, x ptx.Operand) ptx.Operand {
	if !d.IsHalf() {
		return x
	}
	return g.widen(d, g.narrow(d, x))
}

// reduction is one or more Reduces of the same shape over the same axes: outputs elements, each combined from length
// ones.
type reduction struct {
	*scope
	all             []*total
	sums            []sum // what is combined: one for each total, or the moments
	axes            []int
	shape, out      ir.Shape
	kept, reduced   ir.Shape
	outputs, length int
	inner           int           // distance in memory of successive reduced elements; 0 if it varies
	slots           []ptx.Operand // shared memory of a thread, through which its sums reach other threads
	along           bool          // successive reduced elements are adjacent in memory
}

// reduce combines elements in an order that depends on the shape alone.
func (s *scope) reduce(n *ir.Node, root ir.Value) {
	r := s.reductionOf(n, root)
	if r.outputs == 0 {
		return
	}
	lanes, parts := r.share()
	if parts > 1 {
		r.inParts(lanes, parts)
		return
	}
	g := r.kernel(r.all[0].n)
	done := r.finishing(g)
	g.commit(r.all[0].root)
	if lanes > 1 || len(r.spread) > 0 {
		r.inBlocks(g, lanes, 1, r.length, r.accumulate(g, len(r.spread) > 0), done, nil)
		return
	}
	thread, grid, block := g.threads(r.outputs)
	x := at(r.out, thread)
	g.split(x)
	done(ptx.Operand{}, x, r.accumulate(g, false)(x, ptx.Int32(0), ptx.Int32(int64(r.length)), 1))
	g.launch(grid, block)
}

// finishing returns the function that writes the results.
func (r *reduction) finishing(g *gen) finishing {
	first := r.all[0]
	to := make([]ptx.Operand, len(r.all))
	for i, t := range r.all {
		to[i] = g.place(g.places[t.root])
		if len(r.all) > 1 {
			g.roots = append(g.roots, t.root)
		}
	}
	after := make([]ptx.Operand, len(r.followers))
	for i, v := range r.followers {
		after[i] = g.place(g.places[v])
		g.roots = append(g.roots, v)
	}
	g.roots = append(g.roots, r.spread...)
	if len(g.roots) > 0 && len(r.all) == 1 {
		g.roots = append(g.roots, first.root)
	}
	return func(_ ptx.Operand, x *index, sums []ptx.Operand) {
		g.reduced = map[ir.Value]ptx.Operand{}
		for i, total := range r.totals(g, sums) {
			t := r.all[i]
			g.reduced[t.root] = g.finish(t.n.Outputs[0], t.root, x, g.fromAccumulator(t.dtype, total), to[i])
		}
		for i, v := range r.followers {
			n, t := g.makers[v], g.p.Type(v)
			here := g.reshaped(x, t.Shape)
			g.reduced[v] = g.finish(v, v, here, g.register(t.DType, inlined[n.Op](g, n, here)), after[i])
		}
	}
}

// finishing uses the sums of one part of an output's elements.
type finishing func(part ptx.Operand, x *index, sums []ptx.Operand)

const (
	manyElements = 1 << 17 // from this size on, a reduction is worth a second kernel
	manyBlocks   = 528     // enough to fill a device
	columnsWide  = 32      // adjacent elements that a warp reads
)

// share returns how many threads of a block share the elements of an output, and into how many parts these are divided,
// which are combined at the end.
func (r *reduction) share() (lanes, parts int) {
	lanes, parts = lanesFor(r.outputs, r.length), 1
	switch {
	case len(r.spread) > 0:
		return r.spreadLanes(), 1
	case slices.ContainsFunc(r.all, func(t *total) bool { return t.kind == ir.Prod && t.dtype == ir.Float64 }):
		return 1, 1 // rounding errors of products do not cancel: another order gains nothing
	case r.outputs*r.length < manyElements || r.length < 512:
		return lanes, 1
	case !r.along && r.outputs >= columnsWide: // a warp reads adjacent elements
		lanes = 256 / columnsWide
	}
	blocks := (r.outputs + 256/lanes - 1) / (256 / lanes)
	for parts < 512 && blocks*parts*2 <= manyBlocks && r.length/(2*parts) >= 16*lanes {
		parts *= 2
	}
	return lanes, parts
}

// index is that of an operand's element, given the output's index and a number among the reduced elements.
func (r *reduction) index(g *gen, x *index, number ptx.Operand) *index {
	axes := make([]ptx.Operand, len(r.shape))
	k, j := 0, 0
	rest := g.decompose(number, r.reduced)
	for i := range r.shape {
		if slices.Contains(r.axes, i) {
			axes[i] = rest[j]
			j++
		} else {
			axes[i] = g.split(x)[k]
			k++
		}
	}
	in := along(r.shape, axes)
	if r.inner > 0 { // avoids dividing numbers and multiplying them again
		n := g.number(x)
		outer, inner := g.over(n, r.inner), g.mod(n, r.inner)
		in.linear = g.add(g.add(g.times(outer, r.length*r.inner), inner), g.times(number, r.inner))
	}
	return in
}

// inParts combines parts of the elements into the arena. The last block of those that share an output combines the
// parts.
func (r *reduction) inParts(lanes, parts int) {
	g := r.kernel(r.all[0].n)
	partial, sizes, types := make([]Place, len(r.sums)), make([]int, len(r.sums)), make([]ir.DType, len(r.sums))
	at := make([]ptx.Operand, len(r.sums))
	for i, t := range r.sums {
		types[i] = [...]ir.DType{ptx.B32: ir.Int32, ptx.B64: ir.Int64, ptx.F32: ir.Float32, ptx.F64: ir.Float64}[t.class]
		sizes[i] = parts * r.outputs * types[i].Size()
		partial[i] = Place{Space: Arena, Offset: r.arena.take(sizes[i])}
		at[i] = g.place(partial[i])
	}
	done := r.finishing(g)
	element := func(i int, part ptx.Operand, x *index) ptx.Operand {
		number := g.mov(ptx.B32, g.add(g.times(part, r.outputs), g.number(x)))
		return g.element(at[i], number, types[i].Size())
	}
	keep := func(part ptx.Operand, x *index, sums []ptx.Operand) {
		for i, sum := range sums {
			g.store(types[i], element(i, part, x), sum)
		}
	}
	load := func(part ptx.Operand, x *index) []ptx.Operand {
		theirs := make([]ptx.Operand, len(r.sums))
		for i := range r.sums {
			theirs[i] = g.load(types[i], element(i, part, x))
		}
		return theirs
	}
	r.inBlocks(g, lanes, parts, r.length, r.accumulate(g, true), func(part ptx.Operand, x *index, sums []ptx.Operand) {
		keep(part, x, sums)
	}, &joining{load, done})
	for i, p := range partial {
		r.arena.give(p.Offset, sizes[i])
	}
}

// joining is what the last block does with the parts of its outputs.
type joining struct {
	load func(part ptx.Operand, x *index) []ptx.Operand
	done finishing
}

// join combines parts from a number on, in steps, reading several at once.
func (r *reduction) join(g *gen, j *joining, x *index, first, limit ptx.Operand, step int) []ptx.Operand {
	const many = 4
	sums := r.begin(g)
	first = g.mov(ptx.B32, first)
	g.loopOn(first, g.lessThan(limit, (many-1)*step), many*step, func(i ptx.Operand) {
		var read [many][]ptx.Operand
		for e := range read {
			read[e] = j.load(g.add(i, ptx.Int32(int64(e*step))), x)
		}
		for _, e := range read {
			r.merge(g, sums, e)
		}
	})
	g.loopOn(first, limit, step, func(i ptx.Operand) { r.merge(g, sums, j.load(i, x)) })
	return sums
}

// lessThan returns limit - n, or 0 if that is negative.
func (g *gen) lessThan(limit ptx.Operand, n int) ptx.Operand {
	enough := g.k.Op(ptx.B32, "max.u32", g.mov(ptx.B32, limit), ptx.Int32(int64(n)))
	return g.k.Op(ptx.B32, "sub.s32", enough, ptx.Int32(int64(n)))
}

// inBlocks lets lanes of a block each combine some elements of an output's part, and then combines their sums in shared
// memory.
func (r *reduction) inBlocks(g *gen, lanes, parts, length int, accumulate accumulating, done finishing, last *joining) {
	const block = 256
	k := g.k
	each := block / lanes // outputs per block
	groups := (r.outputs + each - 1) / each
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.mov(ptx.B32, special("%ctaid.x"))
	lane, mine, distance := g.mod(tid, lanes), g.over(tid, lanes), 1
	if !r.along {
		mine, lane, distance = g.mod(tid, each), g.over(tid, each), each
	}
	part := ptx.Int32(0)
	if parts > 1 {
		part = g.over(cta, groups)
		cta = g.mod(cta, groups)
	}
	output := g.add(g.times(cta, each), mine)
	inside := g.compare("lt", "u32", g.mov(ptx.B32, output), ptx.Int32(int64(r.outputs)))
	x := at(r.out, k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, output), ptx.Int32(int64(r.outputs-1))))
	g.split(x)
	first, limit := lane, ptx.Int32(int64(length))
	if parts > 1 {
		of := ((length+parts-1)/parts + lanes - 1) / lanes * lanes
		begin := g.mov(ptx.B32, g.times(part, of))
		first = g.add(begin, lane)
		limit = k.Op(ptx.B32, "min.u32", g.mov(ptx.B32, g.add(begin, ptx.Int32(int64(of)))), limit)
	}
	sums := accumulate(x, first, limit, lanes)
	r.meet(g, sums, tid, lane, lanes, distance, block)
	leads := g.both(inside, g.compare("eq", "s32", g.mov(ptx.B32, lane), ptx.Int32(0)))
	if last != nil {
		skip := k.Label()
		k.BranchUnless(leads, skip)
		g.apart(func() { done(part, x, sums) })
		k.Place(skip)
		g.lastBlock(tid, cta, groups, ptx.Int32(int64(parts)))
		sums = r.join(g, last, x, lane, ptx.Int32(int64(parts)), lanes)
		r.meet(g, sums, tid, lane, lanes, distance, block)
		g.commit(r.all[0].root)
		done = last.done
	}
	if len(r.spread) > 0 {
		r.spreadOver(g, x, mine, lane, leads, inside, lanes, func() { done(part, x, sums) })
	} else {
		k.BranchUnless(leads, g.exit)
		done(part, x, sums)
	}
	g.launch([3]int{groups * parts, 1, 1}, block)
}

// meet combines the lanes' sums; the first lane has them afterwards.
func (r *reduction) meet(g *gen, sums []ptx.Operand, tid, lane ptx.Operand, lanes, distance, block int) {
	if lanes == 1 {
		return
	}
	k := g.k
	if r.slots == nil { // otherwise a barrier has followed the last read
		for _, t := range r.sums {
			r.slots = append(r.slots, k.Op(ptx.B32, "mad.lo.s32", tid, ptx.Int32(int64(sizeOf(t.class))), g.shared(k.Shared(block*sizeOf(t.class)))))
		}
	}
	slots := r.slots
	for i, t := range r.sums {
		k.To(address(slots[i]), "st.shared."+sharedType(t.class), sums[i])
	}
	for half := lanes / 2; half > 0; half /= 2 {
		k.Barrier()
		skip := k.Label()
		k.BranchIf(g.compare("ge", "u32", g.mov(ptx.B32, lane), ptx.Int32(int64(half))), skip)
		theirs := make([]ptx.Operand, len(sums))
		for i, t := range r.sums {
			theirs[i] = k.Op(t.class, "ld.shared."+sharedType(t.class), ptx.Raw("["+slots[i].String()+"+"+itoa(half*distance*sizeOf(t.class))+"]"))
		}
		r.merge(g, sums, theirs)
		for i, t := range r.sums {
			k.To(address(slots[i]), "st.shared."+sharedType(t.class), sums[i])
		}
		k.Place(skip)
	}
}

// lanesFor is the number of threads that share the work for an output.
func lanesFor(outputs, length int) int {
	lanes := 1
	for length >= 64 && lanes < 256 && lanes*16 < length && outputs*lanes < 1<<17 {
		lanes *= 2
	}
	return lanes
}

func sizeOf(c ptx.Class) int {
	if c == ptx.B64 || c == ptx.F64 {
		return 8
	}
	return 4
}

func sharedType(c ptx.Class) string {
	return [...]string{ptx.B32: "b32", ptx.B64: "b64", ptx.F32: "f32", ptx.F64: "f64"}[c]
}
