package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
	"github.com/gokeras/gokeras/kernels/ir"
)

// quantizedDot is a product of int8 with sums in int32.
type quantizedDot struct {
	b       *build
	plan    *dotPlan
	loop    batchLoop
	kept    *form // of the right operand; nil: it is packed anew in each run
	args    quant.Args
	scratch *operand
	panels  *operand
}

// buildQuantizedDot multiplies int8 with sums in int32. Weights are kept in panels, as those of floats are.
func buildQuantizedDot(b *build, plan *dotPlan) func() {
	d := &quantizedDot{b: b, plan: plan, loop: plan.loop()}
	if b.out(0).n == 0 {
		return func() {}
	}
	if d.kept = b.keptForm(plan, &d.loop); d.kept != nil {
		d.kept.bytes = true
	}
	m, n, k := plan.a.rows, plan.b.cols, plan.a.cols
	d.scratch = b.scratch(ir.Uint8, quant.ScratchSize(m, k))
	d.panels = b.scratch(ir.Uint8, quant.PackedSize(k, n))
	return d.run
}

func (d *quantizedDot) run() {
	p, q := &d.plan.a, &d.plan.b
	pool := d.b.rt().pool
	xs, ys, zs := data[int8](p.o), data[int8](q.o), data[int32](d.b.out(0))
	kept := inBytePanels(q.o.mem.whose, d.kept, pool)
	for _, o := range d.loop.outer {
		for i := range d.loop.dims[0] {
			for j := range d.loop.dims[1] {
				panels := kept
				if panels == nil {
					panels = data[byte](d.panels)
					quant.Pack(pool, panels, ys[o[1]+i*d.loop.strideB[0]+j*d.loop.strideB[1]:], p.cols, q.cols, q.rowStride, q.colStride)
				}
				d.args = quant.Args{M: p.rows, N: q.cols, K: p.cols, RowStride: p.rowStride, ColStride: p.colStride, LDC: d.plan.c.rowStride, B: panels, Scratch: data[byte](d.scratch),
					A: xs[o[0]+i*d.loop.strideA[0]+j*d.loop.strideA[1]:], C: zs[o[2]+i*d.loop.strideC[0]+j*d.loop.strideC[1]:]}
				quant.Run(pool, &d.args)
			}
		}
	}
}
