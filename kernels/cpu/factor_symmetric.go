package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// symmetric computes the eigenvalues and eigenvectors of a symmetric matrix. Reflections make it tridiagonal, its
// halves are diagonalized and joined (see conquest), and the reflections turn the eigenvectors back. Sources: Martin,
// Reinsch and Wilkinson, "Householder's tridiagonalization of a symmetric matrix", 1968; in blocks: Dongarra, Sorensen
// and Hammarling, "Block reduction of matrices to condensed forms", 1989.
type symmetric[T block.Float] struct {
	n, width int // width: columns of a block
	reflectionBlock[T]
	a       strided[T]
	vectors strided[T] // one reflection in each row
	factors []T
	sides   strided[T] // v and w of each column of a block, as two rows
	pairs   strided[T] // -w and -v of each, as two columns
	dots    []T
	conquest[T]
}

func newSymmetric[T block.Float](n int) symmetric[T] {
	return symmetric[T]{n: n, width: columnsOfBlock(n), conquest: conquest[T]{joining: joining{n: n}}}
}

func (e *symmetric[T]) size() int {
	s := paddedColumns(e.n)
	rows := 2*e.n + 2*blockOfReflections + 1 // a, vectors, sides, factors
	return inDoubles[T](rows*s) + inDoubles[T](e.n*2*blockOfReflections) + inDoubles[T](2*blockOfReflections) +
		e.reflectionBlock.size(e.n) + e.conquest.size()
}

func (e *symmetric[T]) cut(scratch *[]float64) {
	s := paddedColumns(e.n)
	e.a, e.vectors = cutMatrix[T](scratch, e.n, s), cutMatrix[T](scratch, e.n, s)
	e.factors = scratchSlice[T](scratch, s)
	e.sides = cutMatrix[T](scratch, 2*blockOfReflections, s)
	e.pairs = cutMatrix[T](scratch, e.n, 2*blockOfReflections)
	e.dots = scratchSlice[T](scratch, 2*blockOfReflections)
	e.reflectionBlock.cut(scratch, e.n)
	e.conquest.cut(scratch)
}

// find computes the eigenvectors of a as rows, in the order of their eigenvalues.
func (e *symmetric[T]) find() {
	e.tridiagonal()
	e.diagonalize(&e.products)
	e.backTransform()
}

// tridiagonal reflects, for each k, the rows and columns of a from k+1 on: a - v·wᵀ - w·vᵀ, with w = f·a·v -
// ½f²·(vᵀ·a·v)·v for the reflection 1 - f·v·vᵀ. The part to the right of a block of columns and below it is updated
// once per block. Until then, the updates so far are added to rows and products when they are used.
func (e *symmetric[T]) tridiagonal() {
	for lo := 0; lo < e.n; lo += e.width {
		hi := min(lo+e.width, e.n)
		for k := lo; k < hi; k++ {
			e.reflectColumn(k, k-lo)
		}
		if first := hi &^ (smallestBlock - 1); hi < e.n {
			e.add(e.a.from(hi, first), e.pairs.from(hi, 0), e.sides.from(0, first), e.n-hi, 2*(hi-lo), e.a.stride-first)
		}
	}
}

// reflectColumn does column k's part of tridiagonal. j columns of its block precede it.
func (e *symmetric[T]) reflectColumn(k, j int) {
	n, stride := e.n, e.a.stride
	row, first := e.a.row(k), k&^(smallestBlock-1)
	addRow(row[first:], e.pairs.row(k)[:2*j], e.sides.from(0, first))
	e.d[k], e.e[k] = float64(row[k]), 0
	if k == n-1 {
		return
	}
	v, w := e.vectors.row(k), e.sides.row(2*j+1)
	clear(v)
	copy(v[k+1:], row[k+1:n])
	beta, f := reflectionOf(v[k+1 : n])
	e.e[k], e.factors[k] = float64(beta), f
	copy(e.sides.row(2*j), v)
	clear(w)
	if f != 0 {
		first = (k + 1) &^ (smallestBlock - 1)
		addRow(w[first:], v[k+1:n], e.a.from(k+1, first))
		if j > 0 {
			dots := e.dots[:paddedColumns(2*j)]
			clear(dots)
			addRow(dots, v[k+1:n], e.pairs.from(k+1, 0))
			addRow(w[first:], dots[:2*j], e.sides.from(0, first))
		}
		clear(w[:k+1])
		vec.Scale(w[first:], w[first:], f)
		e.dots[0] = -f / 2 * dot(w[first:], v[first:])
		addRow(w[first:], e.dots[:1], strided[T]{v[first:], stride})
	}
	for r, at := k+1, (k+1)*e.pairs.stride+2*j; r < n; r, at = r+1, at+e.pairs.stride {
		e.pairs.x[at], e.pairs.x[at+1] = -w[r], -v[r]
	}
}

// backTransform turns the eigenvectors of the tridiagonal matrix into those of a.
func (e *symmetric[T]) backTransform() {
	for lo := (e.n - 3) / blockOfReflections * blockOfReflections; lo >= 0 && e.n > 2; lo -= blockOfReflections {
		first := (lo + 1) &^ (smallestBlock - 1)
		e.prepare(e.vectors.from(lo, first), e.factors[lo:], min(blockOfReflections, e.n-2-lo), e.n-first)
		e.turnRows(e.rows.from(0, first), e.n)
	}
}

// eighWork writes the eigenvectors, which are rows, as columns.
func eighWork[T block.Float](b *build) matrixWork {
	in, w, v := b.in(0), b.out(0), b.out(1)
	_, n := matrixLengths(in)
	plain := newSymmetric[T](n)
	size := plain.size()
	return matrixWork{scratch: size + n, work: 8 * n * n * n, run: func(i int, scratch []float64) {
		e := plain
		e.cut(&scratch)
		scale := readScaled(e.a, e.other.x[:n*n], in, i)
		e.find()
		values := cut(&scratch, n)
		for k, v := range e.values {
			values[k] = v * float64(scale)
		}
		writeDoubles(w, i*n, values)
		writeTransposed(v, i, e.rows, n, n, e.other.x) // has changed places with rows
	}}
}

// eighWorkOf computes in float64, except for float32 matrices so large that memory traffic dominates.
func eighWorkOf(b *build) matrixWork {
	if _, n := matrixLengths(b.in(0)); n < fewestTridiagonal {
		return eighWorkOfFew(b)
	}
	if b.in(0).Typ.DType == ir.Float32 && singles(b.in(0)) {
		return eighWork[float32](b)
	}
	return eighWork[float64](b)
}

// singles reports whether the matrices are float32 and so large that they are computed in it.
func singles(in *plan.Operand) bool {
	m, n := matrixLengths(in)
	return min(m, n) > leastSingles
}

// leastSingles is the number of rows and columns up to which float64 is hardly slower than float32.
const leastSingles = 48
