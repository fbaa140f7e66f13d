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

func pixelsMax32(dst, x []float32, count, c, dstStep, xStep int) bool {
	count, c = flat(count, c, dstStep, xStep)
	return count == windowParts(1, count, c, false, func(wide bool, i, n, channel, channels int) {
		callPixelsMax(wide, &dst[i*dstStep+channel], &x[i*xStep+channel], uintptr(n), uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep))
	})
}

func pixelsAdd32(dst, x []float32, count, c, dstStep, xStep int) bool {
	count, c = flat(count, c, dstStep, xStep)
	done := 0 // channels in whole vectors: none is added twice
	if lanes := pixelLanes(c); lanes > 0 {
		done = c / lanes * lanes
	}
	if done == 0 {
		return false
	}
	windowParts(1, count, done, false, func(wide bool, i, n, channel, channels int) {
		callPixelsAdd(wide, &dst[i*dstStep+channel], &x[i*xStep+channel], uintptr(n), uintptr(4*channels), uintptr(4*dstStep), uintptr(4*xStep))
	})
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
	return count == windowParts(1, count, c, false, func(wide bool, i, n, channel, channels int) {
		to, from := i*xStep+channel, i*yStep+channel
		callPixelsClaim(wide, &dx[to], &x[to], &left[from], &y[from], uintptr(n), uintptr(4*channels), uintptr(4*xStep), uintptr(4*yStep))
	})
}
