package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

func unary(op ir.Op, x *Tensor) *Tensor { return apply1(op, nil, x).WithMask(x.mask) }

func unaryFloat(op ir.Op, x *Tensor) *Tensor { return unary(op, float(x)) }

func binary(op ir.Op, a, b *Tensor) *Tensor {
	a, b = common(a, b)
	return apply1(op, nil, a, b)
}

// Add returns a + b.
//
//go:noinline
func Add(a, b *Tensor) *Tensor { return binary(ir.Add, a, b) }

// Subtract returns a - b.
//
//go:noinline
func Subtract(a, b *Tensor) *Tensor { return binary(ir.Sub, a, b) }

// Multiply returns a * b.
//
//go:noinline
func Multiply(a, b *Tensor) *Tensor { return binary(ir.Mul, a, b) }

// Divide returns a / b; integers are divided as floats.
func Divide(a, b *Tensor) *Tensor {
	if !a.DType().IsFloat() && !b.DType().IsFloat() {
		a, b = float(a), float(b)
	}
	return binary(ir.Div, a, b)
}

// Power returns a to the power b.
func Power(a, b *Tensor) *Tensor { a, b = numericPair(a, b); return binary(ir.Pow, a, b) }

// Maximum returns the larger of a and b; NaN wins. If both are equal, each gets half of the gradient, as in JAX.
func Maximum(a, b *Tensor) *Tensor { return binary(ir.Maximum, a, b) }

// Minimum returns the smaller of a and b; NaN wins. If both are equal, each gets half of the gradient.
func Minimum(a, b *Tensor) *Tensor { return binary(ir.Minimum, a, b) }

// Arctan2 returns the angle of the point (b, a), in (-pi, pi].
func Arctan2(a, b *Tensor) *Tensor { return binary(ir.Atan2, float(a), float(b)) }

// AddScalar returns x + s in the element type of x. Integers wrap around: -1 added to uint8 subtracts 1.
func AddScalar(x *Tensor, s float64) *Tensor { return Add(x, wrapping(x, s)).WithMask(x.mask) }

// SubtractScalar returns x - s in the element type of x, like AddScalar.
func SubtractScalar(x *Tensor, s float64) *Tensor {
	return Subtract(x, wrapping(x, s)).WithMask(x.mask)
}

// MultiplyScalar returns x * s in the element type of x, like AddScalar.
func MultiplyScalar(x *Tensor, s float64) *Tensor {
	return Multiply(x, wrapping(x, s)).WithMask(x.mask)
}

// wrapping is s in the element type of x. A whole number beyond the limits of an integer type keeps its lowest bits.
func wrapping(x *Tensor, s float64) *Tensor {
	if d := x.DType(); d.IsInteger() && s == math.Trunc(s) && math.Abs(s) < 1<<53 {
		size := math.Ldexp(1, 8*d.Size())
		s -= size * math.Floor(s/size)
		if d.IsSigned() && s >= size/2 {
			s -= size
		}
	}
	return Scalar(x, s)
}

// DivideScalar returns x / s. Integers are divided as floats.
func DivideScalar(x *Tensor, s float64) *Tensor {
	y := float(x)
	return Divide(y, Scalar(y, s)).WithMask(x.mask)
}

// MaximumScalar returns max(x, s).
func MaximumScalar(x *Tensor, s float64) *Tensor { return Maximum(x, Scalar(x, s)).WithMask(x.mask) }

// MinimumScalar returns min(x, s).
func MinimumScalar(x *Tensor, s float64) *Tensor { return Minimum(x, Scalar(x, s)).WithMask(x.mask) }

// PowerScalar returns x to the power s.
func PowerScalar(x *Tensor, s float64) *Tensor { return Power(x, Scalar(x, s)).WithMask(x.mask) }

// Negative returns -x.
func Negative(x *Tensor) *Tensor { return unary(ir.Neg, x) }

// Abs returns |x|.
func Abs(x *Tensor) *Tensor { return unary(ir.Abs, x) }

// Sign returns -1, 0 or 1.
func Sign(x *Tensor) *Tensor { return unary(ir.Sign, x) }

// Floor rounds down.
func Floor(x *Tensor) *Tensor { return unaryFloat(ir.Floor, x) }

// Ceil rounds up.
func Ceil(x *Tensor) *Tensor { return unaryFloat(ir.Ceil, x) }

