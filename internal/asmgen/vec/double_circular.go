package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// π/2 as a sum of three numbers.
const (
	halfPi0 = 1.5707963267948966
	halfPi1 = 6.123233995736766e-17
	halfPi2 = -1.4973849048591833e-33
)

// quadrant reduces x, up to 2²⁹ in magnitude, to r + low = x − n·π/2; count holds n in its lowest bits. Near multiples
// of π/2 so little is left after subtracting the first two parts that their rounding errors matter.
func (p precise) quadrant(x vector) (r, low, count vector) {
	count = p.add(p.mul(x, double(2/math.Pi)), double(counter))
	n := p.sub(count, double(counter))
	first := p.fnma(n, double(halfPi0), x) // exact
	second := p.mul(n, double(halfPi1))
	lost := p.fms(n, p.copy(double(halfPi1)), second)
	r = p.sub(first, second)
	less := p.sub(r, first)
	low = p.sub(p.sub(first, p.sub(r, less)), p.add(second, less))
	return r, p.fnma(n, double(halfPi2), p.sub(low, lost)), count
}

// sine is sin(r + low).
func (p precise) sine(r, low, z vector) vector {
	s := p.mul(z, p.poly(z, 1.591810123027412e-10, -2.5051131455427946e-08, 2.755731610068303e-06, -0.0001984126983675497, 0.008333333333330946,
		-0.16666666666666666))
	tail := p.fnma(low, p.mul(z, double(0.5)), low)
	return p.add(p.fma(s, r, tail), r)
}

// cosine is cos(r + low).
func (p precise) cosine(r, low, z vector) vector {
	half := p.mul(z, double(0.5))
	w := p.sub(p.one(), half)
	c := p.poly(z, -1.1382614868556325e-11, 2.0876146024689747e-09, -2.7557317270560326e-07, 2.4801587298763433e-05, -0.0013888888888887395,
		0.041666666666666664)
	rest := p.fma(c, p.mul(z, z), p.sub(p.sub(p.one(), w), half))
	return p.add(p.fnma(r, low, rest), w)
}

func (p precise) odd(count vector) Mask { return Signs(p.shift(ShiftLeft, 63, count)) }

// circular is the sine of x + n·π/2.
func (p precise) circular(x vector, n float64) vector {
	r, low, count := p.quadrant(x)
	if n != 0 {
		count = p.add(count, double(n))
	}
	z := p.mul(r, r)
	y := p.choose(p.odd(count), p.cosine(r, low, z), p.sine(r, low, z))
	return p.flip(y, p.sign(p.shift(ShiftLeft, 62, count)))
}

func (p precise) sin(x vector) vector { return p.small(0x1p-27, x, p.circular(x, 0)) }
func (p precise) cos(x vector) vector { return p.circular(x, 1) }

func (p precise) tan(x vector) vector {
	r, low, count := p.quadrant(x)
	z := p.mul(r, r)
	s, c := p.sine(r, low, z), p.cosine(r, low, z)
	odd := p.odd(count)
	over := p.choose(odd, c, s)
	under := p.choose(odd, p.negative(s), c)
	return p.small(0x1p-27, x, p.div(over, under))
}

// arc is asin(|x|) for |x| up to ½. Beyond that it is asin(√((1 − |x|)/2)), and asin(|x|) is π/2 minus twice that.
func (p precise) arc(x vector) (y vector, big Mask) {
	a := p.abs(x)
	far := p.fnma(a, double(0.5), p.copy(double(0.5)))
	big = Compare(GreaterThan, a, double(0.5))
	z := p.choose(big, far, p.mul(a, a))
	s := p.choose(big, p.sqrt(far), a)
	q := p.poly(z, 0.028757851367421566, -0.014851887071247204, 0.01740087944269402, 0.005457506718640358, 0.01032281435018578, 0.011479177415184906,
		0.013971212973552933, 0.017352392720869973, 0.02237217294214989, 0.030381944138531247, 0.04464285714635543, 0.07499999999998433,
		0.16666666666666669)
	return p.fma(p.mul(s, z), q, s), big
}

// from is high + low − v.
func (p precise) from(high, low float64, v vector) vector {
	return p.sub(double(high), p.sub(v, double(low)))
}

func (p precise) asin(x vector) vector {
	y, big := p.arc(x)
	far := p.add(p.fnma(y, double(2), p.copy(double(halfPi1))), double(halfPi0))
	y = p.join(p.choose(big, far, y), p.sign(x))
	return p.small(0x1p-27, x, y)
}

func (p precise) acos(x vector) vector {
	y, big := p.arc(x)
	negative := Compare(LessThan, x, p.zero())
	near := p.from(halfPi0, halfPi1, p.join(y, p.sign(x)))
	twice := p.add(y, y)
	far := p.choose(negative, p.from(2*halfPi0, 2*halfPi1, twice), twice)
	return p.choose(big, far, near)
}

// arcTangent is atan of z between 0 and 1.
func (p precise) arcTangent(z vector) vector {
	big := Compare(GreaterThan, z, double(0.66))
	t := p.choose(big, p.div(p.sub(z, p.one()), p.add(z, p.one())), z)
	s := p.mul(t, t)
	q := p.poly(s, -0.0022319891352206526, 0.009707111443534448, -0.021238750553036773, 0.03243682581339053, -0.04078179705754501, 0.0469055587314416,
		-0.052492302938732534, 0.058803712056046245, -0.06666465331501162, 0.07692293559129824, -0.09090908439563972, 0.11111111092947706,
		-0.14285714285447954, 0.19999999999998452, -0.3333333333333333)
	y := p.fma(p.mul(t, s), q, t)
	return p.choose(big, p.add(p.add(y, double(halfPi1/2)), double(halfPi0/2)), y)
}

func (p precise) atan(x vector) vector {
	a := p.abs(x)
	inverse := Compare(GreaterThan, a, p.one())
	y := p.arcTangent(p.choose(inverse, p.div(p.one(), a), a))
	y = p.choose(inverse, p.from(halfPi0, halfPi1, y), y)
	return p.small(0x1p-27, x, p.join(y, p.sign(x)))
}

func (p precise) atan2(y, x vector) vector {
	a, b := p.abs(x), p.abs(y)
	swap := Compare(GreaterThan, b, a)
	most, least := p.choose(swap, b, a), p.choose(swap, a, b)
	z := p.div(least, most)
	z = p.choose(Compare(Equal, most, p.zero()), p.zero(), z)
	z = p.choose(Compare(Equal, least, p.infinity()), p.one(), z)
	v := p.arcTangent(z)
	v = p.choose(swap, p.from(halfPi0, halfPi1, v), v)
	v = p.choose(Compare(Unordered, x, y), p.notANumber(), v)
	left := Compare(LessThan, p.join(p.sign(x), p.copy(p.one())), p.zero())
	v = p.choose(left, p.from(2*halfPi0, 2*halfPi1, v), v)
	return p.flip(v, p.sign(y))
}
