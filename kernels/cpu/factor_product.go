package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// products multiplies parts of matrices in scratch memory, whose rows are padded.
type products[T block.Float] struct {
	scratch []T
	args    gemm.Args[T]
}

// blockOfReflections is how many reflections, or columns with what they change, make a product together.
const blockOfReflections = 32

// columnsOfBlock is how many columns of a matrix are reduced before what is right of them changes: fewer of those with
// few.
func columnsOfBlock(n int) int {
	switch {
	case n > 160:
		return blockOfReflections
	case n > 48:
		return blockOfReflections / 2
	}
	return 8
}

// productMemory is enough for products of matrices of up to n rows and columns.
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

// strided is a part of a matrix, whose rows begin stride numbers apart.
type strided[T block.Float] struct {
	x      []T
	stride int
}

// cutMatrix takes the memory of a matrix off scratch memory.
//
//go:noinline
func cutMatrix[T block.Float](scratch *[]float64, rows, stride int) strided[T] {
	return strided[T]{cutOf[T](scratch, rows*stride), stride}
}

// readScaled reads matrix i of an operand through memory for it, divided by what scaleOf says, which it returns.
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

// from begins at a row and a column.
func (a strided[T]) from(row, column int) strided[T] {
	return strided[T]{a.x[row*a.stride+column:], a.stride}
}

// row has all numbers of a row.
func (a strided[T]) row(r int) []T { return a.x[r*a.stride:][:a.stride] }

// add adds to y (rows, columns) the product of a (rows, depth) and x (depth, columns). Columns are whole blocks.
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

// run multiplies what args says if there is enough scratch memory, and reports whether there is.
func (p *products[T]) run() bool {
	if gemm.ScratchSize(&p.args, 1) > len(p.scratch) {
		return false
	}
	gemm.Run(nil, &p.args, p.scratch)
	return true
}

// addRow adds to y, of whole blocks, the product of a row and a matrix. Of float32 it is read in the order of memory.
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
