package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A single line of n numbers fills no lanes, but a matrix of rows·columns numbers does. With j = j₁·columns + j₂ and k
// = k₁ + k₂·rows, the columns are transformed, multiplied by factors, and then the rows are transformed (Bailey's four
// steps):
//
//	y[k] = Σ_j₂ exp(-2πi·j₂k₂/columns) · exp(-2πi·j₂k₁/n) · Σ_j₁ exp(-2πi·j₁k₁/rows) · x[j]
//
// A few interleaved lines work the same way. There are inner of them, and their numbers are neighbours in the columns.
type longLinePlan[T block.Float] struct {
	rows, columns int
	inner         int
	down, along   *fourierPlan[T] // of the columns; of the rows
	firsts        []T             // for each group of columns and each row: the factor of the first column
	others        vec.Runs[T]     // for each row: the factors of a group's columns relative to the first
}

// Lines of at least leastLong elements are treated as matrices. Their groups of lanes may hold mostPadding times as
// many elements as the line. If the length has a large prime factor, that limit is mostPrime, because beyond it a
// convolution is faster.
const (
	leastLong   = 256
	mostPadding = 3
	mostPrime   = 1.5
	longLanes   = 4 * vec.Lanes // at most at a time; longer rows are fetched in one go
)

// newLongLinePlan returns nil if no matrix fills enough lanes.
func newLongLinePlan[T block.Float](n, inner int) *longLinePlan[T] {
	most := 2 * mostPadding * n
	if largestPrime(n) > largestOdd {
		most = int(2 * mostPrime * float64(n))
	}
	rows, least := 0, most+1
	for r := 2; r*r <= n; r++ {
		if held := (r*paddedLanes(n/r*inner) + n/r*paddedLanes(r*inner)) / inner; n%r == 0 && held < least {
			rows, least = r, held
		}
	}
	if rows == 0 {
		return nil
	}
	columns, longest := n/rows, 2*longestInLanes[T]()
	if inner > 1 { // rows cannot be transformed as lines of their own
		longest = 3 * n
	}
	p := &longLinePlan[T]{rows: rows, columns: columns, inner: inner, down: newLanePlan[T](rows, vec.Lanes), along: newFourierPlan[T](columns, vec.Lanes, longest)}
	for _, side := range []struct {
		plan  *fourierPlan[T]
		lines int
	}{{p.down, columns * inner}, {p.along, rows * inner}} {
		lanes := vec.Lanes
		for side.plan.lanes > 1 && lanes < longLanes && 8*int(unsafe.Sizeof(T(0)))*side.plan.n*lanes <= 2*wideBytes && 2*lanes <= side.lines {
			lanes *= 2
		}
		if side.plan.lanes > 1 {
			side.plan.setLanes(lanes)
		}
	}
	for first := 0; first < columns; first += p.down.lanes / inner {
		for k := range rows {
			p.firsts = appendTurn(p.firsts, k*first%n, n)
		}
	}
	p.others = vec.Runs[T]{Step: p.down.lanes}
	for k := range rows {
		for l := range p.down.lanes {
			turn := appendTurn([]T(nil), k*(l/inner)%n, n)
			p.others.Re, p.others.Im = append(p.others.Re, turn[0]), append(p.others.Im, turn[1])
		}
	}
	return p
}

// stride returns the distance between rows of the matrix between the transforms. It is a multiple of whole groups, and
// never a power of two, because such rows would compete for a few places in the caches.
func (p *longLinePlan[T]) stride() int {
	return paddedLanes(p.columns*p.inner) + p.down.lanes + vec.Lanes
}

// need returns the scratch memory for the matrix and a group of lanes.
func (p *longLinePlan[T]) need() int {
	return 2*p.rows*p.stride() + max(p.down.need(), p.along.need())
}

// run transforms src to dst, which may be the same.
func (p *longLinePlan[T]) run(dst, src vec.Runs[T], scratch []T) {
	stride := p.stride()
	size := p.rows * stride
	m := vec.Runs[T]{Re: scratch[:size], Im: scratch[size : 2*size], Step: stride}
	scratch = scratch[2*size:]
	for first := 0; first < p.columns; first += p.down.lanes / p.inner {
		b, from, at := p.down.buffersOf(scratch), vec.Runs[T]{}, first*p.inner
		count := min(p.down.lanes/p.inner, p.columns-first) * p.inner
		if count == p.down.lanes && p.down.reads() {
			from = vec.Runs[T]{Re: src.Re[at:], Im: src.Im[at:], Step: p.columns * p.inner}
		} else {
			p.down.columns(b.xre, src.Re[at:], count, p.columns*p.inner)
			p.down.columns(b.xim, src.Im[at:], count, p.columns*p.inner)
		}
		b = p.down.runBetween(b, from, vec.Runs[T]{})
		to := vec.Runs[T]{Re: m.Re[at:], Im: m.Im[at:], Step: stride}
		vec.TurnRows(to, b.x(p.down.lanes), p.others, p.firsts[2*p.rows*(first/(p.down.lanes/p.inner)):], p.rows, p.down.lanes)
	}
	if p.along.lanes == 1 {
		p.alongAlone(dst, m, scratch)
		return
	}
	for first := 0; first < p.rows; first += p.along.lanes / p.inner {
		b, to, at := p.along.buffersOf(scratch), vec.Runs[T]{}, first*p.inner
		rows := min(p.along.lanes/p.inner, p.rows-first)
		count := rows * p.inner
		p.loadRows(b.xre, m.Re[first*stride:], rows)
		p.loadRows(b.xim, m.Im[first*stride:], rows)
		if count == p.along.lanes && p.along.writes() {
			to = vec.Runs[T]{Re: dst.Re[at:], Im: dst.Im[at:], Step: p.rows * p.inner}
		}
		if b = p.along.runBetween(b, vec.Runs[T]{}, to); to.Re == nil {
			p.along.putColumns(dst.Re[at:], b.xre, count, p.rows*p.inner)
			p.along.putColumns(dst.Im[at:], b.xim, count, p.rows*p.inner)
		}
	}
}

// loadRows interleaves rows of the matrix.
func (p *longLinePlan[T]) loadRows(dst, src []T, rows int) {
	size, stride := int(unsafe.Sizeof(T(0))), p.stride()
	if p.inner == 1 {
		micro.Transpose(dst, src[:(rows-1)*stride+p.columns], rows, p.columns, p.along.lanes, stride)
	}
	for k := 0; k < rows && p.inner > 1; k++ {
		row := src[k*stride:][:p.columns*p.inner]
		moveRows(unsafe.Pointer(&dst[k*p.inner]), unsafe.Pointer(&row[0]), p.columns, p.inner*size, p.along.lanes*size, p.inner*size)
	}
	p.along.fill(dst, rows*p.inner)
}

// alongAlone transforms the rows of one line one by one, if they are long.
func (p *longLinePlan[T]) alongAlone(dst, m vec.Runs[T], scratch []T) {
	for k := range p.rows {
		row := vec.Runs[T]{Re: m.Re[k*m.Step:], Im: m.Im[k*m.Step:]}
		p.along.single(row, row, scratch)
	}
	micro.Transpose(dst.Re, m.Re, p.rows, p.columns, p.rows, m.Step)
	micro.Transpose(dst.Im, m.Im, p.rows, p.columns, p.rows, m.Step)
}
