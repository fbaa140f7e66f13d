package vec

// The functions of this file go through pixels of rows of NHWC images, for windows that overlap, have gaps or are cut
// off. An operand's pixels are step elements apart, and each has c channels. A call takes one cell of all windows of a
// row.

// pixels is the number of elements from the first to the last of count pixels.
func pixels(count, c, step int) int { return (count-1)*step + c }

// PixelsMax stores the larger of dst and x in dst, pixel by pixel; NaN in either gives NaN.
func PixelsMax[T Float](dst, x []T, count, c, dstStep, xStep int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x = dst[:pixels(count, c, dstStep)], x[:pixels(count, c, xStep)]
	if pixelsMax(floatBytes[T](), start(dst), start(x), count, c, dstStep, xStep) {
		return
	}
	for i := range count {
		d := dst[i*dstStep:][:c]
		for k, v := range x[i*xStep:][:len(d)] {
			if v > d[k] || v != v {
				d[k] = v
			}
		}
	}
}

// PixelsAdd adds x to dst, pixel by pixel. Pixels of dst must not overlap.
func PixelsAdd[T Float](dst, x []T, count, c, dstStep, xStep int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x = dst[:pixels(count, c, dstStep)], x[:pixels(count, c, xStep)]
	if dstStep == c && xStep == c {
		count, c = 1, count*c
	}
	done := pixelsAdd(floatBytes[T](), start(dst), start(x), count, c, dstStep, xStep)
	for i := 0; i < count && done < c; i++ {
		d := dst[i*dstStep+done:][:c-done]
		for k, v := range x[i*xStep+done:][:len(d)] {
			d[k] += v
		}
	}
}

// PixelsClaim is a step of the gradient of max pooling. Where x is the maximum y of its window, it takes what is left
// of the window's gradient: that is added to dx, and left becomes 0. If it is called for the cells of the windows in
// order, the first of several largest elements gets the gradient, or the first NaN. dx and x have the same step, and so
// have left and y.
func PixelsClaim[T Float](dx, x, left, y []T, count, c, xStep, yStep int) {
	if count <= 0 || c <= 0 {
		return
	}
	n, m := pixels(count, c, xStep), pixels(count, c, yStep)
	dx, x, left, y = dx[:n], x[:n], left[:m], y[:m]
	if pixelsClaim(floatBytes[T](), start(dx), start(x), start(left), start(y), count, c, xStep, yStep) {
		return
	}
	for i := range count {
		g, top := left[i*yStep:][:c], y[i*yStep:][:c]
		d := dx[i*xStep:][:c]
		for k, v := range x[i*xStep:][:c] {
			if v == top[k] || v != v {
				d[k] += g[k]
				g[k] = 0
			}
		}
	}
}
