package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// calc writes formulas in float32 or float64. The functions are made of additions, products and quotients, which are rounded as IEEE 754 says, and
// not of the hardware's approximations.
type calc struct {
	g    *gen
	c    ptx.Class
	s    string // suffix of instructions
	f    *ptx.Kernel
	many bool // float64: series have more terms
}

func (g *gen) calc(c ptx.Class) *calc {
	return &calc{g, c, floatSuffix(c), g.k, c == ptx.F64}
}

func (m *calc) num(x float64) ptx.Operand {
	if m.many {
		return ptx.Float64(x)
	}
	return ptx.Float32(float32(x))
}

func (m *calc) op(name string, x ...ptx.Operand) ptx.Operand { return m.f.Op(m.c, name+"."+m.s, x...) }
func (m *calc) add(x, y ptx.Operand) ptx.Operand             { return m.op("add.rn", x, y) }
func (m *calc) sub(x, y ptx.Operand) ptx.Operand             { return m.op("sub.rn", x, y) }
func (m *calc) mul(x, y ptx.Operand) ptx.Operand             { return m.op("mul.rn", x, y) }
func (m *calc) div(x, y ptx.Operand) ptx.Operand             { return m.op("div.rn", x, y) }
func (m *calc) fma(x, y, z ptx.Operand) ptx.Operand          { return m.op("fma.rn", x, y, z) }
func (m *calc) neg(x ptx.Operand) ptx.Operand                { return m.op("neg", x) }
func (m *calc) abs(x ptx.Operand) ptx.Operand                { return m.op("abs", x) }
func (m *calc) sqrt(x ptx.Operand) ptx.Operand               { return m.op("sqrt.rn", x) }

// sign gives y the sign of x.
func (m *calc) sign(x, y ptx.Operand) ptx.Operand { return m.op("copysign", x, y) }

func (m *calc) is(relation string, x, y ptx.Operand) ptx.Operand {
	return m.g.compare(relation, m.s, x, y)
}
func (m *calc) nan(x ptx.Operand) ptx.Operand        { return m.is("neu", x, x) }
func (m *calc) pick(p, x, y ptx.Operand) ptx.Operand { return m.g.pick(p, x, y) }
func (m *calc) atMost(x ptx.Operand, y float64) ptx.Operand {
	return m.pick(m.is("gt", x, m.num(y)), m.num(y), x) // NaN stays
}
func (m *calc) atLeast(x ptx.Operand, y float64) ptx.Operand {
	return m.pick(m.is("lt", x, m.num(y)), m.num(y), x)
}

// poly is Σ coefficients[i]·x^i.
func (m *calc) poly(x ptx.Operand, coefficients ...float64) ptx.Operand {
	y := m.num(coefficients[len(coefficients)-1])
	for i := len(coefficients) - 2; i >= 0; i-- {
		y = m.fma(y, x, m.num(coefficients[i]))
	}
	return y
}

// terms are the first ones of a series: fewer in float32.
func (m *calc) terms(n32, n64 int, f func(i int) float64) []float64 {
	n := n32
	if m.many {
		n = n64
	}
	t := make([]float64, n)
	for i := range t {
		t[i] = f(i)
	}
	return t
}

func factorial(n int) float64 {
	f := 1.0
	for i := 2; i <= n; i++ {
		f *= float64(i)
	}
	return f
}

// ln2 is the logarithm of 2 in two parts; products of the first one with whole numbers are exact in the class's precision.
func (m *calc) ln2() (high, low float64) {
	mask := ^uint64(1<<21 - 1)
	if !m.many {
		mask = ^uint64(1<<41 - 1)
	}
	high = math.Float64frombits(math.Float64bits(math.Ln2) & mask)
	const beyond = 2.3190468138462996e-17 // of what float64 holds
	return high, math.Ln2 - high + beyond
}