// Round rounds to the nearest integer, ties to even.
func Round(x *Tensor) *Tensor { return unaryFloat(ir.Round, x) }

// Exp returns e to the power x.
func Exp(x *Tensor) *Tensor { return unaryFloat(ir.Exp, x) }

// Expm1 returns e^x - 1, exact for small x.
func Expm1(x *Tensor) *Tensor { return unaryFloat(ir.Expm1, x) }

// Log returns the natural logarithm.
func Log(x *Tensor) *Tensor { return unaryFloat(ir.Log, x) }

// Log1p returns ln(1 + x), exact for small x.
func Log1p(x *Tensor) *Tensor { return unaryFloat(ir.Log1p, x) }

// Sqrt returns the square root.
func Sqrt(x *Tensor) *Tensor { return unaryFloat(ir.Sqrt, x) }

// Rsqrt returns 1 / sqrt(x).
func Rsqrt(x *Tensor) *Tensor { return unaryFloat(ir.Rsqrt, x) }

// Square returns x * x.
//
//go:noinline
func Square(x *Tensor) *Tensor { return Multiply(x, x).WithMask(x.mask) }

// Reciprocal returns 1 / x.
func Reciprocal(x *Tensor) *Tensor { x = float(x); return Divide(OnesLike(x), x) }

// Sin, Cos, Tan and the other circular and hyperbolic functions act on radians.
func Sin(x *Tensor) *Tensor { return unaryFloat(ir.Sin, x) }

// Cos returns the cosine.
func Cos(x *Tensor) *Tensor { return unaryFloat(ir.Cos, x) }

// Tan returns the tangent.
func Tan(x *Tensor) *Tensor { return unaryFloat(ir.Tan, x) }

// Arcsin returns the inverse sine.
func Arcsin(x *Tensor) *Tensor { return unaryFloat(ir.Asin, x) }

// Arccos returns the inverse cosine.
func Arccos(x *Tensor) *Tensor { return unaryFloat(ir.Acos, x) }

// Arctan returns the inverse tangent.
func Arctan(x *Tensor) *Tensor { return unaryFloat(ir.Atan, x) }

// Sinh returns the hyperbolic sine.
func Sinh(x *Tensor) *Tensor { return unaryFloat(ir.Sinh, x) }

// Cosh returns the hyperbolic cosine.
func Cosh(x *Tensor) *Tensor { return unaryFloat(ir.Cosh, x) }

// Arcsinh returns the inverse hyperbolic sine.
func Arcsinh(x *Tensor) *Tensor { return unaryFloat(ir.Asinh, x) }

// Arccosh returns the inverse hyperbolic cosine.
func Arccosh(x *Tensor) *Tensor { return unaryFloat(ir.Acosh, x) }

// Arctanh returns the inverse hyperbolic tangent.
func Arctanh(x *Tensor) *Tensor { return unaryFloat(ir.Atanh, x) }

// Tanh returns the hyperbolic tangent.
func Tanh(x *Tensor) *Tensor { return unaryFloat(ir.Tanh, x) }

// Sigmoid returns 1 / (1 + e^-x).
func Sigmoid(x *Tensor) *Tensor { return unaryFloat(ir.Sigmoid, x) }

// Erf returns the error function.
func Erf(x *Tensor) *Tensor { return unaryFloat(ir.Erf, x) }

// Erfinv returns the inverse of the error function on (-1, 1).
func Erfinv(x *Tensor) *Tensor { return unaryFloat(ir.ErfInv, x) }

// Relu returns max(x, 0). Its gradient at 0 is 0.
func Relu(x *Tensor) *Tensor { return unary(ir.Relu, numeric(x)) }

// Equal returns a == b as bool.
func Equal(a, b *Tensor) *Tensor { return compare(ir.Eq, a, b) }

// NotEqual returns a != b.
func NotEqual(a, b *Tensor) *Tensor { return compare(ir.Ne, a, b) }

// Less returns a < b.
func Less(a, b *Tensor) *Tensor { return compare(ir.Lt, a, b) }

// LessEqual returns a <= b.
func LessEqual(a, b *Tensor) *Tensor { return compare(ir.Le, a, b) }

// Greater returns a > b.
func Greater(a, b *Tensor) *Tensor { return compare(ir.Gt, a, b) }

