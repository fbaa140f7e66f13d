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
