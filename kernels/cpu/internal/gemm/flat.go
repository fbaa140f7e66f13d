package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// A product of a small batch with the weights of a layer, or the gradient of these weights, reads or writes little
// besides the weights. If several workers have the weights in their caches, uneven chunks cost less than many narrow
// ones, because the other operand is read, or copied, again for each chunk.

const (
	flatChunks  = 2       // for each worker,
	flatMinWork = 4       // if the product has at least that many times chunkFlops
	flatShare   = 1 << 20 // bytes of weights that fit into a worker's second-level cache
)

// isFlat reports whether the matrix of weights is larger than the two others together.
func (a *Args[T]) isFlat() bool {
	if a.TransA {
		return a.M*a.N > a.K*(a.M+a.N)
	}
	return a.K*a.N > a.M*(a.K+a.N)
}

// isFlat reports whether several workers should cut the product into few chunks.
func (p *plan[T]) isFlat(a *Args[T]) bool {
	return p.source != local && p.source != made && p.batch == 1 && a.isFlat() && 2*a.M*a.N*a.K >= flatMinWork*chunkFlops && byFlat.Taken()
}

// chunkFlat is [plan.chunk] for such products. Rows are cut if C is the weights, or if C has more rows than stay in the
// cache.
func (p *plan[T]) chunkFlat(a *Args[T], workers int) {
	width := micro.PanelWidth[T]()
	rows, cols := maxRows, maxCols
	switch {
	case p.streams:
		rows, cols = streamMaxRows, a.streamCols(min(a.M, streamMaxRows))
	case a.TransA && a.K <= BlockK:
		rows = shortRows
	}
	p.rowChunks = ceil(a.M, rows)
	if p.rowChunks > 1 {
		p.rowChunks = ceil(p.rowChunks, workers) * workers
	}
	panels := ceil(a.N, width)
	p.colChunks = max(ceil(flatChunks*workers, p.rowChunks), ceil(panels*width, cols))
	p.colChunks = min(p.colChunks, max(2*a.M*a.N*a.K/p.rowChunks/chunkFlops, 1))
	p.cols = ceil(panels, p.colChunks) * width
	p.rows, p.colChunks = ceil(a.M, p.rowChunks), ceil(a.N, p.cols)
	p.rowChunks = ceil(a.M, p.rows)
}
