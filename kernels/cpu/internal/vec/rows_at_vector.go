//go:build amd64 || arm64

package vec

import "unsafe"

// rowsAtCall is the number of rows of one assembly call.
const rowsAtCall = 64

func addRowsAt(bytes int, dst, x unsafe.Pointer, pairs [][2]int, c int) int {
	return rowsAt(addRow, bytes, dst, x, pairs, c, 0)
}

func descendRowsAt32(dst, x []float32, pairs [][2]int, c int, rate float32) int {
	return rowsAt(descendRow, 4, start(dst), start(x), pairs, c, rate)
}

// rowsAt processes parts of the pairs, as offsets in bytes, and returns how many of the c columns are done: those that
// are whole vectors.
func rowsAt(what rowWork, bytes int, dst, x unsafe.Pointer, pairs [][2]int, c int, rate float32) int {
	all := c * bytes / 4 &^ 7 // floats of 4 bytes in vectors of 32
	if _, ok := divides(all); !ok {
		return 0
	}
	var offsets [rowsAtCall][2]int
	for first := 0; first < all; first += callElements {
		part := min(all-first, callElements)
		wide, _ := divides(part)
		for at := 0; at < len(pairs); {
			n := min(len(pairs)-at, max(min(rowsAtCall, callElements/part), 1))
			for i, p := range pairs[at : at+n] {
				offsets[i] = [2]int{bytes*p[0] + 4*first, bytes*p[1] + 4*first}
			}
			callRowsAt(what, wide, bytes, dst, x, &offsets[0], n, uintptr(4*part), &rate)
			at += n
		}
	}
	return all * 4 / bytes
}

func callRowsAt(what rowWork, wide bool, bytes int, dst, x unsafe.Pointer, pairs *[2]int, n int, size uintptr, rate *float32) {
	switch what {
	case addRow:
		callAddRowsAt(wide, bytes, dst, x, pairs, uintptr(n), size)
	case copyRow:
		callCopyRowsAt(wide, (*float32)(dst), (*float32)(x), pairs, uintptr(n), size)
	default:
		callDescendRowsAt(wide, (*float32)(dst), (*float32)(x), pairs, uintptr(n), size, unsafe.Pointer(rate))
	}
}

// fetchGroup is how many rows are prefetched while as many are processed.
const fetchGroup = 16

// placedRows32 processes the rows of a list and the rows of a table that places names. If ahead is set, it prefetches
// rows of the table.
func placedRows32[P rowNumber](what rowWork, table, list []float32, c int, places []P, rate float32, ahead bool) bool {
	wide, ok := divides(c)
	if !ok || c > callElements/fetchGroup {
		return false
	}
	dst, x, side := unsafe.SliceData(table), unsafe.SliceData(list), 0
	if what == copyRow {
		dst, x, side = x, dst, 1
	}
	base, size, most := unsafe.SliceData(table), 4*c, uint(len(table)/c)
	group := max(min(rowsAtCall, callElements/c), 1)
	if ahead {
		group = fetchGroup
	}
	var room [2][rowsAtCall][2]int
	prepare := func(from int, pairs *[rowsAtCall][2]int) int {
		some := places[from:min(from+group, len(places))]
		for i, p := range some {
			if uint(p) >= most {
				panicPlace(int(p), int(most))
			}
			pairs[i][side], pairs[i][1-side] = int(p)*size, (from+i)*size
		}
		if ahead && len(some) > 0 {
			callFetchRowsAt(wide, base, &pairs[0][side], uintptr(len(some)), uintptr((size+lineBytes-1)&^(lineBytes-1)))
		}
		return len(some)
	}
	for from, n, now := 0, prepare(0, &room[0]), 0; n > 0; now = 1 - now {
		next := prepare(from+n, &room[1-now])
		callRowsAt(what, wide, 4, unsafe.Pointer(dst), unsafe.Pointer(x), &room[now][0], n, uintptr(size), &rate)
		from, n = from+n, next
	}
	return true
}
