package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
)

// singular computes the singular values and vectors of an upper bidiagonal matrix by divide and conquer, like conquest.
// The parts above and below a middle row are diagonalized. Together with that row they form a diagonal matrix with one
// full row, z. The first part has one more column than rows. Source: Gu and Eisenstat, "A divide-and-conquer algorithm
// for the bidiagonal SVD", 1995.
type singular[T block.Float] struct {
	joining
	left, right               strided[T] // the vectors, as rows
	otherLeft, otherRight     strided[T]
	leftFactors, rightFactors strided[T]
	angles, rightAngles       []T
}

func (q *singular[T]) size() int {
	matrix := inDoubles[T](q.n * paddedColumns(q.n))
	size := q.joining.size() + 4*matrix + 2*inDoubles[T](2*q.n)
	if q.n >= leastConquest {
		size += 2 * matrix
	}
	return size
}

func (q *singular[T]) cut(scratch *[]float64) {
	q.joining.cut(scratch)
	square := func() strided[T] { return cutMatrix[T](scratch, q.n, paddedColumns(q.n)) }
	q.left, q.right, q.otherLeft, q.otherRight = square(), square(), square(), square()
	q.angles, q.rightAngles = scratchSlice[T](scratch, 2*q.n), scratchSlice[T](scratch, 2*q.n)
	if q.n >= leastConquest {
		q.leftFactors, q.rightFactors = square(), square()
	}
	q.squared = true
}

// diagonalize stores the singular vectors as rows, in the order of decreasing singular values.
func (q *singular[T]) diagonalize(p *products[T]) {
	clear(q.left.x)
	clear(q.right.x)
	for i := range q.n {
		q.left.x[i*q.left.stride+i], q.right.x[i*q.right.stride+i] = 1, 1
	}
	q.solve(p, 0, q.n, 0)
	for k := range q.n {
		from := q.order[q.n-1-k]
		q.values[k] = q.d[from]
		copy(q.otherLeft.row(k), q.left.row(int(from)))
		copy(q.otherRight.row(k), q.right.row(int(from)))
	}
	q.left, q.otherLeft, q.right, q.otherRight = q.otherLeft, q.left, q.otherRight, q.right
}

// solve diagonalizes rows lo to hi. more is the number of additional columns, 0 or 1.
func (q *singular[T]) solve(p *products[T], lo, hi, more int) {
	if hi-lo < leastConquest {
		q.rotate(lo, hi, more)
		sortPlaces(q.order[lo:hi], q.d, lo)
		return
	}
	mid := middleOfParts(lo, hi)
	diagonal, beside := q.d[mid-1], q.e[mid-1] // of the row between the parts
	q.solve(p, lo, mid-1, 1)
	q.solve(p, mid, hi, more)
	q.join(p, lo, mid, hi, more, diagonal, beside)
}

// join combines the vectors of the parts above and below row mid-1. Row mid-1 of the right vectors belongs to no
// singular value of the first part. If the second part has an additional column, the same is true of row hi.
func (q *singular[T]) join(p *products[T], lo, mid, hi, more int, diagonal, beside float64) {
	middle, z, most := mid-1, q.z[:hi-lo], max(math.Abs(diagonal), math.Abs(beside))
	for i := lo; i < hi; i++ {
		if q.group[i] = fromFirst; i < mid {
			z[i-lo] = diagonal * float64(q.right.x[i*q.right.stride+mid-1])
		} else {
			q.group[i], z[i-lo] = fromSecond, beside*float64(q.right.x[i*q.right.stride+mid])
		}
		if i != middle {
			most = max(most, math.Abs(q.d[i]))
		}
	}
	q.d[middle] = 0
	if more > 0 {
		q.group[middle] = fromBoth
		x, y := z[middle-lo], beside*float64(q.right.x[hi*q.right.stride+mid])
		if r := math.Hypot(x, y); r > 0 {
			turnPart(q.right.row(middle)[lo:paddedColumns(hi+1)], q.right.row(hi)[lo:paddedColumns(hi+1)], T(x/r), T(y/r))
			z[middle-lo] = r
		}
	}
	q.merge[lo] = int32(middle)
	mergePlaces(q.merge[lo+1:hi], q.order[lo:middle], q.order[mid:hi], q.d)
	if !(most > 0) || math.IsInf(most, 0) {
		copy(q.order[lo:hi], q.merge[lo:hi])
		return
	}
	for i := range z {
		z[i] /= most
		q.d[lo+i] /= most
	}
	kept, square := q.deflate(lo, hi, more), 0.0
	columns := paddedColumns(hi + more)
	counts := q.arrange(lo, hi, kept, func(to, from int) {
		copy(q.otherLeft.row(to)[lo:], q.left.row(from)[lo:columns])
		copy(q.otherRight.row(to)[lo:], q.right.row(from)[lo:columns])
	})
	if kept > 1 {
		q.poles[1] = max(q.poles[1], 4*epsilonOf[T]())
	}
	for _, v := range q.weights[:kept] {
		square += v * v
	}
	by := 1 / math.Sqrt(square)
	for i := range q.weights[:kept] {
		q.weights[i] *= by
	}
	q.find(kept, square)
	q.vectors(kept, func(root int, x []float64, by float64) {
		scatter(q.rightFactors.row(root), x, q.places, by)
		x[0] = -1
		square := 1.0
		for i, pole := range q.poles[1:kept] {
			x[i+1] *= pole
			square += x[i+1] * x[i+1]
		}
		scatter(q.leftFactors.row(root), x, q.places, 1/math.Sqrt(square))
	})
	multiplyRows(p, q.left, q.leftFactors, q.otherLeft, lo, mid, hi, hi, kept, counts)
	multiplyRows(p, q.right, q.rightFactors, q.otherRight, lo, mid, hi, hi+more, kept, counts)
	q.settle(lo, hi, kept, most)
}

