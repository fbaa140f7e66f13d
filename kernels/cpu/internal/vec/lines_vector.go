//go:build amd64 || arm64

package vec

// Rows without gaps that are longer than four vectors, or not whole vectors. Registers cannot hold the numbers of all
// their columns, so the rows are computed from left to right. If columns remain after the whole vectors, the last
// vector overlaps the one before it.

// eachLine calls f for pieces of rows of the given width, with the first row and column of a piece, its number of rows,
// the bytes of its whole vectors, and the place of the overlapping vector, or 0 if there is none. It returns false if
// rows are not computed this way.
func eachLine(bytes, lines, width int, f func(wide bool, row, column int, rows, n, end, stride uintptr)) bool {
	wide, ok := vectors()
	vector := 32 / bytes
	wide = wide && width >= 2*vector
	if wide {
		vector *= 2
	}
	if !ok || width < vector || bytes == 4 && width <= channelsWidth && width%16 == 0 { // other kernels compute such rows of float32
		return false
	}
	for c := 0; c < width; {
		n := width - c
		if n > callElements {
			n = callElements - vector
		}
		end := 0
		if n%vector > 0 {
			end = bytes * (n - vector)
		}
		most := max(callElements/n, 1)
		for r := 0; r < lines; r += most {
			f(wide, r, c, uintptr(min(most, lines-r)), uintptr(bytes*(n-n%vector)), uintptr(end), uintptr(bytes*width))
		}
		c += n
	}
	return true
}

func affineLines32(dst, x, addend, scale, shift []float32, lines int, relu bool) bool {
	width := len(scale)
	return eachLine(4, lines, width, func(wide bool, row, c int, rows, n, end, stride uintptr) {
		at := row*width + c
		switch {
		case addend != nil && relu:
			callLineAffineAddRelu(wide, &dst[at], &x[at], &addend[at], &scale[c], &shift[c], rows, n, end, stride)
		case addend != nil:
			callLineAffineAdd(wide, &dst[at], &x[at], &addend[at], &scale[c], &shift[c], rows, n, end, stride)
		case relu:
			callLineAffineRelu(wide, &dst[at], &x[at], &scale[c], &shift[c], rows, n, end, stride)
		default:
			callLineAffine(wide, &dst[at], &x[at], &scale[c], &shift[c], rows, n, end, stride)
		}
	})
}

func combineLines32(dst, x, dy, onX, onDy, constant, scale, shift []float32, lines, width int) bool {
	return eachLine(4, lines, width, func(wide bool, row, c int, rows, n, end, stride uintptr) {
		at := row*width + c
		if scale != nil {
			callLineCombineMasked(wide, &dst[at], &x[at], &onX[c], &dy[at], &onDy[c], &constant[c], &scale[c], &shift[c], rows, n, end, stride)
			return
		}
		callLineCombine(wide, &dst[at], &x[at], &onX[c], &dy[at], &onDy[c], &constant[c], rows, n, end, stride)
	})
}
