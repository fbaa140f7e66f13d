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
	size := int(unsafe.Sizeof(T(0)))
	piece := rowsWithLines(to * size)
	if rows*cols*size >= turnedBeyond {
		piece = tileSize
	}
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

// turnedBeyond is the number of bytes from which a plane comes from the memory and goes there: few rows are then
// written at a time, since each goes on where it was.
const turnedBeyond = 20 << 20

// rowsWithLines is how many rows, so many bytes apart, of up to 64 have a cache line each in the first-level cache at
// once: lines whose distance is a multiple of a power of two share its sets, of which there are 64 or more of eight or
// more lines.
func rowsWithLines(to int) int {
	const line, sets, ways = 64, 64, 8
	if to <= 0 || to%line != 0 {
		return 64
	}
	shared := min(to/line&-(to/line), sets)
	return min(sets/shared*ways, 64)
}

// linesConflict reports whether even a few rows of the destination, so many bytes apart, have lines that drive each
// other out of the first-level cache, and are long enough to be worth a place of their own.
func linesConflict(size, cols, to int) bool {
	const long = 128
	return size >= 4 && size <= 8 && rowsWithLines(to) < 32 && cols*size >= long
}

// A transposedBlock has apartRow bytes of apartRows rows of the destination, a line apart from each other.
const (
	apartRows = 32
	apartRow  = 512
)

type transposedBlock [apartRows * (apartRow + 64) / 8]uint64

// transposeApart is transposeWords for lines that conflict: blocks are transposed in a place of their own and leave it
// as long pieces of rows. Of each row of the source a block has several lines, which the processor fetches together.
func transposeApart[T block.Float](dst, src unsafe.Pointer, rows, cols, to, from int, apart *transposedBlock) {
	size := int(unsafe.Sizeof(T(0)))
	columns, stride := apartRow/size, (apartRow+64)/size
	buffer := block.View[T](unsafe.Pointer(apart), apartRows*stride)
	for r := 0; r < rows; r += apartRows {
		m := min(apartRows, rows-r)
		for q := 0; q < cols; q += columns {
			n := min(columns, cols-q)
			x := block.View[T](unsafe.Add(src, size*(q*from+r)), (n-1)*from+m)
			micro.Transpose(buffer[:(m-1)*stride+n], x, n, m, stride, from)
			moveRows(unsafe.Add(dst, size*(r*to+q)), unsafe.Pointer(apart), m, n*size, to*size, stride*size)
		}
	}
}
