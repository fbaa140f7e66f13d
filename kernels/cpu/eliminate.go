package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

func buildEliminate(b *build) (func(), error) {
	return byFloat(b, eliminate[float64], eliminate[float32])
}

// eliminate factors every matrix into triangular ones and solves with these. Workers share many matrices, or the
// products within a few large ones. Many small matrices are processed in groups.
func eliminate[T block.Float](b *build) func() {
	in, right, out, sign, logarithm := b.in(0), b.in(1), b.out(0), b.out(1), b.out(2)
	s := in.Typ.Shape
	n, m := s[len(s)-1], right.Typ.Shape[len(s)-1]
	matrices := s[:len(s)-2].Size()
	if inLanes(matrices, n, m, in.Typ.DType.Size()) {
		return eliminateLanes[T](b)
	}
	workers := b.rt().pool.Size()
	few := matrices < workers && n > smallestBlock
	var shared *pool.Pool
	if few {
		shared = b.rt().pool
	}
	x := paddedColumns(n)
	stride := eliminationStride[T](n, n, m)
	elements := n*stride + n + smallestBlock + eliminationScratch[T](n, n, m, shared)
	one := func(scratch []T, i int) {
		e := elimination[T]{n: n, m: m, stride: stride, sign: 1, pool: shared}
		e.a, scratch = scratch[:n*stride], scratch[n*stride:]
		e.diagonal, scratch = scratch[:n], scratch[n:]
		e.top, e.scratch = scratch[:smallestBlock], scratch[smallestBlock:]
		e.x = e.a[min(x, len(e.a)):]
		for r := range n {
			row := e.a[r*stride : (r+1)*stride]
			padRow(row[:x], plan.Data[T](in)[(i*n+r)*n:][:n])
			padRow(row[x:], plan.Data[T](right)[(i*n+r)*m:][:m])
		}
		if n <= panelMatrix {
			e.panels(n)
		} else {
			e.factor(0, n)
			e.forward(0, n, e.x, m)
		}
		e.backward(0, n)
		for r, to := 0, plan.Data[T](out)[i*n*m:]; r < n && m > 0; r++ {
			vec.Neg(to[r*m:(r+1)*m], e.x[r*stride:][:m])
		}
		plan.Data[T](sign)[i], plan.Data[T](logarithm)[i] = e.determinant()
	}
	if few {
		scratch := b.scratch(in.Typ.DType, elements)
		return func() {
			for i := range matrices {
				one(plan.Data[T](scratch), i)
			}
		}
	}
	b.rt().need(elements * in.Typ.DType.Size())
	return b.rt().parallel(matrices, grain(n*n*(n/3+m)+n), func(w *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			one(scratchOf[T](w, elements), i)
		}
	})
}

const (
	// smallestBlock is the number of rows or columns up to which a part of a matrix is processed row by row.
	smallestBlock = vec.ProductColumns
	// elementwiseBlock is how many elements of a block a loop changes faster than a call.
	elementwiseBlock = 16
	// smallProducts is the number of multiplications from which on a product packs its operands.
	smallProducts = 1 << 19
	// panelMatrix is the largest matrix that is processed a block of columns at a time.
	panelMatrix = 128
)

// paddedColumns returns the length of rows in scratch memory, rounded up to whole blocks.
func paddedColumns(n int) int { return (n + smallestBlock - 1) / smallestBlock * smallestBlock }

// unaliased lengthens rows that are multiples of large powers of two, because their columns would share a few sets of
// the caches.
func unaliased[T block.Float](stride int) int {
	if stride*int(unsafe.Sizeof(T(0)))%512 == 0 {
		stride += smallestBlock
	}
	return stride
}

// eliminationStride returns the length of rows for elimination with the given columns and m right sides.
func eliminationStride[T block.Float](n, columns, m int) int {
	stride := paddedColumns(columns) + paddedColumns(m)
	if n > panelMatrix { // panels add to whole rows
		stride = unaliased[T](stride)
	}
	return stride
}

// padRow copies numbers to the beginning of a row, and fills the rest with zeros.
func padRow[T block.Float](row, numbers []T) { clear(row[copy(row, numbers):]) }

// middleOf returns where the first half of rows or columns lo to hi ends, after a whole number of blocks.
func middleOf(lo, hi int) int { return lo + paddedColumns((hi-lo+1)/2) }

