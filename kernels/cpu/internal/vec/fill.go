package vec

import "unsafe"

// leastFill is the fewest numbers of a row that the kernel can fill.
const leastFill = 16

// FillRows fills consecutive rows of dst, n elements each, with one number each. The numbers are at src, step bytes
// apart. All have 32 bits.
func FillRows(dst []uint32, src unsafe.Pointer, n, step int) {
	rows := len(dst) / n
	if n >= leastFill && rows > 0 && fillRows32(dst, src, rows, n, step) {
		return
	}
	done := 0
	if n >= 2 && n <= 4 && step == 4 {
		from := [4]unsafe.Pointer{src, src, src, src}
		done = Turns(unsafe.Pointer(unsafe.SliceData(dst)), from[:n], 4, 0, rows)
	}
	for r := done; r < rows; r++ {
		fillRow(dst[r*n:(r+1)*n], *(*uint32)(unsafe.Add(src, r*step)))
	}
}

// fillRow fills a short row, two numbers at a time; the last two may overlap those before.
func fillRow(row []uint32, v uint32) {
	last := len(row) - 2
	if last < 0 {
		for i := range row {
			row[i] = v
		}
		return
	}
	word, to := uint64(v)*0x100000001, unsafe.Pointer(unsafe.SliceData(row))
	for i := 0; i < last; i += 2 {
		*(*uint64)(unsafe.Add(to, 4*i)) = word
	}
	*(*uint64)(unsafe.Add(to, 4*last)) = word
}
