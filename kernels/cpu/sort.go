package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildSort(b *build) (func(), error) {
	a := b.n.Attrs.(ir.SortAttrs)
	g := lines(b.in(0).Typ.Shape, a.Axis)
	return dispatchSort(b, g, g.Length, a.Descending), nil
}

func buildTopK(b *build) (func(), error) {
	s := b.in(0).Typ.Shape
	return dispatchSort(b, lines(s, len(s)-1), b.n.Attrs.(ir.TopKAttrs).K, true), nil
}

func dispatchSort(b *build, g geometry.AxisGroup, k int, descending bool) func() {
	switch b.in(0).Typ.DType {
	case ir.Float32:
		return sortLines[float32](b, g, k, descending)
	case ir.Float64:
		return sortLines[float64](b, g, k, descending)
	case ir.Bool, ir.Uint8:
		return sortLines[uint8](b, g, k, descending)
	case ir.Int8:
		return sortLines[int8](b, g, k, descending)
	case ir.Int16:
		return sortLines[int16](b, g, k, descending)
	case ir.Int32:
		return sortLines[int32](b, g, k, descending)
	case ir.Int64:
		return sortLines[int64](b, g, k, descending)
	case ir.Uint16:
		return sortLines[uint16](b, g, k, descending)
	case ir.Uint32:
		return sortLines[uint32](b, g, k, descending)
	}
	return sortLines[uint64](b, g, k, descending)
}

// before reports whether x comes strictly before y. NaN is greater than everything else.
func before[T block.Number](x, y T, descending bool) bool {
	if descending {
		x, y = y, x
	}
	return x < y || x == x && y != y
}

// sortLines writes the first k elements of every sorted line and the positions they came from.
func sortLines[T block.Number](b *build, g geometry.AxisGroup, k int, descending bool) func() {
	in, values, positions := b.in(0), b.out(0), b.out(1)
	n := g.Length
	radix := n >= radixLength && unsafe.Sizeof(T(0)) <= 4
	if radix {
		b.rt().need(2 * 8 * n)
	} else {
		b.rt().need(2 * 4 * n)
	}
	return b.rt().parallel(g.Outer*g.Inner, grain(20*n), func(w *worker, lo, hi int) {
		x, y, at := plan.Data[T](in), plan.Data[T](values), plan.Data[int32](positions)
		order := scratchOf[int32](w, 2*n)
		for line := lo; line < hi; line++ {
			o, c := line/g.Inner, line%g.Inner
			l := lineOf[T]{x: x[min(o*n*g.Inner+c, len(x)):], stride: g.Inner, descending: descending}
			to := o*k*g.Inner + c
			var sorted []int32
			switch {
			case k < n && k <= 16:
				sorted = l.selectFirst(order[:k], n)
			case radix:
				l.store(l.radixSort(scratchOf[uint64](w, 2*n)), y[to:], at[to:], k, g.Inner)
				continue
			default:
				sorted = l.sort(order[:n], order[n:])
			}
			for i := range k {
				y[to+i*g.Inner], at[to+i*g.Inner] = l.at(sorted[i]), sorted[i]
			}
		}
	})
}

// lineOf is one line of elements.
type lineOf[T block.Number] struct {
	x          []T
	stride     int
	descending bool
}

func (l *lineOf[T]) at(i int32) T { return l.x[int(i)*l.stride] }

// sort returns the positions in stable order, in one of the two buffers: a merge sort from runs of one element up.
func (l *lineOf[T]) sort(a, b []int32) []int32 {
	n := len(a)
	for i := range a {
		a[i] = int32(i)
	}
	for width := 1; width < n; width *= 2 {
		for lo := 0; lo < n; lo += 2 * width {
			mid, hi := min(lo+width, n), min(lo+2*width, n)
			l.merge(b[lo:hi], a[lo:mid], a[mid:hi])
		}
		a, b = b, a
	}
	return a
}

func (l *lineOf[T]) merge(dst, a, b []int32) {
	for i := range dst {
		if len(a) == 0 || len(b) > 0 && before(l.at(b[0]), l.at(a[0]), l.descending) {
			dst[i], b = b[0], b[1:]
		} else {
			dst[i], a = a[0], a[1:]
		}
	}
}

// selectFirst returns the positions of the first len(best) of n elements in stable order by insertion.
func (l *lineOf[T]) selectFirst(best []int32, n int) []int32 {
	have := 0
	for i := range int32(n) {
		v := l.at(i)
		if have == len(best) && (have == 0 || !before(v, l.at(best[have-1]), l.descending)) {
			continue
		}
		have = min(have+1, len(best))
		k := have - 1
		for ; k > 0 && before(v, l.at(best[k-1]), l.descending); k-- {
			best[k] = best[k-1]
		}
		best[k] = i
	}
	return best
}
