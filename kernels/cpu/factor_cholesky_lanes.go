package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// mostCholeskyLanes is the largest number of rows for which vec.Lanes matrices are factored side by side. Larger ones
// do not fit into the caches.
const mostCholeskyLanes = 32

// rowsOfOuter is how many rows one call updates. In all rows but the first, it also updates elements to the left of the
// diagonal, which are not needed.
const rowsOfOuter = 4

// inCholeskyLanes reports whether the matrices are small enough, and fill at least half of the lanes.
func inCholeskyLanes(b *build) bool {
	s := b.in(0).Typ.Shape
	n := s[len(s)-1]
	return n > 0 && n <= mostCholeskyLanes && s[:len(s)-2].Size() >= vec.Lanes/2 && byCholeskyLanes.Taken()
}

// choleskyLanes factors vec.Lanes matrices side by side, in float64, like choleskyWork.
func choleskyLanes(b *build) func() {
	in, out := b.in(0), b.out(0)
	_, n := matrixLengths(in)
	matrices := in.Typ.Shape[:len(in.Typ.Shape)-2].Size()
	groups, elements := (matrices+vec.Lanes-1)/vec.Lanes, vec.Lanes*n*n
	direct := in.Typ.DType == ir.Float64
	size := 2*elements + vec.Lanes*n
	b.rt().need(size * 8)
	return b.rt().parallel(groups, grain(vec.Lanes*(n*n*n/8+n)), func(w *worker, lo, hi int) {
		scratch := scratchOf[float64](w, size)
		a, x, negative := cut(&scratch, elements), cut(&scratch, elements), cut(&scratch, vec.Lanes*n)
		for g := lo; g < hi; g++ {
			first := g * vec.Lanes
			count := min(vec.Lanes, matrices-first)
			to := x[:count*n*n]
			toLanes(a, numbersAt(to, in, first*n*n), n*n, count)
			if direct {
				to = plan.Data[float64](out)[first*n*n:][:count*n*n]
			}
			factorLanes(a, negative, n)
			micro.Transpose(to, a, n*n, count, n*n, vec.Lanes)
			if !direct {
				writeDoubles(out, first*n*n, to)
			}
		}
	})
}

// factorLanes works on the upper triangle, whose rows are contiguous. It leaves the lower triangle, with zeros above
// it. negative is memory for a row; its last element also holds factors.
func factorLanes(a, negative []float64, n int) {
	const lanes = vec.Lanes
	by := negative[(n-1)*lanes:]
	for l := range by {
		by[l] = 0.5
	}
	for k := range n - 1 { // the mean of the matrix and its transpose
		row := a[(k*n+k+1)*lanes : (k+1)*n*lanes]
		vec.Scale(row, row, 0.5)
		vec.AddOuter(row, a[((k+1)*n+k)*lanes:], by, n-k-1, 1, lanes, n*lanes)
	}
	for k := range n {
		root, row := a[(k*n+k)*lanes:][:lanes], a[(k*n+k+1)*lanes:(k+1)*n*lanes]
		for l, v := range root {
			root[l] = math.Sqrt(v)
			by[l] = -1 / root[l]
		}
		if k == n-1 {
			break
		}
		rest := negative[:len(row)]
		clear(rest)
		vec.AddOuter(rest, row, by, n-k-1, 1, lanes, lanes)
		vec.Neg(row, rest)
		for r := 0; r < n-k-1; r += rowsOfOuter {
			vec.AddOuter(a[(k+1+r)*(n+1)*lanes:], rest[r*lanes:], row[r*lanes:], min(rowsOfOuter, n-k-1-r), n-k-1-r, n*lanes, lanes)
		}
	}
	for r := range n {
		for c := r + 1; c < n; c++ {
			above := a[(r*n+c)*lanes:][:lanes]
			copy(a[(c*n+r)*lanes:], above)
			clear(above)
		}
	}
}
