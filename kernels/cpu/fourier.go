package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Transforms of many lines compute vec.Lanes lines or more at a time. If there are few lines, or they are very long,
// each is computed alone. A real line of even length is treated as a complex one: two neighbours are the real and the
// imaginary part.

const (
	fewLines    = vec.Lanes / 2 // fewer lines do not fill enough lanes
	longBytes   = 1 << 20       // limit for the buffers of a group of lanes, so that they stay in the second-level cache
	laneColumns = 1 << 17       // length of interleaved lines up to which lanes are faster; longer ones are read column by column
	wideLanes   = 16 * vec.Lanes
	wideBytes   = 256 << 10 // limit for all buffers of a wider group of interleaved lines
	turnedBytes = 16 << 10  // the same for lines that are transposed, in part of the first-level cache
)

// fourierPlan is a transform of length n, as steps whose lengths multiply to n.
type fourierPlan[T block.Float] struct {
	n, lanes int
	radices  []int
	factors  [][]T // of each step; see vec.Butterfly
	roots    [][]T
	matrices [][]T            // of steps with lengths other than 2 to 5 and 8; replace factors
	primes   []*primeStep[T]  // of steps with larger primes; replace factors and matrices
	long     *longLinePlan[T] // of single lines; replaces all steps
	chirp    *chirpPlan[T]    // the same for lengths that long cannot do
}

// newFourierPlan plans for the given number of lines. Lines longer than longest are computed one by one.
func newFourierPlan[T block.Float](n, lines, longest int) *fourierPlan[T] {
	held := n
	if largestPrime(n) > largestOdd {
		held = 3 * n // see chirpPlan
	}
	if lines >= fewLines && held <= longest {
		return newLanePlan[T](n, vec.Lanes)
	}
	p := &fourierPlan[T]{n: n, lanes: 1}
	if n < leastLong {
		p.addSteps()
		return p
	}
	if p.long = newLongLinePlan[T](n, 1); p.long == nil {
		p.chirp = newChirpPlan[T](n, 1)
	}
	return p
}

// longestInLanes is the length up to which the buffers of vec.Lanes lines stay in the second-level cache.
func longestInLanes[T block.Float]() int {
	return longBytes / (4 * vec.Lanes * int(unsafe.Sizeof(T(0))))
}

// newLanePlan plans for the given number of lines side by side.
func newLanePlan[T block.Float](n, lanes int) *fourierPlan[T] {
	p := &fourierPlan[T]{n: n, lanes: lanes}
	p.addSteps()
	return p
}

// radicesOf returns the lengths of the steps of a transform of length n. Powers of two give eights, if these are
// allowed, and fours. The other primes follow in ascending order.
func radicesOf(n int, eights bool) (radices []int) {
	twos := bits.TrailingZeros(uint(n))
	for ; eights && twos >= 3 && twos != 4; twos -= 3 {
		radices = append(radices, 8)
	}
	for ; twos >= 2; twos -= 2 {
		radices = append(radices, 4)
	}
	if twos > 0 {
		radices = append(radices, 2)
	}
	return append(radices, ir.FourierFactors(n>>bits.TrailingZeros(uint(n)))...)
}

// largestPrime returns the largest prime factor of n, or 1.
//
//go:noinline
func largestPrime(n int) int {
	primes := append([]int{1}, ir.FourierFactors(n)...)
	return primes[len(primes)-1]
}

func (p *fourierPlan[T]) addSteps() {
	p.radices = radicesOf(p.n, p.lanes > 1)
	length := p.n
	for _, r := range p.radices {
		count, largestButterfly := length/r, 5
		if p.lanes == 1 { // single lines have no butterfly for 5
			largestButterfly = 4
		}
		var turns, roots, matrix []T
		var prime *primeStep[T]
		whole := 1 // the first factor that is stored
		switch {
		case r <= largestButterfly || r == 8:
		case count == 1 && oddPays(r, p.n/r*p.lanes), p.lanes > 1 && (r > largestMatrixRadix || count*r*r > largestMatrices):
			prime, whole = newPrimeStep[T](r, p.n/(r*count)*p.lanes), 0
		case r <= largestMatrixRadix && count*r*r <= largestMatrices:
			matrix = stepMatrices[T](r, count)
		}
		if matrix == nil {
			for i := 0; i < count && count > 1; i++ {
				for k := whole; k < r; k++ {
					turns = appendTurn(turns, i*k%length, length)
				}
			}
			for j := range r {
				roots = appendTurn(roots, j, r)
			}
		}
		p.factors, p.roots, p.matrices, p.primes = append(p.factors, turns), append(p.roots, roots), append(p.matrices, matrix), append(p.primes, prime)
		length = count
	}
}

