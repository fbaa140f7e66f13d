//go:build amd64 || arm64

package vec

// The functions below are those of channels_vector.go for float64. They have the bits of the loops without vectors, and
// leave columns that fill no whole vector to these loops: lines are long, or whole vectors.

// doubleBlock is [columnBlock] of float64.
func doubleBlock(rest int) (n int, wide, four bool) {
	n, wide, four = columnBlock(2 * rest)
	return n / 2, wide, four
}

func momentRows64(shift, sum, squares, x []float64, sample, lines, stride int) (c int) {
	inverse := 1 / float64(max(sample, 1))
	few, rows, step := uintptr(sample), uintptr(lines), uintptr(8*stride)
	for {
		n, wide, four := doubleBlock(len(sum) - c)
		switch {
		case n == 0:
			return c
		case four:
			callMoments4Doubles(wide, &shift[c], &sum[c], &squares[c], &x[c], &inverse, few, rows, step)
		default:
			callMoments1Doubles(wide, &shift[c], &sum[c], &squares[c], &x[c], &inverse, few, rows, step)
		}
		c += n
	}
}

func productRows64(sum, product, dy, x, mean, scale, shift []float64, lines, stride int) (c int) {
	rows, step := uintptr(lines), uintptr(8*stride)
	for {
		n, wide, four := doubleBlock(len(sum) - c)
		switch {
		case n == 0:
			return c
		case four && scale != nil:
			callProductRowsMasked4Doubles(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], &scale[c], &shift[c], rows, step)
		case four:
			callProductRows4Doubles(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], rows, step)
		case scale != nil:
			callProductRowsMasked1Doubles(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], &scale[c], &shift[c], rows, step)
		default:
			callProductRows1Doubles(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], rows, step)
		}
		c += n
	}
}

func affineRows64(dst, x, addend, scale, shift []float64, lines int, relu bool) bool {
	width := len(scale)
	return eachLine(8, lines, width, func(wide bool, row, c int, rows, n, end, stride uintptr) {
		at := row*width + c
		switch {
		case addend != nil && relu:
			callLineAffineAddReluDoubles(wide, &dst[at], &x[at], &addend[at], &scale[c], &shift[c], rows, n, end, stride)
		case addend != nil:
			callLineAffineAddDoubles(wide, &dst[at], &x[at], &addend[at], &scale[c], &shift[c], rows, n, end, stride)
		case relu:
			callLineAffineReluDoubles(wide, &dst[at], &x[at], &scale[c], &shift[c], rows, n, end, stride)
		default:
			callLineAffineDoubles(wide, &dst[at], &x[at], &scale[c], &shift[c], rows, n, end, stride)
		}
	})
}

func combineRows64(dst, x, dy, onX, onDy, constant, scale, shift []float64, lines, width int) bool {
	return eachLine(8, lines, width, func(wide bool, row, c int, rows, n, end, stride uintptr) {
		at := row*width + c
		if scale != nil {
			callLineCombineMaskedDoubles(wide, &dst[at], &x[at], &onX[c], &dy[at], &onDy[c], &constant[c], &scale[c], &shift[c], rows, n, end, stride)
			return
		}
		callLineCombineDoubles(wide, &dst[at], &x[at], &onX[c], &dy[at], &onDy[c], &constant[c], rows, n, end, stride)
	})
}
