package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// integerDot multiplies integers. They wrap around, so those with a sign and those without are computed alike.
func integerDot(b *build, product *dotPlan) (func(), error) {
	switch b.in(0).Typ.DType.Size() {
	case 1:
		if product.a.rows >= fewByteRows && product.b.cols >= leastCodeRow {
			return byteDot(b, product), nil
		}
		return buildIntegerDot[uint8](b, product)
	case 2:
		return buildIntegerDot[uint16](b, product)
	case 4:
		return buildIntegerDot[uint32](b, product)
	}
	return buildIntegerDot[uint64](b, product)
}

// fewByteRows is the number of rows below which a matrix of bytes is read faster than packed.
const fewByteRows = 8

// byteDot multiplies bytes by way of sums in 32 bits.
func byteDot(b *build, product *dotPlan) func() {
	out := b.out(0)
	sums := b.scratch(ir.Int32, out.N)
	multiply := newQuantizedDot(b, product, sums)
	narrow := b.rt().parallel(out.N, chunkWork, func(_ *worker, lo, hi int) {
		from, to := plan.Data[int32](sums)[lo:hi], plan.Data[uint8](out)[lo:hi]
		for i, v := range from {
			to[i] = uint8(v)
		}
	})
	return func() {
		multiply()
		narrow()
	}
}

// integerProduct multiplies integers row by row.
type integerProduct[T uint8 | uint16 | uint32 | uint64] struct {
	*dotPlan
	x, y, out       *plan.Operand
	l               batchLoop
	code, remainder *jit.Code // of codeRows rows of b at a time, and of those left; nil: plain Go
}

// The product is computed in blocks whose parts of a and of the result stay in the second-level cache, while a few rows
// of b stay in the first-level one.
const (
	codeRows     = 8
	codeBlock    = 64      // rows of the result
	codeBytes    = 2 << 10 // of a row
	leastCodeRow = 16
)

func buildIntegerDot[T uint8 | uint16 | uint32 | uint64](b *build, product *dotPlan) (func(), error) {
	p := &integerProduct[T]{dotPlan: product, x: product.a.o, out: b.out(0)}
	m, n, k := product.a.rows, product.b.cols, product.a.cols
	if p.out.N == 0 {
		return func() {}, nil
	}
	size := int(unsafe.Sizeof(T(0)))
	if k > 1 && n >= leastCodeRow && jit.Usable() {
		if product.b.colStride != 1 && m >= codeRows {
			q := &product.b
			shape := slices.Concat(ir.Shape(product.dims), ir.Shape{q.rows, q.cols})
			strides := slices.Concat(q.batch, []int{q.rowStride, q.colStride})
			for i := range strides {
				strides[i] *= size
			}
			if err := b.ordered(product, q, shape, strides, len(product.dims)); err != nil {
				return nil, err
			}
		}
		if product.b.colStride == 1 {
			p.code, p.remainder = multiplyAdd(size, codeRows), multiplyAdd(size, k%codeRows)
		}
	}
	p.y, p.l = product.b.o, product.loop()
	entries := len(p.l.outer) * p.l.dims[0] * p.l.dims[1]
	least := min(codeBlock/2, entries*m/b.rt().pool.Size())
	return b.rt().parallel(entries*m, max(grain(n*k), least), func(_ *worker, lo, hi int) {
		for lo < hi {
			rows := min(m-lo%m, hi-lo, codeBlock)
			p.rows(lo/m, lo%m, rows)
			lo += rows
		}
	}), nil
}

// rows computes rows of an entry of the batch.
func (p *integerProduct[T]) rows(entry, row, rows int) {
	l := &p.l
	j, rest := entry%l.dims[1], entry/l.dims[1]
	i, o := rest%l.dims[0], l.outer[rest/l.dims[0]]
	xs := plan.Data[T](p.x)[o[0]+i*l.strideA[0]+j*l.strideA[1]:]
	ys := plan.Data[T](p.y)[o[1]+i*l.strideB[0]+j*l.strideB[1]:]
	zs := plan.Data[T](p.out)[o[2]+i*l.strideC[0]+j*l.strideC[1]:]
	n, k := p.b.cols, p.a.cols
	if p.code != nil && p.code.Usable() && (p.remainder != nil || k%codeRows == 0) {
		p.byCode(zs[row*p.c.RowStride:], xs[row*p.a.rowStride:], ys, rows)
		return
	}
	for r := row; r < row+rows; r++ {
		z := zs[r*p.c.RowStride:][:n]
		if k == 0 {
			clear(z)
			continue
		}
		integerRow(z, xs[r*p.a.rowStride:], ys, p.dotPlan, k)
	}
}

// multiplyAdd is code that adds to elements at the first pointer those at the next ones, each times the number at
// another one. Of no rows, and where there can be none, it is nil.
func multiplyAdd(size, rows int) *jit.Code {
	var steps []jit.Step
	for i := range uint8(rows) {
		number, place := uint8(1+rows)+i, uint8(1+2*rows)
		steps = append(steps, jit.Step{Op: vec.ChainMulInt, Dst: place, In: [3]uint8{1 + i, number}},
			jit.Step{Op: vec.ChainAddInt, In: [3]uint8{0, place}, Stored: int(i) == rows-1})
	}
	if rows == 0 {
		return nil
	}
	return jit.Compile(steps, size, func(p uint8) bool { return int(p) > rows && int(p) <= 2*rows })
}

// byCode computes rows from the first elements of z and x on.
func (p *integerProduct[T]) byCode(z, x, y []T, rows int) {
	n, k := p.b.cols, p.a.cols
	piece := codeBytes / int(unsafe.Sizeof(T(0)))
	var pointers [2 + 2*codeRows]unsafe.Pointer
	for first := 0; first < n; first += piece {
		cols := min(piece, n-first)
		for r := range rows {
			clear(z[r*p.c.RowStride+first:][:cols])
		}
		code, count := p.remainder, k%codeRows
		if count == 0 {
			code, count = p.code, codeRows
		}
		for at := 0; at < k; at, code, count = at+count, p.code, codeRows {
			for i := range count {
				pointers[1+i] = unsafe.Pointer(&y[(at+i)*p.b.rowStride+first])
			}
			for r := range rows {
				pointers[0] = unsafe.Pointer(&z[r*p.c.RowStride+first])
				for i := range count {
					pointers[1+count+i] = unsafe.Pointer(&x[r*p.a.rowStride+(at+i)*p.a.colStride])
				}
				code.Run(unsafe.Pointer(&pointers), cols)
			}
		}
	}
}

// integerRow computes a row of the product: the row x, whose k elements are a's column stride apart, times the matrix.
func integerRow[T uint8 | uint16 | uint32 | uint64](z, x, y []T, product *dotPlan, k int) {
	step, q := product.a.colStride, &product.b
	if q.colStride != 1 || len(z) < 3 {
		for col := range z {
			var sum T
			for c := range k {
				sum += x[c*step] * y[c*q.rowStride+col*q.colStride]
			}
			z[col] = sum
		}
		return
	}
	v := x[0]
	for col, w := range y[:len(z)] {
		z[col] = v * w
	}
	c := 1
	for ; c+1 < k; c += 2 { // two rows of the matrix at a time
		v0, v1 := x[c*step], x[(c+1)*step]
		row0, row1 := y[c*q.rowStride:][:len(z)], y[(c+1)*q.rowStride:][:len(z)]
		for col := range z {
			z[col] += v0*row0[col] + v1*row1[col]
		}
	}
	if c < k {
		v = x[c*step]
		for col, w := range y[c*q.rowStride:][:len(z)] {
			z[col] += v * w
		}
	}
}
