package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Expressions on single vectors: every function returns a new one and leaves its operands alone.

type vector = reg.VecVirtual

// number returns the place of v, repeated over a vector.
func number(v float64) Mem { return pattern(float(v)) }

func pattern(bits uint32) Mem { return constant(fmt.Sprintf("c%08x", bits), bits) }

func (m machine) copy(x Op) vector {
	d := m.vector()
	VMOVUPS(x, d)
	return d
}

func (m machine) add(a, b Op) vector { return m.two(VADDPS, a, b) }
func (m machine) sub(a, b Op) vector { return m.two(VSUBPS, a, b) }
func (m machine) mul(a, b Op) vector { return m.two(VMULPS, a, b) }
func (m machine) div(a, b Op) vector { return m.two(VDIVPS, a, b) }

// two computes f(a, b), of which b may be in memory; if a is, it is loaded first.
func (m machine) two(f func(...Op), a, b Op) vector {
	if _, ok := a.(Mem); ok {
		a = m.copy(a)
	}
	d := m.vector()
	f(b, a, d)
	return d
}

// fma is a·b + c, fnma c − a·b, fms a·b − c; c may be in memory, or b instead of it in the first two.
func (m machine) fma(a vector, b, c Op) vector  { return m.fused(VFMADD213PS, VFMADD231PS, a, b, c) }
func (m machine) fnma(a vector, b, c Op) vector { return m.fused(VFNMADD213PS, VFNMADD231PS, a, b, c) }

func (m machine) fms(a, b vector, c Op) vector {
	d := m.copy(a)
	VFMSUB213PS(c, b, d)
	return d
}

func (m machine) fused(onFactor, onSum func(...Op), a vector, b, c Op) vector {
	if _, ok := b.(Mem); ok {
		d := m.copy(c)
		onSum(b, a, d)
		return d
	}
	d := m.copy(a)
	onFactor(c, b, d)
	return d
}

// poly is Horner's rule, highest coefficient first.
func (m machine) poly(x vector, coefficients ...float64) vector {
	p := m.copy(number(coefficients[0]))
	for _, c := range coefficients[1:] {
		if m.wide {
			VFMADD213PS_BCST(number(c), x, p)
		} else {
			VFMADD213PS(number(c), x, p)
		}
	}
	return p
}

func (m machine) abs(x vector) vector      { return m.two(VANDPS, x, magnitude()) }
func (m machine) sign(x vector) vector     { return m.two(VANDPS, x, signBit()) }
func (m machine) join(a, b vector) vector  { return m.two(VORPS, a, b) }
func (m machine) flip(x, by vector) vector { return m.two(VXORPS, x, by) }
func (m machine) sqrt(x vector) vector {
	d := m.vector()
	VSQRTPS(x, d)
	return d
}

func (m machine) whole(x vector) vector { // the nearest integer, as one
	d := m.vector()
	VCVTPS2DQ(x, d)
	return d
}

func (m machine) float(x vector) vector {
	d := m.vector()
	VCVTDQ2PS(x, d)
	return d
}

func (m machine) bits(x vector, mask uint32) vector {
	if m.wide {
		return m.two(VPANDD, x, pattern(mask))
	}
	return m.two(func(o ...Op) { VPAND(o[0], o[1], o[2]) }, x, pattern(mask))
}

func (m machine) shift(f func(...Op), n uint64, x vector) vector {
	d := m.vector()
	f(U8(n), x, d)
	return d
}

// How to round.
const (
	nearest    = 0
	downwards  = 1
	upwards    = 2
	towardZero = 3
)

func (m machine) round(how uint64, x vector) vector {
	d := m.vector()
	if m.wide {
		VRNDSCALEPS(U8(how|8), x, d)
	} else {
		VROUNDPS(U8(how|8), x, d)
	}
	return d
}

// choose is yes where the mask is set, else no.
func (m machine) choose(k mask, yes, no Op) vector {
	d := m.copy(no)
	m.blend(k, yes, d)
	return d
}

// odd tells where the lowest bit of integers is set.
func (m machine) odd(x vector) mask {
	if m.wide {
		k := K()
		VPTESTMD(pattern(1), x, k)
		return mask{bits: k}
	}
	return mask{lanes: m.shift(VPSRAD, 31, m.shift(VPSLLD, 31, x))}
}

