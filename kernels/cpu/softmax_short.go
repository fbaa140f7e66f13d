package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Softmax of short rows, for which calling vector kernels would cost more than the row. As many rows as fit into the
// first-level cache are transposed. Kernels then work on the first elements of all rows, on the second ones, and so on.
// Sums go through a row from left to right.

// The lengths of rows up to which they are transposed. For longer rows of float32 there is assembly, which pays where a
// row fills a vector: tens of rows take half as long, while thousands of rows of 16 to 20 numbers lose a quarter by it.
const (
	shortSoftmaxRows   = 15 // with vectors of 16 numbers
	shortDoubles       = 64 // softmax and its logarithm in float64
	shortSoftmaxDouble = 32 // gradient of softmax in float64

	shortSoftmaxAVX2    = 19
	shortLogSoftmaxAVX2 = 12
	shortGradAVX2       = 7 // gradients of softmax and of its logarithm
)

// shorter returns the length for AVX2, if that is in use, or the other one.
func shorter(most, avx2 int) int {
	if usesAVX2() {
		return avx2
	}
	return most
}

// usesAVX2 reports whether the widest vectors in use are those of AVX2, so that rules for these hold.
func usesAVX2() bool {
	return isa.Active().Has(isa.Vectors256) && !isa.Active().Has(isa.Vectors512) && byRulesAVX2.Taken()
}

// The blocks of rows, with two numbers for each row, take at most softmaxBytes, so that they stay in the first-level
// cache. But they have at least leastShort rows, because each column of a block is a call of a kernel. For float64 with
// at least softmaxMany columns, calls for twice as many rows gain more than that cache does.
const (
	softmaxBytes = 32 << 10
	softmaxMany  = 8
	leastShort   = 128
)

// columnsOfRows stands for a number of blocks. Each holds up to most rows of n elements, stored column by column.
type columnsOfRows[T block.Float] struct{ n, blocks, most int }

func newColumnsOfRows[T block.Float](n, blocks int) columnsOfRows[T] {
	var zero T
	size, bytes := int(unsafe.Sizeof(zero)), softmaxBytes
	if size == 8 && blocks*n >= softmaxMany {
		bytes *= 2
	}
	rows := max(bytes/size/(blocks*n+2), leastShort) &^ 15 // whole vectors
	if n >= softmaxMany && rows*size%2048 == 0 {
		rows -= 16 // columns this far apart would evict each other from the cache
	}
	return columnsOfRows[T]{n, blocks, rows}
}

func (r *columnsOfRows[T]) bytes() int {
	var zero T
	return r.n * r.most * int(unsafe.Sizeof(zero))
}

// load transposes rows of x into columns.
func (r *columnsOfRows[T]) load(columns, x []T, rows int) {
	transposeRows(columns, x, r.n, rows, rows, r.n)
}

// store transposes columns into rows of y.
func (r *columnsOfRows[T]) store(y, columns []T, rows int) {
	transposeRows(y, columns, rows, r.n, r.n, rows)
}

// column returns column k of a block of rows.
func column[T any](columns []T, k, rows int) []T { return columns[k*rows : (k+1)*rows] }

// loop returns a function that runs body for the rows of an operand, a block at a time. body gets scratch memory for
// the blocks and two numbers for each row.
func (r *columnsOfRows[T]) loop(b *build, o *plan.Operand, body func(scratch []T, first, rows int)) func() {
	rows := o.N / r.n
	length := r.blocks*r.n*r.most + 2*r.most
	b.rt().need(r.blocks*r.bytes() + 2*r.bytes()/r.n)
	return b.rt().parallel((rows+r.most-1)/r.most, grain(4*r.n*r.most), func(w *worker, lo, hi int) {
		scratch := scratchOf[T](w, length)
		for k := lo; k < hi; k++ {
			first := k * r.most
			body(scratch, first, min(r.most, rows-first))
		}
	})
}

// softmaxColumns replaces columns by their exponentials, and returns the sums and the largest elements of the rows.
func softmaxColumns[T block.Float](columns, sums, largest []T, n, rows int) {
	copy(largest, column(columns, 0, rows))
	for k := 1; k < n; k++ {
		vec.Max(largest, largest, column(columns, k, rows))
	}
	for k := range n {
		c := column(columns, k, rows)
		vec.Sub(c, c, largest)
	}
	vec.Exp(columns[:n*rows], columns[:n*rows])
	copy(sums, column(columns, 0, rows))
	for k := 1; k < n; k++ {
		vec.Add(sums, sums, column(columns, k, rows))
	}
}

