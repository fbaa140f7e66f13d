package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// unaryOf is a function of one tensor, which the signature calls x.
func unaryOf(f func(*ops.Tensor) *ops.Tensor) func(*operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor { return []*ops.Tensor{f(a.tensor("x"))} }
}

// binaryOf is a function of two tensors or numbers, x1 and x2.
func binaryOf(f func(x, y *ops.Tensor) *ops.Tensor) func(*operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor {
		x, y := a.pair("x1", "x2")
		return []*ops.Tensor{f(x, y)}
	}
}

// exactBinaryOf is a function of two tensors or numbers that computes in floats or compares.
func exactBinaryOf(f func(x, y *ops.Tensor) *ops.Tensor) func(*operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor {
		x, y := a.exactPair("x1", "x2")
		return []*ops.Tensor{f(x, y)}
	}
}

// oneResult is a computation with one result.
//
//go:noinline
func oneResult(f func(a *operands) *ops.Tensor) func(*operands) []*ops.Tensor {
	return func(a *operands) []*ops.Tensor { return []*ops.Tensor{f(a)} }
}

// defineUnary defines functions of one tensor; their names follow from the classes.
func defineUnary(module string, classes map[string]func(*ops.Tensor) *ops.Tensor) {
	for class, f := range classes {
		define(module, class, SnakeCase(class)+"(x)", unaryOf(f))
	}
}

// defineBinary defines functions of two tensors; their names follow from the classes.
func defineBinary(of func(f func(x, y *ops.Tensor) *ops.Tensor) func(*operands) []*ops.Tensor, classes map[string]func(x, y *ops.Tensor) *ops.Tensor) {
	for class, f := range classes {
		define("numpy", class, SnakeCase(class)+"(x1, x2)", of(f))
	}
}

