package gemm

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// Float is the element type of matrices.
type Float = micro.Float

// Args describes a product, or a batch of products of the same shape. Run only reads it, so one Args may be used by
// several goroutines at the same time if their C and scratch differ.
type Args[T Float] struct {
	M, N, K int // C is M x N, K is the length of the sums; 0 is allowed everywhere

	A      []T  // M x K, or K x M if TransA
	LDA    int  // row stride of A as stored; 0 means its rows follow each other without a gap
	TransA bool // multiply by the transpose of the stored A

	B      []T  // K x N, or N x K if TransB, or the output of PackB if Packed
	LDB    int  // row stride of B as stored; 0 means without a gap; not used if Packed
	TransB bool // multiply by the transpose of the stored B; not used if Packed
	Packed bool // B is in the layout of PackB

	Panels Panels[T] // if not nil, writes the panels of B; B, LDB, TransB and Packed are not used

	C   []T // M x N
	LDC int // row stride of C; 0 means N

	Bias       []T  // nil, or N numbers added to every row
	Accumulate bool // add to C instead of overwriting it
	ReLU       bool // max(·, 0) last; NaN stays NaN

	// Batch holds two batch axes, so that attention, for example, reads [batch, time, heads, depth] in place; 0 means
	// 1. Entry (i, j) uses A[i·StrideA[0] + j·StrideA[1]:] and so on; with stride 0, entries share an operand. All
	// share Bias.
	Batch                     [2]int
	StrideA, StrideB, StrideC [2]int

	Gram bool // op(B) is the transpose of op(A), in the same memory: C is symmetric, so half of it need not be computed

	across  bool // B is known not to begin at a cache line; see lines.go
	vectors bool // A and B have changed places; see vectors.go

	// Ahead is memory that the caller reads or writes next. If B is packed and one worker computes the product, its
	// kernels prefetch as much of that memory into the second-level cache as they have time for.
	Ahead [][]T
}

// Panels is a matrix that is stored in another form and is written panel by panel while it is multiplied: once for
// every few hundred rows of A. Several workers use it at the same time.
type Panels[T Float] interface {
	// Panel writes rows of the panel at the given column, from row k on, into memory, and returns where in memory they
	// begin. A row has micro.PanelWidth numbers; those beyond the last column may be any finite numbers. The memory has
	// room for PanelSlack more rows.
	Panel(memory []T, k, rows, column int) []T
}

// PanelSlack is how many rows [Panels] may write beyond those asked for.
const PanelSlack = 8

// ScratchSize returns the number of elements of scratch memory that Run needs on a pool of the given Size.
func ScratchSize[T Float](a *Args[T], workers int) int {
	if a.M <= 0 || a.N <= 0 || a.K <= 0 {
		return 0
	}
	n := a.normal()
	if n.isRow() {
		return 0
	}
	size := newPlans(&n, workers).scratchSize(&n, workers)
	if n.dependsOnStart() {
		n.across = true
		size = max(size, newPlans(&n, workers).scratchSize(&n, workers))
	}
	return size
}

// Run computes the product on the pool; a nil pool means the calling goroutine alone. It panics if an operand is too
// short for its strides or scratch is shorter than ScratchSize: these are mistakes of the caller.
func Run[T Float](p *pool.Pool, a *Args[T], scratch []T) {
	if a.M <= 0 || a.N <= 0 {
		return
	}
	n := a.normal()
	n.check()
	if a.K <= 0 {
		n.emptySum()
		return
	}
	if n.isRow() {
		runRow(p, &n)
		return
	}
	if p.Size() > 1 {
		n.Ahead = nil
	}
	n.across = n.dependsOnStart() && straddlesLines(n.B)
	plans := newPlans(&n, p.Size())
	if need := plans.scratchSize(&n, p.Size()); len(scratch) < need {
		panic(fmt.Sprintf("gemm: scratch has %d elements, the product needs %d: ask ScratchSize", len(scratch), need))
	}
	j := getJob[T]()
	j.args, j.plan, j.scratch = n, *plans.of(p), scratch
	j.run(p)
	putJob(j)
}

// normal returns a copy with defaults filled in, and vectors as rows.
func (a *Args[T]) normal() Args[T] {
	n := a.complete()
	n.swapVectors()
	return n
}

// complete returns a copy with defaults filled in.
func (a *Args[T]) complete() Args[T] {
	n := *a
	pick := func(ld *int, trans bool, rows, cols int) {
		if *ld == 0 && trans {
			*ld = rows
		} else if *ld == 0 {
			*ld = cols
		}
	}
	pick(&n.LDA, n.TransA, n.M, n.K)
	pick(&n.LDB, n.TransB, n.K, n.N)
	pick(&n.LDC, false, n.M, n.N)
	n.Batch[0], n.Batch[1] = max(n.Batch[0], 1), max(n.Batch[1], 1)
	return n
}

// check panics unless every operand has all elements that its strides reach.
func (a *Args[T]) check() {
	a.checkLengths(len(a.A), len(a.B), len(a.C))
	if a.Bias != nil && len(a.Bias) < a.N {
		panic(fmt.Sprintf("gemm: bias has %d elements, expected N = %d", len(a.Bias), a.N))
	}
}

// checkLengths is check for operands of the given lengths.
func (a *Args[T]) checkLengths(lenA, lenB, lenC int) {
	extent := func(name string, have, rows, cols, ld int, stride [2]int) {
		if ld < 0 || stride[0] < 0 || stride[1] < 0 {
			panic(fmt.Sprintf("gemm: %s has a negative stride", name))
		}
		if rows <= 0 || cols <= 0 {
			return
		}
		if rows > 1 && ld < cols && name == "C" {
			panic(fmt.Sprintf("gemm: rows of C overlap: row stride %d, %d columns", ld, cols))
		}
		if need := (a.Batch[0]-1)*stride[0] + (a.Batch[1]-1)*stride[1] + (rows-1)*ld + cols; have < need {
			panic(fmt.Sprintf("gemm: %s has %d elements, a product of M %d, N %d, K %d with these strides needs %d",
				name, have, a.M, a.N, a.K, need))
		}
	}
	if a.TransA {
		extent("A", lenA, a.K, a.M, a.LDA, a.StrideA)
	} else {
		extent("A", lenA, a.M, a.K, a.LDA, a.StrideA)
	}
	switch {
	case a.Panels != nil:
	case a.Packed:
		extent("packed B", lenB, 1, PackedSize[T](a.N, a.K), 0, a.StrideB)
	case a.TransB:
		extent("B", lenB, a.N, a.K, a.LDB, a.StrideB)
	default:
		extent("B", lenB, a.K, a.N, a.LDB, a.StrideB)
	}
	extent("C", lenC, a.M, a.N, a.LDC, a.StrideC)
}

// emptySum computes the product for K = 0, where every sum is 0.
func (a *Args[T]) emptySum() {
	for i := range a.Batch[0] {
		for j := range a.Batch[1] {
			c := a.C[i*a.StrideC[0]+j*a.StrideC[1]:]
			t := micro.Tile[T]{Rows: a.M, CRow: a.LDC, Accumulate: a.Accumulate, ReLU: a.ReLU}
			for n := 0; n < a.N; n += micro.PanelWidth[T]() {
				t.C, t.Cols = c[n:], min(micro.PanelWidth[T](), a.N-n)
				if a.Bias != nil {
					t.Bias = a.Bias[n:]
				}
				micro.Run(&t)
			}
		}
	}
}
