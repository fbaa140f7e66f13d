//go:build amd64 || arm64

package vec

import "unsafe"

// widenRows widens as many rows as can be read in whole vectors, and returns how many.
func (h Half) widenRows(dst []float32, x []uint16, columns, rows, to, from int) int {
	wide, ok := vectors()
	whole := (columns + 15) / 16 * 16
	if !ok || to < whole || from < 0 {
		return 0
	}
	for rows > 0 && ((rows-1)*from+whole > len(x) || (rows-1)*to+whole > len(dst)) {
		rows--
	}
	most := max(callElements/whole, 1)
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callWidenRowsF16(wide, &dst[i*to], unsafe.Pointer(&x[i*from]), uintptr(whole), n, uintptr(4*to), uintptr(2*from))
		} else {
			callWidenRowsBF16(wide, &dst[i*to], unsafe.Pointer(&x[i*from]), uintptr(whole), n, uintptr(4*to), uintptr(2*from))
		}
	}
	return rows
}

// wholeVectors is how many of the columns of rows the kernels take, which have whole vectors only.
func wholeVectors(columns, rows int) (whole int, wide, ok bool) {
	wide, ok = vectors()
	if whole = columns / 16 * 16; whole == 0 || rows <= 0 {
		ok = false
	}
	return whole, wide, ok
}

// narrowRows rounds whole vectors of the rows, and returns how many columns those are.
func (h Half) narrowRows(dst []uint16, x []float32, columns, rows, to, from int) int {
	whole, wide, ok := wholeVectors(columns, rows)
	if !ok {
		return 0
	}
	_, _ = dst[(rows-1)*to+whole-1], x[(rows-1)*from+whole-1]
	most := max(callElements/whole, 1)
	for i := 0; i < rows; i += most {
		n := uintptr(min(most, rows-i))
		if h == f16 {
			callNarrowRowsF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], uintptr(whole), n, uintptr(2*to), uintptr(4*from))
		} else {
			callNarrowRowsBF16(wide, unsafe.Pointer(&dst[i*to]), &x[i*from], uintptr(whole), n, uintptr(2*to), uintptr(4*from))
		}
	}
	return whole
}
