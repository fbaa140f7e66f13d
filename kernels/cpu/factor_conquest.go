package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
)

// conquest finds the eigenvalues and eigenvectors of a symmetric tridiagonal matrix: those of its halves, without what
// connects them, are those of a diagonal matrix with a multiple of z·zᵀ added, whose eigenvalues are the roots of an
// equation (see rootsBetween). Sources: Cuppen, "A divide and conquer method for the symmetric tridiagonal
// eigenproblem", 1981; Gu and Eisenstat, "A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem",
// 1995, which makes the vectors orthogonal: they belong to a z for which the computed roots are exact.
type conquest[T block.Float] struct {
	n           int
	rows, other strided[T] // the eigenvectors, and memory for as many
	factors     strided[T] // of the products of them
	d, e        []float64  // the diagonal, and what is beside it
	values      []float64  // eigenvalues in order
	order       []int32    // d[order[k]] rises within a part that is done
	merge       []int32
	group       []uint8 // of a row: see the constants
	angles      []T
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

func newConquest[T block.Float](n int) conquest[T] {
	return conquest[T]{n: n}
}

func (q *conquest[T]) size() int {
	s, n := paddedColumns(q.n), inDoubles[float64](q.n)
	size := 2*inDoubles[T](q.n*s) + 4*n + n + inDoubles[T](2*q.n)
	if q.n >= leastConquest {
		size += inDoubles[T](q.n*s) + q.roots.size(q.n)
	}
	return size
}

func (q *conquest[T]) cut(scratch *[]float64) {
	s := paddedColumns(q.n)
	q.rows, q.other = strided[T]{cutOf[T](scratch, q.n*s), s}, strided[T]{cutOf[T](scratch, q.n*s), s}
	q.d, q.e, q.values = cutOf[float64](scratch, q.n), cutOf[float64](scratch, q.n), cutOf[float64](scratch, q.n)
	places := cutOf[float64](scratch, q.n)
	q.order = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), q.n)
	q.merge = block.View[int32](unsafe.Pointer(unsafe.SliceData(places)), 2*q.n)[q.n:]
	places = cutOf[float64](scratch, q.n)
	q.group = block.View[uint8](unsafe.Pointer(unsafe.SliceData(places)), q.n)
	q.angles = cutOf[T](scratch, 2*q.n)
	if q.n >= leastConquest {
		q.factors = strided[T]{cutOf[T](scratch, q.n*s), s}
		q.roots.cut(scratch, q.n)
	}
}

// diagonalize makes rows of the eigenvectors of the tridiagonal matrix, in the order of their eigenvalues.
func (q *conquest[T]) diagonalize(p *products[T]) {
	clear(q.rows.x)
	for i := range q.n {
		q.rows.x[i*q.rows.stride+i] = 1
	}
	q.solve(p, 0, q.n)
	for k, from := range q.order {
		q.values[k] = q.d[from]
		copy(q.other.row(k), q.rows.row(int(from)))
	}
	q.rows, q.other = q.other, q.rows
}

// solve works on rows lo to hi.
func (q *conquest[T]) solve(p *products[T], lo, hi int) {
	if hi-lo < leastConquest {
		q.rotate(lo, hi)
		sortPlaces(q.order[lo:hi], q.d, lo)
		return
	}
	mid := lo + max(((hi-lo)/2+smallestBlock/2)/smallestBlock*smallestBlock, smallestBlock) // parts begin with whole blocks
	beside := q.e[mid-1]
	q.d[mid-1] -= math.Abs(beside)
	q.d[mid] -= math.Abs(beside)
	q.solve(p, lo, mid)
	q.solve(p, mid, hi)
	q.join(p, lo, mid, hi, beside)
}

// sortPlaces sorts places from first on by the numbers there.
func sortPlaces(order []int32, x []float64, first int) {
	for k := range order {
		v, at := x[first+k], k
		for ; at > 0 && x[order[at-1]] > v; at-- {
			order[at] = order[at-1]
		}
		order[at] = int32(first + k)
	}
}

