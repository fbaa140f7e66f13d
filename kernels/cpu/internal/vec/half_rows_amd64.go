package vec

import "unsafe"

const halfColumns = 64 // in a call

func (h Half) inPlace(columns int) bool {
	wide, ok := vectors()
	return ok && wide && columns%halfColumns == 0 && h.rounding() != 0
}

// halfMoments is [momentsBlock] for bfloat16, for columns that are read in place.
func halfMoments(shift, sum, squares []float32, x []uint16, sample, lines, stride int) {
	inverse := 1 / float32(max(sample, 1))
	for c := 0; c < len(sum); c += halfColumns {
		callHalfMoments(&shift[c], &sum[c], &squares[c], unsafe.Pointer(&x[c]), &inverse, uintptr(sample), uintptr(lines), uintptr(2*stride))
	}
}

// halfProducts is [productsBlock] for bfloat16, for columns that are read in place.
func halfProducts(sum, product []float32, dy, x []uint16, mean, scale, shift []float32, lines, stride int) {
	for c := 0; c < len(sum); c += halfColumns {
		y, in := unsafe.Pointer(&dy[c]), unsafe.Pointer(&x[c])
		if scale != nil {
			callHalfProductsMasked(&sum[c], &product[c], y, in, &mean[c], &scale[c], &shift[c], uintptr(lines), uintptr(2*stride))
		} else {
			callHalfProducts(&sum[c], &product[c], y, in, &mean[c], uintptr(lines), uintptr(2*stride))
		}
	}
}

// halfBlocks calls f for blocks of columns of some lines of the given width. It takes a few long lines at a time, which
// then stay in the first-level cache. It returns how many numbers these lines have.
func halfBlocks(n, width int, f func(at, column int, lines, stride uintptr)) int {
	most := callElements / halfColumns
	if width > halfColumns {
		most = max(halfLines/width, fewHalfLines)
	}
	n = n / width * width
	for at := 0; at < n; at += most * width {
		lines := uintptr(min(most, (n-at)/width))
		for c := 0; c < width; c += halfColumns {
			f(at+c, c, lines, uintptr(2*width))
		}
	}
	return n
}

func halfAffine(dst, x, addend []uint16, scale, shift []float32, relu bool) int {
	floor := &floors[0]
	if relu {
		floor = &floors[1]
	}
	x, shift = x[:len(dst)], shift[:len(scale)]
	if addend != nil {
		addend = addend[:len(dst)]
	}
	return halfBlocks(len(dst), len(scale), func(at, c int, lines, stride uintptr) {
		if addend != nil {
			callHalfAffineAdd(unsafe.Pointer(&dst[at]), unsafe.Pointer(&x[at]), unsafe.Pointer(&addend[at]), &scale[c], &shift[c], floor, lines, stride)
		} else {
			callHalfAffine(unsafe.Pointer(&dst[at]), unsafe.Pointer(&x[at]), &scale[c], &shift[c], floor, lines, stride)
		}
	})
}

func halfCombine(dst, x, dy []uint16, onX, onDy, constant, scale, shift []float32) int {
	x, dy, onDy, constant = x[:len(dst)], dy[:len(dst)], onDy[:len(onX)], constant[:len(onX)]
	if scale != nil {
		scale, shift = scale[:len(onX)], shift[:len(onX)]
	}
	return halfBlocks(len(dst), len(onX), func(at, c int, lines, stride uintptr) {
		d, in, up := unsafe.Pointer(&dst[at]), unsafe.Pointer(&x[at]), unsafe.Pointer(&dy[at])
		if scale != nil {
			callHalfCombineMasked(d, in, up, &onX[c], &onDy[c], &constant[c], &scale[c], &shift[c], lines, stride)
		} else {
			callHalfCombine(d, in, up, &onX[c], &onDy[c], &constant[c], lines, stride)
		}
	})
}

func halfPowers(dst, x []uint16, a, b float32) int {
	n, scalars := len(dst)/16*16, [2]float32{a, b}
	x = x[:len(dst)]
	for i := 0; i < n; i += callElements {
		callHalfPowers(unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), uintptr(min(callElements, n-i)), unsafe.Pointer(&scalars))
	}
	return n
}
