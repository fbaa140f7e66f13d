package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// halfExp is exp(a)/2 for large a, and overflows only if the result does.
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

// far is where the inverse hyperbolic functions become log(2x).
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
