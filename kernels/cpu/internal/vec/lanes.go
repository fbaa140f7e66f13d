package vec

import "unsafe"

// Lanes is how many problems the functions of this file work on side by side: element i of problem l is at i·Lanes + l.
const Lanes = 16

// start is where a slice begins.
func start[T Float](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// floatBytes is the size of a float.
func floatBytes[T Float]() int {
	if single[T]() {
		return 4
	}
	return 8
}

// AddOuter adds products to the elements of rows: dst[r, c] += f[r]·x[c] in every lane, for rows whose first elements
// are dstStride numbers apart and factors that are fStride apart. Rows and cols are at least 1, and x is not written
// to.
func AddOuter[T Float](dst, f, x []T, rows, cols, dstStride, fStride int) {
	dst, f, x = dst[:(rows-1)*dstStride+cols*Lanes], f[:(rows-1)*fStride+Lanes], x[:cols*Lanes]
	if outerVectors(start(dst), start(f), start(x), floatBytes[T](), rows, cols, dstStride, fStride) {
		return
	}
	for r := range rows {
		row, by := dst[r*dstStride:][:len(x)], f[r*fStride:][:Lanes]
		for i := range row {
			row[i] += by[i%Lanes] * x[i]
		}
	}
}

// Butterfly is a step of a Fourier transform (Stockham's, decimated in frequency) of complex numbers in two slices. It
// reads radix·count runs of numbers and writes as many:
//
//	y[p·radix + k] = w[p, k] · Σ_j x[j·count + p] · exp(-2πi·jk/radix)
//
// W has cosine and sine of the factors of k > 0 for each p, and roots those of exp(-2πi·j/radix) for each j. Run is a
// multiple of 16.
func Butterfly[T Float](yre, yim, xre, xim, w, roots []T, radix, count, run int) {
	n := radix * count * run
	yre, yim, xre, xim, w = yre[:n], yim[:n], xre[:n], xim[:n], w[:2*(radix-1)*count]
	if butterflyVectors(start(yre), start(yim), start(xre), start(xim), start(w), floatBytes[T](), radix, count, run) {
		return
	}
	in := count * run
	for p := range count {
		at, to := p*run, p*radix*run
		for q := range run {
			switch radix {
			case 2:
				butterfly2(yre[to+q:], yim[to+q:], xre[at+q:], xim[at+q:], in, run)
			case 4:
				butterfly4(yre[to+q:], yim[to+q:], xre[at+q:], xim[at+q:], in, run)
			default:
				butterflyAny(yre[to+q:], yim[to+q:], xre[at+q:], xim[at+q:], roots[:2*radix], in, run)
			}
		}
		for k := 1; k < radix; k++ {
			c, s := w[2*((radix-1)*p+k-1)], w[2*((radix-1)*p+k-1)+1]
			re, im := yre[to+k*run:to+(k+1)*run], yim[to+k*run:to+(k+1)*run]
			for i, r := range re {
				j := im[i]
				re[i], im[i] = c*r-s*j, c*j+s*r
			}
		}
	}
}

func butterfly2[T Float](yre, yim, xre, xim []T, in, out int) {
	yre[0], yre[out] = xre[0]+xre[in], xre[0]-xre[in]
	yim[0], yim[out] = xim[0]+xim[in], xim[0]-xim[in]
}

func butterfly4[T Float](yre, yim, xre, xim []T, in, out int) {
	r0, r1, r2, r3 := xre[0]+xre[2*in], xre[0]-xre[2*in], xre[in]+xre[3*in], xre[in]-xre[3*in]
	i0, i1, i2, i3 := xim[0]+xim[2*in], xim[0]-xim[2*in], xim[in]+xim[3*in], xim[in]-xim[3*in]
	yre[0], yre[out], yre[2*out], yre[3*out] = r0+r2, r1+i3, r0-r2, r1-i3
	yim[0], yim[out], yim[2*out], yim[3*out] = i0+i2, i1-r3, i0-i2, i1+r3
}

func butterflyAny[T Float](yre, yim, xre, xim, roots []T, in, out int) {
	radix := len(roots) / 2
	for k := range radix {
		var re, im T
		turn := 0
		for j := range radix {
			c, s, r, i := roots[2*turn], roots[2*turn+1], xre[j*in], xim[j*in]
			re += c*r - s*i
			im += c*i + s*r
			if turn += k; turn >= radix {
				turn -= radix
			}
		}
		yre[k*out], yim[k*out] = re, im
	}
}

// SplitReal makes the transform of a real line x of length 2m, in lanes of the given width, from that of the m complex
// numbers x[2t] + i·x[2t+1], in place: elements 0 to m-1; element m, which is real, goes to last. W has cosine and sine
// of the factors exp(-2πi·k/2m) for k up to m/2.
func SplitReal[T Float](zre, zim, last, w []T, m, width int) {
	for l := range width {
		r, i := zre[l], zim[l]
		zre[l], zim[l], last[l] = r+i, 0, r-i
	}
	if m < 2 || splitRealVectors(start(zre), start(zim), start(w), floatBytes[T](), m, width) {
		return
	}
	for k := 1; k <= m/2; k++ {
		f, b, c, s := k*width, (m-k)*width, w[2*k], w[2*k+1]
		for l := range width {
			r, q, i, j := zre[f+l], zre[b+l], zim[f+l], zim[b+l]
			er, ei, or, oi := (r+q)/2, (i-j)/2, (i+j)/2, (q-r)/2
			tr, ti := c*or-s*oi, c*oi+s*or
			zre[f+l], zre[b+l], zim[f+l], zim[b+l] = er+tr, er-tr, ti+ei, ti-ei
		}
	}
}

// JoinReal is the inverse of [SplitReal], twice as large: it makes of the transform of a real line the one that, taken
// backwards, is x[2t] + i·x[2t+1]. The imaginary parts of elements 0 and m are not read. W has the conjugate factors.
func JoinReal[T Float](zre, zim, last, w []T, m, width int) {
	for l := range width {
		r, s := zre[l], last[l]
		zre[l], zim[l] = r+s, r-s
	}
	if m < 2 || joinRealVectors(start(zre), start(zim), start(w), floatBytes[T](), m, width) {
		return
	}
	for k := 1; k <= m/2; k++ {
		f, b, c, s := k*width, (m-k)*width, w[2*k], w[2*k+1]
		for l := range width {
			r, q, i, j := zre[f+l], zre[b+l], zim[f+l], zim[b+l]
			er, ei, or, oi := r+q, i-j, r-q, i+j
			tr, ti := c*or-s*oi, c*oi+s*or
			zre[f+l], zre[b+l], zim[f+l], zim[b+l] = er-ti, er+ti, tr+ei, tr-ei
		}
	}
}