func init() {
	defineUnary("numpy", map[string]func(*ops.Tensor) *ops.Tensor{
		"Absolute": absolute, "Abs": absolute, "Fabs": func(x *ops.Tensor) *ops.Tensor { return ops.Abs(floating(x)) },
		"Negative": ops.Negative, "Sign": ops.Sign, "Reciprocal": ops.Reciprocal,
		"Square": squareOf, "Sqrt": ops.Sqrt, "Cbrt": int64AsFloat(ops.Cbrt),
		"Exp": ops.Exp, "Exp2": ops.Exp2, "Expm1": ops.Expm1, "Log": ops.Log, "Log2": ops.Log2, "Log10": ops.Log10, "Log1p": ops.Log1p,
		"Sin": ops.Sin, "Cos": ops.Cos, "Tan": ops.Tan, "Arcsin": ops.Arcsin, "Arccos": ops.Arccos, "Arctan": ops.Arctan,
		"Sinh": ops.Sinh, "Cosh": ops.Cosh, "Tanh": ops.Tanh, "Arcsinh": ops.Arcsinh, "Arccosh": ops.Arccosh, "Arctanh": ops.Arctanh,
		"Deg2rad": int64AsFloat(ops.Deg2rad), "Rad2deg": int64AsFloat(ops.Rad2deg), "Sinc": ops.Sinc, "Signbit": ops.Signbit,
		"Ceil": floatRounding(ops.Ceil), "Floor": floatRounding(ops.Floor), "Trunc": keepIntegers(ops.Trunc),
		"Isfinite": ops.Isfinite, "Isinf": ops.Isinf, "Isnan": ops.Isnan, "Isneginf": ops.Isneginf, "Isposinf": ops.Isposinf,
		"LogicalNot": func(x *ops.Tensor) *ops.Tensor { return ops.LogicalNot(ops.Cast(x, ir.Bool)) },
		"BitwiseNot": ops.BitwiseNot, "BitwiseInvert": ops.BitwiseNot,
		"Real": alone, "Conj": alone, "Conjugate": alone, "Copy": alone,
		"Imag": ops.ZerosLike, "Angle": ops.Angle, "I0": int64AsFloat(ops.I0),
		"Isreal": func(x *ops.Tensor) *ops.Tensor { return ops.Full(x, ir.Bool, 1, x.Shape()...) },
	})
	defineUnary("math", map[string]func(*ops.Tensor) *ops.Tensor{"Rsqrt": ops.Rsqrt, "Erf": ops.Erf, "Erfc": ops.Erfc, "Erfinv": ops.Erfinv})
	defineBinary(binaryOf, map[string]func(x, y *ops.Tensor) *ops.Tensor{
		"Add": ofBools(ops.LogicalOr, ops.Add), "Subtract": ops.Subtract, "Multiply": ofBools(ops.LogicalAnd, ops.Multiply),
		"FloorDivide": ops.FloorDivide, "Mod": ops.Mod, "Fmod": ops.Fmod, "Power": ops.Power,
		"Maximum": ofBools(ops.LogicalOr, ops.Maximum), "Minimum": ofBools(ops.LogicalAnd, ops.Minimum),
		"Fmax": ofBools(ops.LogicalOr, ops.Fmax), "Fmin": ofBools(ops.LogicalAnd, ops.Fmin),
		"Gcd": ops.Gcd, "Lcm": ops.Lcm, "Ldexp": ops.Ldexp,
		"Matmul": matmul, "Dot": inPromoted(ops.NumpyDot), "Inner": inPromoted(ops.Inner), "Outer": outer, "Vdot": inPromoted(ops.Vdot), "Kron": ops.Kron,
	})
	defineBinary(exactBinaryOf, map[string]func(x, y *ops.Tensor) *ops.Tensor{
		"Divide": ops.Divide, "TrueDivide": ops.Divide, "DivideNoNan": ops.DivideNoNan, "Hypot": floatPair(ops.Hypot), "Heaviside": floatPair(ops.Heaviside),
		"Equal": ops.Equal, "NotEqual": ops.NotEqual, "Greater": ops.Greater, "GreaterEqual": ops.GreaterEqual, "Less": ops.Less, "LessEqual": ops.LessEqual,
	})
	for class, f := range map[string]func(x, y *ops.Tensor) *ops.Tensor{"LogicalAnd": ops.LogicalAnd, "LogicalOr": ops.LogicalOr, "LogicalXor": ops.LogicalXor} {
		define("numpy", class, SnakeCase(class)+"(x1, x2)", oneResult(func(a *operands) *ops.Tensor { return f(a.truth("x1"), a.truth("x2")) }))
	}
	for class, f := range map[string]func(x, y *ops.Tensor) *ops.Tensor{"Arctan2": ops.Arctan2, "Logaddexp": ops.Logaddexp, "Logaddexp2": ops.Logaddexp2} {
		define("numpy", class, SnakeCase(class)+"(x1, x2)", oneResult(func(a *operands) *ops.Tensor {
			return amongFloats(f)(a.tensor("x1"), a.tensor("x2")) // a number is a tensor of float32 or int32 here, whatever it meets
		}))
	}
	for class, f := range map[string]func(x, y *ops.Tensor) *ops.Tensor{
		"BitwiseAnd": ops.BitwiseAnd, "BitwiseOr": ops.BitwiseOr, "BitwiseXor": ops.BitwiseXor,
		"LeftShift": ops.LeftShift, "BitwiseLeftShift": ops.LeftShift, "RightShift": ops.RightShift, "BitwiseRightShift": ops.RightShift,
	} {
		define("numpy", class, SnakeCase(class)+"(x, y)", oneResult(func(a *operands) *ops.Tensor { return f(a.pair("x", "y")) }))
	}
	define("numpy", "Round", "round(x, *decimals=0)", oneResult(func(a *operands) *ops.Tensor { return ops.RoundTo(a.tensor("x"), a.integer("decimals")) }))
	define("numpy", "Clip", "clip(x, *x_min, *x_max)", oneResult(clip))
	define("numpy", "NanToNum", "nan_to_num(x, *nan=0.0, *posinf=null, *neginf=null)", oneResult(nanToNum))
	define("numpy", "Isclose", "isclose(x1, x2, rtol=1e-05, atol=1e-08, *equal_nan=false)", oneResult(isclose))
	define("numpy", "AllClose", "allclose(x1, x2, *rtol=1e-05, *atol=1e-08, *equal_nan=false)", oneResult(func(a *operands) *ops.Tensor { return ops.All(isclose(a)) }))
	define("numpy", "IsIn", "isin(x1, x2, *assume_unique=false, *invert=false)", oneResult(func(a *operands) *ops.Tensor {
		x, y := a.exactPair("x1", "x2")
		in := ops.Isin(x, y)
		if a.boolean("invert") {
			in = ops.LogicalNot(in)
		}
		return in
	}))
	define("numpy", "Where", "where(condition, x1=null, x2=null)", oneResult(func(a *operands) *ops.Tensor {
		if !a.given("x1") || !a.given("x2") {
			ops.Failf(a.graph, "where needs all three arguments here: the positions alone have no fixed shape")
		}
		x, y := a.pair("x1", "x2")
		return ops.Where(ops.Cast(a.tensor("condition"), ir.Bool), x, y)
	}))
	define("numpy", "Select", "select(condlist, choicelist, default=0)", oneResult(func(a *operands) *ops.Tensor {
		choices := a.list("choicelist")
		return ops.Select(a.list("condlist"), choices, a.like(choices[0], "default"))
	}))
	define("core", "Cast", "cast(x, *dtype)", oneResult(func(a *operands) *ops.Tensor {
		return ops.Cast(a.tensor("x"), a.dtype("dtype", ir.Float32))
	}))
	define("core", "SaturateCast", "saturate_cast(x, *dtype)", oneResult(func(a *operands) *ops.Tensor {
		return ops.SaturateCast(a.tensor("x"), a.dtype("dtype", ir.Float32))
	}))
	define("core", "StopGradient", "stop_gradient(variable)", oneResult(func(a *operands) *ops.Tensor { return ops.StopGradient(a.tensor("variable")) }))
	define("core", "ConvertToTensor", "convert_to_tensor(x, *dtype=null, *sparse=null, *ragged=null)", oneResult(converted))
	define("numpy", "Array", "array(x, *dtype=null)", oneResult(converted))
	define("numpy", "OnesLike", "ones_like(x, *dtype=null)", oneResult(filled(1)))
	define("numpy", "ZerosLike", "zeros_like(x, *dtype=null)", oneResult(filled(0)))
	define("numpy", "EmptyLike", "empty_like(x, *dtype=null)", oneResult(filled(0)))
	define("numpy", "FullLike", "full_like(x, fill_value, *dtype=null)", oneResult(func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		value := ops.Cast(a.like(x, "fill_value"), a.dtype("dtype", x.DType()))
		return ops.BroadcastTo(value, x.Shape()...)
	}))
}

