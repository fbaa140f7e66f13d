package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Transforms of many lines are computed vec.Lanes at a time, those of few or very long lines one by one. Neighbours
// of real lines are the real and the imaginary parts of complex ones.

const (
	longLine    = 1 << 13       // elements from which on lanes would not stay in the second-level cache
	laneColumns = 1 << 17       // and where the lines lie side by side, so that single ones are read by columns
	fewLines    = vec.Lanes / 2 // so few are not worth it
	wideLanes   = 4 * vec.Lanes // what widen makes of vec.Lanes
	wideBytes   = 512 << 10     // of all buffers
)

// fourierPlan is a transform of length n: steps of small lengths, whose product it is.
type fourierPlan[T block.Float] struct {
	n, lanes int
	radices  []int
	factors  [][]T // of each step; see vec.Butterfly
	roots    [][]T
	matrices [][]T            // of steps of other lengths than 2 to 5, in place of those
	odd      *oddStep[T]      // the last step, of a larger prime, in place of its matrices
	long     *longLinePlan[T] // of single lines, in place of all steps
}

// newFourierPlan plans so many lines, of which those longer than longest go one by one.
func newFourierPlan[T block.Float](n, lines, longest int) *fourierPlan[T] {
	p := &fourierPlan[T]{n: n, lanes: vec.Lanes}
	if lines < fewLines || n > longest {
		p.lanes = 1
	}
	primes := ir.FourierFactors(n)
	for len(primes) > 1 && primes[1] == 2 {
		p.radices, primes = append(p.radices, 4), primes[2:]
	}
	p.radices = append(p.radices, primes...)
	if p.lanes == 1 {
		if p.long = newLongLinePlan[T](n); p.long != nil {
			return p
		}
	}
	length := n
	for _, r := range p.radices {
		count, largestButterfly := length/r, 5
		if p.lanes == 1 { // which vectors do not take
			largestButterfly = 4
		}
		var turns, roots, matrix []T
		if r > largestButterfly && count == 1 && oddPays(r, n/r*p.lanes) {
			p.odd = newOddStep[T](r)
		} else if r > largestButterfly && r <= largestMatrixRadix && count*r*r <= largestMatrices {
			matrix = stepMatrices[T](r, count)
		} else {
			for i := range count {
				for k := 1; k < r; k++ {
					turns = appendTurn(turns, i*k%length, length)
				}
			}
			for j := range r {
				roots = appendTurn(roots, j, r)
			}
		}
		p.factors, p.roots, p.matrices = append(p.factors, turns), append(p.roots, roots), append(p.matrices, matrix)
		length = count
	}
	return p
}

const (
	largestMatrixRadix = ir.LargestFourierPrime
	matrixSum          = 256     // sums of so many products do not go through memory
	largestMatrices    = 1 << 20 // elements
	spareElements      = 64      // that products may read behind their operands
)

// stepMatrices returns, for each of count places, the matrices [C S; -S C] that transform parts of length r and
// multiply them by their factors.
func stepMatrices[T block.Float](r, count int) []T {
	n := r * count
	all := make([]T, 0, 4*r*n)
	for q := range count {
		for _, part := range []int{0, 1} {
			for k := range r {
				line := make([]T, 2*r)
				for j := range r {
					sin, cos := ir.SincosTurn(k*(q+j*count)%n, n)
					line[j], line[r+j] = T(cos), T(sin)
					if part == 1 {
						line[j], line[r+j] = T(-sin), T(cos)
					}
				}
				all = append(all, line...)
			}
		}
	}
	return all
}

// multiply is a step with its matrices. The imaginary parts lie after the real ones.
func (p *fourierPlan[T]) multiply(b fourierBuffers[T], matrices []T, r, count, run int) {
	for q := range count {
		a := matrices[q*4*r*r : (q+1)*4*r*r]
		for k := 0; k < 2*r; k += matrixSum {
			t := product[T]{m: r, n: run, k: min(matrixSum, 2*r-k), a: a[k:], lda: 2 * r, b: b.xre[(k*count+q)*run : cap(b.xre)], ldb: count * run,
				c: b.yre[q*r*run:], ldc: run, accumulate: k > 0}
			t.runSmall()
			t.a, t.c = a[2*r*r+k:], b.yim[q*r*run:]
			t.runSmall()
		}
	}
}

// appendTurn appends the parts of exp(-2πi·k/n).
func appendTurn[T block.Float](to []T, k, n int) []T {
	sin, cos := ir.SincosTurn(k, n)
	return append(to, T(cos), T(-sin))
}

// widen takes more lines at a time that lie side by side, while the workers have enough to do and what is transformed
// stays in the second-level cache: rows of 64 bytes that lie pages apart are fetched one by one, longer ones in a row.
func (p *fourierPlan[T]) widen(g geometry.AxisGroup, workers int) {
	bytes := 4 * int(unsafe.Sizeof(T(0)))
	for p.lanes > 1 && p.lanes < wideLanes && bytes*2*p.size() <= wideBytes && g.Outer*(g.Inner/(2*p.lanes)) >= workers {
		p.lanes *= 2
	}
}

// size is the number of elements of each of four buffers.
func (p *fourierPlan[T]) size() int { return p.n * p.lanes }

// spare is how much scratch memory there is behind the buffers.
func (p *fourierPlan[T]) spare() int {
	if p.long != nil {
		return spareElements + p.long.spare()
	}
	return spareElements
}

// groups returns how many times lines of the lanes there are.
func (p *fourierPlan[T]) groups(lines int) int { return (lines + p.lanes - 1) / p.lanes }

