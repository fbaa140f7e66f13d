//go:build amd64 || arm64

package vec

import "unsafe"

// lineSums stores the sums of lines of x or, if y is not nil, of their products with those of y, and returns of how
// many lines. The end of a line is read as a whole vector, which must not reach beyond x.
func lineSums(dst, x, y []float32, cols int) int {
	wide, ok := vectors()
	if !ok || cols <= 0 || cols > sumBlock {
		return 0
	}
	n, rows := whole(wide, cols), len(dst)
	rest := cols - n
	if rest > 0 {
		last := len(x) - n - vectorBytes(wide)/4 // where the last line may begin whose end is read as a vector
		if last < 0 {
			return 0
		}
		rows = min(last/cols+1, rows)
	}
	var mask buffer
	ones := (*[16]uint32)(unsafe.Pointer(&mask))
	for i := range rest {
		ones[i] = 1<<32 - 1
	}
	most := callElements / cols
	for r := 0; r < rows; r += most {
		count := uintptr(min(most, rows-r))
		if y == nil {
			callSumLines(wide, &dst[r], &x[r*cols], &mask[0], count, uintptr(n), uintptr(rest), uintptr(4*cols))
		} else {
			callDotLines(wide, &dst[r], &x[r*cols], &y[r*cols], &mask[0], count, uintptr(n), uintptr(rest), uintptr(4*cols))
		}
	}
	return rows
}
