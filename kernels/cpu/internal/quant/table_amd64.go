package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// hasTableRows reports whether the functions below do anything.
func hasTableRows() bool { return isa.Active().Has(isa.Vectors256) }

// wideTableLanes returns the most floats that bytesRows writes at a time.
func wideTableLanes() int {
	if isa.Active().Has(isa.Vectors512) {
		return 2 * tableLanes
	}
	return tableLanes
}

// shiftsOfNibbles moves the number of each lane to the highest bits.
var shiftsOfNibbles = [tableLanes]uint32{28, 24, 20, 16, 12, 8, 4, 0}

// shiftsOfSixteen moves the numbers of two words to the lowest bits.
var shiftsOfSixteen = [2 * tableLanes]uint32{0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28}

// bytesRows writes rows of vectors of bytes. stride, tail and last are bytes: of a row of the result, and where the
// last vector begins in the result and in the table, if tail is not 0.
func bytesRows(lanes int, to, table unsafe.Pointer, p *tablePiece, rows, vectors, stride, tail, last int) {
	if lanes > tableLanes {
		bytesRowsAVX512(to, table, unsafe.Pointer(&p.offsets), unsafe.Pointer(&p.scale), uintptr(rows), uintptr(vectors), uintptr(stride), uintptr(tail), uintptr(last))
		return
	}
	bytesRowsAVX2(to, table, unsafe.Pointer(&p.offsets), unsafe.Pointer(&p.scale), uintptr(rows), uintptr(vectors), uintptr(stride), uintptr(tail), uintptr(last))
}

// nibblesRows does so for blocks of vectors of four-bit numbers.
func nibblesRows(lanes int, to, table, scale, zero unsafe.Pointer, places *[tableChunk]rowPlace, rows, blocks, vectors, stride, tail, last int) {
	if lanes > tableLanes {
		nibblesRowsAVX512(to, table, unsafe.Pointer(places), scale, zero, unsafe.Pointer(&shiftsOfSixteen), uintptr(rows), uintptr(blocks), uintptr(vectors), uintptr(stride), uintptr(tail), uintptr(last))
		return
	}
	nibblesRowsAVX2(to, table, unsafe.Pointer(places), scale, zero, unsafe.Pointer(&shiftsOfNibbles), uintptr(rows), uintptr(blocks), uintptr(vectors), uintptr(stride), uintptr(tail), uintptr(last))
}

//go:noescape
func bytesRowsAVX512(to, table, offsets, factor unsafe.Pointer, rows, vectors, stride, tail, last uintptr)

//go:noescape
func bytesRowsAVX2(to, table, offsets, factor unsafe.Pointer, rows, vectors, stride, tail, last uintptr)

//go:noescape
func nibblesRowsAVX512(to, table, offsets, scale, zero, shifts unsafe.Pointer, rows, blocks, vectors, stride, tail, last uintptr)

//go:noescape
func nibblesRowsAVX2(to, table, offsets, scale, zero, shifts unsafe.Pointer, rows, blocks, vectors, stride, tail, last uintptr)
