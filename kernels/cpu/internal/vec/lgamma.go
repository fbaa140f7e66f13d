package vec

import "math"

// lgammaPiece is how many elements are computed in float64 at a time.
const lgammaPiece = 512

// Lgamma stores the logarithm of the absolute value of the gamma function of x: +Inf for 0, negative integers and
// infinities.
func Lgamma[T Float](dst, x []T) {
	x = x[:len(dst)]
	if !single[T]() {
		lgammas(dst, x)
		return
	}
	var wide [lgammaPiece]float64
	for len(dst) > 0 {
		n := min(len(dst), lgammaPiece)
		y, special := wide[:n], false
		for i, v := range x[:n] {
			y[i] = float64(v)
			special = special || lgammaSpecial(float64(v))
		}
		if !unary64(opLogGamma64, y, y) {
			lgammas(dst, x)
			return
		}
		for i, v := range y {
			if special && lgammaSpecial(float64(x[i])) {
				v = lgamma(float64(x[i]))
			}
			dst[i] = T(v)
		}
		dst, x = dst[n:], x[n:]
	}
}

// lgammaSpecial reports whether the assembly cannot compute x: numbers that are not positive and finite, and 1 and 2,
// whose results are exactly 0.
func lgammaSpecial(x float64) bool { return !(x > 0 && x <= math.MaxFloat32) || x == 1 || x == 2 }

func lgammas[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(lgamma(float64(v)))
	}
}

// lgamma is math.Lgamma with C's result for −Inf.
func lgamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	if x < -math.MaxFloat32 && math.IsInf(y, -1) {
		y = math.Inf(1)
	}
	return y
}