// small returns x where its magnitude is below a bound, else y: this keeps zeros' signs. The product makes zeros of denormals where they are flushed.
func (m machine) small(bound float64, x, y vector) vector {
	return m.choose(m.compare(lessThan, m.abs(x), number(bound)), m.mul(x, one()), y)
}

// power2 is p·2ⁿ in two steps, for −252 ≤ n ≤ 254.
func (m machine) power2(p, n vector) vector {
	if m.wide {
		d := m.vector()
		VSCALEFPS(m.float(n), p, d)
		return d
	}
	half := m.shift(VPSRAD, 1, n)
	rest := m.two(VPSUBD, n, half)
	factor := func(e vector) vector { return m.shift(VPSLLD, 23, m.two(VPADDD, e, pattern(127))) }
	return m.mul(m.mul(p, factor(half)), factor(rest))
}

// reduced is x − n·ln 2.
func (m machine) reduced(x, n vector) vector {
	return m.fnma(n, number(ln2Low), m.fnma(n, number(ln2High), x))
}

const (
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
	log2e   = 1.44269504088896341
)

// limit keeps x within two bounds; NaN stays.
func (m machine) limit(x vector, low, high float64) vector {
	a, b := m.copy(number(low)), m.copy(number(high))
	VMAXPS(x, a, a)
	VMINPS(a, b, b)
	return b
}

// expScaled is eˣ·2ᵏ, for x up to 90 or so.
func (m machine) expScaled(x vector, k int32) vector {
	x = m.limit(x, -104, 90)
	n := m.whole(m.mul(x, number(log2e)))
	r := m.reduced(x, m.float(n))
	p := m.poly(r, 0.0001974839543, 0.001393302809, 0.008333561011, 0.04166648537, 0.1666666567, 0.5)
	p = m.add(m.fma(m.mul(r, r), p, r), one())
	if k != 0 {
		n = m.two(VPADDD, n, pattern(uint32(k)))
	}
	return m.power2(p, n)
}

func (m machine) expm1(x vector) vector {
	v := m.limit(x, -30, 89)
	n := m.whole(m.mul(v, number(log2e)))
	r := m.reduced(v, m.float(n))
	p := m.poly(r, 0.0001974839543, 0.001393302809, 0.008333561011, 0.04166648537, 0.1666666567, 0.5)
	p = m.fma(m.mul(r, r), p, r)
	t := m.shift(VPSLLD, 23, m.two(VPADDD, n, pattern(126))) // 2ⁿ⁻¹
	p = m.fma(p, t, m.sub(t, number(0.5)))
	return m.small(0x1p-25, x, m.add(p, p))
}

// log1p splits 1 + x into 2ⁱ·(1 + z).
func (m machine) log1p(x vector) vector {
	e := m.bits(m.two(VPSUBD, m.add(x, one()), number(0.75)), 0xff800000)
	s := m.two(VPSUBD, m.copy(number(4)), e) // 4·2⁻ⁱ
	quarter := number(0.25)
	z := m.fma(m.mul(x, s), quarter, m.add(m.mul(s, quarter), number(-1)))
	i := m.float(m.shift(VPSRAD, 23, e))
	p := m.poly(z, 0.03754573315, -0.09102509916, 0.1169867888, -0.1272983551, 0.1427677274, -0.1665519774, 0.1999957561, -0.2500016689,
		0.3333334029, -0.5)
	p = m.fma(m.mul(z, z), p, z)
	p = m.fma(i, number(0.693147182), p)
	p = m.choose(m.compare(notLessEq, x, pattern(0x7f7fffff)), x, p)
	p = m.choose(m.compare(lessThan, x, number(-1)), notANumber(), p)
	p = m.choose(m.compare(equal, x, number(-1)), pattern(0xff800000), p)
	return m.small(0x1p-25, x, p)
}

// quadrant reduces x, up to 105615 in magnitude, to x − n·π/2.
func (m machine) quadrant(x vector) (r, n vector) {
	n = m.whole(m.mul(x, number(0.636619747)))
	f := m.float(n)
	r = m.fnma(f, number(1.57079601), x)
	r = m.fnma(f, number(3.13916473e-07), r)
	return m.fnma(f, number(5.39030253e-15), r), n
}

func (m machine) sineOf(r, s vector) vector {
	return m.fma(m.mul(r, s), m.poly(s, 2.828831157e-06, -0.0001985268464, 0.008333378471, -0.1666666716), r)
}

