package reference

import (
	"cmp"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// The elementwise ops on floats.
var (
	floatUnary = map[ir.Op]func(x float64) float64{
		ir.Neg:   func(x float64) float64 { return -x },
		ir.Abs:   math.Abs,
		ir.Sign:  sign,
		ir.Floor: math.Floor,
		ir.Ceil:  math.Ceil,
		ir.Round: math.RoundToEven,
		ir.Exp:   math.Exp,
		ir.Exp2:  math.Exp2,
		ir.Expm1: math.Expm1,
		ir.Log:   math.Log,
		ir.Log1p: math.Log1p,
		ir.Sqrt:  math.Sqrt,
		ir.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) },
		ir.Sin:   math.Sin,
		ir.Cos:   math.Cos,
		ir.Tan:   math.Tan,
		ir.Asin:  math.Asin,
		ir.Acos:  func(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }, // math.Acos is inaccurate near 1
		ir.Atan:  math.Atan,
		ir.Sinh:  math.Sinh,
		ir.Cosh:  math.Cosh,
		ir.Asinh: math.Asinh,
		ir.Acosh: math.Acosh,
		ir.Atanh: math.Atanh,
		ir.Tanh:  math.Tanh,
		ir.Sigmoid: func(x float64) float64 {
			return 1 / (1 + math.Exp(-x))
		},
		ir.Erf:    math.Erf,
		ir.ErfInv: math.Erfinv,
		ir.Erfc:   math.Erfc,
		ir.Lgamma: func(x float64) float64 {
			y, _ := math.Lgamma(x)
			if math.IsInf(x, -1) { // as in C; Go returns -Inf
				return math.Inf(1)
			}
			return y
		},
		ir.Relu: func(x float64) float64 { return math.Max(x, 0) },
		ir.Gelu: func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
	}
	floatBinary = map[ir.Op]func(x, y float64) float64{
		ir.Add:     func(x, y float64) float64 { return x + y },
		ir.Sub:     func(x, y float64) float64 { return x - y },
		ir.Mul:     func(x, y float64) float64 { return x * y },
		ir.Div:     func(x, y float64) float64 { return x / y },
		ir.Pow:     math.Pow,
		ir.Maximum: maximum,
		ir.Minimum: minimum,
		ir.Rem:     math.Mod,
		ir.Atan2:   math.Atan2,
		ir.GeluGrad: func(x, dy float64) float64 {
			return dy * (math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
		},
	}
)

// The elementwise ops on integers and bool. Results are wrapped to the element type by the caller.
var (
	integerUnary = map[ir.Op]func(d ir.DType, x int64) int64{
		ir.Neg: func(_ ir.DType, x int64) int64 { return -x },
		ir.Abs: func(d ir.DType, x int64) int64 {
			if less(d, x, 0) {
				return -x
			}
			return x
		},
		ir.Sign: func(d ir.DType, x int64) int64 { return int64(compareIntegers(d, x, 0)) },
		ir.Relu: func(d ir.DType, x int64) int64 {
			if less(d, x, 0) {
				return 0
			}
			return x
		},
		ir.Not: func(d ir.DType, x int64) int64 {
			if d == ir.Bool {
				return 1 - x
			}
			return ^x
		},
	}
	integerBinary = map[ir.Op]func(d ir.DType, x, y int64) int64{
		ir.Add: func(_ ir.DType, x, y int64) int64 { return x + y },
		ir.Sub: func(_ ir.DType, x, y int64) int64 { return x - y },
		ir.Mul: func(_ ir.DType, x, y int64) int64 { return x * y },
		ir.Div: divide,
		ir.Rem: func(d ir.DType, x, y int64) int64 {
			if y == 0 {
				return 0
			}
			return x - divide(d, x, y)*y
		},
		ir.Pow: power,
		ir.Maximum: func(d ir.DType, x, y int64) int64 {
			if less(d, x, y) {
				return y
			}
			return x
		},
		ir.Minimum: func(d ir.DType, x, y int64) int64 {
			if less(d, y, x) {
				return y
			}
			return x
		},
		ir.BitAnd: func(_ ir.DType, x, y int64) int64 { return x & y },
		ir.BitOr:  func(_ ir.DType, x, y int64) int64 { return x | y },
		ir.BitXor: func(_ ir.DType, x, y int64) int64 { return x ^ y },
		// Go's shifts by too large an unsigned amount give what the op table says; a negative amount becomes very
		// large.
		ir.ShiftLeft: func(_ ir.DType, x, y int64) int64 { return x << uint64(y) },
		ir.ShiftRight: func(d ir.DType, x, y int64) int64 {
			if d.IsSigned() {
				return x >> uint64(y)
			}
			return int64(uint64(x) >> uint64(y))
		},
	}
)

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0 or NaN
}

