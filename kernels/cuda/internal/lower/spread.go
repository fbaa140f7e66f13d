package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Normalization reads a number, such as a mean, at all the elements that it was reduced from. If a block has all these
// elements, it also computes the operations that read the number there: it reads the elements again, from the cache. So
// group, instance, root mean square and unit normalization are one kernel, and so are the gradients of their operands,
// whatever the axes, the type and the chains around them. Reductions that many blocks must share remain separate
// kernels.

const (
	maxSpread   = 2   // results that one reduction is spread over
	busyBlocks  = 256 // blocks that keep the memory busy
	shortSum    = 64
	spreadAlone = 1 << 14 // elements of a block, where there are fewer blocks
	sectorBytes = 32      // that memory reads at once
	manyCached  = 1 << 21 // elements that a cache no longer holds
)

// reductionOf describes the reduction that a node is, with what is found beside it.
func (s *scope) reductionOf(n *ir.Node, root ir.Value) *reduction {
	axes := n.Attrs.(ir.ReduceAttrs).Axes
	r := &reduction{scope: s, all: append([]*total{s.total(n, root)}, s.beside...), axes: axes, shape: s.p.Type(n.Inputs[0]).Shape, out: s.p.Type(n.Outputs[0]).Shape}
	r.findSums()
	last := -1
	r.inner = 1
	for i, d := range r.shape {
		if !slices.Contains(axes, i) {
			r.kept = append(r.kept, d)
			continue
		}
		r.reduced = append(r.reduced, d)
		if last >= 0 && last != i-1 {
			r.inner = 0
		}
		last = i
	}
	if r.inner > 0 && last >= 0 {
		r.inner = r.shape[last+1:].Size()
	}
	r.outputs, r.length = r.kept.Size(), r.reduced.Size()
	rank := len(r.shape)
	r.along = rank > 0 && slices.Contains(axes, rank-1) && r.shape[rank-1] > 1
	return r
}

// spreadLanes is how many threads of a block share the elements of an output that is spread over them. Short sums are
// made by one, in their order, as they are where nothing is spread.
func (r *reduction) spreadLanes() int {
	if r.length < shortSum {
		return 1
	}
	if r.along {
		return rowLanes(r.length)
	}
	each := columnsWide // neighbours that a warp reads
	for each > 16 && r.outputs/each < busyBlocks || each > r.outputs {
		each /= 2
	}
	return min(256/each, shortSum)
}

// canSpread reports whether blocks that have all elements of their outputs keep a device busy, or are done soon. Where
// other blocks have most of each sector of memory, and the cache does not hold all of it, elements are better gone
// through in their order.
func (r *reduction) canSpread() bool {
	if r.outputs == 0 || r.length < 2 || slices.ContainsFunc(r.all, func(t *total) bool { return t.kind == ir.Prod }) {
		return false
	}
	each := 256 / r.spreadLanes()
	if (r.outputs+each-1)/each < busyBlocks && each*r.length > spreadAlone {
		return false
	}
	runs := runsOf(r.shape, func(axis int) bool { return slices.Contains(r.axes, axis) })
	bytes := runs[len(runs)-1].length * r.all[0].dtype.Size()
	return !r.along || each < 256 && bytes >= sectorBytes || r.shape.Size() < manyCached
}

// reducedHere are the floats that the kernel of a reduction makes for each output.
func (r *reduction) reducedHere() (list []ir.Value) {
	for _, t := range r.all {
		list = append(list, t.root)
	}
	list = append(list, r.followers...)
	return slices.DeleteFunc(list, func(v ir.Value) bool { return !r.p.Type(v).DType.IsFloat() })
}

// findSpread finds nodes that are computed element by element from what the kernel of node i reduces and from what is
// in memory, at the elements that it reduces.
func (s *scope) findSpread(f *fusion, i int) {
	n, root := s.reduces(f, i), s.p.Nodes[i].Outputs[0]
	if n == nil || s.committed[root] {
		return
	}
	r := s.reductionOf(n, root)
	if !r.canSpread() {
		return
	}
	w := r.spreading(f, r.reducedHere())
	for j := i + 1; j < min(len(s.p.Nodes), i+lookAhead) && len(s.spread) < maxSpread; j++ {
		n := &s.p.Nodes[j]
		v := n.Outputs[0]
		if !f.kernel[j] || s.early[j] || f.anchor[j] != nil || roots[n.Op] != nil || s.committed[v] || len(f.checks[j]) > 0 || s.p.Type(v).Shape.Size() != r.shape.Size() {
			continue
		}
		w.follows = false
		if w.computes(n, true) && w.follows {
			s.spread, s.early[j] = append(s.spread, v), true
		}
	}
}

// spreading looks at what a node computes an element from: wide, that is for each element of the reduced shape, or once
// for each output.
type spreading struct {
	*reduction
	f       *fusion
	here    map[ir.Value]bool // what the kernel reduces
	runs    []run             // of the reduced shape
	follows bool              // one of these was met
}

func (r *reduction) spreading(f *fusion, here []ir.Value) *spreading {
	w := &spreading{reduction: r, f: f, here: map[ir.Value]bool{}, runs: runsOf(r.shape, func(axis int) bool { return slices.Contains(r.axes, axis) })}
	for _, v := range here {
		w.here[v] = true
	}
	return w
}

// run is neighbouring axes that are all reduced, or all not, as one.
type run struct {
	reduced bool
	length  int
}

