//go:build amd64 || arm64

package vec

import "unsafe"

// rowsAtCall is the number of rows that one assembly call takes.
const rowsAtCall = 64

func addRowsAt32(dst, x []float32, pairs [][2]int, c int) bool {
	wide, ok := divides(c)
	if !ok || c > callElements {
		return false
	}
	var bytes [rowsAtCall][2]int
	for len(pairs) > 0 {
		n := min(len(pairs), max(min(rowsAtCall, callElements/c), 1))
		for i, p := range pairs[:n] {
			bytes[i] = [2]int{4 * p[0], 4 * p[1]}
		}
		callAddRowsAt(wide, unsafe.SliceData(dst), unsafe.SliceData(x), &bytes[0], uintptr(n), uintptr(4*c))
		pairs = pairs[n:]
	}
	return true
}
