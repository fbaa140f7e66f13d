package gemm

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A batch of small products takes less time than a call for each of them would. So the products along one axis of the
// batch become the lines of a tile, and one call computes many. B is read in place, even past its last column; what is
// read there is not used. Copies are made only of a transposed B, and of the last entries, behind which there is no
// memory.

const (
	linedMost  = 1 << 16  // multiplications of one matrix product
	linedTime  = 1 << 10  // overhead of a line, in multiplications
	linedBlock = 1 << 12  // elements of copied panels: they stay in the first-level cache
	linedCols  = 256      // columns of a B that is not transposed from which on results of
	linedBytes = 16 << 10 // so many bytes are better written product by product: a panel of many products touches too many pages
)

// isLined reports whether the product is a batch of small ones. A transposed B that all share is packed once instead.
func (a *Args[T]) isLined() bool {
	if a.Batch == [2]int{1, 1} || a.Panels != nil || a.Packed {
		return false
	}
	if a.N >= linedCols && !a.TransB && a.M*a.N*int(sizeOf[T]()) >= linedBytes {
		return false
	}
	return max(a.M, a.N, a.K) <= linedMost && a.M*a.N*a.K <= linedMost && !(a.TransB && a.StrideB == [2]int{}) && byLined.Taken()
}

// linedAxis is the axis of the batch whose products are lines: the longer one.
func (a *Args[T]) linedAxis() int {
	if a.Batch[0] > a.Batch[1] {
		return 0
	}
	return 1
}

// linedCount is the number of lines in a chunk.
func (a *Args[T]) linedCount() int {
	return min(max(chunkFlops/4/(a.M*a.N*a.K+linedTime), 1), a.Batch[a.linedAxis()])
}

// linedSize is the scratch of one worker: copied panels of B.
func (a *Args[T]) linedSize() int {
	return max(linedBlock, min(a.K, BlockK)*micro.PanelWidth[T]())
}

// linedTask computes chunks of lines.
type linedTask[T Float] struct{ job *job[T] }

func (j *job[T]) runLined(p *pool.Pool) {
	a := &j.args
	axis := a.linedAxis()
	p.Parallel(a.Batch[1-axis]*ceil(a.Batch[axis], a.linedCount()), 1, &j.lined)
}

// Run computes the chunks [lo, hi).
func (t *linedTask[T]) Run(worker, lo, hi int) {
	j := t.job
	a, size := &j.args, j.args.linedSize()
	axis, count := a.linedAxis(), a.linedCount()
	chunks := ceil(a.Batch[axis], count)
	for chunk := lo; chunk < hi; chunk++ {
		other, first := chunk/chunks, chunk%chunks*count
		at := func(strides [2]int) int { return first*strides[axis] + other*strides[1-axis] }
		j.lines(j.scratch[worker*size:(worker+1)*size], a.A[at(a.StrideA):], a.B[at(a.StrideB):], a.C[at(a.StrideC):], min(count, a.Batch[axis]-first))
	}
}

// lines computes that many products along the axis of lines, block by block of their sums and panel by panel.
func (j *job[T]) lines(memory, matrixA, matrixB, matrixC []T, lines int) {
	a, width := &j.args, micro.PanelWidth[T]()
	axis := a.linedAxis()
	t := micro.Tile[T]{Rows: a.M, Segments: 1, Outer: 1, ARow: a.LDA, AK: 1, CRow: a.LDC, ALine: a.StrideA[axis], CLine: a.StrideC[axis]}
	stepB := a.LDB
	if a.TransA {
		t.ARow, t.AK = 1, a.LDA
	}
	if a.TransB {
		stepB = 1
	}
	blocks := ceil(a.K, blockK())
	for i := range blocks {
		k := i * a.K / blocks
		t.K = (i+1)*a.K/blocks - k
		t.Accumulate, t.ReLU = a.Accumulate || i > 0, a.ReLU && i == blocks-1
		for c := 0; c < a.N; c += width {
			t.Cols, t.Bias = min(width, a.N-c), nil
			if a.Bias != nil && i == 0 {
				t.Bias = a.Bias[c:]
			}
			first := k * stepB
			if a.TransB {
				first += c * a.LDB
			} else {
				first += c
			}
			a.linedPanel(t, memory, matrixA[k*t.AK:], matrixB[first:], matrixC[c:], lines)
		}
	}
}

// linedPanel computes a block of the sums of a panel in all lines. The slices start at the first line's operands.
func (a *Args[T]) linedPanel(t micro.Tile[T], memory, operandA, operandB, operandC []T, lines int) {
	step, padded, done := a.StrideB[a.linedAxis()], micro.PadColumns[T](t.Cols), 0
	if spare := len(operandB) - (t.K-1)*a.LDB - padded; !a.TransB && spare >= 0 {
		if done = lines; step > 0 {
			done = min(spare/step+1, lines)
		}
		t.A, t.B, t.C, t.BK, t.BLine, t.Lines = operandA, operandB, operandC, a.LDB, step, done
		micro.Run(&t)
	}
	t.BK, t.BLine = padded, t.K*padded
	for most := max(linedBlock/t.BLine, 1); done < lines; done += t.Lines {
		t.Lines = min(most, lines-done)
		t.A, t.B, t.C = operandA[done*t.ALine:], memory, operandC[done*t.CLine:]
		for i := range t.Lines {
			a.copyLine(memory[i*t.BLine:], operandB[(done+i)*step:], t.K, t.Cols, padded)
		}
		micro.Run(&t)
	}
}

// copyLine copies a block of B to rows that are stride apart. It leaves what is between them unchanged.
func (a *Args[T]) copyLine(dst, b []T, sums, cols, stride int) {
	if a.TransB {
		micro.Transpose(dst, b, cols, sums, stride, a.LDB)
		return
	}
	for k := range sums {
		copy(dst[k*stride:][:cols], b[k*a.LDB:])
	}
}
