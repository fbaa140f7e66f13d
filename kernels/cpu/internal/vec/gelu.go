package vec

import "math"

// The functions of this file use R(t) = e^(t²/2)·Φ(−t) for t ≥ 0, where Φ is the distribution function of the normal
// distribution and φ its density. R is Mills' ratio divided by √(2π). It decreases from ½ like 1/(t·√(2π)), so Φ(−t) =
// e^(−t²/2)·R(t) keeps its digits however small it is. With it,
//
//	gelu(x)  = x·Φ(x)          = max(x, 0) − t·Φ(−t)    with t = |x|
//	gelu'(x) = Φ(x) + x·φ(x)   = h for x < 0, 1 − h for x ≥ 0, h = e^(−t²/2)·(R(t) − t/√(2π))

const (
	normalMax = 14.75 // beyond this, t·Φ(−t) and t·φ(t) are 0 in float32
	halfLog2e = log2e / 2
	density   = 0.39894228040143268 // 1/√(2π)
)

// Coefficients of a minimax approximation of 2ᶠ for |f| ≤ ½, relative 1e-7.
var exp2P = [...]float32{0.001326470053754747, 0.009671534411609173, 0.05550733953714371, 0.24022242426872253, 0.6931470036506653, 1}

// Coefficients of a minimax approximation of R by a quotient on [0, normalMax], relative 6e-9 before they were rounded.
var (
	millsN = [...]float32{0.004116336815059185, 0.04063339903950691, 0.18323561549186707, 0.4382955729961395, 0.5}
	millsD = [...]float32{0.01031800638884306, 0.10185927152633667, 0.46947190165519714, 1.202505111694336, 1.674476146697998, 1}
)

// normal32 returns t = min(|x|, normalMax), R(t), and e^(−t²/2) as a number near 1 and a power of 2.
func normal32(x float32) (t, r, power float32, exponent int32) {
	t = min(float32(math.Abs(float64(x))), normalMax)
	z := -halfLog2e * (float64(t) * float64(t)) // a square in float32 has too few digits
	k := float32(float32(z)+roundShift) - roundShift
	n, d, p, f := &millsN, &millsD, &exp2P, float32(z-float64(k))
	r = ((((n[0]*t+n[1])*t+n[2])*t+n[3])*t + n[4]) / (((((d[0]*t+d[1])*t+d[2])*t+d[3])*t+d[4])*t + d[5])
	return t, r, ((((p[0]*f+p[1])*f+p[2])*f+p[3])*f+p[4])*f + p[5], int32(k)
}

// scale32 returns v·2ᵏ, rounded once.
func scale32(v float32, k int32) float32 {
	half := k >> 1
	return v * pow2(half) * pow2(k-half)
}

// gelu32 returns NaN for −Inf, as x·Φ(x) does, because (x + |x|)/2 is NaN.
func gelu32(x float32) float32 {
	if x != x {
		return x
	}
	t, r, power, k := normal32(x)
	return 0.5*float32(math.Abs(float64(x))) + 0.5*x - scale32(power*(t*r), k)
}

// geluSlope32 returns NaN for infinities, as x·φ(x) does.
func geluSlope32(x float32) float32 {
	t, r, power, k := normal32(x)
	h := scale32(power*(r-t*density), k)
	if x < 0 {
		return x*0 + h
	}
	return x*0 + (1 - h)
}

// Gelu stores x·Φ(x), with Φ the distribution function of the normal distribution; NaN for −Inf, as in Keras. Source:
// Hendrycks, Gimpel, 2016.
func Gelu[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opGelu, d, s) {
			for i := range d {
				d[i] = gelu32(s[i])
			}
		}
		return
	}
	if function64(opGelu, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = T(float64(x[i]) * math.Erfc(-float64(x[i])/math.Sqrt2) / 2)
	}
}

// GeluGrad stores dy·(Φ(x) + x·φ(x)), with φ the density of the normal distribution: the gradient of [Gelu] of x; NaN
// for infinities.
func GeluGrad[T Float](dst, dy, x []T) {
	dy, x = dy[:len(dst)], x[:len(dst)]
	if single[T]() {
		if d, g, s := as32(dst), as32(dy), as32(x); !binary32(opGeluGrad, d, g, s) {
			for i := range d {
				d[i] = g[i] * geluSlope32(s[i])
			}
		}
		return
	}
	if !single[T]() && binary64(opGeluGrad64, as64(dst), as64(dy), as64(x)) {
		return
	}
	for i := range dst {
		v := float64(x[i])
		dst[i] = dy[i] * T(math.Erfc(-v/math.Sqrt2)/2+v*density*math.Exp(-v*v/2))
	}
}
