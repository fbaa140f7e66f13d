package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A single line of n numbers fills no lanes. As a matrix of rows·columns numbers it does: with j = j₁·columns + j₂ and
// k = k₁ + k₂·rows, the transform is that of the columns, times factors, then that of the rows (Bailey's four steps):
//
//	y[k] = Σ_j₂ exp(-2πi·j₂k₂/columns) · exp(-2πi·j₂k₁/n) · Σ_j₁ exp(-2πi·j₁k₁/rows) · x[j]
type longLinePlan[T block.Float] struct {
	rows, columns int
	down, along   *fourierPlan[T] // of the columns and of the rows
	cos, sin      []T             // the factors, of each group of columns one row behind the other
}

// leastLong is the number of elements from which on a line is a matrix, mostPadding how many times as many as it has
// its groups of lanes may hold.
const (
	leastLong   = 256
	mostPadding = 3
)

// newLongLinePlan returns nil where no matrix fills enough lanes.
func newLongLinePlan[T block.Float](n int) *longLinePlan[T] {
	padded := func(lines int) int { return (lines + vec.Lanes - 1) / vec.Lanes * vec.Lanes }
	rows, least := 0, mostPadding*2*n+1
	for r := 2; r*r <= n && n >= leastLong; r++ {
		if held := r*padded(n/r) + n/r*padded(r); n%r == 0 && held < least {
			rows, least = r, held
		}
	}
	if rows == 0 {
		return nil
	}
	columns := n / rows
	p := &longLinePlan[T]{rows: rows, columns: columns}
	p.down, p.along = newFourierPlan[T](rows, vec.Lanes, rows), newFourierPlan[T](columns, vec.Lanes, columns)
	p.cos, p.sin = make([]T, 0, rows*padded(columns)), make([]T, 0, rows*padded(columns))
	for first := 0; first < columns; first += vec.Lanes {
		for k := range rows {
			for l := range vec.Lanes {
				turn := appendTurn([]T(nil), k*min(first+l, columns-1)%n, n)
				p.cos, p.sin = append(p.cos, turn[0]), append(p.sin, turn[1])
			}
		}
	}
	return p
}

// spare is the scratch memory of a group of lanes.
func (p *longLinePlan[T]) spare() int { return 4 * max(p.down.size(), p.along.size()) }

// run transforms what is in x, and leaves the result there.
func (p *longLinePlan[T]) run(b fourierBuffers[T]) {
	for first := 0; first < p.columns; first += vec.Lanes {
		count := min(vec.Lanes, p.columns-first)
		x := p.down.buffersOf(b.spare)
		p.down.columns(x.xre, b.xre[first:], count, p.columns)
		p.down.columns(x.xim, b.xim[first:], count, p.columns)
		x = p.down.run(x)
		at := first * p.rows
		x.turn(p.cos[at:at+p.down.size()], p.sin[at:at+p.down.size()])
		p.down.putColumns(b.yre[first:], x.xre, count, p.columns)
		p.down.putColumns(b.yim[first:], x.xim, count, p.columns)
	}
	for first := 0; first < p.rows; first += vec.Lanes {
		count := min(vec.Lanes, p.rows-first)
		x := p.along.buffersOf(b.spare)
		p.along.load(x.xre, b.yre[first*p.columns:], count, p.columns)
		p.along.load(x.xim, b.yim[first*p.columns:], count, p.columns)
		x = p.along.run(x)
		p.along.putColumns(b.xre[first:], x.xre, count, p.rows)
		p.along.putColumns(b.xim[first:], x.xim, count, p.rows)
	}
}

// turn multiplies what is in x by complex factors.
func (b fourierBuffers[T]) turn(cos, sin []T) {
	vec.Mul(b.yre, b.xim, sin)
	vec.Mul(b.yim, b.xim, cos)
	vec.Mul(b.xim, b.xre, sin)
	vec.Add(b.xim, b.xim, b.yim)
	vec.Mul(b.xre, b.xre, cos)
	vec.Sub(b.xre, b.xre, b.yre)
}
