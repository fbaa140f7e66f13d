//go:build amd64 || arm64

package vec

import "unsafe"

// pixelLanes returns the number of lanes, for floats of the given size, of the vectors for pixels of c channels, or 0
// if there are none.
func pixelLanes(bytes, c int) int {
	wide, ok := vectors()
	vector := 32 / bytes
	switch {
	case !ok:
		return 0
	case wide && c >= 2*vector && c%(2*vector) != vector:
		return 2 * vector
	}
	return vector
}

// windowParts cuts n windows of pixels with c channels into parts that one assembly call can compute, reading the given
// number of cells. It calls f with the first window, the number of windows, the first channel and the number of
// channels, and returns how many windows are done. If there is more than a vector of channels, the last vector overlaps
// the one before it. Less than a vector is computed only if it may spill into the next window, which is computed later.
func windowParts(bytes, cells, count, c int, spill bool, f func(wide bool, first, n, channel, channels int)) int {
	lanes, vector := pixelLanes(bytes, c), 32/bytes
	if lanes == 0 || c < vector && !spill {
		return 0
	}
	if c < vector {
		if count -= (vector-1+c)/c - 1; count <= 0 {
			return 0
		}
	}
	wide, step := lanes > vector, max(callElements/(c*cells), 1)
	channels := max(min(c, callElements/cells)/lanes, 1) * lanes
	for w := 0; w < count; w += step {
		n := min(step, count-w)
		for channel := 0; channel == 0 || channel+lanes <= c; channel += channels {
			f(wide, w, n, channel, min(channels, max((c-channel)/lanes, 1)*lanes))
		}
		if c%lanes != 0 && c > lanes {
			f(wide, w, n, c-lanes, lanes)
		}
	}
	return count
}

func windowsMax(bytes int, dst, x unsafe.Pointer, cells []int, count, c, dstStep, xStep int) int {
	windows, width := flat(count, c, dstStep, xStep)
	done := windowParts(bytes, len(cells), windows, width, dstStep == width, func(wide bool, w, n, channel, channels int) {
		callWindowsMax(wide, bytes, unsafe.Add(dst, bytes*(w*dstStep+channel)), unsafe.Add(x, bytes*(w*xStep+channel)), unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(bytes*channels), uintptr(bytes*dstStep), uintptr(bytes*xStep))
	})
	return done * width / c
}

// windowsSum multiplies sums by the number at scale.
func windowsSum(bytes int, dst, x unsafe.Pointer, cells []int, count, c, dstStep, xStep int, scale unsafe.Pointer) int {
	windows, width := flat(count, c, dstStep, xStep)
	done := windowParts(bytes, len(cells), windows, width, dstStep == width, func(wide bool, w, n, channel, channels int) {
		callWindowsSum(wide, bytes, unsafe.Add(dst, bytes*(w*dstStep+channel)), unsafe.Add(x, bytes*(w*xStep+channel)), unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(bytes*channels), uintptr(bytes*dstStep), uintptr(bytes*xStep), scale)
	})
	return done * width / c
}

func windowsFirst(index, x, top unsafe.Pointer, cells []int, count, c, topStep, xStep int) int {
	windows, width := flat(count, c, topStep, xStep)
	done := windowParts(4, len(cells), windows, width, topStep == width, func(wide bool, w, n, channel, channels int) {
		to := 4 * (w*topStep + channel)
		callWindowsFirst(wide, unsafe.Add(index, to), unsafe.Add(x, 4*(w*xStep+channel)), unsafe.Add(top, to), unsafe.Pointer(&cells[len(cells)-1]), uintptr(len(cells)), uintptr(n),
			uintptr(4*channels), uintptr(4*topStep), uintptr(4*xStep))
	})
	return done * width / c
}

func windowsShare(dst, x, top, dy unsafe.Pointer, cells []int, count, c int) int {
	size := len(cells) * c
	return windowParts(4, len(cells), count, c, false, func(wide bool, w, n, channel, channels int) {
		rows, row := 4*(w*size+channel), 4*(w*c+channel)
		callWindowsShare(wide, unsafe.Add(dst, rows), unsafe.Add(x, rows), unsafe.Add(top, row), unsafe.Add(dy, row), unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(4*channels), uintptr(4*c), uintptr(4*size))
	})
}
