package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// gatherRows copies rows of x, of row bytes each, to consecutive rows of y. Dropped rows become zeros. All other
// positions must be within x. Short rows are copied in two pieces that may overlap, because a call for each would take
// longer.
func gatherRows(y, x []byte, at []int64, row int) {
	switch {
	case row >= 128 || row < 3:
		for i, p := range at {
			dst := y[i*row : (i+1)*row]
			if p == dropped {
				clear(dst)
				continue
			}
			vec.Copy(dst, x[int(p)*row:int(p)*row+row])
		}
	case row > 64:
		gatherPieces(y, x, at, row)
	default:
		gatherShortRows(y, x, at, row)
	}
}

// gatherShortRows is gatherRows for rows of 3 to 64 bytes.
func gatherShortRows[P int32 | int64](y, x []byte, at []P, row int) {
	switch {
	case row >= 32:
		gatherEnds[piece32](y, x, at, row)
	case row >= 16:
		gatherEnds[piece16](y, x, at, row)
	case row >= 8:
		gatherEnds[uint64](y, x, at, row)
	case row >= 4:
		gatherEnds[uint32](y, x, at, row)
	default:
		gatherEnds[uint16](y, x, at, row)
	}
}

// gatherEnds is gatherRows for rows of one to two times the size of a T.
func gatherEnds[T any, P int32 | int64](y, x []byte, at []P, row int) {
	var piece T
	last := row - int(unsafe.Sizeof(piece))
	to, from := unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(unsafe.SliceData(x))
	for i, p := range at {
		d, s := i*row, int(p)*row
		if p == dropped {
			clear(plan.BytesAt(unsafe.Add(to, d), row))
			continue
		}
		*(*T)(unsafe.Add(to, d)) = *(*T)(unsafe.Add(from, s))
		*(*T)(unsafe.Add(to, d+last)) = *(*T)(unsafe.Add(from, s+last))
	}
}

// gatherPieces is gatherRows for rows of two to four pieces of 32 bytes.
func gatherPieces(y, x []byte, at []int64, row int) {
	last := row - 32
	to, from := unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(unsafe.SliceData(x))
	for i, p := range at {
		d, s := i*row, int(p)*row
		if p == dropped {
			clear(plan.BytesAt(unsafe.Add(to, d), row))
			continue
		}
		for k := 0; k < last; k += 32 {
			*(*piece32)(unsafe.Add(to, d+k)) = *(*piece32)(unsafe.Add(from, s+k))
		}
		*(*piece32)(unsafe.Add(to, d+last)) = *(*piece32)(unsafe.Add(from, s+last))
	}
}

// A few rows of each of many lines are gathered one position after the other, from as many lines at a time as have
// gatherBytes of results, if these are at least fewGathered.
const (
	gatherBytes = 1 << 14
	fewGathered = 4
)

// gatherFewRows gathers the rows at the given positions from n lines, from line first on. Lines have length rows.
func gatherFewRows(out, in unsafe.Pointer, at []int64, first, n, row, length int) {
	to, from := len(at)*row, length*row
	for i, p := range at {
		dst := unsafe.Add(out, first*to+i*row)
		if p == dropped {
			clearColumns(dst, n, row, to)
			continue
		}
		moveRows(dst, unsafe.Add(in, first*from+int(p)*row), n, row, to, from)
	}
}
