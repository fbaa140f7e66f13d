//go:build amd64 || arm64

package vec

import "unsafe"

// newLanes returns the mask of the lanes that only the last vector of a line computes: the last rest of width lanes.
func newLanes(width, rest int) (mask [16]uint32) {
	for i := width - rest; i < width; i++ {
		mask[i] = 1<<32 - 1
	}
	return mask
}

// lines describes how assembly goes through rows without gaps.
type lines struct {
	wide       bool
	n, rest    int // numbers in whole vectors, and numbers after them
	rows, most int // of all, and at most of one call
	mask       [16]uint32
	line       [1]float32 // scratch
}

func (l *lines) set(length, cols int) bool {
	wide, ok := vectors()
	width := 8
	if wide {
		width = 16
	}
	if !ok || cols < width || cols > sumBlock {
		return false
	}
	n := whole(wide, cols)
	*l = lines{wide: wide, n: n, rest: cols - n, rows: length / cols, most: callElements / cols, mask: newLanes(width, cols-n)}
	return true
}

func softmaxLines32(dst, x []float32, cols int) bool {
	var l lines
	if !l.set(len(dst), cols) {
		return false
	}
	mask := (*float32)(unsafe.Pointer(&l.mask))
	for r := 0; r < l.rows; r += l.most {
		callSoftmaxLines(l.wide, at(dst, r*cols), at(x, r*cols), mask, &l.line[0], uintptr(min(l.most, l.rows-r)), uintptr(l.n), uintptr(4*l.rest), uintptr(4*cols))
	}
	return true
}

func softmaxLinesGrad32(dst, y, dy []float32, cols int) bool {
	var l lines
	if !l.set(len(dst), cols) {
		return false
	}
	mask := (*float32)(unsafe.Pointer(&l.mask))
	for r := 0; r < l.rows; r += l.most {
		callSoftmaxLinesGrad(l.wide, at(dst, r*cols), at(y, r*cols), at(dy, r*cols), mask, &l.line[0], uintptr(min(l.most, l.rows-r)), uintptr(l.n), uintptr(4*l.rest), uintptr(4*cols))
	}
	return true
}
