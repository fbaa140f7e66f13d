package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// hasTableRows reports whether the functions below do anything.
func hasTableRows() bool { return isa.Active().Has(isa.NEON) }

// wideTableLanes returns the most floats that bytesRows writes at a time.
func wideTableLanes() int { return tableLanes }

// shiftsOfNibbles moves the number of each lane to the highest bits.
var shiftsOfNibbles = [tableLanes]uint32{28, 24, 20, 16, 12, 8, 4, 0}

// bytesRows writes rows of vectors of bytes. stride, tail and last are bytes: of a row of the result, and where the
// last vector begins in the result and in the table, if tail is not 0.
func bytesRows(_ int, to, table unsafe.Pointer, p *tablePiece, rows, vectors, stride, tail, last int) {
	bytesRowsNEON(to, table, unsafe.Pointer(&p.offsets), unsafe.Pointer(&p.scale), uintptr(rows), uintptr(vectors), uintptr(stride), uintptr(tail), uintptr(last))
}

// nibblesRows does so for blocks of vectors of four-bit numbers.
func nibblesRows(_ int, to, table, scale, zero unsafe.Pointer, places *[tableChunk]rowPlace, rows, blocks, vectors, stride, tail, last int) {
	nibblesRowsNEON(to, table, unsafe.Pointer(places), scale, zero, unsafe.Pointer(&shiftsOfNibbles), uintptr(rows), uintptr(blocks), uintptr(vectors), uintptr(stride), uintptr(tail), uintptr(last))
}

//go:noescape
func bytesRowsNEON(to, table, offsets, factor unsafe.Pointer, rows, vectors, stride, tail, last uintptr)

//go:noescape
func nibblesRowsNEON(to, table, offsets, scale, zero, shifts unsafe.Pointer, rows, blocks, vectors, stride, tail, last uintptr)
