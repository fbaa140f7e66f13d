package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildFourier(b *build) (func(), error) { return byFloat(b, fourier[float64], fourier[float32]) }

func fourier[T block.Float](b *build) func() {
	re, im, yre, yim := b.in(0), b.in(1), b.out(0), b.out(1)
	if re.N == 0 {
		return func() {}
	}
	g := newLineGroups[T](lines(re.Typ.Shape, b.n.Attrs.(ir.FourierAttrs).Axis), len(b.rt().workers))
	b.rt().need(g.need() * re.Typ.DType.Size())
	return b.rt().parallel(g.groups(), grain(g.work()), func(w *worker, lo, hi int) {
		x := vec.Runs[T]{Re: plan.Data[T](re), Im: plan.Data[T](im)}
		y := vec.Runs[T]{Re: plan.Data[T](yre), Im: plan.Data[T](yim)}
		for k := lo; k < hi; k++ {
			g.run(y, x, k, scratchOf[T](w, g.need()))
		}
	})
}

// lineGroups groups the lines of a tensor that are transformed side by side. A group has width of the inner lines,
// which are interleaved in memory, from each of several places along the outer axes.
type lineGroups[T block.Float] struct {
	*fourierPlan[T]
	geometry.AxisGroup
	places, width int
}

// With less than fewInner inner lines, a group takes lines from several places. Up to mostInner inner lines that are
// long are transformed as one matrix.
const (
	fewInner  = 4 * vec.Lanes
	mostInner = vec.Lanes
)

func newLineGroups[T block.Float](g geometry.AxisGroup, workers int) *lineGroups[T] {
	l := &lineGroups[T]{AxisGroup: g, places: 1, width: 1}
	if g.Inner == 1 {
		l.fourierPlan = newFourierPlan[T](g.Length, g.Outer, longestInLanes[T]())
		l.widen(g.Outer, turnedBytes, workers)
		l.places = l.lanes
		return l
	}
	few := g.Outer*g.Inner < fewLines && g.Length >= leastLong
	if g.Inner <= mostInner && (few || g.Length > longestInLanes[T]()) {
		if long := newLongLinePlan[T](g.Length, g.Inner); long != nil {
			l.fourierPlan, l.width = &fourierPlan[T]{n: g.Length, lanes: 1, long: long}, g.Inner
			return l
		}
	}
	all := g.Outer * g.Inner
	if l.fourierPlan = newFourierPlan[T](g.Length, all, laneColumns); l.lanes == 1 {
		return l
	}
	l.widen(all, wideBytes, workers)
	if g.Inner < fewInner && g.Length*paddedLanes(g.Inner) <= vec.Lanes*longestInLanes[T]() {
		l.places, l.width = min(max(l.lanes/g.Inner, 1), g.Outer), g.Inner
	} else {
		l.width = evenLanes(g.Inner, min(l.lanes, paddedLanes(g.Inner)))
	}
	l.setLanes(paddedLanes(l.places * l.width))
	return l
}

// chunks returns the number of groups of a place.
func (l *lineGroups[T]) chunks() int { return (l.Inner + l.width - 1) / l.width }

func (l *lineGroups[T]) groups() int { return (l.Outer + l.places - 1) / l.places * l.chunks() }

func (l *lineGroups[T]) need() int {
	if l.lanes == 1 && l.Inner > l.width {
		return 2*l.n + l.fourierPlan.need()
	}
	return l.fourierPlan.need()
}

// run transforms group k.
func (l *lineGroups[T]) run(y, x vec.Runs[T], k int, scratch []T) {
	place, first := k/l.chunks()*l.places, k%l.chunks()*l.width
	at, count, width := place*l.n*l.Inner+first, min(l.places, l.Outer-place), min(l.width, l.Inner-first)
	for _, part := range []*[]T{&x.Re, &x.Im, &y.Re, &y.Im} {
		*part = (*part)[at:]
	}
	if l.lanes == 1 {
		l.alone(y, x, scratch)
		return
	}
	b, from, to := l.buffersOf(scratch), vec.Runs[T]{}, vec.Runs[T]{}
	whole := count == 1 && width == l.lanes && l.Inner > 1
	if whole && l.reads() {
		from = vec.Runs[T]{Re: x.Re, Im: x.Im, Step: l.Inner}
	} else {
		l.loadGroup(b.xre, x.Re, count, width)
		l.loadGroup(b.xim, x.Im, count, width)
	}
	if whole && l.writes() {
		to = vec.Runs[T]{Re: y.Re, Im: y.Im, Step: l.Inner}
	}
	if b = l.runBetween(b, from, to); to.Re == nil {
		l.storeGroup(y.Re, b.xre, count, width)
		l.storeGroup(y.Im, b.xim, count, width)
	}
}

// alone transforms a group without lanes.
func (l *lineGroups[T]) alone(y, x vec.Runs[T], scratch []T) {
	if l.Inner == l.width { // one line, or all lines of a matrix
		l.single(y, x, scratch)
		return
	}
	size := int(unsafe.Sizeof(T(0)))
	b := vec.Runs[T]{Re: scratch[:l.n], Im: scratch[l.n : 2*l.n]}
	gatherElements(unsafe.Pointer(&b.Re[0]), unsafe.Pointer(&x.Re[0]), size, l.Inner*size, l.n)
	gatherElements(unsafe.Pointer(&b.Im[0]), unsafe.Pointer(&x.Im[0]), size, l.Inner*size, l.n)
	l.single(b, b, scratch[2*l.n:])
	l.putColumns(y.Re, b.Re, 1, l.Inner)
	l.putColumns(y.Im, b.Im, 1, l.Inner)
}

// pairsOf views 32-bit numbers as half as many 64-bit ones, so that two interleaved lines move as one.
func pairsOf[T block.Float](x []T) []float64 {
	return block.View[float64](unsafe.Pointer(unsafe.SliceData(x)), len(x)/2)
}

func (l *lineGroups[T]) pairs() bool { return l.width == 2 && l.Inner == 2 && unsafe.Sizeof(T(0)) == 4 }

// loadGroup interleaves the lines of count places.
func (l *lineGroups[T]) loadGroup(dst, src []T, count, width int) {
	size := int(unsafe.Sizeof(T(0)))
	switch {
	case l.Inner == 1:
		loadLines(dst, src[:count*l.n], count, l.n, l.lanes, l.n)
	case l.pairs():
		loadLines(pairsOf(dst), pairsOf(src[:2*count*l.n]), count, l.n, l.lanes/2, l.n)
	default:
		for place := range count {
			from := src[place*l.n*l.Inner:][:(l.n-1)*l.Inner+width]
			moveRows(unsafe.Pointer(&dst[place*width]), unsafe.Pointer(&from[0]), l.n, width*size, l.lanes*size, l.Inner*size)
		}
	}
	l.fill(dst, count*width)
}

// storeGroup is the inverse of loadGroup.
func (l *lineGroups[T]) storeGroup(dst, src []T, count, width int) {
	size := int(unsafe.Sizeof(T(0)))
	switch {
	case l.Inner == 1:
		storeLines(dst, src, count, l.n, l.lanes, l.n)
	case l.pairs():
		storeLines(pairsOf(dst[:2*count*l.n]), pairsOf(src[:cap(src)]), count, l.n, l.lanes/2, l.n)
	default:
		for place := range count {
			to := dst[place*l.n*l.Inner:][:(l.n-1)*l.Inner+width]
			moveRows(unsafe.Pointer(&to[0]), unsafe.Pointer(&src[place*width]), l.n, width*size, l.Inner*size, l.lanes*size)
		}
	}
}