// power is 2^n for a whole number in a 32-bit register, in two factors, as n may be beyond the exponents.
func (m *calc) power(n ptx.Operand) (a, b ptx.Operand) {
	k := m.f
	half := k.Op(ptx.B32, "shr.s32", n, ptx.Int32(1))
	rest := k.Op(ptx.B32, "sub.s32", n, half)
	one := func(n ptx.Operand) ptx.Operand {
		if m.many {
			e := k.Op(ptx.B64, "cvt.s64.s32", k.Op(ptx.B32, "add.s32", n, ptx.Int32(1023)))
			return k.Op(ptx.F64, "mov.b64", k.Op(ptx.B64, "shl.b64", e, ptx.Int32(52)))
		}
		e := k.Op(ptx.B32, "add.s32", n, ptx.Int32(127))
		return k.Op(ptx.F32, "mov.b32", k.Op(ptx.B32, "shl.b32", e, ptx.Int32(23)))
	}
	return one(half), one(rest)
}

// reduceExp returns n and r with x = n·ln 2 + r and |r| ≤ ln 2/2, for x within the range of exp.
func (m *calc) reduceExp(x ptx.Operand) (n, r ptx.Operand) {
	whole := m.op("cvt.rni."+m.s, m.mul(x, m.num(math.Log2E)))
	high, low := m.ln2()
	r = m.fma(m.neg(whole), m.num(high), x)
	r = m.fma(m.neg(whole), m.num(low), r)
	return m.f.Op(ptx.B32, "cvt.rzi.s32."+m.s, whole), r
}

// expSeries is (exp(r)-1)/r.
func (m *calc) expSeries(r ptx.Operand) ptx.Operand {
	return m.poly(r, m.terms(7, 13, func(i int) float64 { return 1 / factorial(i+1) })...)
}

// limit is beyond what exp and its inverse can hold, and within what two powers of 2 can.
func (m *calc) limit() float64 {
	if m.many {
		return 1400
	}
	return 150
}

func (m *calc) exp(x ptx.Operand) ptx.Operand {
	x = m.atLeast(m.atMost(x, m.limit()), -m.limit())
	n, r := m.reduceExp(x)
	a, b := m.power(n)
	return m.mul(m.mul(m.fma(r, m.expSeries(r), m.num(1)), a), b)
}

// expm1 is 2^n·(exp(r)-1) + (2^n-1).
func (m *calc) expm1(x ptx.Operand) ptx.Operand {
	limit := 80.0
	if m.many {
		limit = 700
	}
	y := m.atLeast(m.atMost(x, limit), -limit)
	n, r := m.reduceExp(y)
	a, b := m.power(n)
	scale := m.mul(a, b)
	p := m.mul(r, m.expSeries(r))
	y = m.fma(scale, p, m.sub(scale, m.num(1)))
	y = m.pick(m.is("eq", x, m.num(0)), x, y) // keeps -0
	return m.pick(m.is("gt", x, m.num(limit)), m.exp(x), y)
}

