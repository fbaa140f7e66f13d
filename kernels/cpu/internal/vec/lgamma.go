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
			special = special || !(v > 0 && v <= math.MaxFloat32) // or NaN
		}
		if !unary64(opLogGamma64, y, y) {
			lgammas(dst, x)
			return
		}
		for i, v := range y {
			if special && !(x[i] > 0 && x[i] <= math.MaxFloat32) {
				v = lgamma(float64(x[i]))
			}
			dst[i] = T(v)
		}
		dst, x = dst[n:], x[n:]
	}
}

func lgammas[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(lgamma(float64(v)))
	}
}

// lgamma is math.Lgamma, with C's value of −Inf.
func lgamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	if x < -math.MaxFloat32 && math.IsInf(y, -1) {
		y = math.Inf(1)
	}
	return y
}
