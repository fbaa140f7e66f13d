//go:build amd64 || arm64

package vec

// callPixels returns how many pixels of c channels one assembly call takes.
func callPixels(c int) int { return max(callElements/c, 1) }

func pixelsMax32(dst, x []float32, count, c, dstStep, xStep int) bool {
	wide, ok := divides(c)
	for i := 0; ok && i < count; i += callPixels(c) {
		n := min(callPixels(c), count-i)
		callPixelsMax(wide, &dst[i*dstStep], &x[i*xStep], uintptr(n), uintptr(4*c), uintptr(4*dstStep), uintptr(4*xStep))
	}
	return ok
}

func pixelsAdd32(dst, x []float32, count, c, dstStep, xStep int) bool {
	wide, ok := divides(c)
	for i := 0; ok && i < count; i += callPixels(c) {
		n := min(callPixels(c), count-i)
		callPixelsAdd(wide, &dst[i*dstStep], &x[i*xStep], uintptr(n), uintptr(4*c), uintptr(4*dstStep), uintptr(4*xStep))
	}
	return ok
}

func pixelsClaim32(dx, x, left, y []float32, count, c, xStep, yStep int) bool {
	wide, ok := divides(c)
	for i := 0; ok && i < count; i += callPixels(c) {
		n := min(callPixels(c), count-i)
		callPixelsClaim(wide, &dx[i*xStep], &x[i*xStep], &left[i*yStep], &y[i*yStep], uintptr(n), uintptr(4*c), uintptr(4*xStep), uintptr(4*yStep))
	}
	return ok
}
