package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// products multiplies parts of matrices in scratch memory. Rows are padded.
type products[T block.Float] struct {
	scratch []T
	args    gemm.Args[T]
}

// blockOfReflections is how many reflections, or columns together with their update, form one product.
const blockOfReflections = 32

// columnsOfBlock returns how many columns of a matrix are reduced before the part to their right is updated. Narrow
// matrices have smaller blocks.
func columnsOfBlock(n int) int {
	switch {
	case n > 160:
		return blockOfReflections
	case n > 48:
		return blockOfReflections / 2
	}
	return 8
}

// productMemory returns enough memory for products of matrices with up to n rows and columns.
func productMemory[T block.Float](n int) int {
	if n*n*min(n, blockOfReflections) <= smallProducts {
		return 0
	}
	n = paddedColumns(n)
	size := 0
	for _, k := range []int{blockOfReflections, 2 * blockOfReflections, n} {
		size = max(size, gemm.ScratchSize(&gemm.Args[T]{M: n, N: n, K: k, LDA: n, LDB: n, LDC: n, Accumulate: true}, 1))
	}
	return max(size, n*n) + 1<<14
}

// strided is part of a matrix whose rows begin stride numbers apart.
type strided[T block.Float] struct {
	x      []T
	stride int
}

// cutMatrix takes the memory of a matrix from scratch memory.
//
//go:noinline
func cutMatrix[T block.Float](scratch *[]float64, rows, stride int) strided[T] {
	return strided[T]{scratchSlice[T](scratch, rows*stride), stride}
}

// readScaled reads matrix i of an operand into a, divided by scaleOf of it, which it returns. memory has room for the
// matrix.
func readScaled[T block.Float](a strided[T], memory []T, o *plan.Operand, i int) T {
	m, n := matrixLengths(o)
	readNumbers(memory, o, i*m*n)
	scale := scaleOf(memory)
	clear(a.x)
	for r := range m {
		vec.Scale(a.row(r)[:n], memory[r*n:][:n], 1/scale)
	}
	return scale
}

// from returns the part that begins at the given row and column.
func (a strided[T]) from(row, column int) strided[T] {
	return strided[T]{a.x[row*a.stride+column:], a.stride}
}

// row returns all stride numbers of row r.
func (a strided[T]) row(r int) []T { return a.x[r*a.stride:][:a.stride] }

// add adds to y (rows, columns) the product of a (rows, depth) and x (depth, columns). columns is a multiple of a
// block.
func (p *products[T]) add(y, a, x strided[T], rows, depth, columns int) {
	if rows <= 0 || depth <= 0 || columns <= 0 {
		return
	}
	if rows*depth*columns > smallProducts {
		p.args = gemm.Args[T]{M: rows, N: columns, K: depth, A: a.x, LDA: a.stride, B: x.x, LDB: x.stride, C: y.x, LDC: y.stride, Accumulate: true}
		if p.run() {
			return
		}
	}
	vec.AddProducts(y.x, a.x, x.x, rows, depth, columns, y.stride, a.stride, x.stride)
}

// run computes the product given by args. It returns false, and does nothing, if scratch memory is too small.
func (p *products[T]) run() bool {
	if gemm.ScratchSize(&p.args, 1) > len(p.scratch) {
		return false
	}
	gemm.Run(nil, &p.args, p.scratch)
	return true
}

// addRow adds to y the product of a row and a matrix. len(y) is a multiple of a block. The float32 kernel reads the
// matrix in the order of memory.
//
//go:noinline
func addRow[T block.Float](y, row []T, x strided[T]) {
	switch {
	case len(row) == 0 || len(y) == 0:
	case unsafe.Sizeof(T(0)) == 4:
		micro.AddRowProduct(y, row, x.x, x.stride)
	default:
		vec.AddProducts(y, row, x.x, 1, len(row), len(y), len(y), len(row), x.stride)
	}
}