// GreaterEqual returns a >= b.
func GreaterEqual(a, b *Tensor) *Tensor { return compare(ir.Ge, a, b) }

// CompareScalar compares x with s. If s is a number that the integer type of x does not have, a fraction or one beyond
// its limits, both are compared as floats.
func CompareScalar(d ir.Direction, x *Tensor, s float64) *Tensor {
	if t := x.DType(); t.Valid() && !t.IsFloat() {
		if l := ir.Scalar(t, s); l.At(0) != s {
			x = Cast(x, ir.Float64)
		}
	}
	return compare(d, x, Scalar(x, s))
}

func compare(d ir.Direction, a, b *Tensor) *Tensor {
	a, b = common(a, b)
	return apply1(ir.Compare, ir.CompareAttrs{Direction: d}, a, b)
}

// LogicalAnd returns a and b; numbers count as x != 0.
func LogicalAnd(a, b *Tensor) *Tensor { return binary(ir.BitAnd, Cast(a, ir.Bool), Cast(b, ir.Bool)) }

// LogicalOr returns a or b; numbers count as x != 0.
func LogicalOr(a, b *Tensor) *Tensor { return binary(ir.BitOr, Cast(a, ir.Bool), Cast(b, ir.Bool)) }

// LogicalXor returns whether exactly one of a and b is true.
func LogicalXor(a, b *Tensor) *Tensor { return binary(ir.BitXor, Cast(a, ir.Bool), Cast(b, ir.Bool)) }

// LogicalNot returns the negation of x; numbers count as x != 0.
func LogicalNot(x *Tensor) *Tensor { return apply1(ir.Not, nil, Cast(x, ir.Bool)) }

// Isfinite returns whether each element is neither NaN nor infinite.
func Isfinite(x *Tensor) *Tensor {
	if !x.DType().IsFloat() {
		return everywhere(x, 1)
	}
	return apply1(ir.IsFinite, nil, x)
}

// Isnan returns whether each element is NaN.
func Isnan(x *Tensor) *Tensor {
	if !x.DType().IsFloat() {
		return everywhere(x, 0)
	}
	return NotEqual(x, x)
}

// everywhere returns bools of one value in the shape of x.
func everywhere(x *Tensor, value float64) *Tensor { return Full(x, ir.Bool, value, x.Shape()...) }

// Where returns a where condition holds and b elsewhere; all three broadcast.
func Where(condition, a, b *Tensor) *Tensor {
	a, b = common(a, b)
	s, err := ir.BroadcastShapes(condition.Shape(), a.Shape())
	if err != nil {
		Fail(graphOf(condition, a, b), err)
	}
	return apply1(ir.Select, nil, BroadcastTo(Cast(condition, ir.Bool), s...), BroadcastTo(a, s...), BroadcastTo(b, s...))
}

// Clip limits x to [low, high].
func Clip(x *Tensor, low, high float64) *Tensor {
	return MinimumScalar(MaximumScalar(x, low), high)
}

// derive registers the gradient of a one-operand op as dy times f(x, y).
//
//go:noinline
func derive(op ir.Op, f func(x, y *Tensor) *Tensor) {
	rules[op] = func(c *vjp) []*Tensor { return []*Tensor{Multiply(c.dy(0), f(c.in(0), c.out(0)))} }
}

func zeroGradient(c *vjp) []*Tensor { return make([]*Tensor, len(c.node.Inputs)) }

// oneMinusSquare is 1 - x² = (1-x)(1+x), which is exact near ±1.
func oneMinusSquare(x *Tensor) *Tensor {
	return Multiply(Subtract(OnesLike(x), x), AddScalar(x, 1))
}

// rsqrtNear is 1/√square for a square that is size² ± 1. Where the 1 is too small to change size² it is 1/size, because
// the square may overflow.
func rsqrtNear(size, square *Tensor) *Tensor {
	far := CompareScalar(ir.Gt, size, math.Ldexp(1, size.DType().Digits()/2+1))
	y := Rsqrt(Where(far, size, square))
	return Where(far, Square(y), y)
}

