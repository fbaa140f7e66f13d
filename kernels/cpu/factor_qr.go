package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// reflections reduce a matrix (m, n), m >= n, to an upper triangle. Reflection k, whose vector is row k of vectors,
// zeroes column k below the diagonal. The rows of the matrix and of q are padded.
type reflections struct {
	m, n, columns int // columns: how many columns of q are needed
	a, q          []float64
	vectors       []float64
	factors       []float64 // of the reflections; 0 if there was nothing to do
	row, scaled   []float64
}

func (f *reflections) size() int {
	return f.m*(paddedColumns(f.n)+paddedColumns(f.columns)) + f.n*f.m + f.n + max(paddedColumns(f.n), paddedColumns(f.columns)) + f.m
}

func (f *reflections) cut(scratch *[]float64) {
	f.a, f.q = cut(scratch, f.m*paddedColumns(f.n)), cut(scratch, f.m*paddedColumns(f.columns))
	f.vectors, f.factors = cut(scratch, f.n*f.m), cut(scratch, f.n)
	f.row, f.scaled = cut(scratch, max(paddedColumns(f.n), paddedColumns(f.columns))), cut(scratch, f.m)
}

// triangle turns a into r, with zeros below the diagonal.
func (f *reflections) triangle() {
	stride := paddedColumns(f.n)
	for k := range f.n {
		v := f.vectors[k*f.m+k : (k+1)*f.m]
		gatherColumn(v, f.a[k*stride+k:], stride)
		var beta float64
		if beta, f.factors[k] = reflectionOf(v); f.factors[k] != 0 {
			f.reflect(f.a, stride, k)
		}
		f.a[k*stride+k] = beta
		for r := k + 1; r < f.m; r++ {
			f.a[r*stride+k] = 0
		}
	}
}

// reflectionOf computes the reflection 1 - factor·v·vᵀ that maps x to (beta, 0, ..., 0), and replaces x by v. The
// factor is 0 if there is nothing to do.
func reflectionOf[T block.Float](x []T) (beta, factor T) {
	small, large := 0x1p-900, 0x1p900
	if unsafe.Sizeof(T(0)) == 4 { // their factors would overflow
		small, large = 0x1p-100, 0x1p100
	}
	given, scale := x[0], T(1)
	if len(x) == 1 {
		return given, 0
	}
	head, tail := float64(given), squaresOf(x[1:])
	if tail < small || head*head+tail > large { // squares may underflow or overflow
		scale = scaleOf(x)
		vec.Scale(x, x, 1/scale)
		head, tail = float64(x[0]), squaresOf(x[1:])
	}
	if tail == 0 {
		return given, 0
	}
	length := math.Sqrt(head*head + tail)
	if head >= 0 {
		length = -length
	}
	x[0] = T(head - length)
	return T(length) * scale, T(2 / (float64(x[0])*float64(x[0]) + tail))
}

// squaresOf returns the sum of squares, accumulated in float64 so that a float32 reflection preserves lengths.
func squaresOf[T block.Float](x []T) float64 {
	if unsafe.Sizeof(T(0)) == 8 {
		return float64(dot(x, x))
	}
	var sums [4]float64
	for ; len(x) >= len(sums); x = x[len(sums):] {
		for i, v := range x[:len(sums)] {
			sums[i] += float64(v) * float64(v)
		}
	}
	for i, v := range x {
		sums[i] += float64(v) * float64(v)
	}
	return sums[0] + sums[1] + (sums[2] + sums[3])
}

// reflect applies reflection k to rows k and beyond of x, in which the columns before k are zero.
func (f *reflections) reflect(x []float64, stride, k int) {
	first, rows := k/smallestBlock*smallestBlock, f.m-k
	width := stride - first
	v, w := f.vectors[k*f.m+k:][:rows], f.row[:width]
	clear(w)
	vec.AddProducts(w, v, x[k*stride+first:], 1, rows, width, width, rows, stride)
	vec.Scale(f.scaled[:rows], v, -f.factors[k])
	vec.AddProducts(x[k*stride+first:], f.scaled, w, rows, 1, width, stride, 1, width)
}

// orthogonal computes q by applying the reflections, last to first, to the unit matrix.
func (f *reflections) orthogonal() {
	stride := paddedColumns(f.columns)
	clear(f.q)
	for k := range f.columns {
		f.q[k*stride+k] = 1
	}
	for k := f.n - 1; k >= 0; k-- {
		if f.factors[k] != 0 {
			f.reflect(f.q, stride, k)
		}
	}
}

// qrWork factors matrices with few columns.
func qrWork(b *build) matrixWork {
	in, q, r := b.in(0), b.out(0), b.out(1)
	m, n := matrixLengths(in)
	_, columns := matrixLengths(q)
	if n <= thinColumns && columns == n && n > 0 {
		return thinQRWork(b)
	}
	f := reflections{m: m, n: n, columns: columns}
	both := b.isRead(0) // else r alone
	return matrixWork{scratch: f.size(), work: 4 * m * n * columns, run: func(i int, scratch []float64) {
		f := f // each worker has its own memory
		f.cut(&scratch)
		clear(f.a)
		stride := paddedColumns(n)
		for k := range m {
			readDoubles(f.a[k*stride:][:n], in, (i*m+k)*n)
		}
		f.triangle()
		for k := range columns {
			row := f.a[k*stride:][:n]
			clear(row[:min(k, n)]) // NaN may have spread there
			writeDoubles(r, (i*columns+k)*n, row)
		}
		if !both {
			return
		}
		f.orthogonal()
		for k := range m {
			writeDoubles(q, (i*m+k)*columns, f.q[k*paddedColumns(columns):][:columns])
		}
	}}
}