// work estimates what a group takes.
func (p *fourierPlan[T]) work() int { return 2 * p.size() * (len(p.radices) + 1) }

// buffersOf cuts scratch memory into complex buffers x and y.
func (p *fourierPlan[T]) buffersOf(scratch []T) (b fourierBuffers[T]) {
	n := p.size()
	return fourierBuffers[T]{scratch[:n], scratch[n : 2*n], scratch[2*n : 3*n], scratch[3*n : 4*n], scratch[4*n:]}
}

type fourierBuffers[T block.Float] struct{ xre, xim, yre, yim, spare []T }

// run transforms what is in x, and returns the buffers with the result in x.
func (p *fourierPlan[T]) run(b fourierBuffers[T]) fourierBuffers[T] {
	if p.long != nil {
		p.long.run(b)
		return b
	}
	run, count := p.lanes, p.n
	for i, r := range p.radices {
		count /= r
		if p.odd != nil && count == 1 {
			p.odd.run(b, run)
		} else if m := p.matrices[i]; m != nil {
			p.multiply(b, m, r, count, run)
		} else {
			vec.Butterfly(b.yre, b.yim, b.xre, b.xim, p.factors[i], p.roots[i], r, count, run)
		}
		run *= r
		b.xre, b.xim, b.yre, b.yim = b.yre, b.yim, b.xre, b.xim
	}
	return b
}

func buildFourier(b *build) (func(), error) { return byFloat(b, fourier[float64], fourier[float32]) }

func fourier[T block.Float](b *build) func() {
	a := b.n.Attrs.(ir.FourierAttrs)
	re, im, yre, yim := b.in(0), b.in(1), b.out(0), b.out(1)
	g := lines(re.Typ.Shape, a.Axis)
	if re.N == 0 {
		return func() {}
	}
	if g.Inner > 1 && g.Inner < vec.Lanes && g.Outer > 1 {
		return fourierAcross[T](b, g)
	}
	if g.Inner == 1 {
		p := newFourierPlan[T](a.Length, g.Outer, longLine)
		b.rt().need((4*p.size() + p.spare()) * re.Typ.DType.Size())
		return b.rt().parallel(p.groups(g.Outer), grain(p.work()), func(w *worker, lo, hi int) {
			for k := lo; k < hi; k++ {
				first := k * p.lanes
				count := min(p.lanes, g.Outer-first)
				x := p.buffersOf(scratchOf[T](w, 4*p.size()+p.spare()))
				p.load(x.xre, plan.Data[T](re)[first*p.n:], count, p.n)
				p.load(x.xim, plan.Data[T](im)[first*p.n:], count, p.n)
				x = p.run(x)
				p.store(plan.Data[T](yre)[first*p.n:], x.xre, count, p.n, p.n)
				p.store(plan.Data[T](yim)[first*p.n:], x.xim, count, p.n, p.n)
			}
		})
	}
	p := newFourierPlan[T](a.Length, g.Inner, laneColumns)
	p.widen(g, len(b.rt().workers))
	chunks := p.groups(g.Inner)
	b.rt().need((4*p.size() + p.spare()) * re.Typ.DType.Size())
	return b.rt().parallel(g.Outer*chunks, grain(p.work()), func(w *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			first := k % chunks * p.lanes
			at := k/chunks*p.n*g.Inner + first
			count := min(p.lanes, g.Inner-first)
			x := p.buffersOf(scratchOf[T](w, 4*p.size()+p.spare()))
			p.columns(x.xre, plan.Data[T](re)[at:], count, g.Inner)
			p.columns(x.xim, plan.Data[T](im)[at:], count, g.Inner)
			x = p.run(x)
			p.putColumns(plan.Data[T](yre)[at:], x.xre, count, g.Inner)
			p.putColumns(plan.Data[T](yim)[at:], x.xim, count, g.Inner)
		}
	})
}

// load stores lines, which are stride apart, side by side. Lanes without one repeat the last.
func (p *fourierPlan[T]) load(dst, src []T, count, stride int) {
	if p.lanes == 1 {
		copy(dst, src[:p.n])
		return
	}
	micro.Transpose(dst, src[:(count-1)*stride+p.n], count, p.n, p.lanes, stride)
	p.fill(dst, count)
}

// fill repeats the last of the first lanes in those after it.
func (p *fourierPlan[T]) fill(x []T, count int) {
	for i := 0; count < p.lanes && i < len(x); i += p.lanes {
		for l := count; l < p.lanes; l++ {
			x[i+l] = x[i+count-1]
		}
	}
}

// store writes the first elements of each lane to lines that are stride apart.
func (p *fourierPlan[T]) store(dst, src []T, count, elements, stride int) {
	if p.lanes == 1 {
		copy(dst[:elements], src)
		return
	}
	micro.Transpose(dst[:(count-1)*stride+elements], src[:elements*p.lanes], elements, count, stride, p.lanes)
}

// columns is load of lines that lie side by side, their elements stride apart.
func (p *fourierPlan[T]) columns(dst, src []T, count, stride int) {
	size := int(unsafe.Sizeof(T(0)))
	src = src[:(p.n-1)*stride+count]
	moveRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), p.n, count*size, p.lanes*size, stride*size)
	p.fill(dst, count)
}

func (p *fourierPlan[T]) putColumns(dst, src []T, count, stride int) {
	size := int(unsafe.Sizeof(T(0)))
	dst = dst[:(p.n-1)*stride+count]
	moveRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), p.n, count*size, stride*size, p.lanes*size)
}
