package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// integerDot multiplies integers. They wrap around, so signed and unsigned ones share the code.
func integerDot(b *build, product *dotPlan) (func(), error) {
	p := &integerProduct{dotPlan: product, out: b.out(0), size: b.in(0).Typ.DType.Size()}
	switch p.size {
	case 1:
		if product.a.rows >= fewByteRows && product.b.cols >= leastCodeRow {
			return byteDot(b, product), nil
		}
		p.plain = integerRow[uint8]
	case 2:
		p.plain = integerRow[uint16]
	case 4:
		p.plain = integerRow[uint32]
	default:
		p.plain = integerRow[uint64]
	}
	return p.build(b)
}

// fewByteRows is the number of rows below which reading a byte matrix in place is faster than packing it.
const fewByteRows = 8

// byteDot multiplies bytes and accumulates in 32 bits.
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

// integerProduct multiplies integers row by row. It is generic in their size only: code for each type would be four
// times as large.
type integerProduct struct {
	*dotPlan
	x, y, out       *plan.Operand
	size            int // of an element
	l               batchLoop
	code, remainder *jit.Code                                       // for codeRows rows of b at a time, and for the remaining ones; nil: plain is used
	plain           func(p *integerProduct, z, x, y unsafe.Pointer) // computes a row
}

// The product is computed in blocks. Their parts of a and of the result stay in the second-level cache, and a few rows
// of b in the first-level cache.
const (
	codeRows     = 8
	codeBlock    = 64      // rows of the result
	codeBytes    = 2 << 10 // of a row
	leastCodeRow = 16
)

func (p *integerProduct) build(b *build) (func(), error) {
	m, n, k := p.a.rows, p.b.cols, p.a.cols
	if p.out.N == 0 {
		return func() {}, nil
	}
	if k > 1 && n >= leastCodeRow && jit.Usable() {
		if p.b.colStride != 1 && m >= codeRows {
			if err := p.order(b); err != nil {
				return nil, err
			}
		}
		if p.b.colStride == 1 {
			p.code, p.remainder = multiplyAdd(p.size, codeRows), multiplyAdd(p.size, k%codeRows)
		}
	}
	p.x, p.y, p.l = p.a.o, p.b.o, p.loop()
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

// order makes the rows of b contiguous.
func (p *integerProduct) order(b *build) error {
	q := &p.b
	shape := ints.Concat(ir.Shape(p.dims), ir.Shape{q.rows, q.cols})
	strides := ints.Concat(q.batch, []int{q.rowStride, q.colStride})
	for i := range strides {
		strides[i] *= p.size
	}
	return b.ordered(p.dotPlan, q, shape, strides, len(p.dims))
}

// rows computes rows of one entry of the batch.
func (p *integerProduct) rows(entry, row, rows int) {
	l := &p.l
	j, rest := entry%l.dims[1], entry/l.dims[1]
	i, o := rest%l.dims[0], l.outer[rest/l.dims[0]]
	x := unsafe.Add(p.x.Ptr(), p.size*(o[0]+i*l.strideA[0]+j*l.strideA[1]+row*p.a.rowStride))
	y := unsafe.Add(p.y.Ptr(), p.size*(o[1]+i*l.strideB[0]+j*l.strideB[1]))
	z := unsafe.Add(p.out.Ptr(), p.size*(o[2]+i*l.strideC[0]+j*l.strideC[1]+row*p.c.RowStride))
	if p.code != nil && p.code.Usable() && (p.remainder != nil || p.a.cols%codeRows == 0) {
		p.byCode(z, x, y, rows)
		return
	}
	for r := range rows {
		p.plain(p, unsafe.Add(z, p.size*r*p.c.RowStride), unsafe.Add(x, p.size*r*p.a.rowStride), y)
	}
}

// multiplyAdd compiles code that adds rows, each multiplied by a number, to the elements at the first pointer. It
// returns nil if rows is 0 or if code cannot be generated.
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

// byCode computes rows with compiled code, the first of them from z and x.
func (p *integerProduct) byCode(z, x, y unsafe.Pointer, rows int) {
	n, k := p.b.cols, p.a.cols
	piece := codeBytes / p.size
	var pointers [2 + 2*codeRows]unsafe.Pointer
	for first := 0; first < n; first += piece {
		cols := min(piece, n-first)
		for r := range rows {
			clear(unsafe.Slice((*byte)(unsafe.Add(z, p.size*(r*p.c.RowStride+first))), p.size*cols))
		}
		code, count := p.remainder, k%codeRows
		if count == 0 {
			code, count = p.code, codeRows
		}
		for at := 0; at < k; at, code, count = at+count, p.code, codeRows {
			for i := range count {
				pointers[1+i] = unsafe.Add(y, p.size*((at+i)*p.b.rowStride+first))
			}
			for r := range rows {
				pointers[0] = unsafe.Add(z, p.size*(r*p.c.RowStride+first))
				for i := range count {
					pointers[1+count+i] = unsafe.Add(x, p.size*(r*p.a.rowStride+(at+i)*p.a.colStride))
				}
				code.Run(unsafe.Pointer(&pointers), cols)
			}
		}
	}
}

// integerRow computes a row of the product: the row at x times the matrix at y.
func integerRow[T uint8 | uint16 | uint32 | uint64](p *integerProduct, atZ, atX, atY unsafe.Pointer) {
	step, q, k := p.a.colStride, &p.b, p.a.cols
	z := unsafe.Slice((*T)(atZ), q.cols)
	if k == 0 {
		clear(z)
		return
	}
	x := unsafe.Slice((*T)(atX), (k-1)*step+1)
	y := unsafe.Slice((*T)(atY), (k-1)*q.rowStride+(q.cols-1)*q.colStride+1)
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
	for c := 1; c < k; c++ {
		v = x[c*step]
		for col, w := range y[c*q.rowStride:][:len(z)] {
			z[col] += v * w
		}
	}
}
