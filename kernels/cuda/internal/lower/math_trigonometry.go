package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// turn returns r = x - n·π/2 with |r| ≤ π/4, and n. Arguments beyond 2^30 lose precision.
func (m *calc) turn(x ptx.Operand) (r, n ptx.Operand) {
	whole := m.op("cvt.rni."+m.s, m.mul(x, m.num(2/math.Pi)))
	minus := m.neg(whole)
	// π/2 as a sum of three numbers; the products are exact within fma.
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

// atan reduces the argument to the sector of 0 ± π/8.
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
