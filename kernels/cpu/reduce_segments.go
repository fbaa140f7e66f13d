package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

const (
	segmentWork = 1 << 15 // elements of a segment of a long reduction
	manyGroups  = 16      // so many groups are work enough for the workers
)

// segmentsOf returns how many segments a long reduction is cut into. That depends on a single group alone: the sums of
// an example have the same bits whatever other examples there are.
func segmentsOf(g geometry.AxisGroup) int {
	if total := g.Length * g.Inner; total >= 2*segmentWork {
		return min((total+segmentWork-1)/segmentWork, 64, g.Length)
	}
	return 1
}

// reduceSegments combines the segments of each group, and then their results in order. Of few groups the segments are
// shared among the workers, of many the groups.
func reduceSegments[T block.Float](b *build, r reduction[T], g geometry.AxisGroup, segments int, from, to *plan.Operand) func() {
	combine := geometry.AxisGroup{Outer: 1, Length: segments, Inner: g.Inner}
	length, results := g.Length*g.Inner, segments*g.Inner // of a group
	segment := func(w *worker, acc, x []T, s int) {
		first, last := s*g.Length/segments, (s+1)*g.Length/segments
		reduceSegment(w, &r, g, acc[s*g.Inner:(s+1)*g.Inner], x[first*g.Inner:last*g.Inner])
	}
	size := int(unsafe.Sizeof(T(0)))
	if g.Outer >= manyGroups {
		b.rt().need((columnBlock + results) * size)
		return b.rt().parallel(g.Outer, 1, func(w *worker, lo, hi int) {
			x, y := plan.Data[T](from), plan.Data[T](to)
			acc := scratchOf[T](w, columnBlock+results)[columnBlock:] // reduceSegment uses what is in front
			for o := lo; o < hi; o++ {
				for s := range segments {
					segment(w, acc, x[o*length:(o+1)*length], s)
				}
				reduceSegment(w, &r, combine, y[o*g.Inner:(o+1)*g.Inner], acc)
			}
		})
	}
	partial := &plan.Operand{Mem: b.workspace(g.Outer * results * size), N: g.Outer * results}
	each := b.rt().parallel(g.Outer*segments, 1, func(w *worker, lo, hi int) {
		x, y := plan.Data[T](from), plan.Data[T](partial)
		for k := lo; k < hi; k++ {
			o := k / segments
			segment(w, y[o*results:(o+1)*results], x[o*length:(o+1)*length], k%segments)
		}
	})
	return func() {
		each()
		x, y := plan.Data[T](partial), plan.Data[T](to)
		for o := range g.Outer {
			reduceSegment(&b.c.rt.workers[0], &r, combine, y[o*g.Inner:(o+1)*g.Inner], x[o*results:(o+1)*results])
		}
	}
}