// logParts returns e and f with x = 2^e·(1+f) and 1+f between the roots of 1/2 and 2, for positive x.
func (m *calc) logParts(x ptx.Operand) (e, f ptx.Operand) {
	k := m.f
	small := m.is("lt", x, m.num(math.SmallestNonzeroFloat32*(1<<23))) // below the normal numbers of float32
	shift := 30
	if m.many {
		small, shift = m.is("lt", x, m.num(0x1p-1022)), 60
	}
	x = m.pick(small, m.mul(x, m.num(math.Ldexp(1, shift))), x)
	var exponent, mantissa ptx.Operand
	if m.many {
		bits := k.Op(ptx.B64, "mov.b64", x)
		bits = k.Op(ptx.B64, "sub.s64", bits, ptx.Int64(int64(math.Float64bits(math.Sqrt2/2))))
		exponent = k.Op(ptx.B32, "cvt.u32.u64", k.Op(ptx.B64, "shr.s64", bits, ptx.Int32(52)))
		rest := k.Op(ptx.B64, "and.b64", bits, ptx.Int64(1<<52-1))
		mantissa = k.Op(ptx.F64, "mov.b64", k.Op(ptx.B64, "add.s64", rest, ptx.Int64(int64(math.Float64bits(math.Sqrt2/2)))))
	} else {
		root := int64(math.Float32bits(math.Sqrt2 / 2))
		bits := k.Op(ptx.B32, "sub.s32", k.Op(ptx.B32, "mov.b32", x), ptx.Int32(root))
		exponent = k.Op(ptx.B32, "shr.s32", bits, ptx.Int32(23))
		rest := k.Op(ptx.B32, "and.b32", bits, ptx.Int32(1<<23-1))
		mantissa = k.Op(ptx.F32, "mov.b32", k.Op(ptx.B32, "add.s32", rest, ptx.Int32(root)))
	}
	exponent = m.g.pick(small, k.Op(ptx.B32, "sub.s32", exponent, ptx.Int32(int64(shift))), exponent)
	return k.Op(m.c, "cvt.rn."+m.s+".s32", exponent), m.sub(mantissa, m.num(1))
}

// log is e·ln 2 + log(1+f), the latter as f - (f²/2 - s·(f²/2 + R)) with s = f/(2+f) and the series R of the floatFunctions hyperbolic tangent.
func (m *calc) log(x ptx.Operand) ptx.Operand {
	e, f := m.logParts(x)
	s := m.div(f, m.add(f, m.num(2)))
	z := m.mul(s, s)
	r := m.mul(z, m.poly(z, m.terms(5, 11, func(i int) float64 { return 2 / float64(2*i+3) })...))
	half := m.mul(m.mul(f, f), m.num(0.5))
	high, low := m.ln2()
	y := m.fma(s, m.add(half, r), m.mul(e, m.num(low)))
	y = m.sub(f, m.sub(half, y))
	y = m.fma(e, m.num(high), y)
	y = m.pick(m.is("eq", x, m.num(0)), m.num(math.Inf(-1)), y)
	y = m.pick(m.is("lt", x, m.num(0)), m.num(math.NaN()), y)
	return m.pick(m.g.either(m.nan(x), m.is("eq", x, m.num(math.Inf(1)))), x, y)
}

// log1p is log(u) + (x-(u-1))/u for the rounded sum u = 1+x.
func (m *calc) log1p(x ptx.Operand) ptx.Operand {
	u := m.add(x, m.num(1))
	lost := m.div(m.sub(x, m.sub(u, m.num(1))), u)
	l := m.log(u)
	special := m.g.either(m.is("eq", u, m.num(0)), m.is("eq", u, m.num(math.Inf(1))))
	y := m.pick(special, l, m.add(l, lost))
	return m.pick(m.is("eq", x, m.num(0)), x, y)
}

// turn returns r = x - n·π/2 with |r| ≤ π/4, and n. Arguments beyond 2^30 lose digits.
func (m *calc) turn(x ptx.Operand) (r, n ptx.Operand) {
	whole := m.op("cvt.rni."+m.s, m.mul(x, m.num(2/math.Pi)))
	minus := m.neg(whole)
	// π/2 in three numbers of the class; the products are exact inside of fma.
	parts := []float64{math.Pi / 2, 6.123233995736766e-17, -1.4973849048591833e-33}
	if !m.many {
		high := float64(float32(math.Pi / 2))
		middle := float64(float32(math.Pi/2 - high))
		parts = []float64{high, middle, math.Pi/2 - high - middle + 6.123233995736766e-17}
	}
	r = x
	for _, p := range parts {
		r = m.fma(minus, m.num(p), r)
	}
	return r, m.f.Op(ptx.B32, "cvt.rzi.s32."+m.s, whole)
}

func alternating(first int) func(i int) float64 {
	return func(i int) float64 { return math.Pow(-1, float64(i)) / factorial(2*i+first) }
}

