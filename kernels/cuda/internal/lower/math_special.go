package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// Coefficients, fitted with 60 digits: erf(x)/x in powers of x² for |x| ≤ 1, and log(erfc(x)·exp(x²)/t) with t =
// 2/(2+x) in Chebyshev polynomials of 2t-1.
var (
	erfSeries = []float64{
		1.1283791670955126, -0.37612638903183754, 0.11283791670955126, -0.026866170645131252, 0.005223977625442175, -0.0008548327023449497,
		0.00012055332981694495, -1.4925650353787866e-05, 1.6462114205798046e-06, -1.6365840648222765e-07, 1.4807117719731329e-08,
		-1.2289529419960295e-09, 9.412558594992829e-11, -6.639294901316118e-12, 4.117309460970657e-13, -1.746609279318069e-14,
	}
	erfcSeries = []float64{
		-0.6513268598908547, 0.6419697923564902, 0.019476473204185836, -0.009561514786808632, -0.0009465953444820369, 0.00036683949785276145,
		4.252332480690777e-05, -2.0278578112534242e-05, -1.6242900046470256e-06, 1.3036558355805232e-06, 1.5626441722066142e-08,
		-8.523809591492654e-08, 6.5290544390988515e-09, 5.0593434955514685e-09, -9.913641564930322e-10, -2.2736522229318417e-10,
		9.646791102014962e-11, 2.394038083065756e-12, -6.886027526536277e-12, 8.944879271730368e-13, 3.130921408127142e-13,
		-1.1270822525221733e-13, 3.8108713588528985e-16, 7.106125536922576e-15, -1.5230878975373303e-15, -9.464871412184462e-17,
		1.218683266906788e-16, -3.0494735135424696e-17,
	}
)

// erfcTail is erfc of an absolute value.
func (m *calc) erfcTail(a ptx.Operand) ptx.Operand {
	t := m.div(m.num(2), m.add(m.num(2), a))
	u := m.fma(t, m.num(2), m.num(-1))
	two := m.mul(u, m.num(2))
	series := erfcSeries
	if !m.many {
		series = series[:14]
	}
	b, c := m.num(0), m.num(0) // Clenshaw's recurrence
	for i := len(series) - 1; i > 0; i-- {
		b, c = m.fma(two, b, m.sub(m.num(series[i]), c)), b
	}
	p := m.fma(u, b, m.sub(m.num(series[0]), c))
	// exp(-a²), including the rounding error of the square.
	square := m.mul(a, a)
	lost := m.fma(a, a, m.neg(square))
	lost = m.pick(m.is("lt", square, m.num(1e30)), lost, m.num(0))
	return m.mul(t, m.exp(m.add(m.sub(p, lost), m.neg(square))))
}

func (m *calc) erfc(x ptx.Operand) ptx.Operand {
	tail := m.erfcTail(m.abs(x))
	return m.pick(m.is("lt", x, m.num(0)), m.sub(m.num(2), tail), tail)
}

func (m *calc) erf(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	series := erfSeries
	if !m.many {
		series = series[:11]
	}
	near := m.mul(x, m.poly(m.mul(x, x), series...))
	far := m.sign(x, m.sub(m.num(1), m.erfcTail(a)))
	return m.pick(m.is("le", a, m.num(1)), near, far)
}

// normal is the cumulative distribution function of the normal distribution.
func (m *calc) normal(x ptx.Operand) ptx.Operand {
	return m.mul(m.num(0.5), m.erfc(m.mul(x, m.num(-1/math.Sqrt2))))
}

func (m *calc) gelu(x ptx.Operand) ptx.Operand {
	y := m.mul(x, m.normal(x))
	return m.pick(m.is("eq", x, m.num(math.Inf(-1))), m.num(math.NaN()), y)
}

func (m *calc) geluGrad(x, dy ptx.Operand) ptx.Operand {
	density := m.mul(m.exp(m.mul(m.mul(x, x), m.num(-0.5))), m.num(1/math.Sqrt(2*math.Pi)))
	return m.mul(dy, m.fma(x, density, m.normal(x)))
}

// erfInv refines Giles's approximation (GPU Computing Gems 2011, "Approximating the erfinv function") with Halley's
// steps.
func (m *calc) erfInv(x ptx.Operand) ptx.Operand {
	one := m.num(1)
	w := m.neg(m.log(m.mul(m.sub(one, x), m.add(one, x))))
	near := m.sub(w, m.num(2.5))
	p := m.poly(near, 1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08)
	far := m.sub(m.sqrt(m.atLeast(w, 0)), m.num(3))
	q := m.poly(far, 2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257)
	y := m.mul(x, m.pick(m.is("lt", w, m.num(5)), p, q))
	for range 2 {
		slope := m.mul(m.exp(m.neg(m.mul(y, y))), m.num(2/math.Sqrt(math.Pi)))
		step := m.div(m.sub(m.erf(y), x), slope)
		y = m.sub(y, m.div(step, m.fma(y, step, one)))
	}
	a := m.abs(x)
	y = m.pick(m.is("eq", a, one), m.sign(x, m.num(math.Inf(1))), y)
	y = m.pick(m.is("eq", x, m.num(0)), x, y)
	return m.pick(m.g.either(m.nan(x), m.is("gt", a, one)), m.num(math.NaN()), y)
}