func init() {
	for _, op := range []ir.Op{ir.Sign, ir.Floor, ir.Ceil, ir.Round, ir.Compare, ir.IsFinite, ir.Not, ir.BitAnd, ir.BitOr, ir.BitXor,
		ir.ShiftLeft, ir.ShiftRight, ir.Constant, ir.Iota} {
		rules[op] = zeroGradient
	}
	rules[ir.Neg] = func(c *vjp) []*Tensor { return []*Tensor{Negative(c.dy(0))} }
	rules[ir.Relu] = func(c *vjp) []*Tensor {
		return []*Tensor{Where(CompareScalar(ir.Gt, c.out(0), 0), c.dy(0), ZerosLike(c.dy(0)))}
	}
	derive(ir.Abs, func(x, _ *Tensor) *Tensor { return Sign(x) })
	derive(ir.Exp, func(_, y *Tensor) *Tensor { return y })
	derive(ir.Expm1, func(x, _ *Tensor) *Tensor { return Exp(x) }) // y + 1 would lose its digits where y is near -1
	derive(ir.Log, func(x, _ *Tensor) *Tensor { return Reciprocal(x) })
	derive(ir.Log1p, func(x, _ *Tensor) *Tensor { return Reciprocal(AddScalar(x, 1)) })
	derive(ir.Sqrt, func(_, y *Tensor) *Tensor { return Divide(Scalar(y, 0.5), y) })
	derive(ir.Rsqrt, func(x, y *Tensor) *Tensor { return Divide(MultiplyScalar(y, -0.5), x) })
	derive(ir.Sin, func(x, _ *Tensor) *Tensor { return Cos(x) })
	derive(ir.Cos, func(x, _ *Tensor) *Tensor { return Negative(Sin(x)) })
	derive(ir.Tan, func(_, y *Tensor) *Tensor { return AddScalar(Square(y), 1) })
	derive(ir.Asin, func(x, _ *Tensor) *Tensor { return Rsqrt(oneMinusSquare(x)) })
	derive(ir.Acos, func(x, _ *Tensor) *Tensor { return Negative(Rsqrt(oneMinusSquare(x))) })
	derive(ir.Atan, func(x, _ *Tensor) *Tensor { return Reciprocal(AddScalar(Square(x), 1)) })
	derive(ir.Sinh, func(x, _ *Tensor) *Tensor { return Cosh(x) })
	derive(ir.Cosh, func(x, _ *Tensor) *Tensor { return Sinh(x) })
	derive(ir.Asinh, func(x, _ *Tensor) *Tensor { return rsqrtNear(Abs(x), AddScalar(Square(x), 1)) })
	derive(ir.Acosh, func(x, _ *Tensor) *Tensor { return rsqrtNear(x, Multiply(SubtractScalar(x, 1), AddScalar(x, 1))) })
	derive(ir.Atanh, func(x, _ *Tensor) *Tensor { return Reciprocal(oneMinusSquare(x)) })
	derive(ir.Tanh, func(_, y *Tensor) *Tensor { return oneMinusSquare(y) })
	derive(ir.Sigmoid, func(_, y *Tensor) *Tensor { return Multiply(y, Subtract(OnesLike(y), y)) })
	derive(ir.Erf, func(x, _ *Tensor) *Tensor { return MultiplyScalar(Exp(Negative(Square(x))), 2/math.Sqrt(math.Pi)) })
	rules[ir.Gelu] = func(c *vjp) []*Tensor { return []*Tensor{apply1(ir.GeluGrad, nil, c.in(0), c.dy(0))} }
	rules[ir.GeluGrad] = func(c *vjp) []*Tensor { // the derivative of Φ(x) + x·φ(x) is φ(x)·(2 - x²)
		return c.each(
			func() *Tensor {
				square := Square(c.in(0))
				density := MultiplyScalar(Exp(MultiplyScalar(square, -0.5)), 1/math.Sqrt(2*math.Pi))
				return Multiply(Multiply(c.dy(0), c.in(1)), Multiply(density, Subtract(Scalar(square, 2), square)))
			},
			func() *Tensor { return apply1(ir.GeluGrad, nil, c.in(0), c.dy(0)) })
	}
	derive(ir.ErfInv, func(_, y *Tensor) *Tensor { return MultiplyScalar(Exp(Square(y)), math.Sqrt(math.Pi)/2) })
}

