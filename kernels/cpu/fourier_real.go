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

// realPlan transforms real lines. A line of even length is treated as half as many complex numbers, whose parts are
// neighbours. A line of odd length is treated as complex, with imaginary parts of zero. Two lines are never combined
// into one complex line: NaN, infinities or large numbers of one must not affect another.
type realPlan[T block.Float] struct {
	complex *fourierPlan[T]
	whole   *fourierPlan[T] // moves lines of length n
	bins    *fourierPlan[T] // moves their transforms; for even lengths without the last element
	factors []T             // for even lengths; see vec.SplitReal
}

// newRealPlan returns the plan for lines of length n. turn is the sign of the factors.
func newRealPlan[T block.Float](n, lines, turn, workers int) *realPlan[T] {
	p := &realPlan[T]{}
	if n%2 > 0 {
		p.complex = newFourierPlan[T](n, lines, longestInLanes[T]())
	} else {
		p.complex = newFourierPlan[T](n/2, lines, longestInLanes[T]())
		for k := range n/4 + 1 {
			p.factors = appendTurn(p.factors, (n+turn*k)%n, n)
		}
	}
	p.complex.widen(lines, turnedBytes, workers)
	mover := func(n int) *fourierPlan[T] { return &fourierPlan[T]{n: n, lanes: p.complex.lanes} }
	p.whole, p.bins = mover(n), mover((n+1)/2)
	return p
}

// need returns the scratch memory for a group of lines: for the transform, a line, and the last elements.
func (p *realPlan[T]) need() int {
	return p.own() + p.whole.size() + p.complex.lanes
}

// own returns the part of that for the transform: buffers beyond which products may read, or a line with its scratch
// memory.
func (p *realPlan[T]) own() int {
	if p.complex.lanes == 1 {
		return 2*p.complex.n + p.complex.need()
	}
	return p.complex.need()
}

// buffersOf cuts scratch memory.
//
//go:noinline
func (p *realPlan[T]) buffersOf(scratch []T) (z fourierBuffers[T], line, last []T) {
	line = scratch[p.own():]
	if n := p.complex.n; p.complex.lanes == 1 {
		z = fourierBuffers[T]{xre: scratch[:n], xim: scratch[n : 2*n], spare: scratch[2*n : p.own()]}
	} else {
		z = p.complex.buffersOf(scratch[:p.own()])
	}
	return z, line[:p.whole.size()], line[p.whole.size():]
}

// parts views the elements of lines as complex numbers with alternating parts, which a step can read and write in
// place.
func (p *realPlan[T]) parts(line []T) vec.Runs[T] {
	return vec.Runs[T]{Re: line, Im: line[p.complex.lanes:], Step: 2 * p.complex.lanes}
}

// part moves lines between memory and one part of complex numbers, that is every other element from the first on.
//
//go:noinline
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

// forward transforms lines of even length, reading them in place as complex numbers.
func (p *realPlan[T]) forward(z fourierBuffers[T], line, from []T, count int) fourierBuffers[T] {
	m, size := p.complex.n, int(unsafe.Sizeof(T(0)))
	if p.complex.lanes == 1 {
		gatherElements(unsafe.Pointer(&z.xre[0]), unsafe.Pointer(&from[0]), size, 2*size, m)
		gatherElements(unsafe.Pointer(&z.xim[0]), unsafe.Pointer(&from[1]), size, 2*size, m)
		p.complex.single(z.x(1), z.x(1), z.spare)
		return z
	}
	p.whole.load(line, from, count, 2*m)
	if p.complex.reads() {
		return p.complex.runBetween(z, p.parts(line), vec.Runs[T]{})
	}
	p.part(z.xre, line, 0, false)
	p.part(z.xim, line, 1, false)
	return p.complex.run(z)
}

// backward is the inverse of forward. It uses the same transform, with real and imaginary parts exchanged before and
// after.
func (p *realPlan[T]) backward(z fourierBuffers[T], line, to []T, count int) {
	m, size := p.complex.n, int(unsafe.Sizeof(T(0)))
	if p.complex.lanes == 1 {
		p.complex.single(z.x(1), z.x(1), z.spare)
		done := vec.Turns(unsafe.Pointer(&to[0]), []unsafe.Pointer{unsafe.Pointer(&z.xim[0]), unsafe.Pointer(&z.xre[0])}, size, 0, m)
		for i := done; i < m; i++ {
			to[2*i], to[2*i+1] = z.xim[i], z.xre[i]
		}
		return
	}
	if parts := p.parts(line); p.complex.writes() {
		parts.Re, parts.Im = parts.Im, parts.Re
		p.complex.runBetween(z, vec.Runs[T]{}, parts)
	} else {
		z = p.complex.run(z)
		p.part(z.xim, line, 0, true)
		p.part(z.xre, line, 1, true)
	}
	p.whole.store(to, line, count, 2*m, 2*m)
}

// odd transforms complex lines of odd length.
//
//go:noinline
func (p *realPlan[T]) odd(z fourierBuffers[T]) fourierBuffers[T] {
	if p.complex.lanes > 1 {
		return p.complex.run(z)
	}
	p.complex.single(z.x(1), z.x(1), z.spare)
	return z
}

func realFourier[T block.Float](b *build) func() {
	a := b.n.Attrs.(ir.FourierAttrs)
	x, re, im := b.in(0), b.out(0), b.out(1)
	if x.N == 0 {
		return func() {}
	}
	n, bins := a.Length, a.Bins()
	lines := x.N / n
	p := newRealPlan[T](n, lines, 1, len(b.rt().workers))
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
				z = p.odd(z)
			} else {
				z = p.forward(z, line, from, count)
				vec.SplitReal(z.xre, z.xim, last, p.factors, n/2, lanes)
			}
			p.bins.store(yre, z.xre, count, p.bins.n, bins)
			p.bins.store(yim, z.xim, count, p.bins.n, bins)
			for i := 0; i < count && n%2 == 0; i++ {
				yre[i*bins+bins-1], yim[i*bins+bins-1] = last[i], 0
			}
			for i := 0; i < count && n%2 > 0; i++ {
				yim[i*bins] = 0 // a sum of real numbers
			}
		}
	})
}

// hermitianFourier is the inverse of realFourier, without a scale. It uses the same transform, with real and imaginary
// parts exchanged before and after.
func hermitianFourier[T block.Float](b *build) func() {
	a := b.n.Attrs.(ir.FourierAttrs)
	re, im, x := b.in(0), b.in(1), b.out(0)
	if x.N == 0 {
		return func() {}
	}
	n, bins := a.Length, a.Bins()
	lines := x.N / n
	p := newRealPlan[T](n, lines, -1, len(b.rt().workers))
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
				z = p.odd(z)
				p.whole.store(to, z.xim, count, n, n)
				continue
			}
			for i := range lanes {
				last[i] = xre[min(i, count-1)*bins+bins-1]
			}
			vec.JoinReal(z.xim, z.xre, last, p.factors, n/2, lanes)
			p.backward(z, line, to, count)
		}
	})
}

// mirror completes the transforms of real lines of odd length, with exchanged parts, by the conjugates of the given
// elements. The first element is real.
//
//go:noinline
func mirror[T block.Float](z fourierBuffers[T], n, lanes int) {
	clear(z.xre[:lanes])
	for k := 1; k <= n/2; k++ {
		from, to := k*lanes, (n-k)*lanes
		for l := range lanes {
			z.xim[to+l], z.xre[to+l] = z.xim[from+l], -z.xre[from+l]
		}
	}
}
