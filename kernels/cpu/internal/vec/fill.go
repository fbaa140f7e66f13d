package vec

import "unsafe"

// leastFill is the length of rows from which on the kernel fills them.
const leastFill = 16

// FillRows fills rows of dst, n elements each and one behind the other, with one number each: those at src, which lie
// step bytes apart. All are of 32 bits.
func FillRows(dst []uint32, src unsafe.Pointer, n, step int) {
	rows := len(dst) / n
	if n >= leastFill && rows > 0 && fillRows32(dst, src, rows, n, step) {
		return
	}
	for r := range rows {
		v, row := *(*uint32)(unsafe.Add(src, r*step)), dst[r*n:(r+1)*n]
		for i := range row {
			row[i] = v
		}
	}
}
