package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fourierAcross transforms lines of which fewer than lanes lie side by side: a group has those of several places.
func fourierAcross[T block.Float](b *build, g geometry.AxisGroup) func() {
	re, im, yre, yim := b.in(0), b.in(1), b.out(0), b.out(1)
	lines := g.Outer * g.Inner
	p := newFourierPlan[T](b.n.Attrs.(ir.FourierAttrs).Length, lines, laneColumns)
	length := 4*p.size() + p.spare()
	b.rt().need(length * re.Typ.DType.Size())
	return b.rt().parallel(p.groups(lines), grain(p.work()), func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first := k * p.lanes
			count := min(p.lanes, lines-first)
			x := p.buffersOf(scratchOf[T](w, length))
			p.loadAcross(x.xre, plan.Data[T](re), first, count, g.Inner)
			p.loadAcross(x.xim, plan.Data[T](im), first, count, g.Inner)
			x = p.run(x)
			p.storeAcross(plan.Data[T](yre), x.xre, first, count, g.Inner)
			p.storeAcross(plan.Data[T](yim), x.xim, first, count, g.Inner)
		}
	})
}

// loadAcross stores lines from the first on side by side, inner of which lie side by side already.
func (p *fourierPlan[T]) loadAcross(dst, src []T, first, count, inner int) {
	for l := range count {
		line := first + l
		from := src[line/inner*p.n*inner+line%inner:]
		for i := range p.n {
			dst[i*p.lanes+l] = from[i*inner]
		}
	}
	p.fill(dst, count)
}

func (p *fourierPlan[T]) storeAcross(dst, src []T, first, count, inner int) {
	for l := range count {
		line := first + l
		to := dst[line/inner*p.n*inner+line%inner:]
		for i := range p.n {
			to[i*inner] = src[i*p.lanes+l]
		}
	}
}
