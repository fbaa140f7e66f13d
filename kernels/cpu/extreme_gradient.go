package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The elements that are equal to a maximum or minimum share its gradient. They are counted, and their gradients are
// written while the rows are still in the cache.

const (
	hitsWide  = 128     // elements of short rows that are compared at once
	manyWork  = 1 << 13 // elements of the rows of a result that stay in the first-level cache between two looks at them
	mostCells = 64      // rows of such a result
)

// extremeGradient is such a gradient. Each result has length rows of inner elements.
type extremeGradient struct {
	geometry.AxisGroup
	x, y, dy, dx *plan.Operand
	segments     int
	cells        []int         // the distances of the rows of a result, if all are computed in one call
	shares       *plan.Operand // counts for each segment of each result; later the shares, in the first segment
}

func buildExtremeGradient(b *build) func() {
	e := &extremeGradient{x: &b.Operands[b.u.Fused.Upstream], y: &b.Operands[b.u.Fused.Addend], dy: b.in(0), dx: &b.Operands[b.u.Fused.Result]}
	sum := b.Node(b.n.Inputs[1])
	e.AxisGroup = geometry.AxisGroups(e.x.Typ.Shape, sum.Attrs.(ir.ReduceAttrs).Axes)[0]
	e.segments = segmentsOf(e.AxisGroup)
	e.shares = b.scratch(ir.Float32, e.Outer*e.segments*e.Inner)
	if e.segments == 1 && e.Length <= mostCells && e.Length*e.Inner <= manyWork {
		for i := range e.Length {
			e.cells = append(e.cells, i*e.Inner)
		}
	}
	compare := func(write bool) func() {
		return b.rt().parallel(e.Outer*e.segments, grain(4*e.Length*e.Inner/e.segments), func(_ *worker, lo, hi int) {
			for k := lo + e.many(lo, hi, write); k < hi; k++ {
				e.compare(k, write)
				if e.segments == 1 {
					e.share(k)
					e.compare(k, true)
				}
			}
		})
	}
	count, write := compare(false), compare(true)
	if e.segments == 1 {
		return count
	}
	return func() {
		count()
		for o := range e.Outer {
			e.share(o)
		}
		write()
	}
}

// many computes the gradients of results that have a few rows, in one call, and returns of how many.
func (e *extremeGradient) many(lo, hi int, write bool) int {
	if write || e.cells == nil {
		return 0
	}
	return vec.WindowsShare(e.rows(e.dx, lo, hi), e.rows(e.x, lo, hi), e.results(e.y, lo, hi), e.results(e.dy, lo, hi), e.cells, hi-lo, e.Inner)
}

// rows and results return what belongs to the results from lo to below hi.
func (e *extremeGradient) rows(of *plan.Operand, lo, hi int) []float32 {
	return plan.Data[float32](of)[lo*e.Length*e.Inner : hi*e.Length*e.Inner]
}

func (e *extremeGradient) results(of *plan.Operand, lo, hi int) []float32 {
	return plan.Data[float32](of)[lo*e.Inner : hi*e.Inner]
}

// part returns the rows of part k of x or dx.
//
//go:noinline
func (e *extremeGradient) part(of *plan.Operand, k int) []float32 {
	o, s := k/e.segments, k%e.segments
	first, last := o*e.Length+s*e.Length/e.segments, o*e.Length+(s+1)*e.Length/e.segments
	return plan.Data[float32](of)[first*e.Inner : last*e.Inner]
}

// row returns the elements of result o.
//
//go:noinline
func (e *extremeGradient) row(of *plan.Operand, o int) []float32 {
	return plan.Data[float32](of)[o*e.Inner : (o+1)*e.Inner]
}

// compare counts the elements of part k that equal their result, or writes their gradients.
func (e *extremeGradient) compare(k int, write bool) {
	o := k / e.segments
	x, top, numbers := e.part(e.x, k), e.row(e.y, o), e.row(e.shares, k)
	var dx []float32
	if write {
		dx, numbers = e.part(e.dx, k), e.row(e.shares, o*e.segments)
	} else {
		clear(numbers)
	}
	var tops, more [hitsWide]float32
	all := numbers
	if len(top) < hitsWide/2 { // several rows form one
		top, all = repeatedRow(tops[:], top, len(x)), more[:]
		if write {
			repeatedRow(more[:], numbers, len(x))
		}
	}
	for len(x) > 0 { // the rest of whole rows is a shorter one
		n := min(len(x), len(top))
		rows := len(x) / n
		if write {
			vec.HitsShare(dx, x, top[:n], all, rows, n)
			dx = dx[rows*n:]
		} else {
			vec.HitsCount(all, x, top[:n], rows, n)
		}
		x = x[rows*n:]
	}
	for i := 0; !write && len(numbers) < hitsWide/2 && i < len(top); i++ {
		numbers[i%len(numbers)] += more[i]
	}
}

// share divides the gradients of result o by the number of elements that share them.
func (e *extremeGradient) share(o int) {
	shares := e.row(e.shares, o*e.segments)
	for s := 1; s < e.segments; s++ {
		vec.Add(shares, shares, e.row(e.shares, o*e.segments+s))
	}
	vec.Div(shares, e.row(e.dy, o), shares)
}

// repeatedRow fills dst with as many copies of a short row as fit into n elements.
func repeatedRow(dst, row []float32, n int) []float32 {
	dst = dst[:min(len(dst), n)/len(row)*len(row)]
	for done := copy(dst, row); done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
	return dst
}
