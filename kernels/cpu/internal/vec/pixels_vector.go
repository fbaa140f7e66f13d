//go:build amd64 || arm64

package vec

// flat takes pixels that lie behind one another, with all given steps, as one.
func flat(count, c int, steps ...int) (int, int) {
	for _, step := range steps {
		if step != c {
			return count, c
		}
	}
	return 1, count * c
}

// pixelParts calls f for the parts of count pixels of c channels that one assembly call can do: of n pixels from the
// first, the given number of channels from the given one. It returns how many channels are done. With again, those that
// are not whole vectors are done as a vector that begins before them.
func pixelParts(count, c int, again bool, f func(wide bool, first, n, channel, channels int)) int {
	wide, ok := vectors()
	if !ok || c < 8 {
		return 0
	}
	wide = wide && c >= 16 && c%16 != 8
	lanes := 8
	if wide {
		lanes = 16
	}
	end := c / lanes * lanes
	for step, i := max(callElements/c, 1), 0; i < count; i += step {
		n := min(step, count-i)
		for channel := 0; channel < end; channel += callElements {
			f(wide, i, n, channel, min(callElements, end-channel))
		}
		if again && end < c {
			f(wide, i, n, c-lanes, lanes)
		}
	}
	if again {
		return c
	}
	return end
}

func pixelsMax32(dst, x []float32, count, c, dstStep, xStep int) bool {
	count, c = flat(count, c, dstStep, xStep)
	return c == pixelParts(count, c, true, func(wide bool, i, n, channel, channels int) {
		callPixelsMax(wide, &dst[i*dstStep+channel], &x[i*xStep+channel], uintptr(n), uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep))
	})
}

func pixelsAdd32(dst, x []float32, count, c, dstStep, xStep int) bool {
	count, c = flat(count, c, dstStep, xStep)
	done := pixelParts(count, c, false, func(wide bool, i, n, channel, channels int) {
		callPixelsAdd(wide, &dst[i*dstStep+channel], &x[i*xStep+channel], uintptr(n), uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep))
	})
	if done == 0 {
		return false
	}
	for i := 0; i < count && done < c; i++ {
		d := dst[i*dstStep+done:][:c-done]
		for k, v := range x[i*xStep+done:][:len(d)] {
			d[k] += v
		}
	}
	return true
}

// pixelsClaim32 may claim a channel twice: what is left the second time is 0.
func pixelsClaim32(dx, x, left, y []float32, count, c, xStep, yStep int) bool {
	count, c = flat(count, c, xStep, yStep)
	return c == pixelParts(count, c, true, func(wide bool, i, n, channel, channels int) {
		to, from := i*xStep+channel, i*yStep+channel
		callPixelsClaim(wide, &dx[to], &x[to], &left[from], &y[from], uintptr(n), uintptr(4*channels), uintptr(4*xStep), uintptr(4*yStep))
	})
}
