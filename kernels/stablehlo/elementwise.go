package stablehlo

import (
	"math"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	for _, op := range ir.Ops() { // those whose results have the operands' type; some are written out below
		if op.IsElementwise() && !op.IsComposite() && op.StableHLO() != "" {
			lowerings[op] = sameType(op.StableHLO())
		}
	}
	lowerings[ir.Neg] = one(func(e *emitter, x value) value {
		y := e.unary("negate", x)
		if e.negated == nil {
			e.negated = map[string]value{}
		}
		e.negated[y.name] = x
		return y
	})
	lowerings[ir.Abs] = forSigned("abs", func(e *emitter, x value) value { return x })
	lowerings[ir.Sign] = forSigned("sign", func(e *emitter, x value) value {
		return e.convert(e.compare(ir.Ne, x, e.like(x, 0)), x.dtype())
	})
	lowerings[ir.Atan] = one(func(e *emitter, x value) value {
		// A barrier hides that the other side is 1. XLA would turn this into its own arc tangent, whose results on CPUs
		// changed from run to run in version 0.115 of the plugin interface.
		side := e.definef(x.typ, "stablehlo.optimization_barrier %s : %s", e.like(x, 1).name, tensor(x.typ))
		return e.binary("atan2", x, side)
	})
	lowerings[ir.Atanh] = one(func(e *emitter, x value) value { // half the difference of log(1+x) and log(1-x)
		difference := e.binary("subtract", e.unary("log_plus_one", x), e.unary("log_plus_one", e.unary("negate", x)))
		return e.binary("multiply", difference, e.like(x, 0.5))
	})
	lowerings[ir.Pow] = func(e *emitter, _ *ir.Node, in []value) []value {
		if in[0].dtype().IsFloat() {
			return []value{e.binary("power", in[0], in[1])}
		}
		return []value{e.integerPower(in[0], in[1])}
	}
	lowerings[ir.Relu] = one(func(e *emitter, x value) value { return e.binary("maximum", x, e.like(x, 0)) })
	lowerings[ir.IsFinite] = one(func(e *emitter, x value) value {
		t := ir.Type{DType: ir.Bool, Shape: x.shape()}
		return e.definef(t, "stablehlo.is_finite %s : (%s) -> %s", x.name, tensor(x.typ), tensor(t))
	})
	lowerings[ir.CheckFinite] = func(e *emitter, n *ir.Node, in []value) []value {
		count := in[0].shape().Size()
		if count == 0 {
			return in
		}
		flat := e.reshape(in[0], count)
		finite := lowerings[ir.IsFinite](e, &ir.Node{Op: ir.IsFinite, Scope: n.Scope}, []value{flat})[0]
		e.check(Check{Scope: n.Scope, Op: n.Op, finite: n.Attrs.(ir.CheckFiniteAttrs), shape: in[0].shape()}, e.iota(ir.Type{DType: ir.Int32, Shape: ir.Shape{count}}, 0), finite)
		return in
	}
	lowerings[ir.Identity] = (*emitter).identity
	lowerings[ir.Barrier] = func(e *emitter, _ *ir.Node, in []value) []value {
		return e.defineAllf([]ir.Type{in[0].typ, in[1].typ}, "stablehlo.optimization_barrier %s : %s, %s", names(in), tensor(in[0].typ), tensor(in[1].typ))[:1]
	}
	lowerings[ir.Convert] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.convert(in[0], n.Attrs.(ir.ConvertAttrs).DType)}
	}
	lowerings[ir.Div] = byNonzero("divide")
	lowerings[ir.Rem] = byNonzero("remainder")
	lowerings[ir.ShiftRight] = func(e *emitter, _ *ir.Node, in []value) []value {
		if in[0].dtype().IsSigned() {
			return []value{e.binary("shift_right_arithmetic", in[0], in[1])}
		}
		return []value{e.binary("shift_right_logical", in[0], in[1])}
	}
	lowerings[ir.Compare] = func(e *emitter, n *ir.Node, in []value) []value {
		return []value{e.compare(n.Attrs.(ir.CompareAttrs).Direction, in[0], in[1])}
	}
	lowerings[ir.Select] = func(e *emitter, _ *ir.Node, in []value) []value { return []value{e.choose(in[0], in[1], in[2])} }
}