// deflate calls joining.deflate with a test for close values. The first vector is that of z alone and always stays.
func (q *singular[T]) deflate(lo, hi, more int) (kept int) {
	order, z, columns := q.merge[lo:hi], q.z[:hi-lo], paddedColumns(hi+more)
	small := 8 * epsilonOf[T]() // the largest value is 1
	if first := &z[int(order[0])-lo]; math.Abs(*first) <= small {
		*first = math.Copysign(small, *first)
	}
	return 1 + q.joining.deflate(order[1:], lo, 1, small, func(first, second int) (float64, bool) {
		if !(math.Abs(q.d[second]-q.d[first]) <= small) {
			return 0, false
		}
		s, c := z[first-lo], z[second-lo]
		tau := math.Hypot(c, s)
		turnPart(q.left.row(first)[lo:columns], q.left.row(second)[lo:columns], T(c/tau), T(-s/tau))
		turnPart(q.right.row(first)[lo:columns], q.right.row(second)[lo:columns], T(c/tau), T(-s/tau))
		return tau, true
	})
}

// rotate diagonalizes a small part. First it rotates the additional column, if any, into the others. Then rotations,
// shifted by estimates of singular values, go from the last row up, as in LAPACK (Demmel and Kahan, "Accurate singular
// values of bidiagonal matrices", 1990).
func (q *singular[T]) rotate(lo, hi, more int) {
	if lo == hi {
		return
	}
	d, e := q.d, q.e
	if more > 0 {
		columns := paddedColumns(hi + 1)
		beside := e[hi-1]
		for i := hi - 1; i >= lo && beside != 0; i-- {
			r := math.Hypot(d[i], beside)
			c, s := d[i]/r, beside/r
			d[i], beside = r, 0
			turnPart(q.right.row(i)[lo:columns], q.right.row(hi)[lo:columns], T(c), T(s))
			if i > lo {
				e[i-1], beside = c*e[i-1], -s*e[i-1]
			}
		}
	}
	size := 0.0
	for i := lo; i < hi; i++ {
		if size = max(size, math.Abs(d[i])); i+1 < hi {
			size = max(size, math.Abs(e[i]))
		}
	}
	small := size * 0x1p-53
	for l := lo; l < hi; l++ {
		for range mostTurns {
			last := l
			for last < hi-1 && !(math.Abs(e[last]) <= small) {
				last++
			}
			if last == l {
				break
			}
			q.turnTo(l, last, lo, hi)
		}
		if d[l] < 0 {
			d[l] = -d[l]
			for i, v := range q.right.row(l) {
				q.right.row(l)[i] = -v
			}
		}
	}
}

// turnTo rotates rows and columns from last up to l.
func (q *singular[T]) turnTo(l, last, lo, hi int) {
	d, e := q.d, q.e
	f, g := d[last], e[last-1]
	if shift := smallestOf(math.Abs(d[l]), math.Abs(e[l]), math.Abs(d[l+1])); math.Abs(d[last]) > 0x1p-60*shift && shift > 0x1p-26*math.Abs(d[last]) {
		f = (math.Abs(d[last]) - shift) * (math.Copysign(1, d[last]) + shift/d[last])
	}
	for i, at := last, 0; i > l; i, at = i-1, at+2 {
		c, s, r := angleOf(f, g)
		if i < last {
			e[i] = r
		}
		q.angles[at], q.angles[at+1] = T(c), T(s)
		f, e[i-1] = c*d[i]+s*e[i-1], c*e[i-1]-s*d[i]
		g, d[i-1] = s*d[i-1], c*d[i-1]
		c, s, d[i] = angleOf(f, g)
		q.rightAngles[at], q.rightAngles[at+1] = T(c), T(s)
		f, d[i-1] = c*e[i-1]+s*d[i-1], c*d[i-1]-s*e[i-1]
		if i > l+1 {
			g, e[i-2] = s*e[i-2], c*e[i-2]
		}
	}
	e[l] = f
	turnChain(q.left, q.angles, l, last, lo, hi)
	turnChain(q.right, q.rightAngles, l, last, lo, hi)
}

// angleOf returns the rotation that maps (f, g) to (r, 0).
func angleOf(f, g float64) (c, s, r float64) {
	if g == 0 {
		return 1, 0, f
	}
	if r = math.Sqrt(f*f + g*g); r < 0x1p-450 || r > 0x1p450 {
		r = math.Hypot(f, g)
	}
	if r == 0 {
		return 1, 0, 0
	}
	return f / r, g / r, r
}

// smallestOf returns the smaller singular value of the triangle f, g, h, none of them negative.
func smallestOf(f, g, h float64) float64 {
	low, high := min(f, h), max(f, h)
	if low == 0 {
		return 0
	}
	if g < high {
		as, at, au := 1+low/high, (high-low)/high, (g/high)*(g/high)
		return low * (2 / (math.Sqrt(as*as+au) + math.Sqrt(at*at+au)))
	}
	au := high / g
	if au == 0 {
		return low * high / g
	}
	as, at := 1+low/high, (high-low)/high
	c := 1 / (math.Sqrt(1+(as*au)*(as*au)) + math.Sqrt(1+(at*au)*(at*au)))
	return 2 * low * c * au
}
