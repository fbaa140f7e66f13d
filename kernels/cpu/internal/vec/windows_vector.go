//go:build amd64 || arm64

package vec

import "unsafe"

// pixelLanes returns how many numbers the vectors have that do pixels of c channels; 0 if there are none.
func pixelLanes(c int) int {
	wide, ok := vectors()
	switch {
	case !ok:
		return 0
	case wide && c >= 16 && c%16 != 8:
		return 16
	}
	return 8
}

// windowParts calls f for the parts that one assembly call can do of windows of pixels with c channels, of which it
// reads the given number of cells: of n windows from the first, some channels from the given one. It returns the number
// of windows that are done. Channels that are not whole vectors are done twice where there is more than a vector. Fewer
// than eight are done if they may spill into the next window, which comes later.
func windowParts(cells, count, c int, spill bool, f func(wide bool, first, n, channel, channels int)) int {
	lanes := pixelLanes(c)
	if lanes == 0 || c < 8 && !spill {
		return 0
	}
	if c < 8 {
		if count -= (7+c)/c - 1; count <= 0 {
			return 0
		}
	}
	wide, step := lanes == 16, max(callElements/(c*cells), 1)
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

func windowsMax32(dst, x []float32, cells []int, count, c, dstStep, xStep int) int {
	windows, width := flat(count, c, dstStep, xStep)
	done := windowParts(len(cells), windows, width, dstStep == width, func(wide bool, w, n, channel, channels int) {
		callWindowsMax(wide, &dst[w*dstStep+channel], &x[w*xStep+channel], unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep))
	})
	return done * width / c
}

func windowsSum32(dst, x []float32, cells []int, count, c, dstStep, xStep int, scale float32) int {
	windows, width := flat(count, c, dstStep, xStep)
	done := windowParts(len(cells), windows, width, dstStep == width, func(wide bool, w, n, channel, channels int) {
		callWindowsSum(wide, &dst[w*dstStep+channel], &x[w*xStep+channel], unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep), &scale)
	})
	return done * width / c
}
