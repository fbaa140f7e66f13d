package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// largestOdd is the largest prime for which an [oddStep] is faster than a convolution of more than twice the length.
// Per number, the cost of the former grows with the prime, that of the latter with its logarithm.
const largestOdd = 500

// primeStep is a step for a larger prime, by real matrices or by a convolution.
type primeStep[T block.Float] struct {
	units[T]
	r     int
	odd   *oddStep[T]
	chirp *chirpPlan[T]
}

// newPrimeStep plans transforms of runs of numbers.
func newPrimeStep[T block.Float](r, run int) *primeStep[T] {
	if r <= largestOdd {
		return &primeStep[T]{units: newUnits[T](), r: r, odd: newOddStep[T](r)}
	}
	return &primeStep[T]{units: newUnits[T](), r: r, chirp: newChirpPlan[T](r, run)}
}

// need returns the scratch memory beyond the buffers. An inner step, one that is not the last, has buffers of its own.
func (s *primeStep[T]) need(run int, inner bool) (n int) {
	if inner {
		n += 4*s.r*run + spareElements
	}
	if s.chirp != nil {
		n += s.chirp.need()
	}
	return n
}

// run computes y from x, like vec.Butterfly. factors holds those of all results. It overwrites x.
func (s *primeStep[T]) run(b fourierBuffers[T], factors []T, count, run int) {
	if count == 1 {
		s.transform(b, run)
		return
	}
	size, n := int(unsafe.Sizeof(T(0))), s.r*run
	for p := range count {
		own := cutBuffers(b.spare, n)
		for _, part := range [...]struct{ to, from []T }{{own.xre, b.xre[p*run:]}, {own.xim, b.xim[p*run:]}} {
			moveRows(unsafe.Pointer(&part.to[0]), unsafe.Pointer(&part.from[0]), s.r, run*size, run*size, count*run*size)
		}
		s.transform(own, run)
		y := vec.Runs[T]{Re: b.yre[p*n:], Im: b.yim[p*n:], Step: run}
		s.scale(y, vec.Runs[T]{Re: own.yre, Im: own.yim, Step: run}, factors[2*s.r*p:], s.r, run)
	}
}

//go:noinline
func (s *primeStep[T]) transform(b fourierBuffers[T], run int) {
	if s.odd != nil {
		s.odd.run(b, run)
		return
	}
	s.chirp.lines(b)
}

// units holds factors of 1, for scaling rows by a single factor each.
type units[T block.Float] struct{ one vec.Runs[T] }

//go:noinline
func newUnits[T block.Float]() units[T] {
	one := make([]T, 16*vec.Lanes)
	for i := range one {
		one[i] = 1
	}
	return units[T]{vec.Runs[T]{Re: one, Im: make([]T, len(one))}}
}

// scale multiplies each row by its complex factor.
//
//go:noinline
func (u units[T]) scale(y, x vec.Runs[T], factors []T, rows, width int) {
	for first := 0; first < width; first += len(u.one.Re) {
		y, x := y, x
		y.Re, y.Im, x.Re, x.Im = y.Re[first:], y.Im[first:], x.Re[first:], x.Im[first:]
		vec.TurnRows(y, x, u.one, factors, rows, min(len(u.one.Re), width-first))
	}
}

// chirpPlan computes a transform of any length n as a convolution (Bluestein 1970). With w[t] = exp(-πi·t²/n),
//
//	y[k] = w[k] · Σ_t (x[t]·w[t]) · conj(w[k-t])
//
// The convolution uses transforms of a length without larger prime factors. The error grows as it does for these.
type chirpPlan[T block.Float] struct {
	units[T]
	n, m, lanes   int
	inner         *fourierPlan[T] // of length m, at least 2n-1
	turns, kernel []T             // w, and the transform of its conjugate divided by m: in pairs for lanes, else first cosines, then sines
	whole         []T             // the factor 1
}

