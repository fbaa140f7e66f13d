package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	// fewSides is the number of right sides up to which each is solved separately.
	fewSides = 8
	// leastSingleTriangle is the number of rows up to which float32 triangles are solved in float64.
	leastSingleTriangle = 96
)

// triangle solves all right sides together. It solves for one half of the rows, adds the products of these to the other
// half, and solves for that.
type triangle[T block.Float] struct {
	lower    bool
	a        strided[T] // only one triangle is read
	x        strided[T] // the right sides, then the negated solutions, so that products are added
	m        int        // number of right sides
	products products[T]
}

// triangleWorkOf computes in float64, except for float32 matrices so large that memory traffic dominates.
func triangleWorkOf(b *build, lower bool) matrixWork {
	in, right := b.in(0), b.in(1)
	n, m := matrixLengths(right)
	switch few, single := m <= fewSides, in.Typ.DType == ir.Float32 && n > leastSingleTriangle; {
	case few && single:
		return sidesWork[float32](b, lower)
	case few:
		return sidesWork[float64](b, lower)
	case single:
		return triangleWork[float32](b, lower)
	}
	return triangleWork[float64](b, lower)
}

func triangleWork[T block.Float](b *build, lower bool) matrixWork {
	in, right, out := b.in(0), b.in(1), b.out(0)
	n, m := matrixLengths(right)
	plain := triangle[T]{lower: lower, a: strided[T]{stride: n}, x: strided[T]{stride: unaliased[T](paddedColumns(m))}, m: m}
	products, copied := plain.productMemory(0, n), 0
	if int(unsafe.Sizeof(T(0))) != in.Typ.DType.Size() {
		copied = n * n
	}
	size := inDoubles[T](n*plain.x.stride) + inDoubles[T](copied) + inDoubles[T](products)
	return matrixWork{scratch: size, work: n * n * m, run: func(i int, scratch []float64) {
		t := plain
		t.x.x, t.products.scratch = scratchSlice[T](&scratch, n*t.x.stride), scratchSlice[T](&scratch, products)
		t.read(in, right, i, scratchSlice[T](&scratch, copied))
		t.solve(0, n)
		for r := range n {
			row := t.x.row(r)[:m]
			vec.Neg(row, row)
			writeNumbers(out, (i*n+r)*m, row)
		}
	}}
}

// read copies the right sides. It reads matrix i in place, unless memory is given for a copy of its triangle.
func (t *triangle[T]) read(in, right *plan.Operand, i int, memory []T) {
	n, m := matrixLengths(right)
	for r := range n {
		row := t.x.row(r)
		readNumbers(row[:m], right, (i*n+r)*m)
		clear(row[m:])
	}
	if len(memory) == 0 {
		t.a.x = plan.Data[T](in)[i*n*n:][:n*n]
		return
	}
	t.a.x = memory
	for r := range n {
		from, to := 0, r+1
		if !t.lower {
			from, to = r, n
		}
		readNumbers(memory[r*n+from:r*n+to], in, (i*n+r)*n+from)
	}
}

// solve solves for rows [lo, hi). The products of all other rows must have been added.
func (t *triangle[T]) solve(lo, hi int) {
	if hi-lo <= smallestBlock {
		t.solveRows(lo, hi)
		return
	}
	mid := middleOf(lo, hi)
	if t.lower {
		t.solve(lo, mid)
		t.products.add(t.x.from(mid, 0), t.a.from(mid, lo), t.x.from(lo, 0), hi-mid, mid-lo, paddedColumns(t.m))
		t.solve(mid, hi)
		return
	}
	t.solve(mid, hi)
	t.products.add(t.x.from(lo, 0), t.a.from(lo, mid), t.x.from(mid, 0), mid-lo, hi-mid, paddedColumns(t.m))
	t.solve(lo, mid)
}

// solveRows is solve, one row after the other.
func (t *triangle[T]) solveRows(lo, hi int) {
	for k := range hi - lo {
		r, first := lo+k, lo
		if !t.lower {
			r = hi - 1 - k
			first = r + 1
		}
		row := t.x.row(r)
		if k > 0 {
			vec.AddProducts(row, t.a.from(r, first).x, t.x.from(first, 0).x, 1, k, paddedColumns(t.m), t.x.stride, t.a.stride, t.x.stride)
		}
		divideRow(row[:t.m], -t.a.x[r*t.a.stride+r])
	}
}

// productMemory returns how much scratch memory the products of rows [lo, hi) need.
func (t *triangle[T]) productMemory(lo, hi int) int {
	if hi-lo <= smallestBlock {
		return 0
	}
	mid := middleOf(lo, hi)
	rows, depth := hi-mid, mid-lo
	if !t.lower {
		rows, depth = depth, rows
	}
	size := max(t.productMemory(lo, mid), t.productMemory(mid, hi))
	if columns := paddedColumns(t.m); rows*depth*columns > smallProducts {
		size = max(size, gemm.ScratchSize(&gemm.Args[T]{M: rows, N: columns, K: depth, LDA: t.a.stride, LDB: t.x.stride, LDC: t.x.stride, Accumulate: true}, 1))
	}
	return size
}