func init() {
	rules[ir.Add] = func(c *vjp) []*Tensor { return []*Tensor{c.dy(0), c.dy(0)} }
	rules[ir.Sub] = func(c *vjp) []*Tensor { return []*Tensor{c.dy(0), Negative(c.dy(0))} }
	rules[ir.Mul] = func(c *vjp) []*Tensor {
		return c.each(func() *Tensor { return Multiply(c.dy(0), c.in(1)) }, func() *Tensor { return Multiply(c.dy(0), c.in(0)) })
	}
	rules[ir.Div] = func(c *vjp) []*Tensor {
		return c.each(
			func() *Tensor { return Divide(c.dy(0), c.in(1)) },
			func() *Tensor {
				if c.needs(0) { // that quotient is there
					return Negative(Multiply(Divide(c.dy(0), c.in(1)), c.out(0)))
				}
				if c.ofOne() { // no second quotient
					return Negative(Multiply(Multiply(c.dy(0), c.out(0)), c.out(0)))
				}
				return Negative(Divide(Multiply(c.dy(0), c.out(0)), c.in(1)))
			})
	}
	rules[ir.Pow] = powerRule
	rules[ir.Maximum] = func(c *vjp) []*Tensor { return extremeRule(c, ir.Gt) }
	rules[ir.Minimum] = func(c *vjp) []*Tensor { return extremeRule(c, ir.Lt) }
	rules[ir.Rem] = func(c *vjp) []*Tensor {
		return c.each(
			func() *Tensor { return c.dy(0) },
			func() *Tensor {
				q := Divide(c.in(0), c.in(1))
				whole := Multiply(Sign(q), Floor(Abs(q)))
				return Negative(Multiply(c.dy(0), whole))
			})
	}
	rules[ir.Atan2] = func(c *vjp) []*Tensor {
		y, x := c.in(0), c.in(1)
		scaled := Divide(c.dy(0), Add(Square(x), Square(y)))
		return []*Tensor{Multiply(scaled, x), Negative(Multiply(scaled, y))}
	}
	rules[ir.Select] = func(c *vjp) []*Tensor {
		zero := ZerosLike(c.dy(0))
		return c.each(nil,
			func() *Tensor { return Where(c.in(0), c.dy(0), zero) },
			func() *Tensor { return Where(c.in(0), zero, c.dy(0)) })
	}
}

// each computes the gradients of those operands that need one.
func (c *vjp) each(f ...func() *Tensor) []*Tensor {
	grads := make([]*Tensor, len(f))
	for i := range f {
		if f[i] != nil && c.needs(i) {
			grads[i] = f[i]()
		}
	}
	return grads
}

// powerRule: d/da = b a^(b-1), 0 where b is 0; d/db = a^b ln a, 0 where a is 0 and b >= 0.
func powerRule(c *vjp) []*Tensor {
	a, b := c.in(0), c.in(1)
	zero, one := ZerosLike(a), OnesLike(a)
	return c.each(
		func() *Tensor {
			// The exponent -1 must not appear where b is 0: a slope of 0·∞ would spoil second derivatives.
			flat := CompareScalar(ir.Eq, b, 0)
			slope := Multiply(b, Power(a, Where(flat, one, Subtract(b, one))))
			return Multiply(c.dy(0), Where(flat, zero, slope))
		},
		func() *Tensor {
			flat := LogicalAnd(CompareScalar(ir.Eq, a, 0), CompareScalar(ir.Ge, b, 0))
			return Multiply(c.dy(0), Where(flat, zero, Multiply(c.out(0), Log(Where(flat, one, a)))))
		})
}

func extremeRule(c *vjp, wins ir.Direction) []*Tensor {
	a, b := c.in(0), c.in(1)
	zero := ZerosLike(a)
	half := MultiplyScalar(c.dy(0), 0.5)
	tie := Where(Equal(a, b), half, zero)
	share := func(x, y *Tensor) func() *Tensor {
		return func() *Tensor { return Where(compare(wins, x, y), c.dy(0), tie) }
	}
	return c.each(share(a, b), share(b, a))
}

// ofOne reports whether the node divides the constant 1 made right before it, as [Reciprocal] does.
func (c *vjp) ofOne() bool {
	before := &c.r.g.program.Nodes[max(c.index-1, 0)]
	a, ok := before.Attrs.(ir.ConstantAttrs)
	return ok && a.Literal.Splat && before.Outputs[0] == c.node.Inputs[0] && a.Literal.At(0) == 1
}
