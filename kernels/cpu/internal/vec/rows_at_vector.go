//go:build amd64 || arm64

package vec

import "unsafe"

// rowsAtCall is the number of rows that one assembly call takes.
const rowsAtCall = 64

// What is done to a row.
const (
	addRow = iota
	copyRow
	descendRow
)

func addRowsAt32(dst, x []float32, pairs [][2]int, c int) bool {
	return rowsAt(addRow, dst, x, pairs, c, 0)
}

func copyRowsAt32(dst, x []float32, pairs [][2]int, c int) bool {
	return rowsAt(copyRow, dst, x, pairs, c, 0)
}

func descendRowsAt32(dst, x []float32, pairs [][2]int, c int, rate float32) bool {
	return rowsAt(descendRow, dst, x, pairs, c, rate)
}

// rowsAt does it with parts of the pairs, as offsets in bytes, where c is whole vectors.
func rowsAt(what int, dst, x []float32, pairs [][2]int, c int, rate float32) bool {
	wide, ok := divides(c)
	if !ok || c > callElements {
		return false
	}
	y, z, size := unsafe.SliceData(dst), unsafe.SliceData(x), uintptr(4*c)
	var bytes [rowsAtCall][2]int
	for len(pairs) > 0 {
		n := min(len(pairs), max(min(rowsAtCall, callElements/c), 1))
		for i, p := range pairs[:n] {
			bytes[i] = [2]int{4 * p[0], 4 * p[1]}
		}
		switch what {
		case addRow:
			callAddRowsAt(wide, y, z, &bytes[0], uintptr(n), size)
		case copyRow:
			callCopyRowsAt(wide, y, z, &bytes[0], uintptr(n), size)
		default:
			callDescendRowsAt(wide, y, z, &bytes[0], uintptr(n), size, unsafe.Pointer(&rate))
		}
		pairs = pairs[n:]
	}
	return true
}