// lgamma is Stirling's series, after eight steps of the recurrence for small arguments; negative arguments are
// reflected.
func (m *calc) lgamma(x ptx.Operand) ptx.Operand {
	one := m.num(1)
	low := m.is("lt", x, m.num(0.5))
	a := m.pick(low, m.sub(one, x), x)
	small := m.is("lt", a, m.num(9))
	product := one
	b := m.pick(small, a, one)
	for i := range 8 {
		product = m.mul(product, m.add(b, m.num(float64(i))))
	}
	z := m.pick(small, m.add(a, m.num(8)), a)
	inverse := m.div(one, z)
	series := m.poly(m.mul(inverse, inverse), 1./12, -1./360, 1./1260, -1./1680, 1./1188, -691./360360, 1./156, -3617./122400)
	y := m.fma(m.sub(z, m.num(0.5)), m.log(z), m.neg(z))
	y = m.add(y, m.fma(inverse, series, m.num(0.9189385332046728)))
	y = m.pick(small, m.sub(y, m.log(product)), y)
	y = m.pick(m.is("eq", a, m.num(math.Inf(1))), a, y)
	fraction := m.sub(x, m.op("cvt.rni."+m.s, x))
	sine := m.abs(m.wave(m.mul(fraction, m.num(math.Pi)), 0))
	reflected := m.sub(m.log(m.div(m.num(math.Pi), sine)), y)
	y = m.pick(low, reflected, y)
	y = m.pick(m.is("eq", m.abs(x), m.num(math.Inf(1))), m.num(math.Inf(1)), y)
	return m.pick(m.nan(x), x, y)
}

// pow is exp(y·log|x|), with a logarithm of twice the precision.
func (m *calc) pow(x, y ptx.Operand) ptx.Operand {
	inf, zero, one, nan := m.num(math.Inf(1)), m.num(0), m.num(1), m.num(math.NaN())
	a := m.abs(x)
	e, f := m.logParts(a)
	d := m.add(f, m.num(2))
	lostInSum := m.sub(f, m.sub(d, m.num(2)))
	s := m.div(f, d)
	rest := m.fma(m.neg(s), d, f)
	rest = m.div(m.fma(m.neg(s), lostInSum, rest), d)
	z := m.mul(s, s)
	series := m.poly(z, m.terms(6, 12, func(i int) float64 { return 2 / float64(2*i+3) })...)
	low := m.fma(m.mul(s, z), series, m.mul(m.num(2), rest))
	high := m.mul(m.num(2), s)
	upper, lower := m.ln2()
	whole := m.mul(e, m.num(upper))
	sum := m.add(whole, high)
	t := m.sub(sum, whole)
	low = m.add(low, m.add(m.sub(whole, m.sub(sum, t)), m.sub(high, t)))
	low = m.fma(e, m.num(lower), low)
	joined := m.add(sum, low)
	low = m.sub(low, m.sub(joined, sum))
	sum = joined
	sum = m.pick(m.is("eq", a, zero), m.num(math.Inf(-1)), sum)
	sum = m.pick(m.is("eq", a, inf), inf, sum)
	p := m.mul(y, sum)
	lost := m.fma(y, low, m.fma(y, sum, m.neg(p)))
	lost = m.pick(m.is("lt", m.abs(p), m.num(1e4)), lost, zero)
	lost = m.pick(m.is("lt", m.abs(lost), one), lost, zero)
	r := m.exp(p)
	r = m.pick(m.g.either(m.is("eq", r, inf), m.is("eq", r, zero)), r, m.fma(r, lost, r))
	r = m.pick(m.is("eq", a, one), one, r)
	integer := m.is("eq", m.op("cvt.rzi."+m.s, y), y)
	halved := m.mul(y, m.num(0.5))
	odd := m.g.both(integer, m.is("neu", m.op("cvt.rzi."+m.s, halved), halved))
	negative := m.is("lt", m.sign(x, one), zero)
	r = m.pick(m.g.both(negative, odd), m.neg(r), r)
	finite := m.g.both(m.is("lt", a, inf), m.is("gt", a, zero))
	r = m.pick(m.g.both(m.g.both(negative, finite), m.g.not(integer)), nan, r)
	r = m.pick(m.g.either(m.nan(x), m.nan(y)), nan, r)
	return m.pick(m.g.either(m.is("eq", x, one), m.is("eq", y, zero)), one, r)
}

// rem subtracts multiples of |y|·2^n from |x|, with quotients small enough to be exact.
func (m *calc) rem(x, y ptx.Operand) ptx.Operand {
	g, k := m.g, m.f
	inf, zero := m.num(math.Inf(1)), m.num(0)
	a, b := m.abs(x), m.abs(y)
	bad := g.either(g.either(m.nan(x), m.nan(y)), g.either(m.is("eq", a, inf), m.is("eq", b, zero)))
	left := g.mov(m.c, m.pick(bad, zero, a))
	b = m.pick(bad, m.num(1), b)
	again, end := k.Label(), k.Label()
	k.Place(again)
	k.BranchIf(m.is("lt", left, b), end)
	exponent := func(v ptx.Operand) ptx.Operand {
		return k.Op(ptx.B32, "cvt.u32.u64", k.Op(ptx.B64, "shr.u64", k.Op(ptx.B64, "mov.b64", v), ptx.Int32(52)))
	}
	gap := k.Op(ptx.B32, "sub.s32", exponent(left), exponent(b))
	gap = k.Op(ptx.B32, "max.s32", k.Op(ptx.B32, "sub.s32", gap, ptx.Int32(45)), ptx.Int32(0))
	p, q := m.power(gap)
	scaled := m.mul(m.mul(b, p), q)
	quotient := m.op("cvt.rzi."+m.s, m.div(left, scaled))
	r := m.fma(m.neg(quotient), scaled, left)
	r = m.pick(m.is("lt", r, zero), m.add(r, scaled), r)
	k.To(left, "mov.f64", r)
	k.Branch(again)
	k.Place(end)
	return m.pick(bad, m.num(math.NaN()), m.sign(x, left))
}