// wave is sin(x + quarters·π/2).
func (m *calc) wave(x ptx.Operand, quarters int) ptx.Operand {
	r, n := m.turn(x)
	if quarters != 0 {
		n = m.f.Op(ptx.B32, "add.s32", n, ptx.Int32(int64(quarters)))
	}
	z := m.mul(r, r)
	sin := m.fma(m.mul(r, z), m.poly(z, m.terms(5, 9, alternating(1))[1:]...), r)
	cos := m.fma(z, m.poly(z, m.terms(6, 10, alternating(0))[1:]...), m.num(1))
	odd := m.g.compare("ne", "s32", m.f.Op(ptx.B32, "and.b32", n, ptx.Int32(1)), ptx.Int32(0))
	y := m.pick(odd, cos, sin)
	negative := m.g.compare("ne", "s32", m.f.Op(ptx.B32, "and.b32", n, ptx.Int32(2)), ptx.Int32(0))
	return m.pick(negative, m.neg(y), y)
}

// atan turns the argument into the sector of 0 ± π/8.
func (m *calc) atan(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	far := m.is("gt", a, m.num(1))
	t := m.pick(far, m.div(m.num(1), a), a)
	high := m.is("gt", t, m.num(math.Sqrt2-1))
	t = m.pick(high, m.div(m.sub(t, m.num(1)), m.add(t, m.num(1))), t)
	z := m.mul(t, t)
	series := m.terms(9, 21, func(i int) float64 { return math.Pow(-1, float64(i)) / float64(2*i+1) })
	y := m.fma(m.mul(t, z), m.poly(z, series[1:]...), t)
	y = m.pick(high, m.add(m.num(math.Pi/4), y), y)
	y = m.pick(far, m.sub(m.num(math.Pi/2), y), y)
	return m.sign(x, y)
}

func (m *calc) atan2(y, x ptx.Operand) ptx.Operand {
	inf, zero := m.num(math.Inf(1)), m.num(0)
	ay, ax := m.abs(y), m.abs(x)
	q := m.div(ay, ax)
	q = m.pick(m.g.both(m.is("eq", ay, inf), m.is("eq", ax, inf)), m.num(1), q)
	q = m.pick(m.is("eq", ay, zero), zero, q)
	a := m.atan(q)
	behind := m.is("lt", m.sign(x, m.num(1)), zero)
	a = m.pick(behind, m.sub(m.num(math.Pi), a), a)
	a = m.sign(y, a)
	return m.pick(m.g.either(m.nan(x), m.nan(y)), m.num(math.NaN()), a)
}

// asin is atan2(x, √(1-x²)).
func (m *calc) asin(x ptx.Operand) ptx.Operand {
	one := m.num(1)
	root := m.sqrt(m.mul(m.sub(one, x), m.add(one, x)))
	return m.pick(m.is("gt", m.abs(x), one), m.num(math.NaN()), m.atan(m.div(x, root)))
}

func (m *calc) acos(x ptx.Operand) ptx.Operand {
	one := m.num(1)
	root := m.sqrt(m.div(m.sub(one, x), m.add(one, x)))
	return m.pick(m.is("gt", m.abs(x), one), m.num(math.NaN()), m.mul(m.num(2), m.atan(root)))
}

// halfExp is exp(a)/2 for large a, without overflow before the result has it.
func (m *calc) halfExp(a ptx.Operand) ptx.Operand {
	e := m.exp(m.mul(a, m.num(0.5)))
	return m.mul(m.mul(e, m.num(0.5)), e)
}

func (m *calc) sinh(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	t := m.expm1(m.atMost(a, 40))
	y := m.mul(m.num(0.5), m.add(t, m.div(t, m.add(t, m.num(1)))))
	return m.sign(x, m.pick(m.is("gt", a, m.num(22)), m.halfExp(a), y))
}

