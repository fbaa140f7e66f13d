//go:build amd64 || arm64

package vec

import "unsafe"

// windowsParts calls f for the parts of windows that one assembly call can do: of the given number of windows from the
// first, the given number of channels from the first. It returns how many windows are done: see [windowParts], but few
// channels spill only where the next window is right behind.
func windowsParts(cells, count, c, dstStep int, f func(wide bool, window, windows, channel, channels int)) int {
	wide, ok := vectors()
	if !ok || c < 8 && dstStep != c {
		return 0
	}
	if c < 8 {
		if count -= (7+c)/c - 1; count <= 0 {
			return 0
		}
	}
	wide = wide && c >= 16 && c%16 != 8
	lanes := 8
	if wide {
		lanes = 16
	}
	step := max(callElements/(c*cells), 1)
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
	done := windowsParts(len(cells), windows, width, dstStep, func(wide bool, w, n, channel, channels int) {
		callWindowsMax(wide, &dst[w*dstStep+channel], &x[w*xStep+channel], unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep))
	})
	return done * width / c
}

func windowsSum32(dst, x []float32, cells []int, count, c, dstStep, xStep int, scale float32) int {
	windows, width := flat(count, c, dstStep, xStep)
	done := windowsParts(len(cells), windows, width, dstStep, func(wide bool, w, n, channel, channels int) {
		callWindowsSum(wide, &dst[w*dstStep+channel], &x[w*xStep+channel], unsafe.Pointer(&cells[0]), uintptr(len(cells)), uintptr(n),
			uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep), &scale)
	})
	return done * width / c
}
