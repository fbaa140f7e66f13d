package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// inDouble are the ops computed in float64 for all element types.
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
		m := g.calc(c)
		if op == ir.Gelu {
			m = g.calcOf(d)
		}
		return f(m, g.mov(c, x))
	}
	g.failf(g.node, "there is no kernel for %v of %v", op, d)
	return x
}

// floatFunctions are the functions of one float.
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
		ir.Exp2:    (*calc).exp2,
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

func (g *gen) floatBinary(op ir.Op, d ir.DType, x, y ptx.Operand) ptx.Operand {
	c := classOf(d)
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
		return g.calcOf(d).geluGrad(g.mov(c, x), g.mov(c, y))
	case ir.Pow:
		return g.double(func(m *calc, x []ptx.Operand) ptx.Operand { return m.pow(x[0], x[1]) }, c, x, y)
	case ir.Rem:
		return g.double(func(m *calc, x []ptx.Operand) ptx.Operand { return m.rem(x[0], x[1]) }, c, x, y)
	}
	g.failf(g.node, "there is no kernel for %v of floats", op)
	return x
}
