package vec

import "unsafe"

// Lanes is how many problems the functions of this file solve side by side: element i of problem l is at i·Lanes + l.
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

// AddOuter adds products to the elements of rows: dst[r, c] += f[r]·x[c] in every lane. The first elements of rows are
// dstStride numbers apart, and factors fStride apart. rows and cols are at least 1. x is only read.
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

// Runs are runs of complex numbers of a Fourier transform: number j of transform p is at p·Step + j·Part.
type Runs[T Float] struct {
	Re, Im     []T
	Step, Part int
}

func (r Runs[T]) within(radix, count, run int) Runs[T] {
	n := (count-1)*r.Step + (radix-1)*r.Part + run
	r.Re, r.Im = r.Re[:n], r.Im[:n]
	return r
}

// Butterfly is a step of a Fourier transform (Stockham's, decimated in frequency): count transforms of radix runs,
//
//	y[p, k] = w[p, k] · Σ_j x[p, j] · exp(-2πi·jk/radix)
//
// W has cosine and sine of the factors of k > 0 for each p, or nothing: all are 1. Roots has those of exp(-2πi·j/radix)
// for each j. Run is a multiple of 16.
func Butterfly[T Float](y, x Runs[T], w, roots []T, radix, count, run int) {
	y, x = y.within(radix, count, run), x.within(radix, count, run)
	if w != nil {
		w = w[:2*(radix-1)*count]
	}
	size := floatBytes[T]()
	if butterflyVectors(runsAt{start(y.Re), start(y.Im), size * y.Step, size * y.Part}, runsAt{start(x.Re), start(x.Im), size * x.Step, size * x.Part},
		start(w), size, radix, count, run) {
		return
	}
	for p := range count {
		at, to := p*x.Step, p*y.Step
		for q := range run {
			switch radix {
			case 2:
				butterfly2(y.Re[to+q:], y.Im[to+q:], x.Re[at+q:], x.Im[at+q:], x.Part, y.Part)
			case 4:
				butterfly4(y.Re[to+q:], y.Im[to+q:], x.Re[at+q:], x.Im[at+q:], x.Part, y.Part)
			case 8:
				butterfly8(y.Re[to+q:], y.Im[to+q:], x.Re[at+q:], x.Im[at+q:], roots, x.Part, y.Part)
			default:
				butterflyAny(y.Re[to+q:], y.Im[to+q:], x.Re[at+q:], x.Im[at+q:], roots[:2*radix], x.Part, y.Part)
			}
		}
		for k := 1; k < radix && w != nil; k++ {
			c, s := w[2*((radix-1)*p+k-1)], w[2*((radix-1)*p+k-1)+1]
			re, im := y.Re[to+k*y.Part:][:run], y.Im[to+k*y.Part:][:run]
			for i, r := range re {
				j := im[i]
				re[i], im[i] = c*r-s*j, c*j+s*r
			}
		}
	}
}

// runsAt are the addresses of [Runs], and their distances in bytes.
type runsAt struct {
	re, im     unsafe.Pointer
	step, part int
}

// TurnRows multiplies complex numbers by products of factors: y[r, i] = x[r, i] · s[r] · v[r, i], for rows of width
// numbers that are Step apart. s has a pair for each row. V.Step may be 0: then all rows share v.
func TurnRows[T Float](y, x, v Runs[T], s []T, rows, width int) {
	y, x, v, s = y.within(1, rows, width), x.within(1, rows, width), v.within(1, rows, width), s[:2*rows]
	whole := 0
	if turnRowVectors(start(y.Re), start(y.Im), start(x.Re), start(x.Im), start(s), start(v.Re), start(v.Im), floatBytes[T](), rows, width&^(Lanes-1), y.Step, x.Step, v.Step) {
		whole = width &^ (Lanes - 1)
	}
	for r := range rows {
		for i := whole; i < width; i++ {
			c, d := s[2*r], s[2*r+1]
			re, im := v.Re[r*v.Step+i], v.Im[r*v.Step+i]
			c, d = c*re-d*im, c*im+d*re
			re, im = x.Re[r*x.Step+i], x.Im[r*x.Step+i]
			y.Re[r*y.Step+i], y.Im[r*y.Step+i] = c*re-d*im, c*im+d*re
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

func butterfly8[T Float](yre, yim, xre, xim, roots []T, in, out int) {
	butterfly4(yre, yim, xre, xim, 2*in, out)
	butterfly4(yre[4*out:], yim[4*out:], xre[in:], xim[in:], 2*in, out)
	for k := range 4 {
		low, high := k*out, (k+4)*out
		c, s, r, i := roots[2*k], roots[2*k+1], yre[high], yim[high]
		r, i = c*r-s*i, c*i+s*r
		yre[low], yre[high] = yre[low]+r, yre[low]-r
		yim[low], yim[high] = yim[low]+i, yim[low]-i
	}
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

// SplitReal computes, in place, the transform of a real line x of length 2m from that of the m complex numbers x[2t] +
// i·x[2t+1], in lanes of the given width. Elements 0 to m-1 stay in place; element m, which is real, goes to last. w
// has cosine and sine of the factors exp(-2πi·k/2m) for k up to m/2.
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

// JoinReal is the inverse of [SplitReal], times two. From the transform of a real line it computes the one whose
// inverse transform is x[2t] + i·x[2t+1]. The imaginary parts of elements 0 and m are not read. w has the conjugate
// factors.
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
