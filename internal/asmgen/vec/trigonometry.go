package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// quadrant reduces x, up to 105615 in magnitude, to r = x − n·π/2, which is near − f·[lastOfHalfPi] with f = n.
func (m machine) quadrant(x vector) (r, near, f, n vector) {
	n = m.whole(m.mul(x, number(0.636619747)))
	f = m.float(n)
	near = m.fnma(f, number(3.13916473e-07), m.fnma(f, number(1.57079601), x))
	return m.fnma(f, number(lastOfHalfPi), near), near, f, n
}

// lastOfHalfPi is the last of three parts of π/2.
const lastOfHalfPi = 5.39030253e-15

func (m machine) sineOf(r, s vector) vector {
	return m.fma(m.mul(r, s), m.poly(s, 2.828831157e-06, -0.0001985268464, 0.008333378471, -0.1666666716), r)
}

// circular is the sine of x + n·π/2.
func (m machine) circular(x vector, n uint32) vector {
	r, _, _, q := m.quadrant(x)
	if n != 0 {
		q = m.two(AddInt, q, pattern(n))
	}
	s := m.mul(r, r)
	cosine := m.poly(s, 2.443256381e-05, -0.001388731063, 0.04166664556, -0.5, 1)
	sine := m.sineOf(r, s)
	if n == 0 {
		sine = m.join(sine, m.sign(r)) // for -0: the sum is of zeros with both signs
	}
	y := m.choose(Odd(q), cosine, sine)
	return m.flip(y, m.shift(ShiftLeft, 30, m.bits(q, 2)))
}

func (m machine) sin(x vector) vector { return m.circular(x, 0) }
func (m machine) cos(x vector) vector { return m.circular(x, 1) }

func (m machine) tan(x vector) vector {
	r, near, f, q := m.quadrant(x)
	s := m.mul(r, r)
	p := m.poly(s, 0.004370169714, 0.0001032938089, 0.01082358044, 0.02128761075, 0.05405867472, 0.1333267689, 0.3333334923)
	cube := m.mul(r, s)
	t := m.fma(cube, p, r)
	lost := m.fma(cube, p, m.fnma(f, number(lastOfHalfPi), m.sub(near, t))) // near poles also the rounding error of r
	y := m.div(number(-1), t)
	y = m.fma(y, m.fma(y, lost, m.fma(y, t, m.copy(one()))), y) // −1/(t + lost)
	return m.choose(Odd(q), y, t)
}

const (
	piHigh  = 3.14159274
	piLow   = -8.74227766e-08
	arcEdge = 0.5625
)

// arc is asin(|x|) for |x| up to arcEdge. Beyond that it is asin(√((1 − |x|)/2)), and asin(|x|) is π/2 minus twice
// that.
func (m machine) arc(x vector) (p vector, big Mask) {
	a := m.abs(x)
	half := number(0.5)
	z := m.mul(a, a)
	far := m.fnma(a, half, m.copy(half))
	big = Compare(GreaterThan, a, number(arcEdge))
	z = m.choose(big, far, z)
	s := m.choose(big, m.sqrt(far), a)
	p = m.poly(z, 0.04569732398, -0.002613686025, 0.02822450548, 0.02947778627, 0.04471595213, 0.07499723881, 0.1666667014)
	return m.fma(m.mul(s, z), p, s), big
}

func (m machine) asin(x vector) vector {
	p, big := m.arc(x)
	far := m.add(m.fnma(p, number(2), m.copy(number(piLow/2))), number(piHigh/2))
	return m.join(m.choose(big, far, p), m.sign(x))
}

func (m machine) acos(x vector) vector {
	p, big := m.arc(x)
	negative := Compare(LessThan, x, m.zeros(1)[0])
	near := m.sub(number(piHigh/2), m.sub(m.join(p, m.sign(x)), number(piLow/2)))
	twice := m.add(p, p)
	far := m.choose(negative, m.sub(number(piHigh), m.sub(twice, number(piLow))), twice)
	return m.choose(big, far, near)
}

// arcTangent is atan of z between 0 and 1.
func (m machine) arcTangent(z vector) vector {
	s := m.mul(z, z)
	p := m.poly(s, 0.001131534926, -0.007410699036, 0.02274718322, -0.04494856298, 0.06761288643, -0.08820489049, 0.1106099859, -0.1428031325,
		0.199997142, -0.3333332837)
	return m.fma(m.mul(z, s), p, z)
}

// from is high + low − p.
func (m machine) from(high, low float64, p vector) vector {
	return m.sub(number(high), m.sub(p, number(low)))
}

func (m machine) atan(x vector) vector {
	a := m.abs(x)
	inverse := Compare(GreaterThan, a, one())
	p := m.arcTangent(m.choose(inverse, m.div(one(), a), a))
	p = m.choose(inverse, m.from(piHigh/2, piLow/2, p), p)
	return m.join(p, m.sign(x))
}

func (m machine) atan2(y, x vector) vector {
	a, b := m.abs(x), m.abs(y)
	swap := Compare(GreaterThan, b, a)
	most, least := m.choose(swap, b, a), m.choose(swap, a, b)
	z := m.div(least, most)
	z = m.choose(Compare(Equal, most, m.zeros(1)[0]), m.zeros(1)[0], z)
	z = m.choose(Compare(Equal, least, pattern(0x7f800000)), one(), z)
	p := m.arcTangent(z)
	p = m.choose(swap, m.from(piHigh/2, piLow/2, p), p)
	p = m.choose(Compare(Unordered, x, y), notANumber(), p)
	left := m.flip(m.from(piHigh, piLow, p), m.sign(y))
	p = m.flip(p, m.sign(y))
	if m.wide {
		return m.choose(Signs(x), left, p)
	}
	return m.choose(Signs(m.shift(ShiftRightSigned, 31, x)), left, p)
}
