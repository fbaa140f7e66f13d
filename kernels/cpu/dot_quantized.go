package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
	"github.com/gokeras/gokeras/kernels/ir"
)

// quantizedDot is an int8 product that accumulates in int32.
type quantizedDot struct {
	b       *build
	product *dotPlan
	loop    batchLoop
	kept    *form // of the right operand; nil: it is packed in each run
	args    quant.Args
	scratch *plan.Operand
	spare   *spareForm
	sums    *plan.Operand // laid out like the result
}

// newQuantizedDot multiplies int8 and accumulates in int32. Weights are kept in panels, like those of floats.
func newQuantizedDot(b *build, product *dotPlan, sums *plan.Operand) func() {
	d := &quantizedDot{b: b, product: product, loop: product.loop(), sums: sums}
	if sums.N == 0 {
		return func() {}
	}
	d.kept = b.keptForm(product, &d.loop)
	m, n, k := product.a.rows, product.b.cols, product.a.cols
	d.scratch = b.scratch(ir.Uint8, quant.ScratchSize(m, k))
	d.spare = b.spareMatrix(d.kept, quant.PackedSize(k, n))
	return d.run
}

func (d *quantizedDot) run() {
	p, q := &d.product.a, &d.product.b
	pool := d.b.rt().pool
	xs, ys, zs := plan.Data[int8](p.o), plan.Data[int8](q.o), plan.Data[int32](d.sums)
	kept := inBytePanels(ownBuffer(q.o), d.kept, pool)
	for _, o := range d.loop.outer {
		for i := range d.loop.dims[0] {
			for j := range d.loop.dims[1] {
				panels, empty := d.spare.or(kept)
				if empty {
					quant.Pack(pool, panels, ys[o[1]+i*d.loop.strideB[0]+j*d.loop.strideB[1]:], p.cols, q.cols, q.rowStride, q.colStride)
				}
				d.args = quant.Args{M: p.rows, N: q.cols, K: p.cols, RowStride: p.rowStride, ColStride: p.colStride, LDC: d.product.c.RowStride, B: panels, Scratch: plan.Data[byte](d.scratch),
					A: xs[o[0]+i*d.loop.strideA[0]+j*d.loop.strideA[1]:], C: zs[o[2]+i*d.loop.strideC[0]+j*d.loop.strideC[1]:]}
				quant.Run(pool, &d.args)
			}
		}
	}
}