// fewShort is the number of rows from which on a block is transposed. Fewer rows are computed one by one, with the same
// bits.
func fewShort[T block.Float]() int {
	if unsafe.Sizeof(T(0)) == 8 {
		return 48
	}
	return 28
}

// isShort reports whether rows of n elements are short: up to single elements of float32, or double elements of
// float64.
func isShort[T block.Float](n, single, double int) bool {
	var zero T
	if unsafe.Sizeof(zero) == 8 {
		single = double
	}
	return n > 0 && n <= single && byShortRows.Taken()
}

// together reports whether the rows of all operands are contiguous.
func together[T block.Float](operands ...softmaxOperand[T]) bool {
	return !slices.ContainsFunc(operands, func(x softmaxOperand[T]) bool { return x.inner > 0 })
}

func softmaxShort[T block.Float](b *build, x, y softmaxOperand[T]) func() {
	n, whole := x.n, together(x, y)
	r := newColumnsOfRows[T](n, 1)
	return r.loop(b, x.Operand, func(scratch []T, first, rows int) {
		columns, sums, largest := scratch[:n*rows], scratch[n*r.most:][:rows], scratch[n*r.most+r.most:][:rows]
		if rows < fewShort[T]() && whole {
			softmaxRows(plan.Data[T](y.Operand)[first*n:][:rows*n], plan.Data[T](x.Operand)[first*n:], n)
			return
		}
		x.load(&r, columns, first, rows)
		softmaxColumns(columns, sums, largest, n, rows)
		for i, s := range sums {
			sums[i] = 1 / s
		}
		for k := range n {
			c := column(columns, k, rows)
			vec.Mul(c, c, sums)
		}
		y.store(&r, columns, first, rows)
	})
}

// softmaxRows computes the softmax of a few short rows of n numbers, with one call of a kernel for all of them.
func softmaxRows[T block.Float](y, x []T, n int) {
	subtractLargest(y, x, n, nil)
	vec.Exp(y, y)
	for ; len(y) > 0; y = y[n:] {
		row := y[:n]
		scale := 1 / sumOne(row)
		for i := range row {
			row[i] *= scale
		}
	}
}

// subtractLargest stores rows of n numbers of x minus the largest of each, and these too where largest is not nil.
func subtractLargest[T block.Float](y, x []T, n int, largest []T) {
	for k := 0; k*n < len(y); k++ {
		from := x[k*n:][:n]
		to, most := y[k*n:][:len(from)], from[0]
		for _, v := range from[1:] {
			if v > most || v != v {
				most = v
			}
		}
		for i, v := range from {
			to[i] = v - most
		}
		if largest != nil {
			largest[k] = most
		}
	}
}

// softmaxGradRows computes the gradient for a few short rows of n numbers.
func softmaxGradRows[T block.Float](dx, y, dy []T, n int) {
	for ; len(dx) > 0; dx, y, dy = dx[n:], y[n:], dy[n:] {
		p := y[:n]
		up, to := dy[:len(p)], dx[:len(p)]
		sum := T(p[0] * up[0])
		for i, v := range p[1:] {
			sum += T(v * up[i+1])
		}
		for i, v := range p {
			to[i] = (up[i] - sum) * v
		}
	}
}

// softmaxGradShort computes dx = y·(dy - Σ y·dy).
func softmaxGradShort[T block.Float](b *build, in []softmaxOperand[T], dx softmaxOperand[T]) func() {
	y, dy := in[0], in[1]
	n, whole := y.n, together(y, dy, dx)
	r := newColumnsOfRows[T](n, 2)
	return r.loop(b, y.Operand, func(scratch []T, first, rows int) {
		if rows < fewShort[T]() && whole {
			softmaxGradRows(plan.Data[T](dx.Operand)[first*n:][:rows*n], plan.Data[T](y.Operand)[first*n:], plan.Data[T](dy.Operand)[first*n:], n)
			return
		}
		p, g, sums := scratch[:n*rows], scratch[n*r.most:][:n*rows], scratch[2*n*r.most:][:rows]
		product := scratch[2*n*r.most+r.most:][:rows]
		y.load(&r, p, first, rows)
		dy.load(&r, g, first, rows)
		vec.Mul(sums, column(p, 0, rows), column(g, 0, rows))
		for k := 1; k < n; k++ {
			vec.Mul(product, column(p, k, rows), column(g, k, rows))
			vec.Add(sums, sums, product)
		}
		for k := range n {
			c := column(g, k, rows)
			vec.Sub(c, c, sums)
		}
		vec.Mul(g, g, p)
		dx.store(&r, g, first, rows)
	})
}