// absolute is abs; bools stay unchanged.
func absolute(x *ops.Tensor) *ops.Tensor {
	if x.DType() == ir.Bool {
		return alone(x)
	}
	return ops.Abs(x)
}

func alone(x *ops.Tensor) *ops.Tensor { return x.WithMask(nil) }

// floating converts integers to float32.
func floating(x *ops.Tensor) *ops.Tensor {
	if x.DType().IsFloat() {
		return x
	}
	return ops.Cast(x, ir.Float32)
}

func floatRounding(f func(*ops.Tensor) *ops.Tensor) func(*ops.Tensor) *ops.Tensor {
	return func(x *ops.Tensor) *ops.Tensor { return f(floating(x)) }
}

// keepIntegers leaves integers unchanged.
func keepIntegers(f func(*ops.Tensor) *ops.Tensor) func(*ops.Tensor) *ops.Tensor {
	return func(x *ops.Tensor) *ops.Tensor {
		if !x.DType().IsFloat() {
			return x
		}
		return f(x)
	}
}

func clip(a *operands) *ops.Tensor {
	x := a.tensor("x")
	if a.given("x_min") {
		x = a.bound(x, "x_min", ops.Maximum)
	}
	if a.given("x_max") {
		x = a.bound(x, "x_max", ops.Minimum)
	}
	return x
}

// bound limits x to one side of a number. For integers, a number beyond the limits of their type counts as the type's
// smallest or largest. (Keras's backends wrap it around, some before they compare and some afterwards.)
func (a *operands) bound(x *ops.Tensor, name string, f func(x, y *ops.Tensor) *ops.Tensor) *ops.Tensor {
	if a.beyond(x.DType(), name) {
		return f(x, ops.Scalar(x, a.number(name)))
	}
	return f(x, a.like(x, name))
}

func nanToNum(a *operands) *ops.Tensor {
	x := a.tensor("x")
	if !x.DType().IsFloat() {
		return x
	}
	high := x.DType().Largest()
	low := -high
	if a.given("posinf") {
		high = a.number("posinf")
	}
	if a.given("neginf") {
		low = a.number("neginf")
	}
	return ops.NanToNum(x, a.number("nan"), high, low)
}

func isclose(a *operands) *ops.Tensor {
	x, y := a.exactPair("x1", "x2")
	close := ops.Isclose(x, y, a.number("rtol"), a.number("atol"))
	if a.boolean("equal_nan") {
		close = ops.LogicalOr(close, ops.LogicalAnd(ops.Isnan(x), ops.Isnan(y)))
	}
	return close
}

func converted(a *operands) *ops.Tensor {
	x := a.tensor("x")
	return ops.Cast(x, a.dtype("dtype", x.DType())).WithMask(nil)
}

func filled(value float64) func(a *operands) *ops.Tensor {
	return func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		return ops.Full(x, a.dtype("dtype", x.DType()), value, x.Shape()...)
	}
}