const (
	largestMatrixRadix = ir.LargestFourierPrime
	matrixSum          = 256     // longest sum of products that stays in registers
	largestMatrices    = 1 << 20 // elements
	spareElements      = 64      // that products may read beyond their operands
)

// stepMatrices returns, for each of count places, the matrix [C S; -S C]. It transforms parts of length r and
// multiplies them by their factors.
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

// multiply computes a step with its matrices. The imaginary parts follow the real ones.
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

// appendTurn appends the real and the imaginary part of exp(-2πi·k/n).
func appendTurn[T block.Float](to []T, k, n int) []T {
	sin, cos := ir.SincosTurn(k, n)
	return append(to, T(cos), T(-sin))
}

// widen increases the number of lanes as long as all workers have enough to do and the buffers take at most the given
// bytes. That saves calls for short lines. It also makes rows longer: rows of 64 bytes that are pages apart would be
// fetched one by one.
func (p *fourierPlan[T]) widen(lines, most, workers int) {
	bytes, lanes := 4*int(unsafe.Sizeof(T(0))), p.lanes
	for lanes > 1 && lanes < wideLanes && bytes*2*p.n*lanes <= most && lines/(2*lanes) >= workers {
		lanes *= 2
	}
	if lanes > vec.Lanes {
		p.setLanes(evenLanes(lines, lanes))
	}
}

// paddedLanes returns the number of lanes, in whole vectors, that hold the given lines.
func paddedLanes(lines int) int { return (lines + vec.Lanes - 1) / vec.Lanes * vec.Lanes }

// evenLanes returns how many lanes cut the lines into groups of about equal size, without making more groups.
func evenLanes(lines, lanes int) int {
	groups := (lines + lanes - 1) / lanes
	return paddedLanes((lines + groups - 1) / groups)
}

// setLanes changes the number of lanes. It plans anew, because steps of primes depend on that.
func (p *fourierPlan[T]) setLanes(lanes int) {
	if lanes != p.lanes {
		*p = *newLanePlan[T](p.n, lanes)
	}
}

// size returns the number of elements of each of the four buffers.
func (p *fourierPlan[T]) size() int { return p.n * p.lanes }

// need returns how much scratch memory a group of lanes, or a single line, needs.
func (p *fourierPlan[T]) need() int {
	switch {
	case p.long != nil:
		return p.long.need()
	case p.chirp != nil:
		return p.chirp.need()
	}
	spare, run := 0, p.lanes
	for i, r := range p.radices {
		if s := p.primes[i]; s != nil {
			spare = max(spare, s.need(run, run*r < p.size()))
		}
		run *= r
	}
	if p.n < shortPlane {
		spare = max(spare, shortPlane*p.lanes) // see micro.TransposeShort
	}
	return 4*p.size() + spareElements + spare
}

// groups returns the number of groups of lanes for the given lines.
func (p *fourierPlan[T]) groups(lines int) int { return (lines + p.lanes - 1) / p.lanes }

// work estimates the cost of a group.
func (p *fourierPlan[T]) work() int { return 2 * p.size() * (len(p.radices) + 1) }

// buffersOf cuts scratch memory into complex buffers x and y.
func (p *fourierPlan[T]) buffersOf(scratch []T) (b fourierBuffers[T]) {
	return cutBuffers(scratch, p.size())
}

//go:noinline
func cutBuffers[T block.Float](scratch []T, n int) fourierBuffers[T] {
	return fourierBuffers[T]{scratch[:n], scratch[n : 2*n], scratch[2*n : 3*n], scratch[3*n : 4*n], scratch[4*n:]}
}

type fourierBuffers[T block.Float] struct{ xre, xim, yre, yim, spare []T }

// x views buffer x as runs of lanes.
//
//go:noinline
func (b fourierBuffers[T]) x(lanes int) vec.Runs[T] {
	return vec.Runs[T]{Re: b.xre, Im: b.xim, Step: lanes}
}

// run transforms buffer x, and returns the buffers with the result as x.
//
//go:noinline
func (p *fourierPlan[T]) run(b fourierBuffers[T]) fourierBuffers[T] {
	return p.runBetween(b, vec.Runs[T]{}, vec.Runs[T]{})
}

