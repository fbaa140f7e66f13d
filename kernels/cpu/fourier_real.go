package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildRealFourier(b *build) (func(), error) {
	return byFloat(b, realFourier[float64], realFourier[float32])
}

func buildHermitianFourier(b *build) (func(), error) {
	return byFloat(b, hermitianFourier[float64], hermitianFourier[float32])
}

// pairOf returns the numbers of lines with even and with odd numbers among those of group k.
func (p *fourierPlan[T]) pairOf(k, lines int) (first, even, odd int) {
	first = 2 * k * p.lanes
	count := min(2*p.lanes, lines-first)
	return first, (count + 1) / 2, count / 2
}

// realFourier transforms pairs of lines: of the transform of x + i·y, what is symmetric belongs to x and the rest to y.
func realFourier[T block.Float](b *build) func() {
	a := b.n.Attrs.(ir.FourierAttrs)
	x, re, im := b.in(0), b.out(0), b.out(1)
	if x.N == 0 {
		return func() {}
	}
	n, bins := a.Length, a.Bins()
	lines := x.N / n
	p := newFourierPlan[T](n, lines/2)
	b.rt().need((8*p.size() + spareElements) * x.Typ.DType.Size())
	return b.rt().parallel(p.groups((lines+1)/2), grain(p.work()), func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first, even, odd := p.pairOf(k, lines)
			from, yre, yim := plan.Data[T](x)[first*n:], plan.Data[T](re)[first*bins:], plan.Data[T](im)[first*bins:]
			scratch := scratchOf[T](w, 8*p.size()+spareElements)
			z := p.buffersOf(scratch)
			p.load(z.xre, from, even, 2*n)
			if odd == 0 {
				clear(z.xim)
			} else {
				p.load(z.xim, from[n:], odd, 2*n)
			}
			z = p.run(z)
			s := p.buffersOf(scratch[4*p.size():])
			vec.SplitPairs(s.xre, s.xim, s.yre, s.yim, z.xre, z.xim, n, p.lanes)
			p.store(yre, s.xre, even, bins, 2*bins)
			p.store(yim, s.xim, even, bins, 2*bins)
			if odd > 0 {
				p.store(yre[bins:], s.yre, odd, bins, 2*bins)
				p.store(yim[bins:], s.yim, odd, bins, 2*bins)
			}
		}
	})
}

// hermitianFourier is the inverse of that, without a scale. The inverse transform is the transform with the parts
// exchanged, on both sides.
func hermitianFourier[T block.Float](b *build) func() {
	a := b.n.Attrs.(ir.FourierAttrs)
	re, im, x := b.in(0), b.in(1), b.out(0)
	if x.N == 0 {
		return func() {}
	}
	n, bins := a.Length, a.Bins()
	lines := x.N / n
	p := newFourierPlan[T](n, lines/2)
	b.rt().need((8*p.size() + spareElements) * x.Typ.DType.Size())
	half := newFourierPlan[T](1, 1) // moves elements 0 to bins-1
	half.n, half.lanes = bins, p.lanes
	return b.rt().parallel(p.groups((lines+1)/2), grain(p.work()), func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first, even, odd := p.pairOf(k, lines)
			to, xre, xim := plan.Data[T](x)[first*n:], plan.Data[T](re)[first*bins:], plan.Data[T](im)[first*bins:]
			scratch := scratchOf[T](w, 8*p.size()+spareElements)
			z, s := p.buffersOf(scratch), p.buffersOf(scratch[4*p.size():])
			half.load(s.xre[:half.size()], xre, even, 2*bins)
			half.load(s.xim[:half.size()], xim, even, 2*bins)
			if odd == 0 {
				clear(s.yre)
				clear(s.yim)
			} else {
				half.load(s.yre[:half.size()], xre[bins:], odd, 2*bins)
				half.load(s.yim[:half.size()], xim[bins:], odd, 2*bins)
			}
			vec.JoinPairs(z.xim, z.xre, s.xre, s.xim, s.yre, s.yim, n, p.lanes)
			z = p.run(z)
			p.store(to, z.xim, even, n, 2*n)
			if odd > 0 {
				p.store(to[n:], z.xre, odd, n, 2*n)
			}
		}
	})
}
