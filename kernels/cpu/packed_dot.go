package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildPackedDot multiplies floats with a matrix of four bits, which is kept in panels of four bits where it is
// constant.
func buildPackedDot(b *build) (func(), error) {
	a := b.n.Attrs.(ir.PackedDotAttrs)
	x, w, out := b.in(0), b.in(1), b.out(0)
	k := w.Typ.Shape[0]
	if out.N == 0 {
		return func() {}, nil
	}
	if x.Typ.DType == ir.Float64 {
		return b.packedDot64(a), nil
	}
	m := out.N / a.Columns
	kept := b.kept(w, &form{off: w.Off, k: k, n: a.Columns, ld: a.Block})
	rt, args := b.rt(), &quant.NibbleArgs{}
	scratch, packed := b.scratch(ir.Uint8, quant.NibbleScratch(m, k, a.Block)), b.scratch(ir.Uint8, quant.NibbleSize(k, a.Columns, a.Block))
	return func() {
		panels := inNibblePanels(ownBuffer(w), kept, rt.pool)
		if panels == nil {
			panels = plan.Data[byte](packed)
			quant.PackNibbles(rt.pool, panels, plan.Raw(w), k, a.Columns, a.Block)
		}
		*args = quant.NibbleArgs{M: m, N: a.Columns, K: k, Block: a.Block, A: plan.Data[float32](x), B: panels, C: plan.Data[float32](out), Scratch: plan.Data[byte](scratch)}
		if a.Block > 0 {
			args.Scale, args.Zero = plan.Data[float32](b.in(2)), plan.Data[int8](b.in(3))
		}
		quant.RunNibbles(rt.pool, args)
	}, nil
}

// inNibblePanels is inPanels for numbers of four bits.
func inNibblePanels(b *buffer, f *form, p *pool.Pool) []byte {
	if b == nil || f == nil {
		return nil
	}
	return b.inForm(&b.panels, f, quant.NibbleLayout, quant.NibbleSize(f.k, f.n, f.ld), func(memory []byte) {
		src := unsafe.Slice((*byte)(plan.PointerTo(b.own)), len(b.own))
		quant.PackNibbles(p, memory, src[f.off:], f.k, f.n, f.ld)
	})
}

// packedDot64 multiplies numbers of float64, in plain Go.
func (b *build) packedDot64(a ir.PackedDotAttrs) func() {
	x, w, out := b.in(0), b.in(1), b.out(0)
	k, bytes := w.Typ.Shape[0], w.Typ.Shape[1]
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