// circular is the sine of x + n·π/2.
func (m machine) circular(x vector, n uint32) vector {
	r, q := m.quadrant(x)
	if n != 0 {
		q = m.two(VPADDD, q, pattern(n))
	}
	s := m.mul(r, r)
	cosine := m.poly(s, 2.443256381e-05, -0.001388731063, 0.04166664556, -0.5, 1)
	y := m.choose(m.odd(q), cosine, m.sineOf(r, s))
	return m.flip(y, m.shift(VPSLLD, 30, m.bits(q, 2)))
}

func (m machine) sin(x vector) vector { return m.small(0x1p-12, x, m.circular(x, 0)) }
func (m machine) cos(x vector) vector { return m.circular(x, 1) }

func (m machine) tan(x vector) vector {
	r, q := m.quadrant(x)
	s := m.mul(r, r)
	p := m.poly(s, 0.004370169714, 0.0001032938089, 0.01082358044, 0.02128761075, 0.05405867472, 0.1333267689, 0.3333334923)
	t := m.fma(m.mul(r, s), p, r)
	lost := m.fma(m.mul(r, s), p, m.sub(r, t))
	y := m.div(number(-1), t)
	y = m.fma(y, m.fma(y, lost, m.fma(y, t, m.copy(one()))), y) // −1/(t + lost)
	return m.small(0x1p-13, x, m.choose(m.odd(q), y, t))
}

const (
	piHigh  = 3.14159274
	piLow   = -8.74227766e-08
	arcEdge = 0.5625
)

// arc is asin of |x| up to arcEdge, and beyond of √((1 − |x|)/2): asin|x| is then π/2 − twice that.
func (m machine) arc(x vector) (p vector, big mask) {
	a := m.abs(x)
	half := number(0.5)
	z := m.mul(a, a)
	far := m.fnma(a, half, m.copy(half))
	big = m.compare(greaterThan, a, number(arcEdge))
	z = m.choose(big, far, z)
	s := m.choose(big, m.sqrt(far), a)
	p = m.poly(z, 0.04569732398, -0.002613686025, 0.02822450548, 0.02947778627, 0.04471595213, 0.07499723881, 0.1666667014)
	return m.fma(m.mul(s, z), p, s), big
}

func (m machine) asin(x vector) vector {
	p, big := m.arc(x)
	far := m.add(m.fnma(p, number(2), m.copy(number(piLow/2))), number(piHigh/2))
	y := m.join(m.choose(big, far, p), m.sign(x))
	return m.small(0x1p-12, x, y)
}

func (m machine) acos(x vector) vector {
	p, big := m.arc(x)
	negative := m.compare(lessThan, x, m.zeros(1)[0])
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
	inverse := m.compare(greaterThan, a, one())
	p := m.arcTangent(m.choose(inverse, m.div(one(), a), a))
	p = m.choose(inverse, m.from(piHigh/2, piLow/2, p), p)
	return m.small(0x1p-12, x, m.join(p, m.sign(x)))
}

func (m machine) atan2(y, x vector) vector {
	a, b := m.abs(x), m.abs(y)
	swap := m.compare(greaterThan, b, a)
	most, least := m.choose(swap, b, a), m.choose(swap, a, b)
	z := m.div(least, most)
	z = m.choose(m.compare(equal, most, m.zeros(1)[0]), m.zeros(1)[0], z)
	z = m.choose(m.compare(equal, least, pattern(0x7f800000)), one(), z)
	p := m.arcTangent(z)
	p = m.choose(swap, m.from(piHigh/2, piLow/2, p), p)
	p = m.choose(m.compare(unordered, x, y), notANumber(), p)
	left := m.flip(m.from(piHigh, piLow, p), m.sign(y))
	p = m.flip(p, m.sign(y))
	if m.wide {
		k := K()
		VPMOVD2M(x, k)
		return m.choose(mask{bits: k}, left, p)
	}
	return m.choose(mask{lanes: m.shift(VPSRAD, 31, x)}, left, p)
}

func (m machine) sinh(x vector) vector {
	a := m.abs(x)
	h := m.expScaled(a, -1)
	far := m.join(m.sub(h, m.div(number(0.25), h)), m.sign(x))
	s := m.mul(x, x)
	near := m.fma(m.mul(x, s), m.poly(s, 2.783782975e-06, 0.0001984264818, 0.008333311416, 0.1666666716), x)
	y := m.choose(m.compare(greaterThan, a, one()), far, near)
	return m.small(0x1p-12, x, m.choose(m.compare(unordered, x, x), x, y))
}

