package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// transposeWords stores dst[r·to + q] = src[q·from + r] for elements of 32 or 64 bits. It writes one line of the
// destination's rows at a time, and reads pieces of the source's rows that stay within reach of the first-level cache.
func transposeWords[T block.Float](dst, src unsafe.Pointer, rows, cols, to, from int) {
	if size := int(unsafe.Sizeof(T(0))); linesConflict(size, cols, to*size) {
		var apart transposedBlock
		transposeApart[T](dst, src, rows, cols, to, from, &apart)
	} else {
		transposePlane[T](dst, src, rows, cols, to, from, nil)
	}
}

// transposePlane is transposeWords with memory for a block, which is nil if no lines conflict.
func transposePlane[T block.Float](dst, src unsafe.Pointer, rows, cols, to, from int, apart *transposedBlock) {
	if apart != nil {
		transposeApart[T](dst, src, rows, cols, to, from, apart)
		return
	}
	size := int(unsafe.Sizeof(T(0)))
	piece := rowsWithLines(to * size)
	if rows*cols*size >= streamedTranspose {
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

// streamedTranspose is the size in bytes from which on a plane comes from memory and goes to memory. Few rows are then
// written at a time, because writing continues each where it stopped.
const streamedTranspose = 20 << 20

// rowsWithLines returns how many rows, to bytes apart and at most 64, can each have a line in the first-level cache at
// the same time. Lines whose distance is a multiple of a power of two share its sets. It has at least 64 sets, of at
// least eight lines each.
func rowsWithLines(to int) int {
	const line, sets, ways = 64, 64, 8
	if to <= 0 || to%line != 0 {
		return 64
	}
	shared := min(to/line&-(to/line), sets)
	return min(sets/shared*ways, 64)
}

// linesConflict reports whether even a few rows of the destination, to bytes apart, have lines that evict each other
// from the first-level cache. The rows must be long enough to be worth a separate block.
func linesConflict(size, cols, to int) bool {
	const long = 128
	return size >= 4 && size <= 8 && rowsWithLines(to) < 32 && cols*size >= long
}

// A transposedBlock holds apartRow bytes of each of apartRows rows of the destination, with a cache line between rows.
const (
	apartRows = 32
	apartRow  = 512
)

type transposedBlock [apartRows * (apartRow + 64) / 8]uint64

// transposeApart is transposeWords for lines that conflict. Blocks are transposed in separate memory and copied from
// there as long pieces of rows. A block has several lines of each row of the source, which the processor fetches
// together.
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
