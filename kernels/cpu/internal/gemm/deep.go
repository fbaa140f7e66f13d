package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A product of few rows and columns with long sums has too few panels for many workers. Examples are a small batch in a
// dense layer from thousands of features to a hundred, and the gradient of small weights over all steps of all
// examples. Here the blocks of the sums become chunks too. Each chunk writes its sums to memory of its own, and they
// are added in the order in which one worker would add them.

const (
	deepWorkers = 3       // fewest workers: the panels are enough for two
	deepRows    = maxRows // most rows
	deepBytes   = 1 << 22
)

// isDeep reports whether blocks of sums become chunks, for that many workers and, otherwise, that many chunks.
func (p *plan[T]) isDeep(a *Args[T], workers, chunks int) bool {
	blocks := ceil(a.K, blockK())
	return workers >= deepWorkers && chunks < workers && p.batch == 1 && blocks > 1 && a.M <= deepRows && !a.Accumulate && p.source != local && p.source != made &&
		2*a.M*a.N*a.K >= flatMinWork*chunkFlops && blocks*a.M*a.N*int(sizeOf[T]()) <= deepBytes && byDeep.Taken()
}

// deepen cuts the product into panels and blocks. Each block of a panel is read only once, so panels are packed block
// by block.
func (p *plan[T]) deepen(a *Args[T], workers int) {
	width := micro.PanelWidth[T]()
	panels, blocks := ceil(a.N, width), ceil(a.K, blockK())
	p.deep, p.streams, p.rows, p.rowChunks = true, false, a.M, 1
	p.colChunks = min(panels, max(ceil(flatChunks*workers, blocks), 1))
	p.cols = ceil(panels, p.colChunks) * width
	p.colChunks = ceil(a.N, p.cols)
	if p.source == shared || p.tail {
		p.source, p.tail = local, false
	}
}

// deepSize is the memory for the sums of all blocks.
func (p *plan[T]) deepSize(a *Args[T]) int {
	if !p.deep {
		return 0
	}
	return ceil(a.K, blockK()) * a.M * a.N
}

// deepTask computes chunks: a block of the sums for some columns. deepSumTask adds up the blocks, row by row.
type (
	deepTask[T Float]    struct{ job *job[T] }
	deepSumTask[T Float] struct{ job *job[T] }
)

func (j *job[T]) runDeep(p *pool.Pool) {
	a, size := &j.args, j.plan.deepSize(&j.args)
	j.sums, j.scratch = j.scratch[:size], j.scratch[size:]
	p.Parallel(ceil(a.K, blockK())*j.plan.colChunks, 1, &j.deep)
	p.Parallel(a.M, max(1<<14/(ceil(a.K, blockK())*a.N), 1), &j.deepSum)
	j.sums = nil
}

// Run implements pool.Task.
func (d *deepTask[T]) Run(worker, lo, hi int) {
	j := d.job
	a, p, width := &j.args, &j.plan, micro.PanelWidth[T]()
	size := p.localSize(a)
	local := j.scratch[worker*size : (worker+1)*size]
	packedA, packedB := local[:p.localSizeA(a)], local[p.localSizeA(a):]
	blocks := ceil(a.K, blockK())
	for chunk := lo; chunk < hi; chunk++ {
		first, i := chunk%p.colChunks*p.cols, chunk/p.colChunks
		end, k := min(first+p.cols, a.N), i*a.K/blocks
		t := micro.Tile[T]{Rows: a.M, Segments: 1, Outer: 1, CRow: a.N, K: (i+1)*a.K/blocks - k, FarA: isFar[T](a.M, a.K)}
		j.setA(&t, a.A, packedA, 0, k)
		for c := first; c < end; c += width {
			t.Cols, t.C = min(width, end-c), j.sums[i*a.M*a.N+c:]
			t.Next, t.Bias = nil, nil
			if a.Bias != nil && i == 0 {
				t.Bias = a.Bias[c:]
			}
			j.setB(&t, a.B, packedB, k, first, c, end)
			micro.Run(&t)
		}
	}
}

// Run implements pool.Task.
func (d *deepSumTask[T]) Run(_, lo, hi int) {
	j := d.job
	a, blocks := &j.args, ceil(j.args.K, blockK())
	for m := lo; m < hi; m++ {
		row := a.C[m*a.LDC:][:a.N]
		copy(row, j.sums[m*a.N:])
		for i := 1; i < blocks; i++ {
			addRows(row, j.sums[(i*a.M+m)*a.N:], 1, a.N, 0, 0, a.ReLU && i == blocks-1)
		}
	}
}