func (m machine) cosh(x vector) vector {
	h := m.expScaled(m.abs(x), -1)
	return m.add(h, m.div(number(0.25), h))
}

// huge is where the logarithms in asinh and acosh are those of 2x.
const huge = 0x1p60

func (m machine) asinh(x vector) vector {
	a := m.abs(x)
	s := m.mul(a, a)
	root := m.sqrt(m.add(s, one()))
	t := m.fma(s, m.div(one(), m.add(root, one())), a)
	big := m.compare(greaterThan, a, number(huge))
	y := m.log1p(m.choose(big, a, t))
	y = m.choose(big, m.add(y, number(0.693147182)), y)
	return m.small(0x1p-12, x, m.join(y, m.sign(x)))
}

func (m machine) acosh(x vector) vector {
	t := m.sub(x, one())
	big := m.compare(greaterThan, x, number(huge))
	u := m.add(t, m.sqrt(m.fma(t, t, m.add(t, t))))
	y := m.log1p(m.choose(big, x, u))
	y = m.choose(big, m.add(y, number(0.693147182)), y)
	return m.choose(m.compare(lessThan, x, one()), notANumber(), y)
}

func (m machine) atanh(x vector) vector {
	a := m.abs(x)
	s := m.mul(x, x)
	near := m.fma(m.mul(x, s), m.poly(s, 0.1809056103, 0.02020996809, 0.1042990535, 0.1094226688, 0.1429701149, 0.1999963969, 0.3333333731), x)
	far := m.mul(m.log1p(m.div(m.add(a, a), m.sub(one(), a))), number(0.5))
	y := m.choose(m.compare(greaterThan, a, number(0.5)), m.join(far, m.sign(x)), near)
	return m.small(0x1p-12, x, y)
}

// erfInv is x·P(log(1 − x²)), as N. Juffa computes it, with polynomials of one degree more.
func (m machine) erfInv(x vector) vector {
	t := m.log(vectors{m.fnma(x, x, m.copy(one()))})[0]
	tail := m.poly(t, 2.378976009e-11, 2.677206234e-09, 1.331467274e-07, 3.833483333e-06, 7.004239887e-05, 0.0008293305873, 0.006021691486,
		0.01785720512, -0.2321139723, 0.8755642772)
	middle := m.poly(t, 8.379361649e-10, 3.058864806e-08, 4.631257013e-07, 3.471655191e-06, 9.585563021e-06, -3.153281432e-05, -0.000108987304,
		0.002349388786, 0.01155492291, -0.2320127934, 0.8862269521)
	tail = m.choose(m.compare(equal, t, pattern(0xff800000)), pattern(0x7f800000), tail)
	p := m.choose(m.compare(lessThan, t, number(-6.125)), tail, middle)
	return m.mul(x, p)
}

func (m machine) signOf(x vector) vector {
	zero := m.zeros(1)[0]
	y := m.choose(m.compare(greaterThan, x, zero), one(), m.mul(x, one()))
	return m.choose(m.compare(lessThan, x, zero), number(-1), y)
}

