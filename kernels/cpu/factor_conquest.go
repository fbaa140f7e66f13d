package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
)

// conquest computes the eigenvalues and eigenvectors of a symmetric tridiagonal matrix. Without the element that
// connects them, the two halves of the matrix are solved separately. In their eigenvectors, the whole matrix is a
// diagonal matrix plus a multiple of z·zᵀ, whose eigenvalues are the roots of an equation (see roots). Sources: Cuppen,
// "A divide and conquer method for the symmetric tridiagonal eigenproblem", 1981; Gu and Eisenstat, "A
// divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem", 1995. The latter makes the vectors
// orthogonal: they are computed from a z for which the computed roots are exact.
type conquest[T block.Float] struct {
	joining
	rows, other strided[T] // the eigenvectors, and as much memory again
	factors     strided[T] // by which these are multiplied
	angles      []T
}

func (q *conquest[T]) size() int {
	matrix := inDoubles[T](q.n * paddedColumns(q.n))
	size := q.joining.size() + 2*matrix + inDoubles[T](2*q.n)
	if q.n >= leastConquest {
		size += matrix
	}
	return size
}

func (q *conquest[T]) cut(scratch *[]float64) {
	q.joining.cut(scratch)
	s := paddedColumns(q.n)
	q.rows, q.other = cutMatrix[T](scratch, q.n, s), cutMatrix[T](scratch, q.n, s)
	q.angles = scratchSlice[T](scratch, 2*q.n)
	if q.n >= leastConquest {
		q.factors = cutMatrix[T](scratch, q.n, s)
	}
}

// diagonalize stores the eigenvectors of the tridiagonal matrix as rows, in the order of their eigenvalues.
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

// solve diagonalizes rows lo to hi.
func (q *conquest[T]) solve(p *products[T], lo, hi int) {
	if hi-lo < leastConquest {
		q.rotate(lo, hi)
		sortPlaces(q.order[lo:hi], q.d, lo)
		return
	}
	mid := middleOfParts(lo, hi)
	beside := q.e[mid-1]
	q.d[mid-1] -= math.Abs(beside)
	q.d[mid] -= math.Abs(beside)
	q.solve(p, lo, mid)
	q.solve(p, mid, hi)
	q.join(p, lo, mid, hi, beside)
}

// join combines the eigenvectors of two parts into those of both. beside is the element that connects them.
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
		sortByPlaces(q.merge[lo:hi], q.d)
		copy(q.order[lo:hi], q.merge[lo:hi])
		return
	}
	counts := q.arrange(lo, hi, kept, func(to, from int) { copy(q.other.row(to)[lo:], q.rows.row(from)[lo:paddedColumns(hi)]) })
	q.find(kept, rho)
	q.vectors(kept, func(root int, x []float64, by float64) { scatter(q.factors.row(root), x, q.places, by) })
	multiplyRows(p, q.rows, q.factors, q.other, lo, mid, hi, hi, kept, counts)
	q.settle(lo, hi, kept, 1)
}

// deflate calls joining.deflate. Two eigenvectors count as close if rotating them leaves next to nothing off the
// diagonal.
func (q *conquest[T]) deflate(lo, hi int, rho float64) (kept int) {
	z, most, mostZ := q.z[:hi-lo], 0.0, 0.0
	for i := lo; i < hi; i++ {
		most, mostZ = max(most, math.Abs(q.d[i])), max(mostZ, math.Abs(z[i-lo]))
	}
	small := 8 * epsilonOf[T]() * max(most, mostZ)
	return q.joining.deflate(q.merge[lo:hi], lo, rho, small, func(first, second int) (float64, bool) {
		s, c := z[first-lo], z[second-lo]
		tau, apart := math.Hypot(c, s), q.d[second]-q.d[first]
		c, s = c/tau, -s/tau
		if !(math.Abs(apart*c*s) <= small) {
			return 0, false
		}
		turnPart(q.rows.row(first)[lo:], q.rows.row(second)[lo:], T(c), T(s))
		a, b := q.d[first], q.d[second]
		q.d[first], q.d[second] = a*c*c+b*s*s, a*s*s+b*c*c
		return tau, true
	})
}