// eliminationScratch returns how many elements of scratch memory the products of n rows with the given columns and m
// right sides need at most. It asks all products, because a smaller one may need more than a larger one.
func eliminationScratch[T block.Float](n, columns, m int, p *pool.Pool) int {
	e := elimination[T]{n: n, m: m, stride: eliminationStride[T](n, columns, m), pool: p}
	size := 0
	add := func(rows, k, columns int) { size = max(size, e.needs(rows, k, columns)) }
	var factor, backward func(lo, hi int)
	var forward func(lo, hi, columns int)
	factor = func(lo, hi int) {
		if hi-lo > smallestBlock {
			mid := middleOf(lo, hi)
			factor(lo, mid)
			forward(lo, mid, hi-mid)
			add(n-mid, mid-lo, hi-mid)
			factor(mid, hi)
		}
	}
	forward = func(lo, hi, columns int) {
		if hi-lo > smallestBlock {
			mid := middleOf(lo, hi)
			forward(lo, mid, columns)
			add(hi-mid, mid-lo, columns)
			forward(mid, hi, columns)
		}
	}
	backward = func(lo, hi int) {
		if hi-lo > smallestBlock {
			mid := middleOf(lo, hi)
			backward(mid, hi)
			add(mid-lo, hi-mid, m)
			backward(lo, mid)
		}
	}
	if n <= panelMatrix {
		for hi := smallestBlock; hi < n && hi < e.stride; hi += smallestBlock {
			add(n-hi, smallestBlock, e.stride-hi)
		}
	} else {
		factor(0, columns)
		forward(0, columns, m)
	}
	backward(0, columns)
	return size
}

// needs returns how many elements of scratch memory a product needs that is added.
func (e *elimination[T]) needs(rows, k, columns int) int {
	if columns == 0 || rows*k*paddedColumns(columns) <= smallProducts {
		return 0
	}
	return gemm.ScratchSize(&gemm.Args[T]{M: rows, N: columns, K: k, LDA: e.stride, LDB: e.stride, LDC: e.stride, Accumulate: true}, e.pool.Size())
}

// elimination works on one matrix a (n, n) with right sides x (n, m), which follow it in the same rows; both are
// padded. It replaces a by its factors. Below the diagonal these are the negated multiples of the pivot rows, so that
// all remaining work is adding products.
type elimination[T block.Float] struct {
	n, m, stride  int
	a, x          []T
	diagonal, top []T
	scratch       []T
	sign          T
	pivots        []int32 // if requested: which row each row was swapped with
	pool          *pool.Pool
	args          gemm.Args[T]
}

// panels factors the given columns of few rows. The contribution of each block of columns to everything on its right,
// including the right sides, is added at once.
func (e *elimination[T]) panels(columns int) {
	n, stride := e.n, e.stride
	for lo := 0; lo < columns; lo += smallestBlock {
		hi := lo + smallestBlock
		for k := lo; k < min(hi, columns); k++ {
			e.column(k, lo, min(hi, columns))
		}
		if hi == stride {
			return
		}
		e.forward(lo, min(hi, columns), e.a[hi:], stride-hi)
		if hi < n {
			e.add(e.a[hi*stride+hi:], e.a[hi*stride+lo:], e.a[lo*stride+hi:], n-hi, smallestBlock, stride-hi)
		}
	}
}

// factor factors columns lo to hi, below row lo. After the left half, it adds the products of that to the right half.
func (e *elimination[T]) factor(lo, hi int) {
	if hi-lo <= smallestBlock {
		for k := lo; k < hi; k++ {
			e.column(k, lo, hi)
		}
		return
	}
	mid, stride := middleOf(lo, hi), e.stride
	e.factor(lo, mid)
	e.forward(lo, mid, e.a[mid:], hi-mid)
	e.add(e.a[mid*stride+mid:], e.a[mid*stride+lo:], e.a[lo*stride+mid:], e.n-mid, mid-lo, hi-mid)
	e.factor(mid, hi)
}

// column moves the largest element of column k to the diagonal and adds multiples of its row to the rows below, within
// the block of columns lo to hi.
func (e *elimination[T]) column(k, lo, hi int) {
	n, a, stride := e.n, e.a, e.stride
	p := k + largestOf(a[k*stride+k:], n-k, stride)
	top := a[k*stride : (k+1)*stride]
	if k < len(e.pivots) {
		e.pivots[k] = int32(p)
	}
	if p != k {
		e.sign = -e.sign
		swapRows(a[p*stride:(p+1)*stride], top)
	}
	pivot := top[k]
	e.diagonal[k] = pivot
	if pivot == 0 {
		return // all elements below are zero as well
	}
	inverse := -1 / pivot
	exact := inverse-inverse == 0 && max(pivot, -pivot) > 1e-30
	for at := (k+1)*stride + k; at < n*stride; at += stride {
		if exact {
			a[at] *= inverse
		} else {
			a[at] = -a[at] / pivot
		}
	}
	switch rows, columns := n-k-1, hi-k-1; {
	case rows*columns <= elementwiseBlock:
		for r := k + 1; r < n; r++ {
			for c, v := range top[k+1 : hi] {
				a[r*stride+k+1+c] += a[r*stride+k] * v
			}
		}
	case columns > 0: // the whole block; zeros where it is finished
		clear(e.top)
		copy(e.top[k+1-lo:], top[k+1:hi])
		vec.AddProducts(a[(k+1)*stride+lo:], a[(k+1)*stride+k:], e.top, rows, 1, smallestBlock, stride, stride, smallestBlock)
	}
}

