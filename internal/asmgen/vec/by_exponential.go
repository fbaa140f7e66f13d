package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Functions of AVX2 that are an exponential less 1, with their tails. With AVX2 a lookup of a coefficient takes as long
// as four other instructions on some processors, while a division takes as long as six: the functions of pieces.go need
// 26 cycles of a Zen 3 for 8 numbers, these 11 to 15. An exponential whose power of two need not be applied in two
// steps, and whose sum with 1 need not be corrected, halves the instructions of a sigmoid.

// powerOf splits z ≥ 0: with n = z·scale, rounded, and r = z − n/scale it returns r and the power of two 2ⁿ, or 2⁻ⁿ.
// The sum with shift, a float without a fraction, has n in its last bits.
func (m machine) powerOf(z vector, scale float64, rising bool) (r, power vector) {
	const bias, large = 127, 0x1.8p23
	shifted := m.copy(number(large + bias))
	if rising {
		AddProduct(shifted, z, number(scale))
	} else {
		SubtractProduct(shifted, z, number(scale))
	}
	n := m.sub(shifted, number(large+bias))
	if rising {
		r = m.fnma(n, number(1/scale), z)
	} else {
		r = m.fma(n, number(1/scale), z)
	}
	return r, m.shift(ShiftLeft, 23, shifted)
}

// tanhByExponential is h/(h + 1) with h = (e²ᵗ − 1)/2. Written as m − m²/(h + 1), where m = min(h, 1), the quotient is
// smaller than the result, and so are its rounding errors.
func (m machine) tanhByExponential(x vector) vector {
	t := m.magnitudes(vectors{x}, Constant("tanhMost", float(9.02)))[0]
	r, power := m.powerOf(t, 2/math.Ln2, true)
	p := m.poly(r, 0.04462934285402298, 0.13386736810207367, 0.3333302438259125, 0.6666616797447205, 1)
	p = m.fma(p, m.mul(r, r), r) // (e²ʳ − 1)/2
	h := m.fma(p, power, m.fma(power, number(0.5), number(-0.5)))
	most := m.two(Min, h, one())
	y := m.fnma(most, m.div(most, m.add(h, one())), most)
	return m.join(y, m.sign(x))
}

// erfByExponential is 1 − e⁻ᶻ, where z = −ln(erfc(t)) is t + t·P(t) up to 4. The lowest coefficients are added last,
// since the errors of their sums are the largest.
func (m machine) erfByExponential(x vector) vector {
	t := m.magnitudes(vectors{x}, Constant("erfMost", 0x407fffff))[0]
	square := m.mul(t, t)
	p := m.pairs(t, square, m.mul(square, square), -9.25627136894036e-06, 0.00011764133523683995, -0.0006328371237032115, 0.001667028060182929,
		-0.0001603968266863376, -0.019153064116835594, 0.10277783125638962, 0.6366193890571594)
	z := m.fma(m.fma(p, t, number(0.12837916612625122)), t, t)
	r, power := m.powerOf(z, math.Log2E, false)
	square = m.mul(r, r)
	q := m.pairs(r, square, vector{}, -0.0013946669641882181, 0.008366710506379604, -0.04166628047823906, 0.16666541993618011)
	q = m.fma(m.fma(q, r, number(-0.5)), square, r) // 1 − e⁻ʳ
	return m.join(m.fma(q, power, m.sub(one(), power)), m.sign(x))
}

// sigmoidByExponential is 1/(1 + e⁻ˣ). With e⁻ˣ = 2ⁿ·(1 + q), where n is h and a rest, it is the power a = 2⁻ʰ divided
// by a + b·(1 + q), where b = 2ⁿ⁻ʰ: results as small as the smallest subnormals are rounded once. The larger power is
// added last, since the sum of the rest is exact to more bits.
func (m machine) sigmoidByExponential(x vector) vector {
	const biases, large = 2 * 127, 0x1.8p23
	v := m.limit(x, -104, 104)
	shifted := m.fnma(v, number(math.Log2E), number(large+biases))
	n := m.sub(shifted, number(large+biases))
	r := m.fma(n, number(ln2Low), m.fma(n, number(ln2High), v))
	q := m.poly(r, 0.0013950725551694632, -0.008369024842977524, 0.04166620224714279, -0.166665181517601, 0.5, -1)
	q = m.mul(q, r)
	half := m.shift(ShiftRight, 1, shifted)
	a := m.shift(ShiftLeft, 23, m.two(SubtractInt, pattern(biases), half))
	b := m.shift(ShiftLeft, 23, m.two(SubtractInt, shifted, half))
	return m.div(a, m.add(m.fma(q, b, m.two(Min, a, b)), m.two(Max, a, b)))
}

// pairs is a polynomial of four or eight coefficients, the highest first, whose terms are added in pairs: it takes more
// instructions than Horner's rule, but fewer of them wait for each other.
func (m machine) pairs(x, square, fourth vector, coefficients ...float64) vector {
	if len(coefficients) == 2 {
		return m.fma(x, number(coefficients[0]), number(coefficients[1]))
	}
	half := len(coefficients) / 2
	high, low := m.pairs(x, square, fourth, coefficients[:half]...), m.pairs(x, square, fourth, coefficients[half:]...)
	if half == 4 {
		square = fourth
	}
	return m.fma(high, square, low)
}
