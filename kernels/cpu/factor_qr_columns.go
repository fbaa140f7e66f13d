package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	reflectedColumns = 4                                   // how many reflections update the part to their right at once
	cornerElements   = reflectedColumns * reflectedColumns // of their triangle

	mostReflectedRows = 160     // largest number of columns that are stored as rows; larger matrices need larger blocks
	leastThin         = 128     // least number of elements, with few columns, for which calls are faster than loops
	leastSingleTall   = 1 << 13 // least number of elements, with many rows, for which float64 is much slower than float32
)

// columnReflections does the same as reflections, but stores the columns of a matrix as rows, so that all its sums and
// products run along memory. A few columns are reflected one after the other, and the columns after them are updated
// once, by 1 - v·t·vᵀ with the vectors as columns of v and a triangle t (see reflectionBlock). The rows are padded with
// zeros.
type columnReflections[T block.Float] struct {
	m, n     int
	columns  strided[T] // of the matrix; later the vectors
	triangle strided[T] // r
	corners  []T        // the triangle -t of each block, by rows
	sides    []T        // for each column, its products with the vectors of a block; then their coefficients
	part     []T        // products within a block
}

func newColumnReflections[T block.Float](m, n int) columnReflections[T] {
	f := columnReflections[T]{m: m, n: n}
	f.columns.stride, f.triangle.stride = unaliased[T](paddedColumns(m)), n
	return f
}

// size returns the scratch memory needed to reflect at most the given number of rows.
func (f *columnReflections[T]) size(rows int) int {
	return inDoubles[T](f.n*f.columns.stride) + inDoubles[T](f.n*f.n) + inDoubles[T](f.n*reflectedColumns+cornerElements) +
		inDoubles[T]((max(rows, f.n)+1)*reflectedColumns)
}

func (f *columnReflections[T]) cut(scratch *[]float64, rows int) {
	f.columns.x, f.triangle.x = scratchSlice[T](scratch, f.n*f.columns.stride), scratchSlice[T](scratch, f.n*f.n)
	f.corners = scratchSlice[T](scratch, f.n*reflectedColumns+cornerElements)
	f.sides = scratchSlice[T](scratch, (max(rows, f.n)+1)*reflectedColumns)
	f.part, f.sides = f.sides[:reflectedColumns], f.sides[reflectedColumns:]
}

// read reads the columns of a matrix.
func (f *columnReflections[T]) read(x []T) {
	for k := range f.n {
		clear(f.columns.row(k)[f.m:])
	}
	micro.Transpose(f.columns.x, x, f.m, f.n, f.columns.stride, f.n)
}

// reduce computes r, and replaces the columns by vectors.
func (f *columnReflections[T]) reduce() {
	clear(f.triangle.x)
	for lo := 0; lo < f.n; lo += reflectedColumns {
		hi := min(lo+reflectedColumns, f.n)
		for k := lo; k < hi; k++ {
			f.reflect(k, lo, hi)
		}
		f.change(f.columns, lo, hi, hi, f.n, true)
	}
}

// reflect replaces column k by a vector, updates the columns after it up to hi, and adds a column to the triangle of
// the block that begins at lo.
func (f *columnReflections[T]) reflect(k, lo, hi int) {
	row, first, end := f.columns.row(k), lo&^(smallestBlock-1), paddedColumns(f.m)
	for r, v := range row[:k] {
		f.triangle.x[r*f.n+k] = v
	}
	clear(row[:k])
	beta, factor := reflectionOf(row[k:f.m])
	f.triangle.x[k*f.n+k] = beta
	v, dots, t := row[first:end], f.part, f.corners[lo*reflectedColumns:]
	vec.DotRows(dots[:k-lo], v, f.columns.x[lo*f.columns.stride+first:], f.columns.stride)
	for r := range k - lo {
		sum := T(0)
		for c := r; c < k-lo; c++ {
			sum += t[r*reflectedColumns+c] * dots[c]
		}
		t[r*reflectedColumns+k-lo] = -factor * sum
	}
	t[(k-lo)*reflectedColumns+k-lo] = -factor
	if others := hi - k - 1; factor != 0 && others > 0 {
		x := f.columns.from(k+1, first)
		vec.DotRows(dots[:others], v, x.x, x.stride)
		vec.Scale(dots[:others], dots[:others], -factor)
		vec.AddProducts(x.x, dots, v, others, 1, len(v), x.stride, 1, len(v))
	}
}

