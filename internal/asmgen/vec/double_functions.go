package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// precise has the expressions of [machine] for vectors of float64, with other constants.
//
// The polynomials interpolate their functions at Chebyshev nodes, with relative errors of the results below 2⁻⁵⁶. All
// vector lengths compute the same bits.
type precise struct{ machine }

func (p precise) one() Memory              { return double(1) }
func (p precise) abs(x vector) vector      { return p.two(And, x, doublePattern(1<<63-1)) }
func (p precise) sign(x vector) vector     { return p.two(And, x, doublePattern(1<<63)) }
func (p precise) infinity() Memory         { return double(math.Inf(1)) }
func (p precise) notANumber() Memory       { return double(math.NaN()) }
func (p precise) zero() vector             { return p.zeros(1)[0] }
func (p precise) negative(x vector) vector { return p.two(Xor, x, doublePattern(1<<63)) }

func (p precise) poly(x vector, coefficients ...float64) vector {
	y := p.copy(double(coefficients[0]))
	for _, c := range coefficients[1:] {
		MultiplyAddConstant(y, x, double(c))
	}
	return y
}

// limit clamps x to a range, and keeps NaN.
func (p precise) limit(x vector, low, high float64) vector {
	a, b := p.copy(double(low)), p.copy(double(high))
	Max(a, a, x)
	Min(b, b, a)
	return b
}

// small is x where |x| is below a bound, else y: this preserves the signs of zeros.
func (p precise) small(bound float64, x, y vector) vector {
	return p.choose(Compare(LessThan, p.abs(x), double(bound)), p.mul(x, p.one()), y)
}

// counter is large enough that floats around it have no fraction: adding it rounds a number to an integer, which is
// then in the lowest bits.
const counter = 0x1.8p52

// The logarithm of 2 in two parts, the first of which has 21 trailing zero bits, and its reciprocal.
const (
	preciseLn2High = 6.93147180369123816490e-01
	preciseLn2Low  = 1.90821492927058770002e-10
)

// power2 is v·2ⁿ, rounded once, for integers n from −1100 to 1100.
func (p precise) power2(v, n vector) vector {
	if p.wide {
		d := p.vector()
		Scale(d, v, n)
		return d
	}
	half := p.round(Downwards, p.mul(n, double(0.5)))
	rest := p.sub(n, half)
	factor := func(e vector) vector { return p.shift(ShiftLeft, 52, p.add(e, double(counter+1023))) }
	return p.mul(p.mul(v, factor(half)), factor(rest))
}

// reduced returns the nearest integer n to x/ln 2, eʳ − 1 − r, and r = x − n·ln 2.
func (p precise) reduced(x vector) (n, more, r vector) {
	n = p.round(Nearest, p.mul(x, double(math.Log2E)))
	r = p.fnma(n, double(preciseLn2Low), p.fnma(n, double(preciseLn2High), x))
	return n, p.mul(p.mul(r, r), p.expTerms(r)), r
}

// expTerms is (eʳ − 1 − r)/r² for the r of [precise.reduced].
func (p precise) expTerms(r vector) vector {
	return p.poly(r, 2.510038549551032e-08, 2.7620088445409746e-07, 2.7557268459997064e-06, 2.4801521295954376e-05,
		0.00019841269863053618, 0.0013888888917213717, 0.008333333333330062, 0.04166666666662413, 0.16666666666666669, 0.5)
}

// expScaled is eˣ·2ᵏ.
func (p precise) expScaled(x vector, k float64) vector {
	n, more, r := p.reduced(p.limit(x, -746, 711))
	y := p.add(p.add(more, r), p.one())
	if k != 0 {
		n = p.add(n, double(k))
	}
	return p.power2(y, n)
}

func (p precise) exp(x vector) vector { return p.expScaled(x, 0) }

// exp2 is 2ⁿ·e^(f·ln 2) with the fraction f = x − n, which is exact.
func (p precise) exp2(x vector) vector {
	x = p.limit(x, -1076, 1024)
	n := p.round(Nearest, x)
	r := p.mul(p.sub(x, n), double(math.Ln2))
	return p.power2(p.add(p.fma(p.mul(r, r), p.expTerms(r), r), p.one()), n)
}

func (p precise) expm1(x vector) vector {
	n, more, r := p.reduced(p.limit(x, -40, 710))
	y := p.add(more, r)
	t := p.shift(ShiftLeft, 52, p.add(n, double(counter+1022))) // 2ⁿ⁻¹
	y = p.fma(y, t, p.sub(t, double(0.5)))
	return p.small(0x1p-54, x, p.add(y, y))
}

// logNear is log(1 + f) + e·ln 2 with f from √½ − 1 to √2 − 1.
func (p precise) logNear(f, e vector) vector {
	s := p.div(f, p.add(f, double(2)))
	z := p.mul(s, s)
	r := p.mul(z, p.poly(z, 0.1461703754879165, 0.1533167403016786, 0.18182890556695602, 0.2222221111514416, 0.2857142862609589, 0.3999999999989924,
		0.666666666666667))
	half := p.mul(p.mul(f, double(0.5)), f)
	low := p.fma(s, p.add(half, r), p.mul(e, double(preciseLn2Low)))
	return p.fma(e, double(preciseLn2High), p.sub(f, p.sub(half, low)))
}

// binary splits a positive number into a significand in [½, 1) and an exponent of two.
func (p precise) binary(x vector) (v, e vector) {
	v, e = p.vector(), p.vector()
	if p.wide {
		Fraction(v, x, FromHalf)
		Exponent(e, x)
		Add(e, e, p.one())
		return v, e
	}
	tiny := Compare(LessThan, x, double(0x1p-1022))
	v = p.choose(tiny, p.mul(x, double(0x1p54)), x)
	e = p.shift(ShiftRight, 52, v)
	Or(e, e, double(0x1p52))
	Subtract(e, e, double(0x1p52+1022))
	e = p.choose(tiny, p.sub(e, double(54)), e)
	And(v, v, doublePattern(1<<52-1))
	Or(v, v, double(0.5))
	return v, e
}

