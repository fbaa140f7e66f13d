package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// power2 is p·2ⁿ, computed in two steps, for −252 ≤ n ≤ 254.
func (m machine) power2(p, n vector) vector {
	if m.wide {
		d := m.vector()
		Scale(d, p, m.float(n))
		return d
	}
	half := m.shift(ShiftRightSigned, 1, n)
	rest := m.two(SubtractInt, n, half)
	factor := func(e vector) vector { return m.shift(ShiftLeft, 23, m.two(AddInt, e, pattern(127))) }
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

// limit clamps x to a range, and keeps NaN.
func (m machine) limit(x vector, low, high float64) vector {
	a, b := m.copy(number(low)), m.copy(number(high))
	Max(a, a, x)
	Min(b, b, a)
	return b
}

// expScaled is eˣ·2ᵏ, for x up to about 90.
func (m machine) expScaled(x vector, k int32) vector {
	x = m.limit(x, -104, 90)
	n := m.whole(m.mul(x, number(log2e)))
	r := m.reduced(x, m.float(n))
	p := m.poly(r, 0.0001974839543, 0.001393302809, 0.008333561011, 0.04166648537, 0.1666666567, 0.5)
	p = m.add(m.fma(m.mul(r, r), p, r), one())
	if k != 0 {
		n = m.two(AddInt, n, pattern(uint32(k)))
	}
	return m.power2(p, n)
}

func (m machine) expm1(x vector) vector {
	v := m.limit(x, -30, 89)
	n := m.whole(m.mul(v, number(log2e)))
	r := m.reduced(v, m.float(n))
	p := m.poly(r, 0.0001974839543, 0.001393302809, 0.008333561011, 0.04166648537, 0.1666666567, 0.5)
	p = m.fma(m.mul(r, r), p, r)
	t := m.shift(ShiftLeft, 23, m.two(AddInt, n, pattern(126))) // 2ⁿ⁻¹
	p = m.fma(p, t, m.sub(t, number(0.5)))
	return m.small(0x1p-25, x, m.add(p, p))
}

// log1p splits 1 + x into 2ⁱ·(1 + z).
func (m machine) log1p(x vector) vector {
	e := m.bits(m.two(SubtractInt, m.add(x, one()), number(0.75)), 0xff800000)
	s := m.two(SubtractInt, m.copy(number(4)), e) // 4·2⁻ⁱ
	quarter := number(0.25)
	z := m.fma(m.mul(x, s), quarter, m.add(m.mul(s, quarter), number(-1)))
	i := m.float(m.shift(ShiftRightSigned, 23, e))
	p := m.poly(z, 0.03754573315, -0.09102509916, 0.1169867888, -0.1272983551, 0.1427677274, -0.1665519774, 0.1999957561, -0.2500016689,
		0.3333334029, -0.5)
	p = m.fma(m.mul(z, z), p, z)
	p = m.fma(i, number(0.693147182), p)
	p = m.choose(Compare(NotLessEqual, x, pattern(0x7f7fffff)), x, p)
	p = m.choose(Compare(LessThan, x, number(-1)), notANumber(), p)
	p = m.choose(Compare(Equal, x, number(-1)), pattern(0xff800000), p)
	return m.small(0x1p-25, x, p)
}

func (m machine) sinh(x vector) vector {
	a := m.abs(x)
	h := m.expScaled(a, -1)
	far := m.join(m.sub(h, m.div(number(0.25), h)), m.sign(x))
	s := m.mul(x, x)
	near := m.fma(m.mul(x, s), m.poly(s, 2.783782975e-06, 0.0001984264818, 0.008333311416, 0.1666666716), x)
	return m.choose(Compare(GreaterThan, a, one()), far, near)
}

func (m machine) cosh(x vector) vector {
	h := m.expScaled(m.abs(x), -1)
	return m.add(h, m.div(number(0.25), h))
}

// huge is where asinh and acosh become log(2x).
const huge = 0x1p60

func (m machine) asinh(x vector) vector {
	a := m.abs(x)
	s := m.mul(a, a)
	root := m.sqrt(m.add(s, one()))
	t := m.fma(s, m.div(one(), m.add(root, one())), a)
	big := Compare(GreaterThan, a, number(huge))
	y := m.log1p(m.choose(big, a, t))
	y = m.choose(big, m.add(y, number(0.693147182)), y)
	return m.join(y, m.sign(x))
}

func (m machine) acosh(x vector) vector {
	t := m.sub(x, one())
	big := Compare(GreaterThan, x, number(huge))
	u := m.add(t, m.sqrt(m.fma(t, t, m.add(t, t))))
	y := m.log1p(m.choose(big, x, u))
	y = m.choose(big, m.add(y, number(0.693147182)), y)
	return m.choose(Compare(LessThan, x, one()), notANumber(), y)
}

func (m machine) atanh(x vector) vector {
	a := m.abs(x)
	s := m.mul(x, x)
	near := m.fma(m.mul(x, s), m.poly(s, 0.1809056103, 0.02020996809, 0.1042990535, 0.1094226688, 0.1429701149, 0.1999963969, 0.3333333731), x)
	far := m.mul(m.log1p(m.div(m.add(a, a), m.sub(one(), a))), number(0.5))
	return m.choose(Compare(GreaterThan, a, number(0.5)), m.join(far, m.sign(x)), near)
}

// erfInv is x·P(log(1 − x²)), with one polynomial for |x| up to about 0.999 and another one beyond. Each is centered at
// a logarithm in the middle of its range, where P equals the float32 number k. The sum of x·k, its rounding error and
// x·(P − k) has only its last addition rounded at the magnitude of the result.
func (m machine) erfInv(x vector) vector {
	t := m.log(vectors{m.fnma(x, x, m.copy(one()))})[0]
	s := m.add(t, number(11))
	tail := m.mul(s, m.poly(s, 2.4916379723349813e-11, 3.280450910914112e-10, 1.1156510160148514e-09, -8.559376318828527e-09, -3.020693952748843e-07,
		-6.827041488577379e-06, -0.0001410017575835809, -0.003340285737067461, -0.15164928138256073))
	s = m.add(t, number(1.69921875))
	rest := m.mul(s, m.poly(s, 6.362200766218962e-10, 1.3721813019174078e-08, 9.369215803189945e-08, -1.4079067511829635e-07, -5.341485575627303e-06,
		-1.6784315448603593e-05, 0.00019770233484450728, 0.0019422788172960281, -0.00032673802343197167, -0.2504696249961853))
	tail = m.choose(Compare(Equal, t, pattern(0xff800000)), pattern(0x7f800000), tail)
	far := Compare(LessThan, t, number(-6.125))
	rest = m.choose(far, tail, rest)
	k := m.choose(far, number(3.150883674621582), number(1.3019593954086304))
	high := m.mul(x, k)
	sum := m.add(high, m.fma(x, rest, m.fms(x, k, high)))
	return m.join(sum, m.sign(x)) // also for zeros
}

func (m machine) signOf(x vector) vector {
	zero := m.zeros(1)[0]
	y := m.choose(Compare(GreaterThan, x, zero), one(), m.mul(x, one()))
	return m.choose(Compare(LessThan, x, zero), number(-1), y)
}

// pow is e to the power y·ln|x|, with ln|x| in two parts.
func (m machine) pow(x, y vector) vector {
	a := m.abs(x)
	e := m.bits(m.two(SubtractInt, a, number(0.707106769)), 0xff800000)
	v := m.sub(m.two(SubtractInt, a, e), one()) // significand − 1
	i := m.float(m.shift(ShiftRightSigned, 23, e))
	r := m.div(one(), m.add(v, number(2)))
	twice := m.add(v, v)
	high := m.mul(twice, r)
	low := m.mul(r, m.fnma(high, v, m.fnma(high, number(2), twice)))
	s := m.mul(high, high)
	// ln(1 + v) is high + c·high³ + P(high²)·high³, with c = 1/12 rounded.
	p := m.poly(s, 0.000473584485, 0.002226578305, 0.01250029914, -7.45e-9)
	cube := m.mul(s, high)
	// The rounding errors of the square and the cube.
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
	logHigh = m.choose(Compare(Equal, a, zero), pattern(0xff800000), logHigh)
	logHigh = m.choose(Compare(Equal, a, pattern(0x7f800000)), pattern(0x7f800000), logHigh)

	product := m.mul(logHigh, y)
	productLow := m.fma(logLow, y, m.fms(logHigh, y, product))
	near := Compare(LessThan, m.abs(product), number(150))
	kept := m.vector()
	Keep(kept, near, productLow)
	power := m.expScaled(product, 0)
	result := m.fma(power, kept, power)
	result = m.choose(Compare(Equal, power, pattern(0x7f800000)), power, result)

	// Negative bases: odd powers are negative, and powers that are not integers are NaN.
	rounded, half := m.round(Nearest, y), m.mul(y, number(0.5))
	whole := Compare(Equal, rounded, y)
	noHalf := Compare(NotEqual, m.round(Nearest, half), half)
	sign := m.vector()
	Keep(sign, noHalf, m.sign(x))
	signed := m.join(result, sign)
	alone := m.choose(Compare(LessThan, x, zero), notANumber(), result)
	alone = m.choose(Compare(Equal, a, pattern(0x7f800000)), result, alone)
	result = m.choose(whole, signed, alone)
	result = m.choose(Compare(Unordered, x, y), notANumber(), result)
	result = m.choose(Compare(Equal, y, zero), one(), result)
	result = m.choose(Compare(Equal, x, one()), one(), result)
	// (−1) to the power of an infinity is 1 too.
	limitless := Compare(Equal, m.abs(y), pattern(0x7f800000))
	unit := m.choose(limitless, a, zero)
	return m.choose(Compare(Equal, unit, one()), one(), result)
}

// rem is C's fmod, for quotients up to 2²².
func (m machine) rem(x, y vector) vector {
	a, b := m.abs(x), m.abs(y)
	q := m.round(TowardZero, m.div(a, b))
	r := m.fnma(q, b, a)
	r = m.choose(Compare(LessThan, r, m.zeros(1)[0]), m.add(r, b), r)
	r = m.choose(Compare(LessThan, a, b), a, r)
	return m.join(r, m.sign(x))
}

// single applies a function of one vector to each of several.
func (m machine) single(f func(x vector) vector) func(x vectors) vectors {
	return func(x vectors) vectors {
		y := make(vectors, len(x))
		x.each(func(i int) { y[i] = f(x[i]) })
		return y
	}
}

// guards emits the functions that check whether operands are within the range of the kernels above: the largest |x|,
// and the largest |a/b|, ignoring NaN.
func (m machine) guards() {
	finish := func(largest vectors) {
		Max(largest[0], largest[0], largest[1])
		Return(m.fold(largest[0], Max))
		End()
	}
	m.begin("", "largestAbs", "x *float32, n uintptr", "float32")
	x, n := param("x"), param("n")
	largest := m.zeros(2)
	m.loop(2, n, []Scalar{x}, func(offsets []int) {
		for i, o := range offsets {
			v := m.abs(m.copy(Memory{Base: x, Offset: o}))
			Max(largest[i], v, largest[i])
		}
	})
	finish(largest)

	m.begin("", "largestQuotient", "a, b *float32, n uintptr", "float32")
	a, b, n := param("a"), param("b"), param("n")
	largest = m.zeros(2)
	m.loop(2, n, []Scalar{a, b}, func(offsets []int) {
		for i, o := range offsets {
			v := m.abs(m.div(m.copy(Memory{Base: a, Offset: o}), Memory{Base: b, Offset: o}))
			Max(largest[i], v, largest[i])
		}
	})
	finish(largest)
}
