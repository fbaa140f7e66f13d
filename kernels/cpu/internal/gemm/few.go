package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A sum of many rows with few results, C[M, N] = A[K, M]ᵀ·B[K, N] with large K and small M and N, is the gradient of a
// small weight over all examples and steps. Vectors along a row would be mostly empty, and each row would cost a call
// for a few products. Instead, pieces of both operands are transposed into the first-level cache, where each result is
// the dot product of two columns. The sums of the pieces are added up at the end, in order, so the result does not
// depend on who computed which piece.

const (
	fewLeast   = 2048 // fewest products of a sum
	fewRows    = 1024 // products of a sum in a piece
	fewResults = 64   // bytes of the most results
)

// isFew reports whether the product is computed this way. A single row is a weighted sum of rows of B, which is faster
// unless these leave vectors mostly empty.
func (a *Args[T]) isFew() bool {
	if !(a.TransA || a.M == 1) || a.TransB && a.N > 1 || a.K < fewLeast || a.M == 1 && a.N != 2 || a.Batch != [2]int{1, 1} ||
		a.Packed || a.Panels != nil || a.Accumulate || a.ReLU || a.Bias != nil || !isa.Active().Has(isa.Vectors256) {
		return false
	}
	return a.M*a.N*int(sizeOf[T]()) <= fewResults && byFew.Taken()
}

// fewSize is the scratch memory for the results of all pieces and for the columns of each worker.
func (a *Args[T]) fewSize(workers int) int {
	return a.M*a.N*ceil(a.K, fewRows) + workers*a.fewColumns()
}

// fewColumns is the scratch memory of a worker.
func (a *Args[T]) fewColumns() int { return (a.M + a.N) * (fewRows + rowGap) }

// fewTask computes pieces of the sums.
type fewTask[T Float] struct{ job *job[T] }

func (j *job[T]) runFew(p *pool.Pool) {
	a := &j.args
	pieces := ceil(a.K, fewRows)
	p.Parallel(pieces, max(chunkFlops/8/(fewRows*(a.M+a.N+a.M*a.N)), 1), &j.few)
	for m := range a.M {
		for n := range a.N {
			a.C[m*a.LDC+n] = vec.Sum(j.scratch[(m*a.N+n)*pieces:][:pieces])
		}
	}
}

// Run computes the pieces [lo, hi).
func (t *fewTask[T]) Run(worker, lo, hi int) {
	a, pieces := &t.job.args, ceil(t.job.args.K, fewRows)
	sums, scratch := t.job.scratch[:a.M*a.N*pieces], t.job.scratch[a.M*a.N*pieces:]
	scratch = scratch[worker*a.fewColumns():][:a.fewColumns()]
	for piece := lo; piece < hi; piece++ {
		k := piece * fewRows
		rows := min(fewRows, a.K-k)
		x, stepX := asColumns(scratch, a.A, k, rows, a.M, a.LDA, a.TransA)
		y, stepY := asColumns(scratch[a.M*(fewRows+rowGap):], a.B, k, rows, a.N, a.LDB, !a.TransB)
		for m := range a.M {
			for n := range a.N {
				sums[(m*a.N+n)*pieces+piece] = vec.Dot(x[m*stepX:][:rows], y[n*stepY:][:rows])
			}
		}
	}
}

// asColumns returns rows of src, from row first on, as columns, and the distance between the columns. If inRows is
// false, src is a single contiguous column. Such a column is returned as it lies, anything else as a transposed copy.
func asColumns[T Float](scratch, src []T, first, rows, cols, stride int, inRows bool) (columns []T, step int) {
	if !inRows {
		stride = 1
	}
	src = src[first*stride:]
	if stride == 1 {
		return src, 0
	}
	turnRows(scratch, src, rows, cols, fewRows+rowGap, stride)
	return scratch, fewRows + rowGap
}
