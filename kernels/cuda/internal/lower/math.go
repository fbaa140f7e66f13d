package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// calc writes formulas in float32 or float64. The functions consist of IEEE additions, multiplications and divisions,
// and do not use the hardware's approximations.
type calc struct {
	g    *gen
	c    ptx.Class
	s    string // type suffix of instructions
	f    *ptx.Kernel
	many bool // float64: series have more terms
	fast bool // results are rounded to 16 bits: exp may use the hardware's approximation
}

func (g *gen) calc(c ptx.Class) *calc {
	return &calc{g: g, c: c, s: floatSuffix(c), f: g.k, many: c == ptx.F64}
}

// calcOf returns the calc for results of a type.
func (g *gen) calcOf(d ir.DType) *calc {
	m := g.calc(classOf(d))
	m.fast = d.IsHalf() && g.options.Capability >= 80
	return m
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
func (m *calc) fma(x, y, z ptx.Operand) ptx.Operand          { return m.op("fma.rn", x, y, z) }
func (m *calc) neg(x ptx.Operand) ptx.Operand                { return m.op("neg", x) }
func (m *calc) abs(x ptx.Operand) ptx.Operand                { return m.op("abs", x) }
func (m *calc) sqrt(x ptx.Operand) ptx.Operand               { return m.op("sqrt.rn", x) }

// div multiplies if the divisor is a known power of 2, which gives the same bits: a division takes ten instructions and
// a call.
func (m *calc) div(x, y ptx.Operand) ptx.Operand {
	if inverse, known := ptx.Inverse(y); known {
		return m.mul(m.g.mov(m.c, x), inverse)
	}
	return m.op("div.rn", x, y)
}

// sign gives y the sign of x.
func (m *calc) sign(x, y ptx.Operand) ptx.Operand { return m.op("copysign", x, y) }

func (m *calc) is(relation string, x, y ptx.Operand) ptx.Operand {
	return m.g.compare(relation, m.s, x, y)
}
func (m *calc) nan(x ptx.Operand) ptx.Operand        { return m.is("neu", x, x) }
func (m *calc) pick(p, x, y ptx.Operand) ptx.Operand { return m.g.pick(p, x, y) }
func (m *calc) atMost(x ptx.Operand, y float64) ptx.Operand {
	return m.pick(m.is("gt", x, m.num(y)), m.num(y), x) // keeps NaN
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

// terms returns the first terms of a series, fewer in float32.
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
