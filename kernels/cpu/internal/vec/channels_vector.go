//go:build amd64 || arm64

package vec

// overlap returns how many columns at the end go through one more vector, if whole vectors leave a remainder. It
// returns 0 if there is none, or if there are too few columns.
func overlap(columns int) int {
	width := 8
	if wide, ok := vectors(); !ok {
		return 0
	} else if wide && columns >= 16 {
		width = 16
	}
	if columns%8 == 0 || columns < width {
		return 0
	}
	return width
}

func momentRows32(shift, sum, squares, x []float32, sample, lines, stride int) (c int) {
	inverse := 1 / float32(max(sample, 1))
	few, rows, step := uintptr(sample), uintptr(lines), uintptr(4*stride)
	var last [3]buffer // of the columns at the end, before they change
	over := overlap(len(sum))
	at := len(sum) - over
	if over > 0 {
		copy(last[0][:], shift[at:])
		copy(last[1][:], sum[at:])
		copy(last[2][:], squares[at:])
	}
	for {
		n, wide, four := columnBlock(len(sum) - c)
		switch {
		case n == 0 && over > 0 && c < len(sum):
			callMoments1(over == 16, &last[0][0], &last[1][0], &last[2][0], &x[at], &inverse, few, rows, step)
			copy(shift[c:], last[0][c-at:over])
			copy(sum[c:], last[1][c-at:over])
			copy(squares[c:], last[2][c-at:over])
			return len(sum)
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

func productRows32(sum, product, dy, x, mean, scale, shift []float32, lines, stride int) int {
	var last [2]buffer // of the columns at the end, before they change
	over := overlap(len(sum))
	at := len(sum) - over
	if over > 0 {
		copy(last[0][:], sum[at:])
		copy(last[1][:], product[at:])
	}
	c := productColumns32(sum, product, dy, x, mean, scale, shift, lines, stride)
	if c == len(sum) || over == 0 {
		return c
	}
	var by, to []float32
	if scale != nil {
		by, to = scale[at:], shift[at:]
	}
	productColumns32(last[0][:over], last[1][:over], dy[at:], x[at:], mean[at:], by, to, lines, stride)
	copy(sum[c:], last[0][c-at:over])
	copy(product[c:], last[1][c-at:over])
	return len(sum)
}

// productColumns32 processes whole vectors of columns.
func productColumns32(sum, product, dy, x, mean, scale, shift []float32, lines, stride int) (c int) {
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
	if affineLines32(dst, x, addend, scale, shift, lines, relu) {
		return true
	}
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
	if combineLines32(dst, x, dy, onX, onDy, constant, scale, shift, lines, width) {
		return true
	}
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
