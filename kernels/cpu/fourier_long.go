package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A single line of n numbers fills no lanes. As a matrix of rows·columns numbers it does: with j = j₁·columns + j₂ and
// k = k₁ + k₂·rows, the transform is that of the columns, times factors, then that of the rows (Bailey's four steps):
//
//	y[k] = Σ_j₂ exp(-2πi·j₂k₂/columns) · exp(-2πi·j₂k₁/n) · Σ_j₁ exp(-2πi·j₁k₁/rows) · x[j]
//
// So do a few lines that lie side by side, inner ones, whose numbers follow each other in the columns.
type longLinePlan[T block.Float] struct {
	rows, columns int
	inner         int
	down, along   *fourierPlan[T] // of the columns and of the rows
	firsts        []T             // of each group of columns and each row, the factor of the first column
	others        vec.Runs[T]     // of each row, the factors of the columns of a group relative to the first one
}

// leastLong is the number of elements from which on a line is a matrix, mostPadding how many times as many as it has
// its groups of lanes may hold, or with larger primes than mostPrime, which a convolution is faster than.
const (
	leastLong   = 256
	mostPadding = 3
	mostPrime   = 1.5
	longLanes   = 4 * vec.Lanes // at a time at most: longer rows are fetched at once
)

// newLongLinePlan returns nil where no matrix fills enough lanes.
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
	if inner > 1 { // rows have no lines of their own
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

// stride is the distance of the rows of the matrix between the transforms: whole groups, and not a power of two, which
// only a few places in the caches would be for.
func (p *longLinePlan[T]) stride() int {
	return paddedLanes(p.columns*p.inner) + p.down.lanes + vec.Lanes
}

// need is the scratch memory: of the matrix and of a group of lanes.
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

// loadRows stores rows of the matrix side by side.
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

// alongAlone transforms the rows of one line one by one, where they and their convolutions are long.
func (p *longLinePlan[T]) alongAlone(dst, m vec.Runs[T], scratch []T) {
	for k := range p.rows {
		row := vec.Runs[T]{Re: m.Re[k*m.Step:], Im: m.Im[k*m.Step:]}
		p.along.single(row, row, scratch)
	}
	micro.Transpose(dst.Re, m.Re, p.rows, p.columns, p.rows, m.Step)
	micro.Transpose(dst.Im, m.Im, p.rows, p.columns, p.rows, m.Step)
}
