package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Normalization uses a number, such as a mean, at all the elements that it was reduced from. If a block has all these
// elements, it also computes the operations that use the number there: it reads the elements again, from the cache. So
// group, instance, root mean square and unit normalization are one kernel each, and so are the gradients of their
// operands, whatever the axes, the type and the chains around them. Reductions shared by many blocks remain separate
// kernels.

const (
	maxSpread   = 2   // results that one reduction is spread over
	busyBlocks  = 256 // blocks that keep the memory busy
	shortSum    = 64
	spreadAlone = 1 << 14 // elements per block, if there are fewer blocks
	sectorBytes = 32      // that memory reads at once
	manyCached  = 1 << 21 // elements that exceed the cache
)

// reductionOf describes the reduction of a node, including those computed beside it.
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

// spreadLanes is the number of a block's threads that share an output whose result is spread. As without spreading, one
// thread adds up short sums, in order.
func (r *reduction) spreadLanes() int {
	if r.length < shortSum {
		return 1
	}
	if r.along {
		return rowLanes(r.length)
	}
	each := columnsWide // adjacent elements that a warp reads
	for each > 16 && r.outputs/each < busyBlocks || each > r.outputs {
		each /= 2
	}
	return min(256/each, shortSum)
}

// canSpread reports whether blocks that each have all elements of their outputs keep a device busy, or finish soon. If
// several blocks share each memory sector, and the cache does not hold everything, it is better to go through the
// elements in memory order.
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

// reducedHere are the floats that a reduction's kernel computes for each output.
func (r *reduction) reducedHere() (list []ir.Value) {
	for _, t := range r.all {
		list = append(list, t.root)
	}
	list = append(list, r.followers...)
	return slices.DeleteFunc(list, func(v ir.Value) bool { return !r.p.Type(v).DType.IsFloat() })
}

// findSpread finds nodes that are computed elementwise, at the elements that node i's kernel reduces, from what it
// reduces and from values in memory.
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

// spreading examines what a node computes an element from: wide means for each element of the reduced shape, otherwise
// once for each output.
type spreading struct {
	*reduction
	f       *fusion
	here    map[ir.Value]bool // results of the kernel
	runs    []run             // of the reduced shape
	follows bool              // one of the results was found
}

func (r *reduction) spreading(f *fusion, here []ir.Value) *spreading {
	w := &spreading{reduction: r, f: f, here: map[ir.Value]bool{}, runs: runsOf(r.shape, func(axis int) bool { return slices.Contains(r.axes, axis) })}
	for _, v := range here {
		w.here[v] = true
	}
	return w
}

// run is a sequence of adjacent axes that are all reduced, or all not, as one axis.
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

// computes reports whether an element of a node is computed from reduced numbers of its own output and from values
// already in memory.
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

// ready reports whether a value is in memory, or computed from values in memory and not from the kernel's results.
func (w *spreading) ready(v ir.Value) bool {
	m := w.makers[v]
	switch {
	case w.here[v]:
		return false
	case m == nil || w.f.kernel[w.position[v]]:
		return w.inMemory[v] && !w.underWay.brings(v)
	case inlined[m.Op] == nil:
		return false // another node's kernel computes it
	}
	for _, u := range m.Inputs {
		if !w.ready(u) {
			return false
		}
	}
	return true
}

// spreadOver passes the reduced numbers to all threads of an output, through shared memory, and lets these compute what
// uses them. The leading threads write the numbers themselves.
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
