//go:build amd64 || arm64

package vec

// The functions below compute whole vectors of columns in assembly and return how many columns they did.

// columnBlock returns the width of the next block of columns when rest are left, and with which registers: four vectors or one, of
// AVX-512 or AVX2. The width 0 means that fewer than a vector are left, or that there is no assembly.
func columnBlock(rest int) (n int, wide, four bool) {
	wide, ok := vectors()
	switch {
	case !ok || rest < 8:
		return 0, false, false
	case wide && rest >= 64:
		return 64, true, true
	case wide && rest >= 16:
		return 16, true, false
	case rest >= 32:
		return 32, false, true
	}
	return 8, false, false
}

func addRows32(dst, x []float32, rows, stride int) (c int) {
	for {
		n, wide, four := columnBlock(len(dst) - c)
		switch {
		case n == 0:
			return c
		case four:
			callAddRows4(wide, &dst[c], &x[c], uintptr(rows), uintptr(4*stride))
		default:
			callAddRows1(wide, &dst[c], &x[c], uintptr(rows), uintptr(4*stride))
		}
		c += n
	}
}

func squareRows32(dst, x, mean []float32, rows, stride int) (c int) {
	for {
		n, wide, four := columnBlock(len(dst) - c)
		switch {
		case n == 0:
			return c
		case four:
			callSquareRows4(wide, &dst[c], &x[c], &mean[c], uintptr(rows), uintptr(4*stride))
		default:
			callSquareRows1(wide, &dst[c], &x[c], &mean[c], uintptr(rows), uintptr(4*stride))
		}
		c += n
	}
}

func productRows32(sum, product, y, x, mean []float32, rows, stride int) (c int) {
	for {
		n, wide, four := columnBlock(len(sum) - c)
		switch {
		case n == 0:
			return c
		case four:
			callProductRows4(wide, &sum[c], &product[c], &y[c], &x[c], &mean[c], uintptr(rows), uintptr(4*stride))
		default:
			callProductRows1(wide, &sum[c], &product[c], &y[c], &x[c], &mean[c], uintptr(rows), uintptr(4*stride))
		}
		c += n
	}
}

func rowsAffine32(dst, x, scale, shift []float32, rows, stride int, relu bool) (c int) {
	if rows <= 0 {
		return 0
	}
	for {
		n, wide, four := columnBlock(len(scale) - c)
		if n == 0 {
			return c
		}
		for r := 0; r < rows; r += rowsCall {
			d, s, lines := &dst[r*stride+c], &x[r*stride+c], uintptr(min(rowsCall, rows-r))
			switch {
			case four && relu:
				callRowsAffineRelu4(wide, d, s, &scale[c], &shift[c], lines, uintptr(4*stride))
			case four:
				callRowsAffine4(wide, d, s, &scale[c], &shift[c], lines, uintptr(4*stride))
			case relu:
				callRowsAffineRelu1(wide, d, s, &scale[c], &shift[c], lines, uintptr(4*stride))
			default:
				callRowsAffine1(wide, d, s, &scale[c], &shift[c], lines, uintptr(4*stride))
			}
		}
		c += n
	}
}

func rowsCombine32(dst, x, a, y, b, s []float32, rows, stride int) (c int) {
	if rows <= 0 {
		return 0
	}
	for {
		n, wide, four := columnBlock(len(a) - c)
		if n == 0 {
			return c
		}
		for r := 0; r < rows; r += rowsCall {
			at, lines := r*stride+c, uintptr(min(rowsCall, rows-r))
			if four {
				callRowsCombine4(wide, &dst[at], &x[at], &a[c], &y[at], &b[c], &s[c], lines, uintptr(4*stride))
			} else {
				callRowsCombine1(wide, &dst[at], &x[at], &a[c], &y[at], &b[c], &s[c], lines, uintptr(4*stride))
			}
		}
		c += n
	}
}
