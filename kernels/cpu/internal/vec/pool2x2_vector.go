//go:build amd64 || arm64

package vec

import "unsafe"

// The functions below compute the first of n windows of a row, and return how many; bytes is the size of a float.

func maxPoolRow(bytes int, dst, x0, x1 unsafe.Pointer, count, c int) (windows int) {
	return windowParts(bytes, 1, count, c, true, func(wide bool, w, n, channel, channels int) {
		i, j := bytes*(w*c+channel), bytes*(2*w*c+channel)
		callMaxPoolRow(wide, bytes, unsafe.Add(dst, i), unsafe.Add(x0, j), unsafe.Add(x1, j), uintptr(n), uintptr(bytes*channels), uintptr(bytes*c))
	})
}

func maxPoolRowGrad(bytes int, d0, d1, dy, x0, x1, y unsafe.Pointer, count, c int, relu bool) (windows int) {
	return windowParts(bytes, 1, count, c, true, func(wide bool, w, n, channel, channels int) {
		i, j := bytes*(w*c+channel), bytes*(2*w*c+channel)
		number, length, size := uintptr(n), uintptr(bytes*channels), uintptr(bytes*c)
		to0, to1, up, from0, from1, top := unsafe.Add(d0, j), unsafe.Add(d1, j), unsafe.Add(dy, i), unsafe.Add(x0, j), unsafe.Add(x1, j), unsafe.Add(y, i)
		if relu {
			callMaxPoolRowGradRelu(wide, bytes, to0, to1, up, from0, from1, top, number, length, size)
		} else {
			callMaxPoolRowGrad(wide, bytes, to0, to1, up, from0, from1, top, number, length, size)
		}
	})
}
