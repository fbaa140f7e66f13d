// Package rows gathers rows of memory, prefetching the next ones, and adds to them: it builds the batches of shuffled
// examples, and sums the gradients of rows.
package rows

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

const (
	fetchMinRow  = 256     // bytes; of shorter rows the processor has several under way by itself,
	fetchMaxRow  = 1 << 16 // and most of a longer one it foresees
	fetchMinFrom = 1 << 20 // bytes of all rows; less stays in the cache
	fetchPart    = 1 << 14 // of a row, at its beginning
	fetchAhead   = 6144    // bytes that are copied meanwhile
	fetchMost    = 16
)

// Copy copies rows of so many bytes: row i of dst becomes row indices[i] of src. It panics if one of them lies outside.
//
// Rows of a large src that follow each other at random arrive from memory one by one, since the processor cannot
// foresee them: Copy asks for the next ones while it copies.
func Copy(dst, src []byte, row int, indices []int) {
	switch row {
	case 1:
		for i, index := range indices {
			dst[i] = src[index]
		}
	case 4:
		for i, index := range indices {
			*(*[4]byte)(dst[4*i:]) = *(*[4]byte)(src[4*index:])
		}
	case 8:
		for i, index := range indices {
			*(*[8]byte)(dst[8*i:]) = *(*[8]byte)(src[8*index:])
		}
	default:
		copyRows(dst, src, row, indices)
	}
}

func copyRows(dst, src []byte, row int, indices []int) {
	ahead := len(indices)
	if row >= fetchMinRow && row <= fetchMaxRow && len(src) >= fetchMinFrom {
		ahead = min((fetchAhead+row-1)/row, fetchMost)
		fetch(src, row, indices[:min(ahead, len(indices))])
	}
	for i, index := range indices {
		if next := i + ahead; next < len(indices) {
			fetch(src, row, indices[next:next+1])
		}
		copy(dst[i*row:(i+1)*row], src[index*row:(index+1)*row])
	}
}

// fetch asks for the beginnings of rows.
func fetch(src []byte, row int, indices []int) {
	words := min(row, fetchPart) / 4
	for _, index := range indices {
		at := src[index*row : (index+1)*row]
		vec.Fetch(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(at))), words), 1, words, words)
	}
}

// Fetch asks for a row that is needed soon, while the processor goes on. It changes nothing.
func Fetch(row []float32) { vec.Fetch(row, 1, len(row), len(row)) }