// change applies reflections lo to hi, or the transpose of their product, to rows from to to.
func (f *columnReflections[T]) change(rows strided[T], lo, hi, from, to int, transposed bool) {
	if from >= to {
		return
	}
	first, end, count := lo&^(smallestBlock-1), paddedColumns(f.m), hi-lo
	vectors := f.columns.from(lo, first)
	for c := from; c < to; c++ {
		vec.DotRows(f.sides[(c-from)*reflectedColumns:][:count], rows.row(c)[first:end], vectors.x, vectors.stride)
	}
	f.factorSides(lo, count, to-from, transposed)
	vec.AddProducts(rows.from(from, first).x, f.sides, vectors.x, to-from, count, end-first, rows.stride, reflectedColumns, vectors.stride)
}

// factorSides multiplies the products of the given number of rows by the triangle of the block that begins at lo.
func (f *columnReflections[T]) factorSides(lo, count, rows int, transposed bool) {
	t := f.corners[lo*reflectedColumns:]
	for r := range rows {
		side := f.sides[r*reflectedColumns:][:count]
		if transposed {
			for c := count - 1; c >= 0; c-- {
				sum := T(0)
				for i, v := range side[:c+1] {
					sum += t[i*reflectedColumns+c] * v
				}
				side[c] = sum
			}
			continue
		}
		for c := range side {
			sum := T(0)
			for i, v := range side[c:] {
				sum += t[c*reflectedColumns+c+i] * v
			}
			side[c] = sum
		}
	}
}

// orthogonal stores the columns of q as rows. It applies the reflections, last to first, to the unit matrix.
func (f *columnReflections[T]) orthogonal(q strided[T]) {
	clear(q.x)
	for k := range f.n {
		q.x[k*q.stride+k] = 1
	}
	for lo := (f.n - 1) / reflectedColumns * reflectedColumns; lo >= 0; lo -= reflectedColumns {
		f.change(q, lo, min(lo+reflectedColumns, f.n), lo, f.n, false)
	}
}

// isTall reports whether to store the columns of a matrix (m, n) as rows: if they are long and not too many.
func isTall(m, n int) bool {
	if n <= thinColumns && (n < 2 || m*n < leastThin) {
		return false
	}
	return m >= 2*n && n <= mostReflectedRows && byTallReflections.Taken()
}

// tallQRWork computes in float64, except for float32 matrices so large that memory traffic dominates.
func tallQRWork(b *build) matrixWork {
	if m, n := matrixLengths(b.in(0)); b.in(0).Typ.DType == ir.Float32 && m*n >= leastSingleTall {
		return columnQRWork[float32](b)
	}
	return columnQRWork[float64](b)
}

// columnQRWork is [qrWork] for matrices of many rows, where q has as many columns as the matrix.
func columnQRWork[T block.Float](b *build) matrixWork {
	in, q, r := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	plain := newColumnReflections[T](m, n)
	stride, part := plain.columns.stride, inDoubles[T](m*n)
	both := b.isRead(0) // else r alone
	return matrixWork{scratch: plain.size(n) + part + inDoubles[T](n*stride), work: 4 * m * n * n, run: func(i int, scratch []float64) {
		f := plain
		f.cut(&scratch, n)
		turned, x := cutMatrix[T](&scratch, n, stride), scratchSlice[T](&scratch, m*n)
		f.read(numbersAt(x, in, i*m*n))
		f.reduce()
		if writeNumbers(r, i*n*n, f.triangle.x); !both {
			return
		}
		f.orthogonal(turned)
		micro.Transpose(x, turned.x, n, m, n, stride)
		writeNumbers(q, i*m*n, x)
	}}
}
