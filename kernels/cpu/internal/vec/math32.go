package vec

import "math"

// The float32 functions below are the portable twins of the assembly. They use the same reductions and polynomials,
// without fused multiply-add. For tanh and erf, the assembly uses tables of polynomials instead.

const (
	log2e = 1.44269504088896341
	// ln 2 in two parts; the first has few enough bits that its product with an exponent is exact (Cody and Waite).
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
	// Adding and subtracting 1.5·2²³ rounds a float32 to the nearest integer.
	roundShift = 12582912.0
	// Outside these bounds exp is certain to overflow or to be 0.
	expMax = 89.0
	expMin = -104.0
)

// Coefficients of Cephes' expf: eʳ = 1 + r + r²·P(r) for |r| ≤ ln2/2.
var expP = [...]float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}

// exp32 reduces x to n·ln2 + r and scales a polynomial in r by 2ⁿ in two steps, so that results below 2⁻¹²⁶ are rounded
// once.
func exp32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, expMin), expMax)
	n := float32(x*log2e+roundShift) - roundShift
	r := x - n*ln2High
	r -= n * ln2Low
	p := expP[0]
	for _, c := range expP[1:] {
		p = p*r + c
	}
	p = p*(r*r) + r + 1
	e := int32(n)
	half := e >> 1
	return p * pow2(half) * pow2(e-half)
}

// pow2 returns 2ⁿ for −126 ≤ n ≤ 127.
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// Coefficients of a minimax approximation: log(1+v) = v + v²·P(v) for −¼ ≤ v < ½.
var logP = [...]float32{0.03754573315, -0.09102509916, 0.1169867888, -0.1272983551, 0.1427677274, -0.1665519774, 0.1999957561, -0.2500016689,
	0.3333334029, -0.5}

// log32 splits x into 2ᵉ·(1 + v).
func log32(x float32) float32 {
	switch {
	case x != x || x > math.MaxFloat32:
		return x
	case x < 0:
		return nan[float32]()
	case x == 0:
		return float32(math.Inf(-1))
	}
	e := float32(0)
	if x < 0x1p-126 {
		x *= 0x1p23
		e = -23
	}
	bits := math.Float32bits(x)
	power := int32(bits-math.Float32bits(0.75)) >> 23
	e += float32(power)
	v := math.Float32frombits(bits-uint32(power)<<23) - 1
	p := logP[0]
	for _, c := range logP[1:] {
		p = p*v + c
	}
	return v + (p*(v*v) + e*ln2Low) + e*ln2High
}

// Coefficients of a minimax approximation of tanh from Cephes: x + x³·P(x²) for |x| ≤ tanhSplit. Beyond, tanh is
// 1 − 2/(exp(2|x|) + 1), where the error of the quotient is small compared with 1.
var tanhNear = [...]float32{-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1}

const tanhSplit = 0.5625

func tanh32(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	if t > tanhSplit {
		return float32(math.Copysign(float64(1-2/(exp32(t+t)+1)), float64(x)))
	}
	xx := x * x
	p := tanhNear[0]
	for _, c := range tanhNear[1:] {
		p = p*xx + c
	}
	return float32(math.Copysign(float64(p*xx*x+x), float64(x))) // for -0, the sum adds zeros with different signs
}

func sigmoid32(x float32) float32 {
	e := exp32(-float32(math.Abs(float64(x))))
	n := float32(1)
	if x < 0 {
		n = e
	}
	return float32(float64(n) / (1 + float64(e)))
}

// Coefficients of minimax approximations of erf by N. Juffa: x + x·P(x²) for |x| ≤ erfSplit, 1 − exp(|x|·Q(|x|) − |x|)
// beyond.
var (
	erfP = [...]float32{-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1}
	erfQ = [...]float32{-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1, -6.34846687e-1, -1.28717512e-1}
)

const erfSplit = 0.927734375

func erf32(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	if !(t > erfSplit) {
		xx := x * x
		p := erfP[0]
		for _, c := range erfP[1:] {
			p = p*xx + c
		}
		return p*x + x
	}
	t = min(t, 4)
	q := erfQ[0]
	for _, c := range erfQ[1:] {
		q = q*t + c
	}
	r := 1 - exp32(q*t-t)
	return float32(math.Copysign(float64(r), float64(x)))
}