// largestOf returns which of n numbers, stride apart, has the largest absolute value. It returns the first of several.
// NaN counts as the largest.
func largestOf[T block.Float](x []T, n, stride int) int {
	if unsafe.Sizeof(T(0)) == 4 {
		return largestBits(block.View[uint32](unsafe.Pointer(unsafe.SliceData(x)), len(x)), n, stride)
	}
	return largestBits(block.View[uint64](unsafe.Pointer(unsafe.SliceData(x)), len(x)), n, stride)
}

// largestBits compares the bits of floats, without branches that depend on them, because these could not be predicted.
func largestBits[U uint32 | uint64](x []U, n, stride int) int {
	largest, magnitude := U(0), ^U(0)>>1
	for at := 0; at < n*stride; at += stride {
		largest = max(largest, x[at]&magnitude)
	}
	for i := range n {
		if x[i*stride]&magnitude == largest {
			return i
		}
	}
	return 0
}

// forward applies the factors below the diagonal to rows lo to hi of y, which has the given columns.
func (e *elimination[T]) forward(lo, hi int, y []T, columns int) {
	stride := e.stride
	if columns == 0 {
		return
	}
	if hi-lo <= smallestBlock {
		for r := lo + 1; r < hi; r++ {
			vec.AddProducts(y[r*stride:], e.a[r*stride+lo:], y[lo*stride:], 1, r-lo, paddedColumns(columns), stride, stride, stride)
		}
		return
	}
	mid := middleOf(lo, hi)
	e.forward(lo, mid, y, columns)
	e.add(y[mid*stride:], e.a[mid*stride+lo:], y[lo*stride:], hi-mid, mid-lo, columns)
	e.forward(mid, hi, y, columns)
}

// divideRow divides all elements by d.
func divideRow[T block.Float](row []T, d T) {
	if len(row) <= elementwiseBlock {
		for i := range row {
			row[i] /= d
		}
		return
	}
	var by [64]T
	for i := range by[:min(len(row), len(by))] {
		by[i] = d
	}
	for ; len(row) > 0; row = row[min(len(row), len(by)):] {
		part := row[:min(len(row), len(by))]
		vec.Div(part, part, by[:len(part)])
	}
}

// backward solves for rows lo to hi of x with the upper factor. It stores the negated solution, so that here too all
// remaining work is adding products.
func (e *elimination[T]) backward(lo, hi int) {
	stride := e.stride
	if e.m == 0 {
		return
	}
	if hi-lo <= smallestBlock {
		for r := hi - 1; r >= lo; r-- {
			if r+1 < hi {
				vec.AddProducts(e.x[r*stride:], e.a[r*stride+r+1:], e.x[(r+1)*stride:], 1, hi-r-1, paddedColumns(e.m), stride, stride, stride)
			}
			divideRow(e.x[r*stride:][:e.m], -e.diagonal[r])
		}
		return
	}
	mid := middleOf(lo, hi)
	e.backward(mid, hi)
	e.add(e.x[lo*stride:], e.a[lo*stride+mid:], e.x[mid*stride:], mid-lo, hi-mid, e.m)
	e.backward(lo, mid)
}

// add adds to y (rows, columns) the product of a part of a (rows, k) and x (k, columns).
func (e *elimination[T]) add(y, a, x []T, rows, k, columns int) {
	stride := e.stride
	if padded := paddedColumns(columns); rows*k*padded <= smallProducts {
		vec.AddProducts(y, a, x, rows, k, padded, stride, stride, stride)
		return
	}
	e.args = gemm.Args[T]{M: rows, N: columns, K: k, A: a, LDA: stride, B: x, LDB: stride, C: y, LDC: stride, Accumulate: true}
	gemm.Run(e.pool, &e.args, e.scratch)
}

// determinant returns the determinant's sign and the logarithm of its absolute value.
func (e *elimination[T]) determinant() (sign, logarithm T) {
	sign = e.sign
	sum := 0.0
	for i, d := range e.diagonal {
		switch {
		case d == 0:
			sign = 0 * sign
		case d < 0:
			sign, d = -sign, -d
		case d != d:
			sign = d
		}
		e.diagonal[i] = d
	}
	vec.Log(e.diagonal, e.diagonal)
	for _, v := range e.diagonal {
		sum += float64(v)
	}
	return sign, T(sum)
}

func swapRows[T block.Float](x, y []T) {
	if len(x) <= panelMatrix/2 {
		for i, v := range x {
			x[i], y[i] = y[i], v
		}
		return
	}
	var part [64]T
	for len(x) > 0 {
		n := copy(part[:], x)
		copy(x, y[:n])
		copy(y, part[:n])
		x, y = x[n:], y[n:]
	}
}
