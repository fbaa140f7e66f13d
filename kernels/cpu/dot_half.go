package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// halfOf holds the 16-bit types that kernels read and write as stored.
var halfOf = map[ir.DType]*vec.Half{ir.BFloat16: new(vec.BFloat16), ir.Float16: new(vec.Float16)}

// widePanels is the largest size of panels that are kept in float32. Panels of this size stay in part of the
// second-level cache, where reading them is as fast as widening 16-bit numbers. Larger panels are kept in 16 bits.
const widePanels = 1 << 20

// buildHalfDot multiplies 16-bit floats and accumulates in float32.
func buildHalfDot(b *build, product *dotPlan) func() {
	x, y, out := product.a.o, product.b.o, b.out(0)
	l := product.loop()
	args := &gemm.HalfArgs{Type: *halfOf[x.Typ.DType], M: product.a.rows, N: product.b.cols, K: product.a.cols,
		Batch: l.dims, StrideA: l.strideA, StrideB: l.strideB, StrideC: l.strideC, LDC: product.c.RowStride}
	args.LDA, args.TransA = product.a.layout()
	args.LDB, args.TransB = product.b.layout()
	bias, relu := b.addedToProduct()
	args.ReLU = relu
	if out.N == 0 {
		return func() {}
	}
	rt := b.rt()
	scratch := b.scratch(ir.Float32, gemm.HalfScratch(args, rt.pool.Size()))
	kept := b.keptForm(product, &l)
	args.Narrow = kept != nil && 4*kept.k*kept.n > widePanels
	return func() {
		if bias != nil {
			args.Bias = plan.Data[uint16](bias)
		}
		xs, ys, zs := plan.Data[uint16](x), plan.Data[uint16](y), plan.Data[uint16](out)
		args.Packed = inHalfPanels(ownBuffer(y), kept, args, rt.pool)
		for _, o := range l.outer {
			args.A, args.B, args.C = xs[o[0]:], ys[o[1]:], zs[o[2]:]
			gemm.RunHalf(rt.pool, args, plan.Data[float32](scratch))
		}
		args.A, args.B, args.C, args.Bias, args.Packed = nil, nil, nil, nil, nil
	}
}

// inHalfPanels is inPanels for a product of 16-bit floats.
func inHalfPanels(b *buffer, f *form, args *gemm.HalfArgs, p *pool.Pool) []float32 {
	if b == nil || f == nil {
		return nil
	}
	layout, size := gemm.HalfPanels(args)
	return elementsOf[float32](b.inForm(&b.panels, f, layout, 4*size, func(memory []byte) {
		whole := *args
		whole.B = unsafe.Slice((*uint16)(plan.PointerTo(b.own)), len(b.own)/f.size)[f.off/f.size:]
		gemm.PackHalf(p, elementsOf[float32](memory), &whole)
	}))
}