// pow is e to the power y·ln|x|, with ln|x| in two parts.
func (m machine) pow(x, y vector) vector {
	a := m.abs(x)
	e := m.bits(m.two(VPSUBD, a, number(0.707106769)), 0xff800000)
	v := m.sub(m.two(VPSUBD, a, e), one()) // significand − 1
	i := m.float(m.shift(VPSRAD, 23, e))
	r := m.div(one(), m.add(v, number(2)))
	twice := m.add(v, v)
	high := m.mul(twice, r)
	low := m.mul(r, m.fnma(high, v, m.fnma(high, number(2), twice)))
	s := m.mul(high, high)
	// ln(1 + v) is high + c·high³ + P(high²)·high³, with c = 1/12 rounded.
	p := m.poly(s, 0.000473584485, 0.002226578305, 0.01250029914, -7.45e-9)
	cube := m.mul(s, high)
	// The errors of the square and the cube.
	squareLow := m.fma(m.add(low, low), high, m.fms(high, high, s))
	cubeLow := m.fma(s, low, m.fma(squareLow, high, m.fms(s, high, cube)))
	twelfth := number(0.0833333358)
	third := m.mul(cube, twelfth)
	thirdLow := m.fma(cubeLow, twelfth, m.fms(cube, m.copy(twelfth), third))
	sum := m.add(high, third)
	low = m.add(m.fma(p, cube, m.add(thirdLow, low)), m.add(m.sub(high, sum), third))
	high = sum
	t := m.fma(i, number(ln2High), high)
	lost := m.sub(high, m.fnma(i, number(ln2High), t))
	low = m.fma(i, number(ln2Low), m.add(lost, low))
	logHigh := m.add(t, low)
	logLow := m.add(m.sub(t, logHigh), low)
	zero := m.zeros(1)[0]
	logHigh = m.choose(m.compare(equal, a, zero), pattern(0xff800000), logHigh)
	logHigh = m.choose(m.compare(equal, a, pattern(0x7f800000)), pattern(0x7f800000), logHigh)

	product := m.mul(logHigh, y)
	productLow := m.fma(logLow, y, m.fms(logHigh, y, product))
	near := m.compare(lessThan, m.abs(product), number(150))
	kept := m.vector()
	m.keep(near, productLow, kept)
	power := m.expScaled(product, 0)
	result := m.fma(power, kept, power)
	result = m.choose(m.compare(equal, power, pattern(0x7f800000)), power, result)

	// Negative bases: odd powers are negative, others than whole ones do not exist.
	rounded, half := m.round(nearest, y), m.mul(y, number(0.5))
	whole := m.compare(equal, rounded, y)
	noHalf := m.compare(notEqual, m.round(nearest, half), half)
	sign := m.vector()
	m.keep(noHalf, m.sign(x), sign)
	signed := m.join(result, sign)
	alone := m.choose(m.compare(lessThan, x, zero), notANumber(), result)
	alone = m.choose(m.compare(equal, a, pattern(0x7f800000)), result, alone)
	result = m.choose(whole, signed, alone)
	result = m.choose(m.compare(unordered, x, y), notANumber(), result)
	result = m.choose(m.compare(equal, y, zero), one(), result)
	result = m.choose(m.compare(equal, x, one()), one(), result)
	// (−1) to the power of an infinity is 1, too.
	limitless := m.compare(equal, m.abs(y), pattern(0x7f800000))
	unit := m.choose(limitless, a, zero)
	return m.choose(m.compare(equal, unit, one()), one(), result)
}

// rem is C's fmod, where the quotient is at most 2²².
func (m machine) rem(x, y vector) vector {
	a, b := m.abs(x), m.abs(y)
	q := m.round(towardZero, m.div(a, b))
	r := m.fnma(q, b, a)
	r = m.choose(m.compare(lessThan, r, m.zeros(1)[0]), m.add(r, b), r)
	r = m.choose(m.compare(lessThan, a, b), a, r)
	return m.join(r, m.sign(x))
}

// single makes a function of one vector one of several.
func (m machine) single(f func(x vector) vector) func(x vectors) vectors {
	return func(x vectors) vectors {
		y := make(vectors, len(x))
		x.each(func(i int) { y[i] = f(x[i]) })
		return y
	}
}

// guards emits the functions that tell whether operands are within the range of the kernels above: the largest |x|, and the largest |a/b|, NaN
// passed over.
func (m machine) guards() {
	finish := func(largest vectors) {
		VMAXPS(largest[1], largest[0], largest[0])
		Store(m.fold(largest[0], func(a, b, dst reg.VecVirtual) { VMAXPS(a, b, dst) }), ReturnIndex(0))
		end()
	}
	m.begin("", "largestAbs", "x *float32, n uintptr", "float32")
	x, n := param("x"), param("n")
	largest := m.zeros(2)
	m.loop(2, n, []reg.GPVirtual{x}, func(offsets []int) {
		for i, o := range offsets {
			v := m.abs(m.copy(Mem{Base: x, Disp: o}))
			VMAXPS(largest[i], v, largest[i])
		}
	})
	finish(largest)

	m.begin("", "largestQuotient", "a, b *float32, n uintptr", "float32")
	a, b, n := param("a"), param("b"), param("n")
	largest = m.zeros(2)
	m.loop(2, n, []reg.GPVirtual{a, b}, func(offsets []int) {
		for i, o := range offsets {
			v := m.abs(m.div(m.copy(Mem{Base: a, Disp: o}), Mem{Base: b, Disp: o}))
			VMAXPS(largest[i], v, largest[i])
		}
	})
	finish(largest)
}
