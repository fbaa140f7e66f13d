//go:build amd64 || arm64

package vec

import "unsafe"

// The functions of this file take floats of 4 or 8 bytes, as bytes says.

// flat treats contiguous pixels, which have all the given steps, as one pixel.
func flat(count, c int, steps ...int) (int, int) {
	for _, step := range steps {
		if step != c {
			return count, c
		}
	}
	return 1, count * c
}

func pixelsMax(bytes int, dst, x unsafe.Pointer, count, c, dstStep, xStep int) bool {
	count, c = flat(count, c, dstStep, xStep)
	return count == windowParts(bytes, 1, count, c, false, func(wide bool, i, n, channel, channels int) {
		callPixelsMax(wide, bytes, unsafe.Add(dst, bytes*(i*dstStep+channel)), unsafe.Add(x, bytes*(i*xStep+channel)), uintptr(n),
			uintptr(bytes*channels), uintptr(bytes*dstStep), uintptr(bytes*xStep))
	})
}

// pixelsAdd returns how many channels of each pixel it added: whole vectors, none of them twice. Contiguous pixels
// count as one.
func pixelsAdd(bytes int, dst, x unsafe.Pointer, count, c, dstStep, xStep int) (channels int) {
	lanes := pixelLanes(bytes, c)
	if lanes == 0 || c < lanes {
		return 0
	}
	done := c / lanes * lanes
	windowParts(bytes, 1, count, done, false, func(wide bool, i, n, channel, channels int) {
		callPixelsAdd(wide, bytes, unsafe.Add(dst, bytes*(i*dstStep+channel)), unsafe.Add(x, bytes*(i*xStep+channel)), uintptr(n),
			uintptr(bytes*channels), uintptr(bytes*dstStep), uintptr(bytes*xStep))
	})
	return done
}

// pixelsClaim may claim a channel twice: what is left the second time is 0.
func pixelsClaim(bytes int, dx, x, left, y unsafe.Pointer, count, c, xStep, yStep int) bool {
	count, c = flat(count, c, xStep, yStep)
	return count == windowParts(bytes, 1, count, c, false, func(wide bool, i, n, channel, channels int) {
		to, from := bytes*(i*xStep+channel), bytes*(i*yStep+channel)
		callPixelsClaim(wide, bytes, unsafe.Add(dx, to), unsafe.Add(x, to), unsafe.Add(left, from), unsafe.Add(y, from), uintptr(n),
			uintptr(bytes*channels), uintptr(bytes*xStep), uintptr(bytes*yStep))
	})
}
