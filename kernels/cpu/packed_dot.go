package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildPackedDot multiplies floats by a 4-bit matrix. A constant matrix is kept in 4-bit panels.
func buildPackedDot(b *build) (func(), error) {
	a := b.n.Attrs.(ir.PackedDotAttrs)
	x, w, out := b.in(0), b.in(1), b.out(0)
	k := w.Typ.Shape[0]
	if a.ByColumns {
		k = w.Typ.Shape[1]
	}
	if out.N == 0 {
		return func() {}, nil
	}
	if x.Typ.DType == ir.Float64 {
		return b.packedDot64(a), nil
	}
	m := out.N / a.Columns
	kept := b.kept(w, &form{off: w.Off, k: k, n: a.Columns, ld: a.Block, trans: a.ByColumns})
	rt, packer := b.rt(), packerOf(a)
	spare := b.spareMatrix(kept, packer.size(k, a.Columns, a.Block))
	matrix, scales, run := &quant.NibblePanels{N: a.Columns, K: k, Block: a.Block, Bytes: packer.bytes, Unsigned: a.ByColumns}, b.packedScales(a), (func())(nil)
	if quant.ByRow(m, k, packer.bytes) {
		run = b.packedInDigits(m, matrix)
	} else if k > 0 && quant.AsFloats(m, a.Columns, k, a.Block, packer.bytes) {
		run = b.packedAsFloats(m, matrix)
	} else {
		run = b.packedInDigits(m, matrix)
	}
	return func() {
		var empty bool
		if matrix.B, empty = spare.or(packer.kept(ownBuffer(w), kept, rt.pool)); empty {
			packer.pack(rt.pool, matrix.B, plan.Raw(w), k, a.Columns, a.Block)
		}
		if a.Block > 0 {
			matrix.Scale, matrix.Zero = scales()
		}
		run()
		matrix.B, matrix.Scale, matrix.Zero = nil, nil, nil
	}, nil
}

// packedInDigits returns the function that multiplies m rows in digits, or one in floats that need no panels.
func (b *build) packedInDigits(m int, p *quant.NibblePanels) func() {
	x, out, pool, args := b.in(0), b.out(0), b.rt().pool, &quant.NibbleArgs{}
	bias, relu := b.addedToProduct()
	start, adds := b.startSum()
	multiply, size := quant.RunNibbles, quant.NibbleScratch(m, p.K, p.Block, pool.Size())
	if quant.ByRow(m, p.K, p.Bytes) {
		multiply, size = quant.RunRow, quant.RowScratch(p.K, p.Block)
	}
	scratch := b.scratch(ir.Uint8, size)
	return func() {
		start()
		*args = quant.NibbleArgs{M: m, N: p.N, K: p.K, Block: p.Block, Unsigned: p.Unsigned, Bytes: p.Bytes, A: plan.Data[float32](x), B: p.B, Scale: p.Scale, Zero: p.Zero, C: plan.Data[float32](out), Scratch: plan.Data[byte](scratch),
			Accumulate: adds, ReLU: relu}
		if bias != nil {
			args.Bias = plan.Data[float32](bias)
		}
		multiply(pool, args)
	}
}

// sameSums is the [scan.SameSums] of these products.
func sameSums(a ir.PackedDotAttrs, rows, more, k int) bool {
	bytes := a.Bits > 4
	return quant.ByRow(rows, k, bytes) == quant.ByRow(more, k, bytes) && quant.AsFloats(rows, a.Columns, k, a.Block, bytes) == quant.AsFloats(more, a.Columns, k, a.Block, bytes)
}

// packedAsFloats returns the function that multiplies m rows by float panels, into which it unpacks the matrix piece by
// piece.
func (b *build) packedAsFloats(m int, p *quant.NibblePanels) func() {
	x, out, pool := b.in(0), b.out(0), b.rt().pool
	bias, relu := b.addedToProduct()
	start, adds := b.startSum()
	args := &gemm.Args[float32]{M: m, N: p.N, K: p.K, Panels: p, Accumulate: adds, ReLU: relu}
	if bias != nil {
		args.Bias = []float32{} // see buildGemm
	}
	scratch := b.scratch(ir.Float32, gemm.ScratchSize(args, pool.Size()))
	return func() {
		start()
		args.A, args.C = plan.Data[float32](x), plan.Data[float32](out)
		if bias != nil {
			args.Bias = plan.Data[float32](bias)
		}
		gemm.Run(pool, args, plan.Data[float32](scratch))
		args.A, args.C = nil, nil
	}
}

// packer packs a matrix into panels.
type packer struct {
	bytes  bool // 8 bits per element, else 4
	layout tile.Layout
	size   func(k, n, block int) int
	pack   func(p *pool.Pool, to, from []byte, k, n, block int)
}