func (m *calc) cosh(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	e := m.exp(m.atMost(a, 40))
	y := m.mul(m.num(0.5), m.add(e, m.div(m.num(1), e)))
	return m.pick(m.is("gt", a, m.num(22)), m.halfExp(a), y)
}

// far is from where on the inverse hyperbolic functions are log(2x).
func (m *calc) far() float64 {
	if m.many {
		return 1 << 28
	}
	return 1 << 13
}

func (m *calc) asinh(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	square := m.mul(a, a)
	y := m.log1p(m.add(a, m.div(square, m.add(m.num(1), m.sqrt(m.add(square, m.num(1)))))))
	large := m.add(m.log(a), m.num(math.Ln2))
	return m.sign(x, m.pick(m.is("gt", a, m.num(m.far())), large, y))
}

func (m *calc) acosh(x ptx.Operand) ptx.Operand {
	t := m.sub(x, m.num(1))
	y := m.log1p(m.add(t, m.sqrt(m.fma(t, t, m.mul(m.num(2), t)))))
	large := m.add(m.log(x), m.num(math.Ln2))
	y = m.pick(m.is("gt", x, m.num(m.far())), large, y)
	return m.pick(m.is("lt", x, m.num(1)), m.num(math.NaN()), y)
}

func (m *calc) atanh(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	y := m.mul(m.num(0.5), m.log1p(m.div(m.mul(m.num(2), a), m.sub(m.num(1), a))))
	return m.sign(x, y)
}

// tanh is t/(t+2) with t = exp(2|x|)-1.
func (m *calc) tanh(x ptx.Operand) ptx.Operand {
	a := m.abs(x)
	t := m.expm1(m.mul(m.num(2), m.atMost(a, 22)))
	return m.sign(x, m.div(t, m.add(t, m.num(2))))
}

func (m *calc) sigmoid(x ptx.Operand) ptx.Operand {
	return m.div(m.num(1), m.add(m.num(1), m.exp(m.neg(x))))
}

// erf(x)/x by powers of x² up to 1, and log(erfc(x)·exp(x²)/t) with t = 2/(2+x) by Chebyshev polynomials of 2t-1: fitted with 60 digits.
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
	// exp(-a²) with the part of the square that rounding loses.
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

// normal is the distribution function of the normal distribution.
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

// erfInv refines Giles's approximation (GPU Computing Gems 2011, "Approximating the erfinv function") by Halley's steps.
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

// lgamma is Stirling's series, eight steps up for small arguments; negative ones are reflected.
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

// pow is exp(y·log|x|) with a logarithm of twice the digits.
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

// rem takes multiples of |y|·2^n off |x|, with quotients small enough that no digit is lost.
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

// inDouble are ops that are computed in float64 whatever the element type.
var inDouble = map[ir.Op]bool{ir.ErfInv: true, ir.Lgamma: true, ir.Pow: true, ir.Rem: true}

// double computes in float64 and rounds.
func (g *gen) double(f func(m *calc, x []ptx.Operand) ptx.Operand, c ptx.Class, x ...ptx.Operand) ptx.Operand {
	if c == ptx.F64 {
		return f(g.calc(c), x)
	}
	wide := make([]ptx.Operand, len(x))
	for i := range x {
		wide[i] = g.k.Op(ptx.F64, "cvt.f64.f32", g.mov(ptx.F32, x[i]))
	}
	return g.k.Op(ptx.F32, "cvt.rn.f32.f64", f(g.calc(ptx.F64), wide))
}

func (g *gen) floatUnary(op ir.Op, d ir.DType, x ptx.Operand) ptx.Operand {
	c := classOf(d)
	if f := floatFunctions[op]; f != nil && inDouble[op] {
		return g.double(func(m *calc, x []ptx.Operand) ptx.Operand { return f(m, x[0]) }, c, x)
	} else if f != nil {
		return f(g.calc(c), g.mov(c, x))
	}
	g.failf(g.node, "there is no kernel for %v of %v", op, d)
	return x
}

