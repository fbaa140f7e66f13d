package cpu

import (
	"unsafe"

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

// realPlan transforms real lines. Of one of an even length, neighbours are the parts of half as many complex numbers;
// one of an odd length is complex with imaginary parts of zero. No line meets another, whose numbers may be of another
// size or none.
type realPlan[T block.Float] struct {
	complex *fourierPlan[T]
	whole   *fourierPlan[T] // moves lines of n
	bins    *fourierPlan[T] // moves their transforms, without the last element of those of an even length
	factors []T             // of an even length; see vec.SplitReal
}

// newRealPlan returns the plan for lines of length n. Turn is the sign of the factors.
func newRealPlan[T block.Float](n, lines, turn int) *realPlan[T] {
	p := &realPlan[T]{}
	if n%2 > 0 {
		p.complex = newFourierPlan[T](n, lines, longLine)
	} else {
		p.complex = newFourierPlan[T](n/2, lines, longLine)
		for k := range n/4 + 1 {
			p.factors = appendTurn(p.factors, (n+turn*k)%n, n)
		}
	}
	mover := func(n int) *fourierPlan[T] { return &fourierPlan[T]{n: n, lanes: p.complex.lanes} }
	p.whole, p.bins = mover(n), mover((n+1)/2)
	return p
}

// need is the scratch memory of a group of lines: four buffers of the transform, a line, and the last elements.
func (p *realPlan[T]) need() int {
	return 4*p.complex.size() + p.whole.size() + p.complex.lanes + p.complex.spare()
}

// buffersOf cuts scratch memory. Products may read behind the buffers of the transform.
func (p *realPlan[T]) buffersOf(scratch []T) (z fourierBuffers[T], line, last []T) {
	own := 4*p.complex.size() + p.complex.spare()
	line = scratch[own:]
	return p.complex.buffersOf(scratch[:own]), line[:p.whole.size()], line[p.whole.size():]
}

// part moves lines between their own memory and a part of complex numbers: every other element from the first on.
func (p *realPlan[T]) part(part, line []T, first int, back bool) {
	if p.complex.n == 0 {
		return
	}
	bytes := p.complex.lanes * int(unsafe.Sizeof(T(0)))
	of, all := unsafe.Pointer(&part[0]), unsafe.Pointer(&line[first*p.complex.lanes])
	if back {
		moveRows(all, of, p.complex.n, bytes, 2*bytes, bytes)
	} else {
		moveRows(of, all, p.complex.n, bytes, bytes, 2*bytes)
	}
}

func realFourier[T block.Float](b *build) func() {
	a := b.n.Attrs.(ir.FourierAttrs)
	x, re, im := b.in(0), b.out(0), b.out(1)
	if x.N == 0 {
		return func() {}
	}
	n, bins := a.Length, a.Bins()
	lines := x.N / n
	p := newRealPlan[T](n, lines, 1)
	lanes := p.complex.lanes
	b.rt().need(p.need() * x.Typ.DType.Size())
	return b.rt().parallel(p.complex.groups(lines), grain(2*p.complex.work()), func(w *worker, lo, hi int) {
		z0, line, last := p.buffersOf(scratchOf[T](w, p.need()))
		for k := lo; k < hi; k++ {
			first, z := k*lanes, z0
			count := min(lanes, lines-first)
			from, yre, yim := plan.Data[T](x)[first*n:], plan.Data[T](re)[first*bins:], plan.Data[T](im)[first*bins:]
			if n%2 > 0 {
				p.whole.load(z.xre, from, count, n)
				clear(z.xim)
				z = p.complex.run(z)
			} else {
				p.whole.load(line, from, count, n)
				p.part(z.xre, line, 0, false)
				p.part(z.xim, line, 1, false)
				z = p.complex.run(z)
				vec.SplitReal(z.xre, z.xim, last, p.factors, n/2, lanes)
				for i := range count {
					yre[i*bins+bins-1], yim[i*bins+bins-1] = last[i], 0
				}
			}
			p.bins.store(yre, z.xre, count, p.bins.n, bins)
			p.bins.store(yim, z.xim, count, p.bins.n, bins)
			if n%2 > 0 { // a sum of real numbers
				for i := range count {
					yim[i*bins] = 0
				}
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
	p := newRealPlan[T](n, lines, -1)
	lanes := p.complex.lanes
	b.rt().need(p.need() * x.Typ.DType.Size())
	return b.rt().parallel(p.complex.groups(lines), grain(2*p.complex.work()), func(w *worker, lo, hi int) {
		z0, line, last := p.buffersOf(scratchOf[T](w, p.need()))
		for k := lo; k < hi; k++ {
			first, z := k*lanes, z0
			count := min(lanes, lines-first)
			to, xre, xim := plan.Data[T](x)[first*n:], plan.Data[T](re)[first*bins:], plan.Data[T](im)[first*bins:]
			p.bins.load(z.xim[:p.bins.size()], xre, count, bins)
			p.bins.load(z.xre[:p.bins.size()], xim, count, bins)
			if n%2 > 0 {
				mirror(z, n, lanes)
				z = p.complex.run(z)
				p.whole.store(to, z.xim, count, n, n)
				continue
			}
			for i := range lanes {
				last[i] = xre[min(i, count-1)*bins+bins-1]
			}
			vec.JoinReal(z.xim, z.xre, last, p.factors, n/2, lanes)
			z = p.complex.run(z)
			p.part(z.xim, line, 0, true)
			p.part(z.xre, line, 1, true)
			p.whole.store(to, line, count, n, n)
		}
	})
}

// mirror adds to the transforms of real lines of an odd length, parts exchanged, the elements that are conjugates of
// others. The first element is real.
func mirror[T block.Float](z fourierBuffers[T], n, lanes int) {
	clear(z.xre[:lanes])
	for k := 1; k <= n/2; k++ {
		from, to := k*lanes, (n-k)*lanes
		for l := range lanes {
			z.xim[to+l], z.xre[to+l] = z.xim[from+l], -z.xre[from+l]
		}
	}
}