// one lowers an op with one operand and one result.
func one(f func(e *emitter, x value) value) lowering {
	return func(e *emitter, _ *ir.Node, in []value) []value { return []value{f(e, in[0])} }
}

// sameType lowers an op to one whose operands and result have one type.
func sameType(name string) lowering {
	if !strings.Contains(name, ".") {
		name = "stablehlo." + name
	}
	return func(e *emitter, _ *ir.Node, in []value) []value { return []value{e.apply(name, in...)} }
}

// apply writes an operation of a dialect on operands of one type.
func (e *emitter) apply(name string, in ...value) value {
	if strings.HasPrefix(name, "chlo.") {
		return e.definef(in[0].typ, "%s %s : %s -> %s", name, names(in), tensor(in[0].typ), tensor(in[0].typ))
	}
	return e.definef(in[0].typ, "%s %s : %s", name, names(in), tensor(in[0].typ))
}

func (e *emitter) unary(name string, x value) value     { return e.apply("stablehlo."+name, x) }
func (e *emitter) binary(name string, x, y value) value { return e.apply("stablehlo."+name, x, y) }

// forSigned lowers an op that StableHLO has only for signed numbers.
func forSigned(name string, unsigned func(e *emitter, x value) value) lowering {
	return one(func(e *emitter, x value) value {
		if !x.dtype().IsSigned() {
			return unsigned(e, x)
		}
		if y, ok := e.negated[x.name]; ok && name == "abs" {
			x = y // so that functions of a number and of its negative, which losses contain, are merged
		}
		return e.unary(name, x)
	})
}

// byNonzero divides, and gives 0 if an integer is divided by zero.
func byNonzero(name string) lowering {
	return func(e *emitter, _ *ir.Node, in []value) []value {
		x, y := in[0], in[1]
		if x.dtype().IsFloat() {
			return []value{e.binary(name, x, y)}
		}
		zero := e.like(y, 0)
		none := e.compare(ir.Eq, y, zero)
		quotient := e.binary(name, x, e.choose(none, e.like(y, 1), y))
		return []value{e.choose(none, zero, quotient)}
	}
}

// integerPower multiplies the squares that the bits of the exponent select, wrapping, because compilers disagree about
// StableHLO's own op. A negative exponent gives the integer part of the fraction: 0, unless the base is 1 or -1.
func (e *emitter) integerPower(x, y value) value {
	one := e.like(x, 1)
	result, square := one, x
	for bit := range x.dtype().Size() * 8 {
		has := e.compare(ir.Ne, e.and(y, e.literal(bitOf(x.typ, bit))), e.like(y, 0))
		result = e.choose(has, e.binary("multiply", result, square), result)
		square = e.binary("multiply", square, square)
	}
	if !x.dtype().IsSigned() {
		return result
	}
	odd := e.compare(ir.Ne, e.and(y, one), e.like(y, 0))
	minus := e.like(x, -1)
	fraction := e.choose(e.compare(ir.Eq, x, one), one, e.like(x, 0))
	fraction = e.choose(e.compare(ir.Eq, x, minus), e.choose(odd, minus, one), fraction)
	return e.choose(e.compare(ir.Lt, y, e.like(y, 0)), fraction, result)
}

// bitOf is the integer with one bit set.
func bitOf(t ir.Type, bit int) ir.Literal {
	data := make([]byte, t.DType.Size())
	data[bit/8] = 1 << (bit % 8)
	return ir.Literal{Type: t, Data: data, Splat: true}
}

func (e *emitter) compare(direction ir.Direction, x, y value) value {
	kind := "UNSIGNED"
	switch d := x.dtype(); {
	case d.IsFloat():
		kind = "FLOAT"
	case d.IsSigned():
		kind = "SIGNED"
	}
	t := ir.Type{DType: ir.Bool, Shape: x.shape()}
	return e.definef(t, "stablehlo.compare %s, %s, %s, %s : (%s, %s) -> %s", strings.ToUpper(string(direction)), x.name, y.name, kind, tensor(x.typ), tensor(y.typ), tensor(t))
}

// choose takes elements of yes where pred holds.
func (e *emitter) choose(pred, yes, no value) value {
	return e.definef(yes.typ, "stablehlo.select %s : %s, %s", names([]value{pred, yes, no}), tensor(pred.typ), tensor(yes.typ))
}

func (e *emitter) and(x, y value) value { return e.binary("and", x, y) }
func (e *emitter) or(x, y value) value  { return e.binary("or", x, y) }
func (e *emitter) not(x value) value    { return e.unary("not", x) }

