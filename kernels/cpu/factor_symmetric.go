package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// symmetric finds the eigenvalues of a symmetric matrix and its eigenvectors: reflections make it tridiagonal, and
// rotations that shift by an estimate of an eigenvalue make that diagonal. Sources: Martin, Reinsch and Wilkinson,
// "Householder's tridiagonalization of a symmetric matrix", 1968; Bowdler and others, "The QR and QL algorithms for
// symmetric matrices", 1968.
type symmetric struct {
	reflections
	turnedRows       // the eigenvectors
	diagonal, beside []float64
	pairs, sides     []float64 // see tridiagonal
}

func newSymmetric(n int) symmetric {
	return symmetric{reflections: reflections{m: n, n: n, columns: n}, turnedRows: newTurnedRows(n, n)}
}

func (e *symmetric) size() int {
	return e.reflections.size() + e.turnedRows.size() + 4*e.n + 2*paddedColumns(e.n)
}

func (e *symmetric) cut(scratch *[]float64) {
	e.reflections.cut(scratch)
	e.turnedRows.cut(scratch)
	e.diagonal, e.beside, e.pairs = cut(scratch, e.n), cut(scratch, e.n), cut(scratch, 2*e.n)
	e.sides = cut(scratch, 2*paddedColumns(e.n))
}

// find makes the diagonal of a its eigenvalues and the rows its eigenvectors.
func (e *symmetric) find() {
	e.tridiagonal()
	e.orthogonal()
	for r := range e.n {
		gatherColumn(e.rows[r*e.stride:][:e.n], e.q[r:], paddedColumns(e.n))
	}
	e.diagonalize()
}

// tridiagonal reflects the rows and columns of a from k on, for each k: a - v·wᵀ - w·vᵀ, with
// w = f·a·v - ½f²·(vᵀ·a·v)·v for the reflection 1 - f·v·vᵀ.
func (e *symmetric) tridiagonal() {
	n, stride := e.n, paddedColumns(e.n)
	clear(e.factors)
	for k := 1; k < n; k++ {
		v := e.vectors[k*n:][:n]
		gatherColumn(v[k:], e.a[k*stride+k-1:], stride)
		e.diagonal[k-1] = e.a[(k-1)*stride+k-1]
		e.beside[k-1], e.factors[k] = reflectionOf(v[k:])
		f := e.factors[k]
		if f == 0 {
			continue
		}
		first, rows := k/smallestBlock*smallestBlock, n-k
		width := stride - first
		sides := e.sides[:2*width] // w, then v
		clear(sides)
		copy(sides[width+k-first:], v[k:])
		w := sides[:width]
		vec.AddProducts(w, v[k:], e.a[k*stride+first:], 1, rows, width, width, rows, stride)
		clear(w[:k-first])
		vec.Scale(w, w, f)
		vec.Axpy(w, -f/2*dot(w, sides[width:]), sides[width:])
		for i := range rows {
			e.pairs[2*i], e.pairs[2*i+1] = -v[k+i], -w[k-first+i]
		}
		vec.AddProducts(e.a[k*stride+first:], e.pairs, sides, rows, 2, width, stride, 2, width)
	}
	e.diagonal[n-1], e.beside[n-1] = e.a[(n-1)*stride+n-1], 0
}

// mostTurns bounds how often an eigenvalue is estimated; two or three times are the rule.
const mostTurns = 60

// diagonalize turns the rows, with which the eigenvectors begin.
func (e *symmetric) diagonalize() {
	d, b, n := e.diagonal, e.beside, e.n
	shift, size := 0.0, 0.0
	for l := range n {
		size = max(size, math.Abs(d[l])+math.Abs(b[l]))
		small := size * 0x1p-52
		last := l
		for last < n-1 && !(math.Abs(b[last]) <= small) {
			last++
		}
		for range mostTurns {
			if last == l {
				break
			}
			shift += e.turnTo(l, last)
			if !(math.Abs(b[l]) > small) {
				break
			}
		}
		d[l], b[l] = d[l]+shift, 0
	}
}

// turnTo shifts by an estimate of eigenvalue l, which it returns, and turns the rows from last up to l.
func (e *symmetric) turnTo(l, last int) (shift float64) {
	d, b := e.diagonal, e.beside
	g := d[l]
	p := (d[l+1] - g) / (2 * b[l])
	r := math.Copysign(math.Hypot(1, p), p) // which neither overflows nor vanishes, as squares do beside blocks of 1e-200
	d[l], d[l+1] = b[l]/(p+r), b[l]*(p+r)
	next := d[l+1]
	shift = g - d[l]
	for i := l + 2; i < e.n; i++ {
		d[i] -= shift
	}
	p = d[last]
	c, before, beforeThat, s, sBefore, side := 1.0, 1.0, 1.0, 0.0, 0.0, b[l+1]
	for i := last - 1; i >= l; i-- {
		beforeThat, before, sBefore = before, c, s
		g, h := c*b[i], c*p
		if r = math.Sqrt(p*p + b[i]*b[i]); r < 0x1p-450 {
			r = math.Hypot(p, b[i])
		}
		b[i+1] = s * r
		if s, c = 0, 1; r != 0 {
			s, c = b[i]/r, p/r
		}
		p = c*d[i] - s*g
		d[i+1] = h + s*(c*g+s*d[i])
		e.turn(i, i+1, c, s)
	}
	p = -s * sBefore * beforeThat * side * b[l] / next
	b[l], d[l] = s*p, c*p
	return shift
}

func eighWork(b *build) matrixWork {
	in, w, v := b.in(0), b.out(0), b.out(1)
	_, n := matrixLengths(in)
	plain := newSymmetric(n)
	return matrixWork{scratch: plain.size(), work: 8 * n * n * n, run: func(i int, scratch []float64) {
		e := plain
		e.cut(&scratch)
		x := e.q[:n*n]
		readDoubles(x, in, i*n*n)
		scale := scaleOf(x)
		stride := paddedColumns(n)
		clear(e.a)
		for r := range n {
			vec.Scale(e.a[r*stride:][:n], x[r*n:][:n], 1/scale)
		}
		e.find()
		order := sortedPlaces(e.diagonal, e.beside, false)
		for at, from := range order {
			e.row[at] = e.diagonal[from] * scale
			for r, v := range e.rows[int(from)*e.stride:][:n] {
				x[r*n+at] = v
			}
		}
		writeDoubles(w, i*n, e.row[:n])
		writeDoubles(v, i*n*n, x)
	}}
}
