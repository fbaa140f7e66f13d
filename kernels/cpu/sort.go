package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildSort(b *build) (func(), error) {
	a := b.n.Attrs.(ir.SortAttrs)
	g := lines(b.in(0).Typ.Shape, a.Axis)
	return dispatchSort(b, g, g.Length, keysOf(b.in(0).Typ.DType, a.Descending), a.Kth), nil
}

func buildTopK(b *build) (func(), error) {
	s, k := b.in(0).Typ.Shape, b.n.Attrs.(ir.TopKAttrs).K
	g := lines(s, len(s)-1)
	if k == 1 && g.Length > 1 {
		return topOne(b, g), nil
	}
	return dispatchSort(b, g, k, keysOf(b.in(0).Typ.DType, true), nil), nil
}

// topOne writes the largest element of every line and its position.
func topOne(b *build, g geometry.AxisGroup) func() {
	in, values, positions := b.in(0), b.out(0), b.out(1)
	find := positionsOf(b, in, positions, g, true)
	read := b.rt().parallel(g.Outer, grain(4), func(_ *worker, lo, hi int) {
		at := plan.Data[int32](positions)[lo:hi]
		switch in.Typ.DType.Size() {
		case 1:
			readEach(plan.Data[uint8](values)[lo:hi], plan.Data[uint8](in), at, lo, g.Length)
		case 2:
			readEach(plan.Data[uint16](values)[lo:hi], plan.Data[uint16](in), at, lo, g.Length)
		case 4:
			readEach(plan.Data[uint32](values)[lo:hi], plan.Data[uint32](in), at, lo, g.Length)
		default:
			readEach(plan.Data[uint64](values)[lo:hi], plan.Data[uint64](in), at, lo, g.Length)
		}
	})
	return func() { find(); read() }
}

// readEach reads one element of each line of n elements, from line first on.
func readEach[T any](y, x []T, at []int32, first, n int) {
	for i := range y {
		y[i] = x[(first+i)*n+int(at[i])]
	}
}

func dispatchSort(b *build, g geometry.AxisGroup, k int, keys sortKeys, kth []int) func() {
	size := b.in(0).Typ.DType.Size()
	if sortsByDigits(&keys, g.Length, k, kth) && !sortsByNetwork(g.Outer*g.Inner, g.Length, k, kth) {
		if size == 1 {
			return sortByDigits[uint8](b, g, k, keys)
		}
		return sortByDigits[uint16](b, g, k, keys)
	}
	switch size {
	case 1:
		return sortLines[uint8](b, g, k, keys, kth)
	case 2:
		return sortLines[uint16](b, g, k, keys, kth)
	case 4:
		return sortLines[uint32](b, g, k, keys, kth)
	}
	return sortLines[uint64](b, g, k, keys, kth)
}

// sortLines writes the first k elements of every sorted line and the positions they came from. With kth it writes the
// whole line, in which the elements at these places are as if sorted. T has the size of an element.
func sortLines[T uint8 | uint16 | uint32 | uint64](b *build, g geometry.AxisGroup, k int, keys sortKeys, kth []int) func() {
	in, values, positions := b.in(0), b.out(0), b.out(1)
	n := g.Length
	if n == 1 && k == 1 {
		return func() {
			copyOperand(values, in)
			clear(plan.Data[int32](positions))
		}
	}
	if sortsByNetwork(g.Outer*g.Inner, n, k, kth) {
		return sortByNetwork[T](b, g, k, keys)
	}
	b.rt().need(2 * 8 * n)
	return b.rt().parallel(g.Outer*g.Inner, grain(20*n), func(w *worker, lo, hi int) {
		x, y, at := plan.Data[T](in), plan.Data[T](values), plan.Data[int32](positions)
		buffer := scratchOf[uint64](w, 2*n)
		l := sortedLine{sortKeys: keys, n: n, stride: g.Inner, pairs: buffer[:n], spare: buffer[n:]}
		for line := lo; line < hi; line++ {
			o, c := line/g.Inner, line%g.Inner
			from, to := x[min(o*n*g.Inner+c, len(x)):], o*k*g.Inner+c
			l.x = unsafe.Pointer(unsafe.SliceData(from))
			for i, pair := range l.first(k, kth) {
				j := int32(uint32(pair))
				y[to+i*g.Inner], at[to+i*g.Inner] = from[int(j)*g.Inner], j
			}
		}
	})
}

// sortedLine is a line of elements and the buffers to sort it. Pairs have a key in the upper half and a position in the
// lower half, so that equal elements keep their order. For 64-bit elements, the key is first the upper half of the
// element's key; pairs with equal ones are then ordered by the lower halves.
type sortedLine struct {
	sortKeys
	n, stride    int
	pairs, spare []uint64
}

// first returns the pairs of the first k elements in order. With kth it returns the pairs of all elements, those at kth
// in their places.
func (l *sortedLine) first(k int, kth []int) []uint64 {
	switch {
	case len(kth) > 0 && l.n > fewPairs:
		l.load(l.pairs, 0, l.stride)
		l.partition(kth)
		return l.pairs
	case k == 0 || l.n == 0:
		return nil
	case l.n <= fewSorted: // sorted as a whole
	case k < l.n && k <= fewFirstWide && l.wide():
		return l.insertFirstWide(k)
	case k < l.n && k <= fewFirst:
		return l.insertFirst(k)
	case k <= l.n/2 && l.n >= 2*fewPairs:
		if l.n/k < manyTimes || l.wide() {
			l.load(l.pairs, 0, l.stride)
			l.partition([]int{k - 1})
		} else {
			l.filterFirst(k)
		}
		return l.sort(l.pairs[:k], l.spare[:k])
	}
	l.load(l.pairs, 0, l.stride)
	return l.sort(l.pairs, l.spare)[:k]
}

// sort sorts loaded pairs. The result is in one of the two buffers.
func (l *sortedLine) sort(pairs, spare []uint64) []uint64 {
	sorted := sortPairs(pairs, spare, l.digits())
	if !l.wide() || len(sorted) == 0 {
		return sorted
	}
	if &sorted[0] != &pairs[0] {
		pairs, spare = spare, pairs
	}
	for lo := 0; lo < len(pairs); {
		hi := lo + runOf(pairs[lo:])
		if hi > lo+1 {
			run := pairs[lo:hi]
			l.reload(run, l.stride, true)
			if sorted := sortPairs(run, spare[:len(run)], 4); &sorted[0] != &run[0] {
				copy(run, sorted)
			}
		}
		lo = hi
	}
	return pairs
}

// runOf returns how many of the sorted pairs have the same key as the first.
func runOf(pairs []uint64) int {
	for i, pair := range pairs {
		if pair>>32 != pairs[0]>>32 {
			return i
		}
	}
	return len(pairs)
}