func (p precise) log(x vector) vector {
	v, e := p.binary(x)
	step := p.vector()
	low := Compare(LessThan, v, double(math.Sqrt2/2))
	Keep(step, low, p.one())
	Subtract(e, e, step)
	Keep(step, low, v)
	Add(v, v, step)
	y := p.logNear(p.sub(v, p.one()), e)
	return p.logEnds(x, x, y)
}

// logEnds is y, except for arguments of a logarithm that are not positive finite numbers; if x is infinite or NaN it is
// x.
func (p precise) logEnds(x, of, y vector) vector {
	y = p.choose(Compare(NotLessEqual, of, double(math.MaxFloat64)), x, y)
	y = p.choose(Compare(LessThan, of, p.zero()), p.notANumber(), y)
	return p.choose(Compare(Equal, of, p.zero()), double(math.Inf(-1)), y)
}

// log1p splits 1 + x into 2ⁱ·(1 + z).
func (p precise) log1p(x vector) vector {
	sum := p.add(x, p.one())
	e := p.two(SubtractInt, sum, double(math.Sqrt2/2))
	e = p.two(And, e, doublePattern(0xfff<<52))
	s := p.two(SubtractInt, p.copy(double(4)), e) // 4·2⁻ⁱ
	z := p.fma(p.mul(x, s), double(0.25), p.add(p.mul(s, double(0.25)), double(-1)))
	i := p.shift(ShiftRight, 52, p.two(AddInt, e, doublePattern(1023<<52)))
	i = p.sub(p.two(Or, i, double(0x1p52)), double(0x1p52+1023))
	return p.small(0x1p-54, x, p.logEnds(x, sum, p.logNear(z, i)))
}

func (p precise) sinh(x vector) vector {
	a := p.abs(x)
	h := p.expScaled(a, -1)
	far := p.join(p.sub(h, p.div(double(0.25), h)), p.sign(x))
	s := p.mul(x, x)
	near := p.fma(p.mul(x, s), p.poly(s, 7.746178593018827e-13, 1.6057679623801638e-10, 2.5052117695907823e-08, 2.7557319191381816e-06,
		0.00019841269841324198, 0.008333333333333299, 0.16666666666666666), x)
	y := p.choose(Compare(GreaterThan, a, p.one()), far, near)
	return p.small(0x1p-27, x, p.choose(Compare(Unordered, x, x), x, y))
}

func (p precise) cosh(x vector) vector {
	h := p.expScaled(p.abs(x), -1)
	return p.add(h, p.div(double(0.25), h))
}

// tanh is h/d, where h is half of e²ᵃ − 1 and d = h + 1. Below ½ it is a + (h − a − a·h)/d, whose error is little more
// than that of the last addition.
func (p precise) tanh(x vector) vector {
	a := p.abs(x)
	most := p.copy(double(40)) // tanh of this is 1; NaN stays
	Min(most, most, p.add(a, a))
	n, more, r := p.reduced(most)
	t := p.shift(ShiftLeft, 52, p.add(n, double(counter+1022))) // 2ⁿ⁻¹
	h := p.fma(p.add(more, r), t, p.sub(t, double(0.5)))
	d := p.add(h, p.one())
	near, whole := Compare(LessThan, a, double(0.5)), p.vector()
	h = p.choose(near, p.fnma(a, h, p.sub(h, a)), h)
	Keep(whole, near, a)
	return p.join(p.add(p.div(h, d), whole), p.sign(x))
}

// sigmoid uses e^−|x|, which does not overflow.
func (p precise) sigmoid(x vector) vector {
	e := p.exp(p.negative(p.abs(x)))
	over := p.choose(Compare(LessThan, x, p.zero()), e, p.one())
	return p.div(over, p.add(e, p.one()))
}

// preciseHuge is where asinh and acosh become log(2x).
const preciseHuge = 0x1p400

func (p precise) asinh(x vector) vector {
	a := p.abs(x)
	s := p.mul(a, a)
	t := p.fma(s, p.div(p.one(), p.add(p.sqrt(p.add(s, p.one())), p.one())), a)
	return p.small(0x1p-27, x, p.join(p.logOfTwice(a, t), p.sign(x)))
}

func (p precise) acosh(x vector) vector {
	t := p.sub(x, p.one())
	y := p.logOfTwice(x, p.add(t, p.sqrt(p.fma(t, t, p.add(t, t)))))
	return p.choose(Compare(LessThan, x, p.one()), p.notANumber(), y)
}

// logOfTwice is log(1 + t), or log(2x) where x is huge.
func (p precise) logOfTwice(x, t vector) vector {
	big := Compare(GreaterThan, x, double(preciseHuge))
	y := p.log1p(p.choose(big, x, t))
	return p.choose(Compare(GreaterThan, x, double(preciseHuge)), p.add(y, double(math.Ln2)), y)
}

// atanh is ½·log(1 + 2a + 2a²/(1 − a)).
func (p precise) atanh(x vector) vector {
	a := p.abs(x)
	t := p.add(a, a)
	y := p.log1p(p.add(t, p.div(p.mul(t, a), p.sub(p.one(), a))))
	y = p.join(p.mul(y, double(0.5)), p.sign(x))
	y = p.choose(Compare(Equal, a, p.one()), p.join(p.copy(p.infinity()), p.sign(x)), y)
	return p.small(0x1p-27, x, p.choose(Compare(GreaterThan, a, p.one()), p.notANumber(), y))
}
