package vec

// The transformations of Winograd's F(4x4, 3x3), one dimension at a time: a tile of 4x4 outputs of a 3x3 convolution is
// computed from 6x6 inputs, with 36 products for each pair of channels instead of 144. Polynomials are evaluated at 0,
// ±p, ±q and infinity, with p = 5/8 and q = 3/2: numbers near 1 keep the rounding errors small.

// The points.
const (
	WinogradNear = 0.625
	WinogradFar  = 1.5
)

// WinogradSixes transforms count times c columns of six numbers, x[t·xStep + j·xLine + k] for the j-th of column k of
// time t, to dst[t·step + j·plane + k]. The six numbers of z become, with s = p² + q² and u = p²q²:
//
//	u·z0 − s·z2 + z4,   (z4 − q²z2) ± p(z3 − q²z1),   (z4 − p²z2) ± q(z3 − p²z1),   u·z1 − s·z3 + z5
//
// dst and x may be the same memory in the same order; vectors then need a multiple of 8 columns.
func WinogradSixes(dst, x []float32, count, c, step, plane, xStep, xLine int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x = dst[:(count-1)*step+5*plane+c], x[:(count-1)*xStep+5*xLine+c]
	if winogradSixes32(dst, x, count, c, step, plane, xStep, xLine) {
		return
	}
	const near, far = WinogradNear * WinogradNear, WinogradFar * WinogradFar
	for t := range count {
		for k := range c {
			at, to := t*xStep+k, t*step+k
			z0, z1, z2, z3, z4, z5 := x[at], x[at+xLine], x[at+2*xLine], x[at+3*xLine], x[at+4*xLine], x[at+5*xLine]
			dst[to] = near*far*z0 - (near+far)*z2 + z4
			even, odd := z4-far*z2, WinogradNear*(z3-far*z1)
			dst[to+plane], dst[to+2*plane] = even+odd, even-odd
			even, odd = z4-near*z2, WinogradFar*(z3-near*z1)
			dst[to+3*plane], dst[to+4*plane] = even+odd, even-odd
			dst[to+5*plane] = near*far*z1 - (near+far)*z3 + z5
		}
	}
}

// WinogradFours transforms columns of six sums back to four numbers, plus the bias (nil, or one number for each of the
// c columns), and max(·, 0) of it if relu is set, which requires a bias. The six sums m become:
//
//	Σ m0..m4,   p(m1−m2) + q(m3−m4),   p²(m1+m2) + q²(m3+m4),   p³(m1−m2) + q³(m3−m4) + m5
func WinogradFours(dst, x, bias []float32, relu bool, count, c, step, plane, xStep, xLine int) {
	if count <= 0 || c <= 0 {
		return
	}
	dst, x = dst[:(count-1)*step+3*plane+c], x[:(count-1)*xStep+5*xLine+c]
	if bias != nil {
		bias = bias[:c]
	}
	if winogradFours32(dst, x, bias, relu, count, c, step, plane, xStep, xLine) {
		return
	}
	const p, q = WinogradNear, WinogradFar
	for t := range count {
		for k := range c {
			at, to := t*xStep+k, t*step+k
			m0, m1, m2, m3, m4, m5 := x[at], x[at+xLine], x[at+2*xLine], x[at+3*xLine], x[at+4*xLine], x[at+5*xLine]
			near, far, left, right := m1+m2, m3+m4, m1-m2, m3-m4
			for j, v := range [...]float32{m0 + near + far, p*left + q*right, p*p*near + q*q*far, p*p*p*left + q*q*q*right + m5} {
				if bias != nil {
					v += bias[k]
				}
				if relu {
					v = positive(v)
				}
				dst[to+j*plane] = v
			}
		}
	}
}
