package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// decomposition computes singular values and vectors. Reflections reduce the matrix to bidiagonal form (see
// bidiagonal), singular decomposes that, and the reflections turn its vectors back.
type decomposition[T block.Float] struct {
	columns int // of u
	reflectionBlock[T]
	bidiagonal[T]
	singular[T]
	u strided[T] // as rows
}

func newDecomposition[T block.Float](m, n, columns int) decomposition[T] {
	return decomposition[T]{columns: columns, bidiagonal: newBidiagonal[T](m, n), singular: singular[T]{joining: joining{n: n}}}
}

func (f *decomposition[T]) size() int {
	m := f.bidiagonal.m
	return f.reflectionBlock.size(m) + f.bidiagonal.size() + f.singular.size() + inDoubles[T](f.columns*paddedColumns(m))
}

func (f *decomposition[T]) cut(scratch *[]float64) {
	m := f.bidiagonal.m
	f.reflectionBlock.cut(scratch, m)
	f.bidiagonal.cut(scratch)
	f.singular.cut(scratch)
	f.u = cutMatrix[T](scratch, f.columns, paddedColumns(m))
}

// find decomposes a.
func (f *decomposition[T]) find() {
	m, n, b, s := f.bidiagonal.m, f.bidiagonal.n, &f.bidiagonal, &f.singular
	b.reduce(&f.products, s.d, s.e)
	s.diagonalize(&f.products)
	clear(f.u.x)
	for r := range f.columns {
		if f.u.x[r*f.u.stride+r] = 1; r < n {
			copy(f.u.row(r), s.left.row(r)[:n])
		}
	}
	last := (n - 1) / blockOfReflections * blockOfReflections
	for lo := last; lo >= 0; lo -= blockOfReflections {
		first := lo &^ (smallestBlock - 1)
		f.prepare(b.left.from(lo, first), b.leftFactors[lo:], min(blockOfReflections, n-lo), m-first)
		f.turnRows(f.u.from(0, first), f.columns)
	}
	for lo := last; lo >= 0; lo -= blockOfReflections {
		if first := (lo + 1) &^ (smallestBlock - 1); lo < n-1 {
			f.prepare(b.right.from(lo, first), b.rightBy[lo:], min(blockOfReflections, n-1-lo), n-first)
			f.turnRows(s.right.from(0, first), n)
		}
	}
}

// svdWorkOf computes in float64, except for float32 matrices so large that memory traffic dominates.
func svdWorkOf(b *build) matrixWork {
	m, n := matrixLengths(b.in(0))
	switch _, columns := matrixLengths(b.out(0)); {
	case columns == n && isTall(m, n) && m*n >= leastTallSVD:
		return tallSVDWork(b)
	case n < leastBidiagonal:
		return svdWork(b)
	}
	if b.in(0).Typ.DType == ir.Float32 && singles(b.in(0)) {
		return bidiagonalWork[float32](b)
	}
	return bidiagonalWork[float64](b)
}

// leastTallSVD is the least number of elements for which a matrix of many rows is first reduced to a triangle.
const leastTallSVD = 64

// leastBidiagonal is the number of columns from which on rotating whole columns is slower.
const leastBidiagonal = 12

// bidiagonalWork is svdWork for larger matrices.
func bidiagonalWork[T block.Float](b *build) matrixWork {
	in, u, s, v := b.in(0), b.out(0), b.out(1), b.out(2)
	m, n := matrixLengths(in)
	_, columns := matrixLengths(u)
	plain := newDecomposition[T](m, n, columns)
	size := plain.size()
	return matrixWork{scratch: size + inDoubles[T](m*columns), work: 8 * n * n * (m + n), run: func(i int, scratch []float64) {
		f := plain
		f.cut(&scratch)
		x := scratchSlice[T](&scratch, m*columns)
		scale := readScaled(f.a, x[:m*n], in, i)
		f.find()
		values := f.values
		for k := range values {
			values[k] *= float64(scale)
		}
		writeDoubles(s, i*n, values)
		writeTransposed(u, i, f.u, columns, m, x)
		writeTransposed(v, i, f.singular.right, n, n, x)
	}}
}

// writeTransposed writes rows of a matrix as the columns of result i.
func writeTransposed[T block.Float](o *plan.Operand, i int, rows strided[T], count, length int, memory []T) {
	micro.Transpose(memory, rows.x, count, length, count, rows.stride)
	writeNumbers(o, i*count*length, memory[:count*length])
}