// join makes the eigenvectors of two parts those of both, which a number connects.
func (q *conquest[T]) join(p *products[T], lo, mid, hi int, beside float64) {
	z, square := q.z[:hi-lo], 0.0
	for i := lo; i < hi; i++ {
		v, group := 0.0, uint8(fromFirst)
		if i < mid {
			v = float64(q.rows.x[i*q.rows.stride+mid-1])
		} else if v, group = float64(q.rows.x[i*q.rows.stride+mid]), fromSecond; beside < 0 {
			v = -v
		}
		z[i-lo], q.group[i] = v, group
		square += v * v
	}
	by := 1 / math.Sqrt(square)
	for i := range z {
		z[i] *= by
	}
	rho := math.Abs(beside) * square
	mergePlaces(q.merge[lo:hi], q.order[lo:mid], q.order[mid:hi], q.d)
	kept := q.deflate(lo, hi, rho)
	if kept == 0 {
		copy(q.order[lo:hi], q.merge[lo:hi])
		return
	}
	counts := q.arrange(lo, hi, kept)
	q.find(kept, rho)
	q.vectors(kept, func(root int, x []float64, by float64) { scatter(q.factors.row(root), x, q.places, by) })
	multiplyRows(p, q.rows, q.factors, q.other, lo, mid, hi, hi, kept, counts)
	copy(q.d[lo:], q.found[:kept])
	for i := range kept {
		q.merge[lo+i] = int32(lo + i)
	}
	sortPlaces(q.merge[lo+kept:hi], q.d, lo+kept)
	mergePlaces(q.order[lo:hi], q.merge[lo:lo+kept], q.merge[lo+kept:hi], q.d)
}

// scatter brings numbers, multiplied, to their places.
func scatter[T block.Float](row []T, x []float64, places []int32, by float64) {
	places = places[:len(x)]
	for i, v := range x {
		row[places[i]] = T(v * by)
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

// deflate finds eigenvectors that stay: those with hardly anything in z, and of two with close eigenvalues one, once
// they are turned so that it has nothing there. It returns how many others there are, which come first in merge.
func (q *conquest[T]) deflate(lo, hi int, rho float64) (kept int) {
	order, z, most, mostZ := q.merge[lo:hi], q.z[:hi-lo], 0.0, 0.0
	for i := lo; i < hi; i++ {
		most, mostZ = max(most, math.Abs(q.d[i])), max(mostZ, math.Abs(z[i-lo]))
	}
	small := 8 * epsilonOf[T]() * max(most, mostZ)
	pending, done := -1, 0
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
			s, c := z[pending-lo], z[i-lo]
			tau, apart := math.Hypot(c, s), q.d[i]-q.d[pending]
			c, s = c/tau, -s/tau
			if math.Abs(apart*c*s) <= small {
				z[i-lo], z[pending-lo] = tau, 0
				if q.group[i] != q.group[pending] {
					q.group[i] = fromBoth
				}
				turnPart(q.rows.row(pending)[lo:], q.rows.row(i)[lo:], T(c), T(s))
				a, b := q.d[pending], q.d[i]
				q.d[pending], q.d[i] = a*c*c+b*s*s, a*s*s+b*c*c
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
	if copy(order[kept:], q.left[:done]); kept == 0 {
		sortByPlaces(order, q.d)
	}
	return kept
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

// arrange copies rows by their groups, and those that stay behind them, and returns how many there are of each. The
// poles of the equation are in order, and places says where their rows are.
func (q *conquest[T]) arrange(lo, hi, kept int) (counts [4]int) {
	order := q.merge[lo:hi]
	for _, i := range order {
		counts[q.group[i]]++
	}
	next := [4]int{0, counts[0], counts[0] + counts[1], kept}
	for k, i := range order {
		group := q.group[i]
		at := next[group]
		next[group]++
		copy(q.other.row(lo + at)[lo:], q.rows.row(int(i))[lo:paddedColumns(hi)])
		if k < kept {
			q.poles[k], q.weights[k], q.places[k] = q.d[i], q.z[int(i)-lo], int32(at)
		} else {
			q.found[at] = q.d[i]
		}
	}
	copy(q.d[lo+kept:hi], q.found[kept:hi-lo])
	return counts
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

// epsilonOf is the distance from 1 to the next number, halved.
func epsilonOf[T block.Float]() float64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}
