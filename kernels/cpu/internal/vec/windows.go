package vec

import "unsafe"

// WindowsMax stores the maximum of each of count windows of pixels with c channels, channel by channel. Window i begins
// at pixel x[i*xStep]. cells lists the distances of its pixels from there, at least one. Its result is dst[i*dstStep].
// NaN in a window gives NaN. Results must not overlap; what is between them does not change.
func WindowsMax[T Float](dst, x []T, cells []int, count, c, dstStep, xStep int) {
	if count <= 0 || c <= 0 {
		return
	}
	for i := windowsMax(floatBytes[T](), start(dst), start(x), cells, count, c, dstStep, xStep); i < count; i++ {
		d, x := dst[i*dstStep:][:c], x[i*xStep:]
		copy(d, x[cells[0]:])
		for _, at := range cells[1:] {
			for k, v := range x[at:][:len(d)] {
				if v > d[k] || v != v {
					d[k] = v
				}
			}
		}
	}
}

// WindowsSum stores scale times the sum of each window, added in the order of the cells: see [WindowsMax].
func WindowsSum[T Float](dst, x []T, cells []int, count, c, dstStep, xStep int, scale T) {
	if count <= 0 || c <= 0 {
		return
	}
	for i := windowsSum(floatBytes[T](), start(dst), start(x), cells, count, c, dstStep, xStep, unsafe.Pointer(&scale)); i < count; i++ {
		d, x := dst[i*dstStep:][:c], x[i*xStep:]
		copy(d, x[cells[0]:])
		for _, at := range cells[1:] {
			for k, v := range x[at:][:len(d)] {
				d[k] += v
			}
		}
		for k := range d {
			d[k] *= scale
		}
	}
}

// WindowsFirst stores, for each maximum of [WindowsMax] in top, the distance of the first cell that equals it, or of
// the first that is NaN. Windows and cells are those of WindowsMax. Maxima and distances, which are as long as the
// floats, are topStep apart.
func WindowsFirst(index []int32, x, top []float32, cells []int, count, c, topStep, xStep int) {
	if count <= 0 || c <= 0 {
		return
	}
	for i := windowsFirst(unsafe.Pointer(unsafe.SliceData(index)), start(x), start(top), cells, count, c, topStep, xStep); i < count; i++ {
		for k, v := range top[i*topStep:][:c] {
			for _, at := range cells {
				if u := x[i*xStep+at+k]; u == v || u != u {
					index[i*topStep+k] = int32(at)
					break
				}
			}
		}
	}
}

// WindowsShare stores the gradient of maxima or minima of count windows that are side by side, each of as many rows of
// c numbers as there are cells, the distances of rows. Numbers that equal their column's extreme in top share its
// gradient dy; others get 0 times the share. Gradients must not overlap the numbers. It returns how many windows it
// computed, from the first on: all or none.
func WindowsShare(dst, x, top, dy []float32, cells []int, count, c int) int {
	if count <= 0 || c <= 0 || len(cells) == 0 {
		return 0
	}
	n := count * len(cells) * c
	_, _, _, _ = dst[:n], x[:n], top[:count*c], dy[:count*c]
	return windowsShare(start(dst), start(x), start(top), start(dy), cells, count, c)
}