// isNaN is a bool for floats; other types have no NaN.
func (e *emitter) isNaN(x value) value { return e.compare(ir.Ne, x, x) }

// convert changes the element type. Floats become integers by truncation, with saturation, and NaN becomes 0; StableHLO
// leaves this open.
func (e *emitter) convert(x value, to ir.DType) value {
	from := x.dtype()
	t := ir.Type{DType: to, Shape: x.shape()}
	switch {
	case from == to:
		return x
	case to == ir.Bool:
		return e.compare(ir.Ne, x, e.like(x, 0))
	case from.IsFloat() && to.IsInteger():
		return e.truncate(x, t)
	}
	return e.definef(t, "stablehlo.convert %s : (%s) -> %s", x.name, tensor(x.typ), tensor(t))
}

func (e *emitter) truncate(x value, t ir.Type) value {
	x = e.wide(x)
	bits := t.DType.Size() * 8
	low, high := 0.0, math.Ldexp(1, bits) // the smallest number, and the first that is too large; powers of two, exact in every float
	if t.DType.IsSigned() {
		low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	above := e.compare(ir.Ge, x, e.like(x, high))
	below := e.compare(ir.Lt, x, e.like(x, low))
	out := e.or(e.or(above, below), e.isNaN(x))
	inside := e.choose(out, e.like(x, 0), x)
	converted := e.definef(t, "stablehlo.convert %s : (%s) -> %s", inside.name, tensor(inside.typ), tensor(t))
	converted = e.choose(above, e.literal(extreme(t, true)), converted)
	return e.choose(below, e.literal(extreme(t, false)), converted)
}

// wide converts 16-bit floats to float32.
func (e *emitter) wide(x value) value {
	if x.dtype().IsHalf() {
		t := ir.Type{DType: ir.Float32, Shape: x.shape()}
		return e.definef(t, "stablehlo.convert %s : (%s) -> %s", x.name, tensor(x.typ), tensor(t))
	}
	return x
}

// extreme is the largest or smallest number of a type: an infinity for floats.
func extreme(t ir.Type, greatest bool) ir.Literal {
	if greatest {
		return ir.Scalar(t.DType, math.Inf(1), t.Shape...)
	}
	return ir.Scalar(t.DType, math.Inf(-1), t.Shape...)
}

// neutral is the number that changes nothing when it is combined.
func neutral(e *emitter, kind ir.Kind, dtype ir.DType) ir.Literal {
	t := ir.Type{DType: dtype}
	switch kind {
	case ir.Sum, ir.Mean, ir.Or:
		return ir.Scalar(dtype, 0)
	case ir.Prod, ir.And:
		return ir.Scalar(dtype, 1)
	case ir.Max:
		return extreme(t, false)
	case ir.Min:
		return extreme(t, true)
	}
	e.failf("values cannot be combined by %q", kind)
	return ir.Literal{}
}

// combiner names the operation that combines two values.
func combiner(e *emitter, kind ir.Kind) string {
	switch kind {
	case ir.Sum, ir.Mean:
		return "add"
	case ir.Prod:
		return "multiply"
	case ir.Max:
		return "maximum"
	case ir.Min:
		return "minimum"
	case ir.And:
		return "and"
	case ir.Or:
		return "or"
	}
	e.failf("values cannot be combined by %q", kind)
	return ""
}

// combine is the region that combines two scalars.
func (e *emitter) combine(kind ir.Kind, dtype ir.DType) string {
	name := combiner(e, kind)
	scalar := ir.Type{DType: dtype}
	return e.region([]ir.Type{scalar, scalar}, func(in []value) []value { return []value{e.binary(name, in[0], in[1])} })
}

// summed says whether 16-bit floats are combined in float32: sums and products would lose digits at each step.
func summed(kind ir.Kind) bool { return kind == ir.Sum || kind == ir.Prod || kind == ir.Mean }

// inWide computes f on float32 where the values are 16-bit floats and f sums.
func (e *emitter) inWide(kind ir.Kind, f func(in []value) value, in ...value) value {
	d := in[0].dtype()
	if !summed(kind) {
		return f(in)
	}
	widened := make([]value, len(in))
	for i, v := range in {
		widened[i] = e.wide(v)
	}
	return e.convert(f(widened), d)
}
