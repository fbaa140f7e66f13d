package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// triangleRows solves a triangular system with few right sides, a block of rows at a time. The products of the rows of
// a block and the numbers known before are sums along memory; the rest of a block is solved one number after the other.
type triangleRows[T block.Float] struct {
	n, m  int // numbers of rows and of right sides
	lower bool
	x     []T // the solutions (m, n)
	given []T // memory for a block of rows; without it, the matrix is read in place
	sums  []T // of each right side, of the rows of a block
	rows  []T // the right sides of a block, then its solutions
}

// sidesWork computes in T, which is the matrix's type or float64.
func sidesWork[T block.Float](b *build, lower bool) matrixWork {
	in, right, out := b.in(0), b.in(1), b.out(0)
	n, m := matrixLengths(right)
	given := 0
	if int(unsafe.Sizeof(T(0))) != in.Typ.DType.Size() {
		given = min(n, smallestBlock) * n
	}
	few := m * smallestBlock
	size := inDoubles[T](n*m) + inDoubles[T](given) + 2*inDoubles[T](few)
	return matrixWork{scratch: size, work: n * n * m, run: func(i int, scratch []float64) {
		t := triangleRows[T]{n: n, m: m, lower: lower, x: scratchSlice[T](&scratch, n*m), given: scratchSlice[T](&scratch, given),
			sums: scratchSlice[T](&scratch, few), rows: scratchSlice[T](&scratch, few)}
		t.solve(out, in, right, i)
	}}
}

// solve solves the system of matrix i.
func (t *triangleRows[T]) solve(out, in, right *plan.Operand, i int) {
	n, m := t.n, t.m
	clear(t.sums)
	for done := 0; done < n; done += smallestBlock {
		rows := min(smallestBlock, n-done)
		lo, known, from, to := done, 0, 0, done+rows // rows; the first known number; range of each row that is read
		if !t.lower {
			lo, known, from, to = n-done-rows, n-done, n-done-rows, n
		}
		a := t.block(in, (i*n+lo)*n+from, rows, to-from)
		for c := 0; c < m && done > 0; c++ {
			vec.DotRows(t.sums[c*smallestBlock:][:rows], t.x[c*n+known:][:done], a[known-from:], n)
		}
		block := t.rows[:rows*m]
		readNumbers(block, right, (i*n+lo)*m)
		t.solveBlock(block, a[lo-from:], rows)
		for c := range m {
			gatherColumn(t.x[c*n+lo:][:rows], block[c:], m)
		}
		writeNumbers(out, (i*n+lo)*m, block)
	}
}

// block returns columns of a few rows, which begin n numbers apart, with what lies between them.
func (t *triangleRows[T]) block(in *plan.Operand, at, rows, columns int) []T {
	size := (rows-1)*t.n + columns
	if len(t.given) == 0 {
		return plan.Data[T](in)[at:][:size]
	}
	readNumbers(t.given[:size], in, at)
	return t.given[:size]
}

// solveBlock replaces the right sides of a block by its solutions. As soon as a number is known, its products are
// subtracted from all the rows left, so that the next division waits for one product alone.
func (t *triangleRows[T]) solveBlock(sides, a []T, rows int) {
	m := t.m
	for i := range sides {
		sides[i] -= t.sums[i%m*smallestBlock+i/m]
	}
	for step := range rows {
		r, first, end := step, step+1, rows
		if !t.lower {
			r = rows - 1 - step
			first, end = 0, r
		}
		diagonal := a[r*t.n+r]
		for c := range m {
			v := sides[r*m+c] / diagonal
			sides[r*m+c] = v
			for k := first; k < end; k++ {
				sides[k*m+c] -= a[k*t.n+r] * v
			}
		}
	}
}
