package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
)

// joining is common to the methods that diagonalize the parts of a matrix and then join them (see conquest and
// singular). It holds the values found, and which vectors change when two parts are joined. Vectors are rows; its users
// rotate and copy them.
type joining struct {
	n            int
	d, e         []float64 // the diagonal, and the elements beside it
	values       []float64 // the values found, in order
	order, merge []int32   // d[order[k]] increases within a finished part
	group        []uint8   // of a row: see the constants
	roots
}

// When two parts are joined, a row has nonzero columns in the first part, in both, or in the second.
const (
	fromFirst = iota
	fromBoth
	fromSecond
	finished
)

// leastConquest is the smallest number of rows for which a matrix is halved.
const leastConquest = 56

func (q *joining) size() int {
	size := 5 * inDoubles[float64](q.n)
	if q.n >= leastConquest {
		size += q.roots.size(q.n)
	}
	return size
}

func (q *joining) cut(scratch *[]float64) {
	q.d, q.e, q.values = scratchSlice[float64](scratch, q.n), scratchSlice[float64](scratch, q.n), scratchSlice[float64](scratch, q.n)
	places := scratchSlice[float64](scratch, q.n)
	q.order = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), q.n)
	q.merge = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), 2*q.n)[q.n:]
	q.group = block.View[uint8](unsafe.Pointer(unsafe.SliceData(scratchSlice[float64](scratch, q.n))), q.n)
	if q.n >= leastConquest {
		q.roots.cut(scratch, q.n)
	}
}

// middleOfParts returns the first row of the second part of rows lo to hi. It is a multiple of a block.
func middleOfParts(lo, hi int) int {
	return lo + max(((hi-lo)/2+smallestBlock/2)/smallestBlock*smallestBlock, smallestBlock)
}

// deflate finds the vectors, in the given order, that do not change. These are the vectors whose element of z times rho
// is at most small. For two vectors with close values, turn rotates them so that the first has a zero in z, and it does
// not change either; turn returns the element of the second. deflate returns the number of all other vectors, and moves
// them to the front of order.
func (q *joining) deflate(order []int32, lo int, rho, small float64, turn func(first, second int) (z float64, turned bool)) (kept int) {
	z, pending, done := q.z, -1, 0
	finish := func(i int) {
		q.group[i], q.left[done] = finished, int32(i)
		done++
	}
	for _, at := range order {
		i := int(at)
		if !(rho*math.Abs(z[i-lo]) > small) {
			finish(i)
			continue
		}
		if pending >= 0 {
			if tau, turned := turn(pending, i); turned {
				z[i-lo], z[pending-lo] = tau, 0
				if q.group[i] != q.group[pending] {
					q.group[i] = fromBoth
				}
				finish(pending)
				pending = i
				continue
			}
			order[kept] = int32(pending)
			kept++
		}
		pending = i
	}
	if pending >= 0 {
		order[kept] = int32(pending)
		kept++
	}
	copy(order[kept:], q.left[:done])
	return kept
}

// arrange copies rows sorted by group, with the unchanged ones at the end, and returns how many there are of each. The
// poles of the equation are in increasing order, and places holds the positions of their rows.
func (q *joining) arrange(lo, hi, kept int, row func(to, from int)) (counts [4]int) {
	order := q.merge[lo:hi]
	for _, i := range order {
		counts[q.group[i]]++
	}
	next := [4]int{0, counts[0], counts[0] + counts[1], kept}
	for k, i := range order {
		group := q.group[i]
		at := next[group]
		next[group]++
		if row(lo+at, int(i)); k < kept {
			q.poles[k], q.weights[k], q.places[k] = q.d[i], q.z[int(i)-lo], int32(at)
		} else {
			q.found[at] = q.d[i]
		}
	}
	copy(q.d[lo+kept:hi], q.found[kept:hi-lo])
	return counts
}

// settle stores the roots as values, multiplies all values by the given number, and merges them with the unchanged ones
// in order.
func (q *joining) settle(lo, hi, kept int, by float64) {
	copy(q.d[lo:], q.found[:kept])
	for i := lo; i < hi; i++ {
		q.d[i] *= by
	}
	for i := range kept {
		q.merge[lo+i] = int32(lo + i)
	}
	sortPlaces(q.merge[lo+kept:hi], q.d, lo+kept)
	mergePlaces(q.order[lo:hi], q.merge[lo:lo+kept], q.merge[lo+kept:hi], q.d)
}

// sortPlaces sets order to first, first+1, ..., sorted by the numbers at these indices.
func sortPlaces(order []int32, x []float64, first int) {
	for k := range order {
		order[k] = int32(first + k)
	}
	sortByPlaces(order, x)
}

// sortByPlaces sorts indices by the numbers there.
func sortByPlaces(order []int32, x []float64) {
	for k, place := range order {
		at := k
		for ; at > 0 && x[order[at-1]] > x[place]; at-- {
			order[at] = order[at-1]
		}
		order[at] = place
	}
}

// mergePlaces merges two lists of indices that are sorted by the numbers there.
func mergePlaces(to, a, b []int32, x []float64) {
	for k := range to {
		if len(b) == 0 || len(a) > 0 && !(x[b[0]] < x[a[0]]) {
			to[k], a = a[0], a[1:]
		} else {
			to[k], b = b[0], b[1:]
		}
	}
}

// multiplyRows sets rows lo to lo+kept to products of factors and the arranged rows, and copies back the unchanged
// ones. Depending on their group, rows have nonzero columns before mid, from mid on, or in both.
func multiplyRows[T block.Float](p *products[T], rows, factors, other strided[T], lo, mid, hi, columns, kept int, counts [4]int) {
	end := paddedColumns(columns)
	for i := lo; i < lo+kept; i++ {
		clear(rows.row(i)[lo:end])
	}
	for i := lo + kept; i < hi; i++ {
		copy(rows.row(i)[lo:end], other.row(i)[lo:end])
	}
	skip := counts[fromFirst]
	p.add(rows.from(lo, lo), factors, other.from(lo, lo), kept, skip+counts[fromBoth], mid-lo)
	p.add(rows.from(lo, mid), factors.from(0, skip), other.from(lo+skip, mid), kept, kept-skip, end-mid)
}

// scatter multiplies numbers and stores them at the given places.
func scatter[T block.Float](row []T, x []float64, places []int32, by float64) {
	places = places[:len(x)]
	for i, v := range x {
		row[places[i]] = T(v * by)
	}
}

// turnPart replaces x by c·x + s·y, and y by c·y - s·x.
func turnPart[T block.Float](x, y []T, c, s T) {
	y = y[:len(x)]
	for i, v := range x {
		w := y[i]
		x[i], y[i] = c*v+s*w, c*w-s*v
	}
}

// epsilonOf returns half the distance from 1 to the next larger number.
func epsilonOf[T block.Float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}
