package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// transposeWords stores dst[r·to + q] = src[q·from + r] of elements of 32 or 64 bits: a line of the destination's rows
// at a time, over pieces of the source's that stay in the first-level cache's reach.
func transposeWords[T block.Float](dst, src unsafe.Pointer, rows, cols, to, from int) {
	if size := int(unsafe.Sizeof(T(0))); linesConflict(size, cols, to*size) {
		var apart transposedBlock
		transposeApart[T](dst, src, rows, cols, to, from, &apart)
	} else {
		transposePlane[T](dst, src, rows, cols, to, from, nil)
	}
}

// transposePlane is transposeWords with a place for blocks, nil where no lines conflict.
func transposePlane[T block.Float](dst, src unsafe.Pointer, rows, cols, to, from int, apart *transposedBlock) {
	if apart != nil {
		transposeApart[T](dst, src, rows, cols, to, from, apart)
		return
	}
	const piece = 64
	size := int(unsafe.Sizeof(T(0)))
	for r := 0; r < rows; r += piece {
		m := min(piece, rows-r)
		for q := 0; q < cols; q += tileSize {
			n := min(tileSize, cols-q)
			d := block.View[T](unsafe.Add(dst, size*(r*to+q)), (m-1)*to+n)
			x := block.View[T](unsafe.Add(src, size*(q*from+r)), (n-1)*from+m)
			micro.Transpose(d, x, n, m, to, from)
		}
	}
}

// linesConflict reports whether rows of the destination, so many bytes apart, have lines that drive each other out of
// the first-level cache, and are long enough to be worth a place of their own.
func linesConflict(size, cols, to int) bool {
	const distance, long = 2048, 128
	return size >= 4 && size <= 8 && to > 0 && to%distance == 0 && cols*size >= long
}

// A transposedBlock has apartRow bytes of tileSize rows of the destination, a line apart from each other.
const apartRow = 1024

type transposedBlock [tileSize * (apartRow + 64) / 8]uint64

// transposeApart is transposeWords for lines that conflict: blocks are transposed in a place of their own and leave it
// as long pieces of rows.
func transposeApart[T block.Float](dst, src unsafe.Pointer, rows, cols, to, from int, apart *transposedBlock) {
	size := int(unsafe.Sizeof(T(0)))
	columns, stride := apartRow/size, (apartRow+64)/size
	buffer := block.View[T](unsafe.Pointer(apart), tileSize*stride)
	for r := 0; r < rows; r += tileSize {
		m := min(tileSize, rows-r)
		for q := 0; q < cols; q += columns {
			n := min(columns, cols-q)
			x := block.View[T](unsafe.Add(src, size*(q*from+r)), (n-1)*from+m)
			micro.Transpose(buffer[:(m-1)*stride+n], x, n, m, stride, from)
			for i := range m {
				copy(block.View[T](unsafe.Add(dst, size*((r+i)*to+q)), n), buffer[i*stride:])
			}
		}
	}
}