// packerOf returns the packer for a matrix.
func packerOf(a ir.PackedDotAttrs) packer {
	p := packer{layout: quant.NibbleLayout, size: quant.NibbleSize, pack: quant.PackNibbles}
	switch {
	case a.Bits > 4:
		return packer{true, quant.ByteLayout, quant.ByteSize, quant.PackBytes}
	case a.Bits > 0:
		p.pack = quant.PackByteColumns
	case a.ByColumns:
		p.pack = quant.PackNibbleColumns
	}
	return p
}

// kept is inPanels for such matrices.
func (as packer) kept(b *buffer, f *form, p *pool.Pool) []byte {
	if b == nil || f == nil {
		return nil
	}
	return b.inForm(&b.panels, f, as.layout, as.size(f.k, f.n, f.ld), func(memory []byte) {
		src := unsafe.Slice((*byte)(plan.PointerTo(b.own)), len(b.own))
		as.pack(p, memory, src[f.off:], f.k, f.n, f.ld)
	})
}

// packedScales returns the function that yields scales and zero points, with a row for each block.
func (b *build) packedScales(a ir.PackedDotAttrs) func() ([]float32, []int8) {
	if !a.ByColumns {
		return func() ([]float32, []int8) { return plan.Data[float32](b.in(2)), plan.Data[int8](b.in(3)) }
	}
	scale := b.turned(b.in(2), a.Columns, func(to, from []byte, columns, blocks int) {
		micro.Transpose(elementsOf[float32](to), elementsOf[float32](from), columns, blocks, columns, blocks)
	})
	zero := b.turned(b.in(3), a.Columns, func(to, from []byte, columns, blocks int) {
		for i := range columns {
			for j, z := range from[i*blocks:][:blocks] {
				to[j*columns+i] = z - 128
			}
		}
	})
	return func() ([]float32, []int8) {
		zeros := zero()
		return elementsOf[float32](scale()), unsafe.Slice((*int8)(plan.PointerTo(zeros)), len(zeros))
	}
}

// turned returns the function that yields the transpose of an operand with the given columns. The transpose of a
// constant is kept.
func (b *build) turned(o *plan.Operand, columns int, turn func(to, from []byte, columns, rows int)) func() []byte {
	rows := o.N / columns
	kept := b.kept(o, &form{off: o.Off, k: rows, n: columns, ld: rows, trans: true})
	size := o.N * o.Typ.DType.Size()
	spare := b.spare(kept, size)
	return func() []byte {
		var memory []byte
		if own := ownBuffer(o); own != nil && kept != nil {
			memory = own.inForm(&own.panels, kept, tile.Turned, size, func(memory []byte) {
				from := unsafe.Slice((*byte)(plan.PointerTo(own.own)), len(own.own))
				turn(memory, from[kept.off:][:size], columns, rows)
			})
		}
		memory, empty := spare.or(memory)
		if empty {
			turn(memory, plan.Raw(o), columns, rows)
		}
		return memory
	}
}

// packedDot64 multiplies float64, in plain Go.
func (b *build) packedDot64(a ir.PackedDotAttrs) func() {
	x, w, out := b.in(0), b.in(1), b.out(0)
	k, bytes := w.Typ.Shape[0], w.Typ.Shape[1]
	if a.ByColumns {
		return b.packedColumns64(a)
	}
	return b.rt().parallel(out.N, grain(k), func(_ *worker, lo, hi int) {
		xs, ws, ys := plan.Data[float64](x), plan.Data[int8](w), plan.Data[float64](out)
		for i := lo; i < hi; i++ {
			row, column := xs[i/a.Columns*k:][:k], i%a.Columns
			sum := 0.0
			for j, v := range row {
				number := float64(ws[j*bytes+column/2] << (4 - column%2*4) >> 4)
				if a.Block > 0 {
					at := j/a.Block*a.Columns + column
					number = (number - float64(plan.Data[int8](b.in(3))[at])) * plan.Data[float64](b.in(2))[at]
				}
				sum += v * number
			}
			ys[i] = sum
		}
	})
}

// packedColumns64 is packedDot64 for a matrix that is packed by columns.
func (b *build) packedColumns64(a ir.PackedDotAttrs) func() {
	x, w, out := b.in(0), b.in(1), b.out(0)
	k := w.Typ.Shape[1]
	blocks := (k + a.Block - 1) / a.Block
	return b.rt().parallel(out.N, grain(k), func(_ *worker, lo, hi int) {
		xs, ws, ys := plan.Data[float64](x), plan.Data[byte](w), plan.Data[float64](out)
		scale, zero := plan.Data[float64](b.in(2)), plan.Data[byte](b.in(3))
		for i := lo; i < hi; i++ {
			row, column := xs[i/a.Columns*k:][:k], i%a.Columns
			sum := 0.0
			for j, v := range row {
				number := byte(0)
				if a.Bits > 0 {
					number = ws[column*k+j]
				} else {
					number = ws[column/2*k+j] >> (column % 2 * 4) & 15
				}
				at := column*blocks + j/a.Block
				sum += v * (float64(number) - float64(zero[at])) * scale[at]
			}
			ys[i] = sum
		}
	})
}