// floatFunctions has the functions of one float.
var floatFunctions map[ir.Op]func(m *calc, x ptx.Operand) ptx.Operand

func init() {
	floatFunctions = map[ir.Op]func(m *calc, x ptx.Operand) ptx.Operand{
		ir.Neg:   (*calc).neg,
		ir.Abs:   (*calc).abs,
		ir.Floor: func(m *calc, x ptx.Operand) ptx.Operand { return m.op("cvt.rmi."+m.s, x) },
		ir.Ceil:  func(m *calc, x ptx.Operand) ptx.Operand { return m.op("cvt.rpi."+m.s, x) },
		ir.Round: func(m *calc, x ptx.Operand) ptx.Operand { return m.op("cvt.rni."+m.s, x) },
		ir.Sign: func(m *calc, x ptx.Operand) ptx.Operand {
			one := m.sign(x, m.num(1))
			return m.pick(m.g.either(m.nan(x), m.is("eq", x, m.num(0))), x, one)
		},
		ir.Relu: func(m *calc, x ptx.Operand) ptx.Operand {
			return m.pick(m.is("le", x, m.num(0)), m.num(0), x)
		},
		ir.Rsqrt:   func(m *calc, x ptx.Operand) ptx.Operand { return m.div(m.num(1), m.sqrt(x)) },
		ir.Sin:     func(m *calc, x ptx.Operand) ptx.Operand { return m.wave(x, 0) },
		ir.Cos:     func(m *calc, x ptx.Operand) ptx.Operand { return m.wave(x, 1) },
		ir.Tan:     func(m *calc, x ptx.Operand) ptx.Operand { return m.div(m.wave(x, 0), m.wave(x, 1)) },
		ir.Exp:     (*calc).exp,
		ir.Expm1:   (*calc).expm1,
		ir.Log:     (*calc).log,
		ir.Log1p:   (*calc).log1p,
		ir.Sqrt:    (*calc).sqrt,
		ir.Asin:    (*calc).asin,
		ir.Acos:    (*calc).acos,
		ir.Atan:    (*calc).atan,
		ir.Sinh:    (*calc).sinh,
		ir.Cosh:    (*calc).cosh,
		ir.Asinh:   (*calc).asinh,
		ir.Acosh:   (*calc).acosh,
		ir.Atanh:   (*calc).atanh,
		ir.Tanh:    (*calc).tanh,
		ir.Sigmoid: (*calc).sigmoid,
		ir.Erf:     (*calc).erf,
		ir.ErfInv:  (*calc).erfInv,
		ir.Lgamma:  (*calc).lgamma,
		ir.Gelu:    (*calc).gelu,
	}
}

func (g *gen) floatBinary(op ir.Op, c ptx.Class, x, y ptx.Operand) ptx.Operand {
	m := g.calc(c)
	switch op {
	case ir.Add:
		return m.add(x, y)
	case ir.Sub:
		return m.sub(x, y)
	case ir.Mul:
		return m.mul(x, y)
	case ir.Div:
		return m.div(x, y)
	case ir.Maximum, ir.Minimum:
		name := "max"
		if op == ir.Minimum {
			name = "min"
		}
		x, y = g.mov(c, x), g.mov(c, y)
		nan := g.either(m.nan(x), m.nan(y))
		return m.pick(nan, m.num(math.NaN()), m.op(name, x, y))
	case ir.Atan2:
		return m.atan2(g.mov(c, x), g.mov(c, y))
	case ir.GeluGrad:
		return m.geluGrad(g.mov(c, x), g.mov(c, y))
	case ir.Pow:
		return g.double(func(m *calc, x []ptx.Operand) ptx.Operand { return m.pow(x[0], x[1]) }, c, x, y)
	case ir.Rem:
		return g.double(func(m *calc, x []ptx.Operand) ptx.Operand { return m.rem(x[0], x[1]) }, c, x, y)
	}
	g.failf(g.node, "there is no kernel for %v of floats", op)
	return x
}
