//go:build amd64 || arm64

package vec

func momentRows32(shift, sum, squares, x []float32, sample, lines, stride int) (c int) {
	inverse := 1 / float32(sample)
	few, rows, step := uintptr(sample), uintptr(lines), uintptr(4*stride)
	for {
		n, wide, four := columnBlock(len(sum) - c)
		switch {
		case n == 0:
			return c
		case four:
			callMoments4(wide, &shift[c], &sum[c], &squares[c], &x[c], &inverse, few, rows, step)
		default:
			callMoments1(wide, &shift[c], &sum[c], &squares[c], &x[c], &inverse, few, rows, step)
		}
		c += n
	}
}

func productRows32(sum, product, dy, x, mean, scale, shift []float32, lines, stride int) (c int) {
	rows, step := uintptr(lines), uintptr(4*stride)
	for {
		n, wide, four := columnBlock(len(sum) - c)
		switch {
		case n == 0:
			return c
		case four && scale != nil:
			callProductRowsMasked4(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], &scale[c], &shift[c], rows, step)
		case four:
			callProductRows4(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], rows, step)
		case scale != nil:
			callProductRowsMasked1(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], &scale[c], &shift[c], rows, step)
		default:
			callProductRows1(wide, &sum[c], &product[c], &dy[c], &x[c], &mean[c], rows, step)
		}
		c += n
	}
}

// affineRows32 computes lines of len(scale) numbers, or one line that need not be whole vectors.
func affineRows32(dst, x, addend, scale, shift []float32, lines int, relu bool) bool {
	c, width, rows := 0, len(scale), uintptr(lines)
	step := uintptr(4 * width)
	for {
		n, wide, four := columnBlock(width - c)
		if n == 0 {
			break
		}
		d, s, by, to := &dst[c], &x[c], &scale[c], &shift[c]
		var a *float32
		if addend != nil {
			a = &addend[c]
		}
		switch {
		case four && a != nil && relu:
			callRowsAffineAddRelu4(wide, d, s, a, by, to, rows, step)
		case four && a != nil:
			callRowsAffineAdd4(wide, d, s, a, by, to, rows, step)
		case four && relu:
			callRowsAffineRelu4(wide, d, s, by, to, rows, step)
		case four:
			callRowsAffine4(wide, d, s, by, to, rows, step)
		case a != nil && relu:
			callRowsAffineAddRelu1(wide, d, s, a, by, to, rows, step)
		case a != nil:
			callRowsAffineAdd1(wide, d, s, a, by, to, rows, step)
		case relu:
			callRowsAffineRelu1(wide, d, s, by, to, rows, step)
		default:
			callRowsAffine1(wide, d, s, by, to, rows, step)
		}
		c += n
	}
	if c < width && (c > 0 || hasVectors()) && lines == 1 {
		var d, s, a, by, to [8]float32
		copy(s[:], x[c:width])
		copy(by[:], scale[c:])
		copy(to[:], shift[c:])
		var more []float32
		if addend != nil {
			copy(a[:], addend[c:width])
			more = a[:]
		}
		affineRows32(d[:], s[:], more, by[:], to[:], 1, relu)
		copy(dst[c:width], d[:])
		c = width
	}
	return c == width
}

func hasVectors() bool {
	_, ok := vectors()
	return ok
}

// combineRows32 computes lines of the given width, or one line that need not be whole vectors.
func combineRows32(dst, x, dy, onX, onDy, constant, scale, shift []float32, lines, width int) bool {
	c, rows, step := 0, uintptr(lines), uintptr(4*width)
	for {
		n, wide, four := columnBlock(width - c)
		switch {
		case n == 0:
		case four && scale != nil:
			callRowsCombineMasked4(wide, &dst[c], &x[c], &onX[c], &dy[c], &onDy[c], &constant[c], &scale[c], &shift[c], rows, step)
		case four:
			callRowsCombine4(wide, &dst[c], &x[c], &onX[c], &dy[c], &onDy[c], &constant[c], rows, step)
		case scale != nil:
			callRowsCombineMasked1(wide, &dst[c], &x[c], &onX[c], &dy[c], &onDy[c], &constant[c], &scale[c], &shift[c], rows, step)
		default:
			callRowsCombine1(wide, &dst[c], &x[c], &onX[c], &dy[c], &onDy[c], &constant[c], rows, step)
		}
		if n == 0 {
			break
		}
		c += n
	}
	if c < width && (c > 0 || hasVectors()) && lines == 1 {
		var b [8][8]float32 // the result and the operands, padded
		for i, v := range [...][]float32{nil, x[:width], dy[:width], onX, onDy, constant, scale, shift} {
			if v != nil {
				copy(b[i][:], v[c:min(width, len(v))])
			}
		}
		var by, to []float32
		if scale != nil {
			by, to = b[6][:], b[7][:]
		}
		combineRows32(b[0][:], b[1][:], b[2][:], b[3][:], b[4][:], b[5][:], by, to, 1, 8)
		copy(dst[c:width], b[0][:])
		c = width
	}
	return c == width
}