// runsOf joins the axes of a shape.
func runsOf(shape ir.Shape, reduced func(axis int) bool) (list []run) {
	for axis, d := range shape {
		switch is, last := reduced(axis), len(list)-1; {
		case d == 1:
		case last >= 0 && list[last].reduced == is:
			list[last].length *= d
		default:
			list = append(list, run{is, d})
		}
	}
	return list
}

// computes reports whether an element of a node is computed from reduced numbers of its own output, and from what is in
// memory already.
func (w *spreading) computes(n *ir.Node, wide bool) bool {
	size := func(v ir.Value) int { return w.p.Type(v).Shape.Size() }
	inOrder := n.Op.IsElementwise() || n.Op == ir.Reshape || n.Op == ir.Broadcast && size(n.Inputs[0]) == size(n.Outputs[0])
	for _, v := range n.Inputs {
		ok := false
		switch {
		case inOrder:
			ok = w.reads(v, wide)
		case n.Op == ir.Broadcast && wide && w.repeats(n):
			ok = w.reads(v, false)
		default:
			ok = w.ready(v)
		}
		if !ok {
			return false
		}
	}
	return true
}

// reads is computes for a value.
func (w *spreading) reads(v ir.Value, wide bool) bool {
	if w.here[v] {
		w.follows = true
		return !wide
	}
	if m := w.makers[v]; m != nil && !w.f.kernel[w.position[v]] && inlined[m.Op] != nil {
		return w.computes(m, wide)
	}
	return w.ready(v)
}

// repeats reports whether a Broadcast gives each element of the reduced shape the number of its output.
func (w *spreading) repeats(n *ir.Node) bool {
	a, from := n.Attrs.(ir.BroadcastAttrs), w.p.Type(n.Inputs[0]).Shape
	return slices.Equal(w.runs, runsOf(a.Shape, func(axis int) bool {
		at := slices.Index(a.Axes, axis)
		return at < 0 || from[at] == 1
	}))
}

// ready reports whether a value is in memory, or computed from what is there, and not from what the kernel reduces.
func (w *spreading) ready(v ir.Value) bool {
	m := w.makers[v]
	switch {
	case w.here[v]:
		return false
	case m == nil || w.f.kernel[w.position[v]]:
		return w.inMemory[v] && !w.underWay.brings(v)
	case inlined[m.Op] == nil:
		return false // it is computed by the kernel of another node
	}
	for _, u := range m.Inputs {
		if !w.ready(u) {
			return false
		}
	}
	return true
}

// spreadOver hands the reduced numbers to all threads of an output, through shared memory, and lets these compute what
// reads them. The leading ones write the numbers themselves.
func (r *reduction) spreadOver(g *gen, x *index, mine, lane, leads, inside ptx.Operand, lanes int, done func()) {
	k := g.k
	here := r.reducedHere()
	slots, names := make([]ptx.Operand, len(here)), make([]string, len(here))
	for i, v := range here {
		class := classOf(r.p.Type(v).DType)
		slots[i], names[i] = k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, mine), ptx.Int32(int64(sizeOf(class))), g.shared(k.Shared(256/lanes*sizeOf(class)))), sharedType(class)
	}
	skip := k.Label()
	k.BranchUnless(leads, skip)
	g.apart(func() {
		done()
		for i, v := range here {
			k.To(address(slots[i]), "st.shared."+names[i], g.reduced[v])
		}
	})
	k.Place(skip)
	k.Barrier()
	k.BranchUnless(inside, g.exit)
	g.reduced = map[ir.Value]ptx.Operand{}
	for i, v := range here {
		g.reduced[v] = k.Op(classOf(r.p.Type(v).DType), "ld.shared."+names[i], address(slots[i]))
	}
	to := make([]ptx.Operand, len(r.spread))
	for i, v := range r.spread {
		to[i] = g.place(r.places[v])
	}
	const many = 4
	first, limit := g.mov(ptx.B32, lane), ptx.Int32(int64(r.length))
	g.loopOn(first, g.lessThan(limit, (many-1)*lanes), many*lanes, func(i ptx.Operand) {
		var elements [many]*spreadElement
		for e := range elements {
			elements[e] = r.spreadElement(g, x, g.add(i, ptx.Int32(int64(e*lanes))))
		}
		for _, e := range elements {
			e.store(g, r, to)
		}
	})
	g.loopOn(first, limit, lanes, func(i ptx.Operand) { r.spreadElement(g, x, i).store(g, r, to) })
}

// reshaped is the index of the same element in another shape.
func (g *gen) reshaped(x *index, shape ir.Shape) *index {
	if x.shape.Equal(shape) {
		return x
	}
	return at(shape, g.number(x))
}

// spreadElement is the results at an element.
type spreadElement struct{ number, results []ptx.Operand }

func (r *reduction) spreadElement(g *gen, x *index, number ptx.Operand) *spreadElement {
	from, e := r.index(g, x, number), &spreadElement{}
	for _, v := range r.spread {
		t, n := r.p.Type(v), r.makers[v]
		here := g.reshaped(from, t.Shape)
		e.number = append(e.number, g.number(here))
		e.results = append(e.results, g.register(t.DType, inlined[n.Op](g, n, here)))
	}
	return e
}

func (e *spreadElement) store(g *gen, r *reduction, to []ptx.Operand) {
	for i, v := range r.spread {
		d := r.p.Type(v).DType
		g.store(d, g.element(to[i], e.number[i], d.Size()), e.results[i])
	}
}