// logSoftmaxRows computes the logarithm of the softmax of a few short rows of n numbers. e is for the exponentials,
// sums and largest are for a number of each row.
func logSoftmaxRows[T block.Float](y, x, e, sums, largest []T, n int) {
	subtractLargest(e, x, n, largest)
	vec.Exp(e, e)
	for k := range sums {
		sums[k] = sumOne(e[k*n:][:n])
	}
	vec.Log(sums, sums)
	for k, total := range sums {
		total += largest[k]
		from := x[k*n:][:n]
		to := y[k*n:][:len(from)]
		for i, v := range from {
			to[i] = v - total
		}
	}
}

// logSoftmaxShort computes x - log Σ exp(x), relative to the largest element.
func logSoftmaxShort[T block.Float](b *build, x, y softmaxOperand[T]) func() {
	n, whole := x.n, together(x, y)
	r := newColumnsOfRows[T](n, 2)
	return r.loop(b, x.Operand, func(scratch []T, first, rows int) {
		columns, e, sums := scratch[:n*rows], scratch[n*r.most:][:n*rows], scratch[2*n*r.most:][:rows]
		largest := scratch[2*n*r.most+r.most:][:rows]
		if rows < fewShort[T]() && whole {
			logSoftmaxRows(plan.Data[T](y.Operand)[first*n:], plan.Data[T](x.Operand)[first*n:], e[:rows*n], sums, largest, n)
			return
		}
		x.load(&r, columns, first, rows)
		copy(e, columns)
		softmaxColumns(e, sums, largest, n, rows)
		vec.Log(sums, sums)
		vec.Add(sums, sums, largest)
		for k := range n {
			c := column(columns, k, rows)
			vec.Sub(c, c, sums)
		}
		y.store(&r, columns, first, rows)
	})
}

// logSoftmaxGradRows computes the gradient for a few short rows of n numbers. e is for the exponentials.
func logSoftmaxGradRows[T block.Float](dx, y, dy, e []T, n int) {
	vec.Exp(e, y[:len(e)])
	for ; len(e) > 0; dx, dy, e = dx[n:], dy[n:], e[n:] {
		up := dy[:n]
		to, p, sum := dx[:len(up)], e[:len(up)], up[0]
		for _, v := range up[1:] {
			sum += v
		}
		for i, v := range up {
			to[i] = v - T(p[i]*sum)
		}
	}
}

// logSoftmaxGradShort computes dx = dy - exp(y)·Σ dy.
func logSoftmaxGradShort[T block.Float](b *build, in []softmaxOperand[T], dx softmaxOperand[T]) func() {
	y, dy := in[0], in[1]
	n, whole := y.n, together(y, dy, dx)
	r := newColumnsOfRows[T](n, 2)
	return r.loop(b, y.Operand, func(scratch []T, first, rows int) {
		e, g, sums := scratch[:n*rows], scratch[n*r.most:][:n*rows], scratch[2*n*r.most:][:rows]
		if rows < fewShort[T]() && whole {
			logSoftmaxGradRows(plan.Data[T](dx.Operand)[first*n:], plan.Data[T](y.Operand)[first*n:], plan.Data[T](dy.Operand)[first*n:], e[:rows*n], n)
			return
		}
		dy.load(&r, g, first, rows)
		copy(sums, column(g, 0, rows))
		for k := 1; k < n; k++ {
			vec.Add(sums, sums, column(g, k, rows))
		}
		y.load(&r, e, first, rows)
		vec.Exp(e, e)
		for k := range n {
			c := column(e, k, rows)
			vec.Mul(c, c, sums)
		}
		vec.Sub(g, g, e)
		dx.store(&r, g, first, rows)
	})
}
