package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// fewestTridiagonal is the least number of rows for which a symmetric matrix is made tridiagonal first.
const fewestTridiagonal = 6

// eighWorkOfFew diagonalizes small matrices by rotating two rows and columns at a time, as often as necessary (Jacobi,
// "Über ein leichtes Verfahren, die in der Theorie der Säcularstörungen vorkommenden Gleichungen numerisch aufzulösen",
// 1846).
func eighWorkOfFew(b *build) matrixWork {
	in, w, v := b.in(0), b.out(0), b.out(1)
	_, n := matrixLengths(in)
	return matrixWork{scratch: 3*n*n + n, work: 30 * n * n * n, run: func(i int, scratch []float64) {
		a, vectors, x, values := cut(&scratch, n*n), cut(&scratch, n*n), cut(&scratch, n*n), cut(&scratch, n)
		readDoubles(a, in, i*n*n)
		scale := scaleOf(a)
		vec.Scale(a, a, 1/scale)
		for r := range n { // nothing to the right of the diagonal is read
			for c := range r {
				a[c*n+r] = a[r*n+c]
			}
		}
		clear(vectors)
		for k := range n {
			vectors[k*n+k] = 1
		}
		for sweep := 0; sweep < mostSweeps && turnPairs(a, vectors, n); sweep++ {
		}
		for k := range n {
			at := k
			for ; at > 0 && values[at-1] > a[k*n+k]*scale; at-- {
				values[at] = values[at-1]
			}
			values[at] = a[k*n+k] * scale
			for r, u := range vectors[k*n:][:n] { // the columns of x, in order
				copy(x[r*n+at+1:r*n+k+1], x[r*n+at:r*n+k])
				x[r*n+at] = u
			}
		}
		writeDoubles(w, i*n, values)
		writeDoubles(v, i*n*n, x)
	}}
}

// turnPairs rotates each pair of rows and columns of a matrix, and of rows of the vectors, so that the element where
// they meet becomes 0. No element may exceed 1. It reports whether any of them was not 0 yet.
func turnPairs(a, vectors []float64, n int) (turned bool) {
	for p := range n {
		for q := p + 1; q < n; q++ {
			meet := a[p*n+q]
			if math.Abs(meet) <= 0x1p-56 {
				continue
			}
			turned = true
			theta := (a[q*n+q] - a[p*n+p]) / (2 * meet)
			t := math.Copysign(1/(math.Abs(theta)+math.Sqrt(theta*theta+1)), theta)
			c := 1 / math.Sqrt(t*t+1)
			s := t * c
			for _, rows := range [...][]float64{a, vectors} {
				x, y := rows[p*n:][:n], rows[q*n:][:n]
				for i, u := range x {
					w := y[i]
					x[i], y[i] = c*u-s*w, s*u+c*w
				}
			}
			for i := 0; i < n*n; i += n {
				u, w := a[i+p], a[i+q]
				a[i+p], a[i+q] = c*u-s*w, s*u+c*w
			}
			a[p*n+q], a[q*n+p] = 0, 0
		}
	}
	return turned
}
