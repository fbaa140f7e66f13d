package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// reflectionBlock is a product of a few reflections, 1 - v·t·vᵀ, with the vectors as columns of v and a triangle t, so
// that it can be applied by products of matrices. Source: Schreiber and Van Loan, "A storage-efficient WY
// representation for products of Householder transformations", 1989.
type reflectionBlock[T block.Float] struct {
	products[T]
	count, length int        // number of reflections, and of elements of their vectors
	vectors       strided[T] // as rows: vᵀ
	columns       strided[T] // v
	triangle      strided[T] // -tᵀ
	squares       strided[T] // vᵀ·v
	turned        strided[T] // -tᵀ·vᵀ
	part          strided[T]
}

// size returns the memory for reflections of up to n numbers, applied to up to n rows.
func (f *reflectionBlock[T]) size(n int) int {
	const w = blockOfReflections
	return 2*inDoubles[T](w*w) + 2*inDoubles[T](n*w) + inDoubles[T](w*paddedColumns(n)) + inDoubles[T](productMemory[T](n))
}

func (f *reflectionBlock[T]) cut(scratch *[]float64, n int) {
	const w = blockOfReflections
	f.triangle, f.squares = cutMatrix[T](scratch, w, w), cutMatrix[T](scratch, w, w)
	f.columns, f.part = cutMatrix[T](scratch, n, w), cutMatrix[T](scratch, n, w)
	f.turned = cutMatrix[T](scratch, w, paddedColumns(n))
	f.products.scratch = scratchSlice[T](scratch, productMemory[T](n))
}

// prepare takes the vectors, as rows of the given length padded with zeros, and their factors.
func (f *reflectionBlock[T]) prepare(vectors strided[T], factors []T, count, length int) {
	f.vectors, f.count, f.length = vectors, count, length
	width := paddedColumns(count)
	f.columns.stride, f.part.stride = width, width
	if width > count {
		clear(f.columns.x[:length*width])
	}
	micro.Transpose(f.columns.x, vectors.x, count, length, width, vectors.stride)
	clear(f.squares.x)
	f.add(f.squares, vectors, f.columns, count, length, width)
	for k, factor := range factors[:count] {
		row, squares := f.triangle.row(k), f.squares.row(k)[:k]
		clear(row)
		for i := range squares {
			squares[i] *= -factor
		}
		addRow(row[:paddedColumns(k)], squares, f.triangle)
		row[k] = -factor
	}
	f.turned.stride = paddedColumns(length)
	clear(f.turned.x[:count*f.turned.stride])
	f.add(f.turned, f.triangle, vectors, count, count, f.turned.stride)
}

// turnRows applies the reflections to rows, the last one first.
func (f *reflectionBlock[T]) turnRows(rows strided[T], n int) {
	clear(f.part.x[:n*f.part.stride])
	f.add(f.part, rows, f.columns, n, f.length, f.part.stride)
	f.add(rows, f.part, f.turned, n, f.count, f.turned.stride)
}
