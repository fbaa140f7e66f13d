package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/geometry"

// scattering returns a function that runs a scatter of count updates. It shares the work among the workers that are
// available in the run, because every piece has to go through all indices. piece combines the updates for rows [row,
// end) of entry o of the outer axes, in n columns from first on.
func (r *runtime) scattering(g geometry.AxisGroup, count, size int, piece func(o, row, end, first, n int)) func() {
	var share scatterShare // of the current run
	pieces := &loop{r, func(_ *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			piece(share.piece(k))
		}
	}}
	return func() {
		share = newScatterShare(g, count, size, r.pool.Workers())
		r.pool.Parallel(share.pieces(), grain(count*(g.Inner/max(share.rowPieces*share.colPieces, 1)+1)), pieces)
	}
}

// scatterShare is how the work of a scatter is cut into pieces. Rows are independent, and so are columns. Updates for
// the same row are combined in the order of their indices, so the cut does not affect the result.
type scatterShare struct {
	g               geometry.AxisGroup
	rows, rowPieces int
	cols, colPieces int
}

// scatterRows is the least number of rows in a piece, because every piece goes through all indices.
const scatterRows = 16

// newScatterShare cuts rows into pieces for the workers, and columns too if there are not enough rows.
func newScatterShare(g geometry.AxisGroup, count, size, workers int) scatterShare {
	want := 1
	if workers > 1 {
		if g.Inner*size >= 64 {
			workers *= 2 // going through the indices is the smaller part
		}
		want = min(workers, max(g.Outer*count*g.Inner/chunkWork, 1))
	}
	want = max(want/max(g.Outer, 1), 1)
	s := scatterShare{g: g, rowPieces: max(min(want, g.Length/scatterRows), 1)}
	s.rows = max((g.Length+s.rowPieces-1)/s.rowPieces, 1)
	width := max(64/size, 1)
	lines := (g.Inner + width - 1) / width
	s.cols = max((lines+want/s.rowPieces-1)/max(want/s.rowPieces, 1), 1) * width
	s.rowPieces, s.colPieces = (g.Length+s.rows-1)/s.rows, (g.Inner+s.cols-1)/s.cols
	return s
}

func (s *scatterShare) pieces() int { return s.g.Outer * s.rowPieces * s.colPieces }

// piece returns the rows [row, end) and the n columns from first on of piece k, which belongs to entry o of the outer
// axes.
func (s *scatterShare) piece(k int) (o, row, end, first, n int) {
	col, rest := k%s.colPieces, k/s.colPieces
	row, o = rest%s.rowPieces*s.rows, rest/s.rowPieces
	first = col * s.cols
	return o, row, min(row+s.rows, s.g.Length), first, min(s.cols, s.g.Inner-first)
}
