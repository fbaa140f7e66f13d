package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
)

// joining is what methods share that diagonalize the parts of a matrix and join them (see conquest and singular): the
// values that are found, and which vectors the joining of two parts changes. Vectors are rows, and turning or copying
// them is left to those who have them.
type joining struct {
	n            int
	d, e         []float64 // the diagonal, and what is beside it
	values       []float64 // those found, in order
	order, merge []int32   // d[order[k]] rises within a part that is done
	group        []uint8   // of a row: see the constants
	roots
}

// Rows that are joined have numbers in the columns of the first part, of both or of the second one.
const (
	fromFirst = iota
	fromBoth
	fromSecond
	finished
)

// leastConquest is the number of rows from which on a matrix is halved.
const leastConquest = 56

func (q *joining) size() int {
	size := 5 * inDoubles[float64](q.n)
	if q.n >= leastConquest {
		size += q.roots.size(q.n)
	}
	return size
}

func (q *joining) cut(scratch *[]float64) {
	q.d, q.e, q.values = cutOf[float64](scratch, q.n), cutOf[float64](scratch, q.n), cutOf[float64](scratch, q.n)
	places := cutOf[float64](scratch, q.n)
	q.order = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), q.n)
	q.merge = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), 2*q.n)[q.n:]
	q.group = block.View[uint8](unsafe.Pointer(unsafe.SliceData(cutOf[float64](scratch, q.n))), q.n)
	if q.n >= leastConquest {
		q.roots.cut(scratch, q.n)
	}
}

// middleOfParts is where the second part of rows lo to hi begins: with a whole block.
func middleOfParts(lo, hi int) int {
	return lo + max(((hi-lo)/2+smallestBlock/2)/smallestBlock*smallestBlock, smallestBlock)
}

// deflate finds vectors that stay, of those in the order given: those with hardly anything in z, multiplied by rho, and
// of two one where turn finds their values close: then it turned them so that the first one has nothing in z, and
// returns what the other one has. It returns how many others there are, which come first in order.
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

// arrange has rows copied by their groups, and those that stay behind them, and returns how many there are of each. The
// poles of the equation are in order, and places says where their rows are.
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

// settle takes the roots for values, all of which it multiplies, and puts them in order with those that stayed.
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

// sortPlaces sorts places from first on by the numbers there.
func sortPlaces(order []int32, x []float64, first int) {
	for k := range order {
		order[k] = int32(first + k)
	}
	sortByPlaces(order, x)
}

// sortByPlaces sorts places by the numbers there.
func sortByPlaces(order []int32, x []float64) {
	for k, place := range order {
		at := k
		for ; at > 0 && x[order[at-1]] > x[place]; at-- {
			order[at] = order[at-1]
		}
		order[at] = place
	}
}

// mergePlaces merges places that are sorted by the numbers there.
func mergePlaces(to, a, b []int32, x []float64) {
	for k := range to {
		if len(b) == 0 || len(a) > 0 && !(x[b[0]] < x[a[0]]) {
			to[k], a = a[0], a[1:]
		} else {
			to[k], b = b[0], b[1:]
		}
	}
}

// multiplyRows makes rows lo to lo+kept products of what is arranged, and brings back what stays. A group of rows has
// numbers in the columns up to mid, in those from there on, or in both.
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

// scatter brings numbers, multiplied, to their places.
func scatter[T block.Float](row []T, x []float64, places []int32, by float64) {
	places = places[:len(x)]
	for i, v := range x {
		row[places[i]] = T(v * by)
	}
}

// turnPart makes c·x + s·y of x and c·y - s·x of y.
func turnPart[T block.Float](x, y []T, c, s T) {
	y = y[:len(x)]
	for i, v := range x {
		w := y[i]
		x[i], y[i] = c*v+s*w, c*w-s*v
	}
}

// epsilonOf is the distance from 1 to the next number, halved.
func epsilonOf[T block.Float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}