// runBetween is run that reads from elsewhere, or writes to elsewhere, in lanes of elements that are Step apart. The
// first and the last step must be able to: see reads and writes.
func (p *fourierPlan[T]) runBetween(b fourierBuffers[T], from, to vec.Runs[T]) fourierBuffers[T] {
	run, count := p.lanes, p.n
	for i, r := range p.radices {
		count /= r
		x, y := vec.Runs[T]{Re: b.xre, Im: b.xim, Step: run, Part: count * run}, vec.Runs[T]{Re: b.yre, Im: b.yim, Step: r * run, Part: run}
		if i == 0 && from.Re != nil {
			x = from
			x.Part = count * from.Step
		}
		switch {
		case p.primes[i] != nil:
			p.primes[i].run(b, p.factors[i], count, run)
		case p.matrices[i] != nil:
			p.multiply(b, p.matrices[i], r, count, run)
		case count == 1 && to.Re != nil:
			elements := p.n / r
			y = to
			x.Step, y.Part = p.lanes, elements*to.Step
			vec.Butterfly(y, x, nil, p.roots[i], r, elements, p.lanes)
		default:
			vec.Butterfly(y, x, p.factors[i], p.roots[i], r, count, run)
		}
		run *= r
		b.xre, b.xim, b.yre, b.yim = b.yre, b.yim, b.xre, b.xim
	}
	return b
}

// reads reports whether the first step can read from elsewhere, and writes whether the last step can write elsewhere.
func (p *fourierPlan[T]) reads() bool  { return p.isButterfly(0) }
func (p *fourierPlan[T]) writes() bool { return p.isButterfly(len(p.radices) - 1) }

func (p *fourierPlan[T]) isButterfly(step int) bool {
	return p.lanes > 1 && step >= 0 && step < len(p.radices) && p.primes[step] == nil && p.matrices[step] == nil
}

// single transforms one line, in place or to elsewhere.
//
//go:noinline
func (p *fourierPlan[T]) single(dst, src vec.Runs[T], scratch []T) {
	switch {
	case p.long != nil:
		p.long.run(dst, src, scratch)
	case p.chirp != nil:
		p.chirp.single(dst, src, scratch)
	default:
		b := p.buffersOf(scratch)
		copy(b.xre, src.Re[:p.n])
		copy(b.xim, src.Im[:p.n])
		b = p.run(b)
		copy(dst.Re[:p.n], b.xre)
		copy(dst.Im[:p.n], b.xim)
	}
}

// load interleaves lines that are stride apart. Lanes without a line repeat the last one.
//
//go:noinline
func (p *fourierPlan[T]) load(dst, src []T, count, stride int) {
	loadLines(dst, src[:(count-1)*stride+p.n], count, p.n, p.lanes, stride)
	p.fill(dst, count)
}

// loadLines interleaves count lines of n elements.
//
//go:noinline
func loadLines[T block.Float](dst, src []T, count, n, lanes, stride int) {
	switch {
	case lanes == 1:
		copy(dst, src)
		return
	case n < shortPlane:
		transposeRows(dst, src, n, count, lanes, stride)
		return
	}
	micro.Transpose(dst, src, count, n, lanes, stride)
}

// storeLines is the inverse of loadLines. It may overwrite the gaps between short lines.
//
//go:noinline
func storeLines[T block.Float](dst, src []T, count, n, lanes, stride int) {
	dst = dst[:(count-1)*stride+n]
	switch {
	case lanes == 1:
		copy(dst, src)
		return
	case n <= 4 && n == stride:
		transposeRows(dst, src, count, n, stride, lanes)
		return
	}
	done := 0
	if n < shortPlane {
		done = micro.TransposeShort(dst, src[:cap(src)], n, count, stride, lanes)
	}
	if done < count {
		micro.Transpose(dst[done*stride:], src[done:n*lanes], n, count-done, stride, lanes)
	}
}

// fill repeats the first lanes in the unused ones.
//
//go:noinline
func (p *fourierPlan[T]) fill(x []T, count int) {
	if size := int(unsafe.Sizeof(T(0))); 2*count >= p.lanes && count < p.lanes {
		moveRows(unsafe.Pointer(&x[count]), unsafe.Pointer(&x[2*count-p.lanes]), p.n, (p.lanes-count)*size, p.lanes*size, p.lanes*size)
		return
	}
	for i := 0; count < p.lanes && i < p.size(); i += p.lanes {
		for l := count; l < p.lanes; l++ {
			x[i+l] = x[i+count-1]
		}
	}
}

// store writes the first elements of each lane to lines that are stride apart.
//
//go:noinline
func (p *fourierPlan[T]) store(dst, src []T, count, elements, stride int) {
	if elements > 0 {
		storeLines(dst, src, count, elements, p.lanes, stride)
	}
}

// columns is load for lines that are interleaved already, with elements stride apart.
//
//go:noinline
func (p *fourierPlan[T]) columns(dst, src []T, count, stride int) {
	size := int(unsafe.Sizeof(T(0)))
	src = src[:(p.n-1)*stride+count]
	moveRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), p.n, count*size, p.lanes*size, stride*size)
	p.fill(dst, count)
}

//go:noinline
func (p *fourierPlan[T]) putColumns(dst, src []T, count, stride int) {
	size := int(unsafe.Sizeof(T(0)))
	dst = dst[:(p.n-1)*stride+count]
	moveRows(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), p.n, count*size, stride*size, p.lanes*size)
}
