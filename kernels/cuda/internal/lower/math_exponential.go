package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// ln2 is the logarithm of 2 in two parts; products of the first part with integers are exact in the calc's precision.
func (m *calc) ln2() (high, low float64) {
	mask := ^uint64(1<<21 - 1)
	if !m.many {
		mask = ^uint64(1<<41 - 1)
	}
	high = math.Float64frombits(math.Float64bits(math.Ln2) & mask)
	const beyond = 2.3190468138462996e-17 // the part of ln 2 beyond float64's precision
	return high, math.Ln2 - high + beyond
}

// power is 2^n for an integer in a 32-bit register, as two factors, since n may exceed the range of exponents.
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

// limit is an argument beyond the range of exp and its reciprocal, but within that of two powers of 2.
func (m *calc) limit() float64 {
	if m.many {
		return 1400
	}
	return 150
}

func (m *calc) exp(x ptx.Operand) ptx.Operand {
	if m.fast {
		return m.op("ex2.approx", m.mul(x, m.num(math.Log2E)))
	}
	x = m.atLeast(m.atMost(x, m.limit()), -m.limit())
	n, r := m.reduceExp(x)
	a, b := m.power(n)
	return m.mul(m.mul(m.fma(r, m.expSeries(r), m.num(1)), a), b)
}

// exp2 is 2^n·exp(f·ln 2) with the fraction f = x - n, which is exact.
func (m *calc) exp2(x ptx.Operand) ptx.Operand {
	if m.fast {
		return m.op("ex2.approx", x)
	}
	x = m.atLeast(m.atMost(x, m.limit()*math.Log2E), -m.limit()*math.Log2E)
	whole := m.op("cvt.rni."+m.s, x)
	r := m.mul(m.sub(x, whole), m.num(math.Ln2))
	a, b := m.power(m.f.Op(ptx.B32, "cvt.rzi.s32."+m.s, whole))
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
	y = m.pick(m.is("eq", x, m.num(0)), x, y) // preserves -0
	return m.pick(m.is("gt", x, m.num(limit)), m.exp(x), y)
}

// logParts returns e and f with x = 2^e·(1+f) and 1+f between √½ and √2, for positive x.
func (m *calc) logParts(x ptx.Operand) (e, f ptx.Operand) {
	k := m.f
	small := m.is("lt", x, m.num(math.SmallestNonzeroFloat32*(1<<23))) // subnormal in float32
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

// log is e·ln 2 + log(1+f). The latter is f - (f²/2 - s·(f²/2 + R)) with s = f/(2+f) and the series R of the inverse
// hyperbolic tangent.
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
