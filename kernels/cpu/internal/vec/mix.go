package vec

import "fmt"

// Mix computes rows that are weighted sums of rows, as in resizing images along one axis: row i of the result is Σ_t
// weights[i·taps + t] · row cells[i·taps + t] of a matrix.
type Mix[T Float] struct {
	taps, c int
	rows    int   // of the matrix
	places  []int // distances of its rows in bytes
	weights []T
}

// NewMix returns sums of taps rows each, of c elements, of a matrix with the given number of rows. It panics if a cell
// is not a row of the matrix.
func NewMix[T Float](cells []int, weights []T, taps, c, rows int) *Mix[T] {
	m := &Mix[T]{taps: taps, c: c, rows: rows, weights: weights[:len(cells)]}
	for _, cell := range cells {
		if uint(cell) >= uint(rows) {
			panic(fmt.Sprintf("vec: row %d of %d", cell, rows))
		}
		m.places = append(m.places, cell*c*4)
	}
	return m
}

// longestMix is the longest row for which an assembly call takes no more than some tens of microseconds.
const longestMix = 1 << 15

// Works reports whether Run is fast for such rows here and now: rows fill a vector, and sums have several rows.
func (m *Mix[T]) Works() bool {
	_, ok := fills(m.c)
	return ok && single[T]() && m.c <= longestMix && m.taps > 1
}

// Run stores the rows [lo, hi) of the result in dst; x is the matrix. It requires Works.
func (m *Mix[T]) Run(dst, x []T, lo, hi int) {
	dst, x = dst[:(hi-lo)*m.c], x[:m.rows*m.c]
	if hi > lo && m.c > 0 {
		mixRows32(as32(dst), as32(x), m.places[lo*m.taps:hi*m.taps], as32(m.weights)[lo*m.taps:hi*m.taps], m.taps, m.c)
	}
}