// newChirpPlan plans a transform of the given number of lanes, or of single lines if it is 1.
func newChirpPlan[T block.Float](n, lanes int) *chirpPlan[T] {
	c := &chirpPlan[T]{units: newUnits[T](), n: n, m: chirpLength(n), lanes: lanes, whole: []T{1, 0}}
	if lanes == 1 {
		c.inner = newFourierPlan[T](c.m, 1, 0)
	} else {
		c.inner = newLanePlan[T](c.m, lanes)
	}
	kernel := vec.Runs[float64]{Re: make([]float64, c.m), Im: make([]float64, c.m)}
	c.turns, c.kernel = make([]T, 2*n), make([]T, 2*c.m)
	put := func(to []T, i int, re, im float64) {
		if lanes == 1 {
			to[i], to[len(to)/2+i] = T(re), T(im)
		} else {
			to[2*i], to[2*i+1] = T(re), T(im)
		}
	}
	for t := range n {
		sin, cos := ir.SincosTurn(t*t%(2*n), 2*n)
		put(c.turns, t, cos, -sin)
		for _, at := range []int{t, (c.m - t) % c.m} {
			kernel.Re[at], kernel.Im[at] = cos/float64(c.m), sin/float64(c.m)
		}
	}
	exact := newFourierPlan[float64](c.m, 1, 0)
	exact.single(kernel, kernel, make([]float64, exact.need()))
	for i := range c.m {
		put(c.kernel, i, kernel.Re[i], kernel.Im[i])
	}
	return c
}

// chirpLength returns the fastest length that is large enough and has no prime factor above 5.
func chirpLength(n int) int {
	best, least := 0, math.MaxInt
	for two := 16; two < 8*n; two *= 2 {
		for three := two; three < 8*n; three *= 3 {
			for m := three; m < 8*n; m *= 5 {
				if work := m * (len(radicesOf(m, true)) + 2); m >= 2*n-1 && work < least {
					best, least = m, work
				}
			}
		}
	}
	return best
}

// need is the scratch memory.
func (c *chirpPlan[T]) need() int {
	if c.lanes == 1 {
		return 2*c.m + c.inner.need()
	}
	return c.inner.need()
}

// lines transforms buffer x to y.
func (c *chirpPlan[T]) lines(b fourierBuffers[T]) {
	a, size := c.inner.buffersOf(b.spare), c.n*c.lanes
	c.scale(a.x(c.lanes), b.x(c.lanes), c.turns, c.n, c.lanes)
	clear(a.xre[size:])
	clear(a.xim[size:])
	a = c.inner.run(a)
	c.scale(a.x(c.lanes), a.x(c.lanes), c.kernel, c.m, c.lanes)
	a.xre, a.xim, a.yre, a.yim = a.xim, a.xre, a.yim, a.yre
	a = c.inner.run(a)
	a.xre, a.xim = a.xim, a.xre
	c.scale(vec.Runs[T]{Re: b.yre, Im: b.yim, Step: c.lanes}, a.x(c.lanes), c.turns, c.n, c.lanes)
}

// single transforms one line, in place or to elsewhere.
func (c *chirpPlan[T]) single(dst, src vec.Runs[T], scratch []T) {
	a := vec.Runs[T]{Re: scratch[:c.m], Im: scratch[c.m : 2*c.m]}
	scratch = scratch[2*c.m:]
	turn := func(y, x vec.Runs[T], by []T, n int) {
		vec.TurnRows(y, x, vec.Runs[T]{Re: by[:len(by)/2], Im: by[len(by)/2:]}, c.whole, 1, n)
	}
	turn(a, src, c.turns, c.n)
	clear(a.Re[c.n:])
	clear(a.Im[c.n:])
	c.inner.single(a, a, scratch)
	turn(a, a, c.kernel, c.m)
	back := vec.Runs[T]{Re: a.Im, Im: a.Re}
	c.inner.single(back, back, scratch)
	turn(dst, a, c.turns, c.n)
}
