package vec

import "math"

// Without assembly, the functions below compute what it computes in float64, with the same reduction and polynomials.
// Those of package math lose digits near large multiples of π/2, and in powers of numbers near 1.

// π/2 in three parts.
const (
	halfPi0 = 1.5707963267948966
	halfPi1 = 6.123233995736766e-17
	halfPi2 = -1.4973849048591833e-33
)

// quadrant reduces x, up to [circularMax64] in magnitude, to r + low = x − n·π/2.
func quadrant(x float64) (r, low float64, n int64) {
	k := math.RoundToEven(x * (2 / math.Pi))
	first := math.FMA(-k, halfPi0, x) // exact
	second := float64(k * halfPi1)    // rounded: must not be fused with another operation, as compilers may do
	lost := math.FMA(k, halfPi1, -second)
	r = first - second
	less := r - first
	low = (first - (r - less)) - (second + less) - lost
	return r, math.FMA(-k, halfPi2, low), int64(k)
}

// horner is a polynomial, with the coefficient of the highest power first.
func horner(x float64, coefficients ...float64) float64 {
	y := coefficients[0]
	for _, c := range coefficients[1:] {
		y = math.FMA(y, x, c)
	}
	return y
}

// sineOf is sin(r + low).
func sineOf(r, low float64) float64 {
	z := float64(r * r)
	s := float64(z * horner(z, 1.591810123027412e-10, -2.5051131455427946e-08, 2.755731610068303e-06, -0.0001984126983675497, 0.008333333333330946,
		-0.16666666666666666))
	return math.FMA(s, r, math.FMA(-low, z*0.5, low)) + r
}

// cosineOf is cos(r + low).
func cosineOf(r, low float64) float64 {
	z := float64(r * r)
	half := float64(z * 0.5)
	w := 1 - half
	c := horner(z, -1.1382614868556325e-11, 2.0876146024689747e-09, -2.7557317270560326e-07, 2.4801587298763433e-05, -0.0013888888888887395,
		0.041666666666666664)
	rest := math.FMA(c, z*z, (1-w)-half)
	return math.FMA(-r, low, rest) + w
}

// circle computes sin(x + quarters·π/2).
func circle(x float64, quarters int64) float64 {
	r, low, n := quadrant(x)
	n += quarters
	y := 0.0
	if n&1 == 0 {
		y = sineOf(r, low)
	} else {
		y = cosineOf(r, low)
	}
	if n&2 != 0 {
		y = -y
	}
	return y
}

// reducible reports whether the reduction works for x. Package math gets larger numbers, which it reduces with more
// digits of π, infinities and NaN.
func reducible(x float64) bool { return math.Abs(x) <= circularMax64 }

func sine(x float64) float64 {
	switch {
	case math.Abs(x) < 0x1p-27:
		return x
	case !reducible(x):
		return math.Sin(x)
	}
	return circle(x, 0)
}

func cosine(x float64) float64 {
	if !reducible(x) {
		return math.Cos(x)
	}
	return circle(x, 1)
}

func tangent(x float64) float64 {
	switch {
	case math.Abs(x) < 0x1p-27:
		return x
	case !reducible(x):
		return math.Tan(x)
	}
	r, low, n := quadrant(x)
	s, c := sineOf(r, low), cosineOf(r, low)
	if n&1 != 0 {
		return c / -s
	}
	return s / c
}
