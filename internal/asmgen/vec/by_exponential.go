package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Functions that are an exponential with its tail. With AVX2 a lookup of a coefficient takes as long as four other
// instructions on some processors, while a division takes as long as six: tanh takes 0.61 of the time of a table of
// coefficients on a Zen 3, and as long as one with AVX-512 on a Zen 4. An exponential whose power of two need not be
// applied in two steps, and whose sum with 1 need not be corrected, saves a sigmoid a fifth with AVX2. Of erf, whose
// logarithm of the rest needs nine coefficients, nothing was saved. All families compute them in this way, so that they
// have the same bits.

// powerOf splits z ≥ 0: with n = z·scale, rounded, it returns z − n/scale and 2ⁿ. The sum with shift, a float without a
// fraction, has n in its last bits.
func (m machine) powerOf(z vector, scale float64) (rest, power vector) {
	const shift = 0x1.8p23 + 127
	shifted := m.fma(z, number(scale), number(shift))
	n := m.sub(shifted, number(shift))
	return m.fnma(n, number(1/scale), z), m.shift(ShiftLeft, 23, shifted)
}

// tanhByExponential is h/(h + 1) with h = (e²ᵗ − 1)/2. Written as m − m²/(h + 1), where m = min(h, 1), the quotient is
// smaller than the result, and so are its rounding errors.
func (m machine) tanhByExponential(x vector) vector {
	t := m.magnitudes(vectors{x}, Constant("tanhMost", float(9.02)))[0]
	r, power := m.powerOf(t, 2/math.Ln2)
	p := m.poly(r, 0.04462934285402298, 0.13386736810207367, 0.3333302438259125, 0.6666616797447205, 1)
	p = m.fma(p, m.mul(r, r), r) // (e²ʳ − 1)/2
	h := m.fma(p, power, m.fma(power, number(0.5), number(-0.5)))
	most := m.two(Min, h, one())
	y := m.fnma(most, m.div(most, m.add(h, one())), most)
	return m.join(y, m.sign(x))
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