func maximum(x, y float64) float64 {
	if x != x || y != y {
		return math.NaN()
	}
	return math.Max(x, y)
}

func minimum(x, y float64) float64 { return -maximum(-x, -y) }

func divide(d ir.DType, x, y int64) int64 {
	switch {
	case y == 0:
		return 0
	case d.IsSigned():
		return x / y
	}
	return int64(uint64(x) / uint64(y))
}

func power(d ir.DType, x, y int64) int64 {
	if less(d, y, 0) {
		switch {
		case x == 1, x == -1 && y%2 == 0:
			return 1
		case x == -1:
			return -1
		}
		return 0
	}
	result := int64(1) // squaring: the exponent may be as large as 2^64-1
	for n := uint64(y); n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}

// wrap reduces x modulo 2^width to a value of the integer type.
func wrap(d ir.DType, x int64) int64 {
	switch d {
	case ir.Int8:
		return int64(int8(x))
	case ir.Int16:
		return int64(int16(x))
	case ir.Int32:
		return int64(int32(x))
	case ir.Uint8:
		return int64(uint8(x))
	case ir.Uint16:
		return int64(uint16(x))
	case ir.Uint32:
		return int64(uint32(x))
	}
	return x
}

func compareIntegers(d ir.DType, x, y int64) int {
	if d == ir.Uint64 {
		return cmp.Compare(uint64(x), uint64(y))
	}
	return cmp.Compare(x, y)
}

func less(d ir.DType, x, y int64) bool { return compareIntegers(d, x, y) < 0 }

func (c *call) unary() error {
	d := c.in[0].Type.DType
	for i, x := range c.in[0].F {
		c.out[0].F[i] = floatUnary[c.node.Op](x)
	}
	for i, x := range c.in[0].I {
		c.out[0].I[i] = wrap(d, integerUnary[c.node.Op](d, x))
	}
	return nil
}

func (c *call) binary() error {
	d := c.in[0].Type.DType
	for i, x := range c.in[0].F {
		c.out[0].F[i] = floatBinary[c.node.Op](x, c.in[1].F[i])
	}
	for i, x := range c.in[0].I {
		c.out[0].I[i] = wrap(d, integerBinary[c.node.Op](d, x, c.in[1].I[i]))
	}
	return nil
}

func (c *call) isFinite() error {
	for i, x := range c.in[0].F {
		c.out[0].I[i] = truth(!math.IsNaN(x) && !math.IsInf(x, 0))
	}
	return nil
}

func (c *call) checkFinite() error {
	for i, x := range c.in[0].F {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return c.node.Attrs.(ir.CheckFiniteAttrs).Failure(c.node.Scope, c.in[0].Type.Shape, i)
		}
	}
	return c.reshape()
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (c *call) compare() error {
	direction := c.node.Attrs.(ir.CompareAttrs).Direction
	x, y := c.in[0], c.in[1]
	for i := range x.F {
		c.out[0].I[i] = truth(holds(direction, x.F[i] < y.F[i], x.F[i] == y.F[i], x.F[i] > y.F[i]))
	}
	for i := range x.I {
		order := compareIntegers(x.Type.DType, x.I[i], y.I[i])
		c.out[0].I[i] = truth(holds(direction, order < 0, order == 0, order > 0))
	}
	return nil
}

func holds(d ir.Direction, lt, eq, gt bool) bool {
	switch d {
	case ir.Eq:
		return eq
	case ir.Ne:
		return !eq
	case ir.Lt:
		return lt
	case ir.Le:
		return lt || eq
	case ir.Gt:
		return gt
	}
	return gt || eq
}

func (c *call) choose() error {
	for i, p := range c.in[0].I {
		from := c.in[2]
		if p != 0 {
			from = c.in[1]
		}
		c.out[0].set(i, from, i)
	}
	return nil
}
