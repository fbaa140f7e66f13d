//go:build amd64 || arm64

package vec

import "unsafe"

// block is the number of rows of a block that stays in the first-level cache.
func (l *lines) block() int { return max(min(scoreRows, scoreElements/(l.n+l.rest)), 1) }

// sums stores the logarithms of the sums of the exponentials of a block of rows from row first on, and returns how many
// rows these are.
func (l *lines) sums(totals *[scoreRows]float32, x []float32, first int) int {
	var largest [scoreRows]float32
	rows, cols := min(l.block(), l.rows-first), l.n+l.rest
	callExpSumLines(l.wide, at(x, first*cols), (*float32)(unsafe.Pointer(&l.mask)), &largest[0], &totals[0], uintptr(rows), uintptr(l.n), uintptr(4*l.rest), uintptr(4*cols))
	Log(totals[:rows], totals[:rows])
	Add(totals[:rows], totals[:rows], largest[:rows])
	return rows
}

func logSumLines32(totals, x []float32, cols int) bool {
	var l lines
	if !l.set(len(x), cols) {
		return false
	}
	var sums [scoreRows]float32
	for first := 0; first < l.rows; {
		rows := l.sums(&sums, x, first)
		copy(totals[first:], sums[:rows])
		first += rows
	}
	return true
}

func logSoftmaxLines32(dst, x []float32, cols int) bool {
	var l lines
	if !l.set(len(dst), cols) {
		return false
	}
	var sums [scoreRows]float32
	for first := 0; first < l.rows; {
		rows := l.sums(&sums, x, first)
		callSubtractLines(l.wide, at(dst, first*cols), at(x, first*cols), &sums[0], uintptr(rows), uintptr(l.n), uintptr(4*cols))
		first += rows
	}
	return true
}

func logSoftmaxLinesGrad32(dst, y, dy []float32, cols int) bool {
	var l lines
	if !l.set(len(dst), cols) {
		return false
	}
	mask := (*float32)(unsafe.Pointer(&l.mask))
	for r := 0; r < l.rows; r += l.most {
		callLogSoftmaxLinesGrad(l.wide, at(dst, r*cols), at(y, r*cols), at(dy, r*cols), mask, &l.line[0], uintptr(min(l.most, l.rows-r)), uintptr(l.n), uintptr(4*l.rest), uintptr(4*cols))
	}
	return true
}
