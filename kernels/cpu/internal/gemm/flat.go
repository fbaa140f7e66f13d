package gemm

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// A product of a small batch with the weights of a layer, or their gradient, reads or writes little beside the weights.
// Several workers that have them in their caches lose more by many narrow chunks, for each of which the other operand
// is read, or copied, again, than by uneven ones.

const (
	flatChunks  = 2       // for each worker,
	flatMinWork = 4       // of products of so many times chunkFlops
	flatShare   = 1 << 20 // bytes of weights that a worker has room for in its second-level cache
)

// isFlat reports whether one of the matrices is larger than the two others together.
func (a *Args[T]) isFlat() bool {
	if a.TransA {
		return a.M*a.N > a.K*(a.M+a.N)
	}
	return a.K*a.N > a.M*(a.K+a.N)
}

// isFlat reports whether several workers cut the product into few chunks.
func (p *plan[T]) isFlat(a *Args[T]) bool {
	return p.source != local && p.source != made && p.batch == 1 && a.isFlat() && 2*a.M*a.N*a.K >= flatMinWork*chunkFlops
}

// chunkFlat is [plan.chunk] for such products. Rows are cut where C is the weights, or has more of them than stay in
// the cache.
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
