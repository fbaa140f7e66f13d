package kernelstest

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// elementwiseShapes: every rank, empty and single axes, and lengths around those of vector registers.
var elementwiseShapes = []ir.Shape{{}, {0}, {1}, {7}, {33}, {3, 0, 2}, {2, 3, 5}, {1, 2, 1, 3}, {2, 1, 3, 1, 2}}

// unaryOps gives each op of one operand its tolerance on floats and, where the random numbers must be special, their
// map from a normally distributed number.
var unaryOps = []struct {
	op       ir.Op
	integers bool
	units    float64
	domain   func(x float64) float64
}{
	{ir.Neg, true, 0, nil},
	{ir.Abs, true, 0, nil},
	{ir.Sign, true, 0, nil},
	{ir.Relu, true, 0, nil},
	{ir.Gelu, false, 8, triple},
	{ir.Floor, false, 0, triple},
	{ir.Ceil, false, 0, triple},
	{ir.Round, false, 0, triple},
	{ir.Exp, false, 4, triple},
	{ir.Exp2, false, 4, triple},
	{ir.Expm1, false, 8, nil},
	{ir.Log, false, 4, math.Abs},
	{ir.Log1p, false, 8, math.Abs},
	{ir.Sqrt, false, 1, math.Abs},
	{ir.Rsqrt, false, 4, func(x float64) float64 { return math.Abs(x) + 0.01 }},
	{ir.Sin, false, 8, triple},
	{ir.Cos, false, 8, triple},
	{ir.Tan, false, 16, nil},
	{ir.Asin, false, 8, math.Tanh},
	{ir.Acos, false, 8, math.Tanh},
	{ir.Atan, false, 8, triple},
	{ir.Sinh, false, 16, nil},
	{ir.Cosh, false, 16, nil},
	{ir.Asinh, false, 16, triple},
	{ir.Acosh, false, 16, func(x float64) float64 { return 1.01 + math.Abs(x) }},
	{ir.Atanh, false, 16, math.Tanh},
	{ir.Tanh, false, 8, nil},
	{ir.Sigmoid, false, 8, triple},
	{ir.Erf, false, 8, nil},
	{ir.Erfc, false, 16, triple},
	{ir.ErfInv, false, 32, func(x float64) float64 { return math.Tanh(x) * 0.99 }},
	{ir.Lgamma, false, 16, func(x float64) float64 { return 3*math.Abs(x) + 0.1 }},
}

// UnaryDomains returns the float ops of one operand, each with a map from normally distributed numbers to those at
// which the op is interesting. Tests of gradients take their points from it.
func UnaryDomains() map[ir.Op]func(x float64) float64 {
	domains := map[ir.Op]func(x float64) float64{}
	for _, u := range unaryOps {
		if domains[u.op] = u.domain; u.domain == nil {
			domains[u.op] = func(x float64) float64 { return x }
		}
	}
	return domains
}

func triple(x float64) float64 { return 3 * x }

// absolute lists ops whose results near a zero crossing lose digits with any algorithm, in single precision or as a
// quotient of rounded parts, or lose them in their decomposition; their error is measured against 1.
var absolute = map[ir.Op]bool{ir.Lgamma: true, ir.Sin: true, ir.Cos: true, ir.Tan: true, ir.Acos: true, ir.Gelu: true, ir.GeluGrad: true}

func unaryCases(s *suite) {
	for _, u := range unaryOps {
		for _, dtype := range floats {
			for _, shape := range elementwiseShapes {
				d := s.new(u.op, "%v%v", dtype, shape).within(u.units)
				d.Whole = absolute[u.op]
				d.add(nil, d.domain(dtype, shape, u.domain))
			}
			d := s.new(u.op, "%v special", dtype).within(u.units)
			d.Whole = absolute[u.op]
			d.add(nil, d.specialOperand(u.op, d.domain(dtype, ir.Shape{131}, u.domain)))
		}
		if !u.integers {
			continue
		}
		for _, dtype := range integers {
			for _, shape := range []ir.Shape{{}, {0}, {37}, {2, 3, 5}} {
				d := s.new(u.op, "%v%v", dtype, shape)
				d.add(nil, d.extremes(dtype, shape...))
			}
		}
	}
}

// domain maps normally distributed numbers into the range where an op is interesting.
func (d *draft) domain(dtype ir.DType, shape ir.Shape, f func(float64) float64) reference.Value {
	return value(dtype, shape, func(int) float64 {
		x := d.rng.NormFloat64()
		if f != nil {
			x = f(x)
		}
		return x
	})
}

// specialOperand adds special numbers, except those at which an op has a pole whose sign or size is not agreed on:
// sines of numbers too large for single-precision range reduction, and the gamma function at its poles.
func (d *draft) specialOperand(op ir.Op, v reference.Value) reference.Value {
	w := d.specials(v)
	for i, x := range w.F {
		switch {
		case (op == ir.Sin || op == ir.Cos || op == ir.Tan) && math.Abs(x) > 100 && !math.IsInf(x, 0),
			op == ir.Lgamma && x < 0.1,
			op == ir.Tan && math.IsInf(x, 0):
			w.F[i] = v.F[i]
		}
	}
	return w
}

func binaryCases(s *suite) {
	ops := []struct {
		op       ir.Op
		integers bool
		units    float64
	}{
		{ir.Add, true, 1}, {ir.Sub, true, 1}, {ir.Mul, true, 1}, {ir.Div, true, 1}, {ir.Pow, true, 16},
		{ir.Maximum, true, 0}, {ir.Minimum, true, 0}, {ir.Rem, true, 0}, {ir.Atan2, false, 8},
		{ir.GeluGrad, false, 16},
	}
	for _, b := range ops {
		for _, dtype := range floats {
			for _, shape := range elementwiseShapes {
				d := s.new(b.op, "%v%v", dtype, shape).within(b.units)
				d.Whole = absolute[b.op]
				x := d.normal(dtype, shape...)
				if b.op == ir.Pow {
					x = d.positive(dtype, shape...)
				}
				d.add(nil, x, d.normal(dtype, shape...))
			}
			d := s.new(b.op, "%v special", dtype).within(b.units)
			d.Whole = absolute[b.op]
			x, y := d.normal(dtype, 241), d.normal(dtype, 241)
			d.add(nil, d.specials(x), d.shifted(d.specials(y)))
		}
		if !b.integers {
			continue
		}
		for _, dtype := range integers {
			for _, shape := range []ir.Shape{{}, {0}, {67}, {2, 3, 5}} {
				d := s.new(b.op, "%v%v", dtype, shape)
				d.add(nil, d.extremes(dtype, shape...), d.extremes(dtype, shape...))
			}
		}
	}
}

// shifted rotates the elements, so that special numbers are combined with all kinds of partners.
func (d *draft) shifted(v reference.Value) reference.Value {
	w := v.Clone()
	for i := range w.F {
		w.F[i] = v.F[(i+i/42)%len(v.F)]
	}
	return w
}

func logicCases(s *suite) {
	for _, dtype := range append([]ir.DType{ir.Bool}, integers...) {
		operand := func(d *draft, shape ir.Shape) reference.Value {
			if dtype == ir.Bool {
				return d.normal(dtype, shape...)
			}
			return d.extremes(dtype, shape...)
		}
		for _, shape := range []ir.Shape{{}, {0}, {67}, {2, 3, 5}} {
			d := s.new(ir.Not, "%v%v", dtype, shape)
			d.add(nil, operand(d, shape))
			for _, op := range []ir.Op{ir.BitAnd, ir.BitOr, ir.BitXor} {
				d := s.new(op, "%v%v", dtype, shape)
				d.add(nil, operand(d, shape), operand(d, shape))
			}
			if dtype == ir.Bool {
				continue
			}
			for _, op := range []ir.Op{ir.ShiftLeft, ir.ShiftRight} {
				d := s.new(op, "%v%v", dtype, shape)
				d.add(nil, operand(d, shape), d.below(dtype, dtype.Size()*8, shape...))
				d = s.new(op, "%v%v any amount", dtype, shape)
				d.add(nil, operand(d, shape), operand(d, shape))
			}
		}
	}
	for _, dtype := range floats {
		d := s.new(ir.IsFinite, "%v", dtype)
		d.add(nil, d.specials(d.normal(dtype, 7, 19)))
		d = s.new(ir.IsFinite, "%v[]", dtype)
		d.add(nil, d.normal(dtype))
	}
	for _, dtype := range floats {
		for _, shape := range []ir.Shape{{}, {0}, {67}, {2, 1, 3, 1, 5}} {
			d := s.new(ir.CheckFinite, "%v%v", dtype, shape)
			d.add(ir.CheckFiniteAttrs{What: "a result"}, d.normal(dtype, shape...))
		}
		largest := dtype.Largest()
		d := s.new(ir.CheckFinite, "%v largest", dtype)
		d.add(ir.CheckFiniteAttrs{What: "a result"}, value(dtype, ir.Shape{4}, func(i int) float64 { return []float64{largest, -largest, largest / 2, 0}[i] }))
	}
	compareCases(s)
	for _, dtype := range all {
		for _, shape := range []ir.Shape{{}, {0}, {67}, {2, 1, 3, 1, 5}} {
			d := s.new(ir.Select, "%v%v", dtype, shape)
			d.add(nil, d.normal(ir.Bool, shape...), d.specials(d.normal(dtype, shape...)), d.specials(d.normal(dtype, shape...)))
			d = s.new(ir.Identity, "%v%v", dtype, shape)
			d.add(nil, d.specials(d.normal(dtype, shape...)))
			d = s.new(ir.Barrier, "%v%v", dtype, shape)
			d.add(nil, d.specials(d.normal(dtype, shape...)), d.normal(ir.Float32, 3))
		}
	}
}

func compareCases(s *suite) {
	for _, direction := range []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge} {
		attrs := ir.CompareAttrs{Direction: direction}
		for _, dtype := range all {
			d := s.new(ir.Compare, "%s %v", direction, dtype)
			d.add(attrs, d.specials(d.normal(dtype, 241)), d.shifted(d.specials(d.normal(dtype, 241))))
			d = s.new(ir.Compare, "%s %v[]", direction, dtype)
			d.add(attrs, d.normal(dtype), d.normal(dtype))
			if dtype.IsInteger() {
				d = s.new(ir.Compare, "%s %v extremes", direction, dtype)
				d.add(attrs, d.extremes(dtype, 5, 13), d.extremes(dtype, 5, 13))
			}
		}
		d := s.new(ir.Compare, "%s empty", direction)
		d.add(attrs, d.normal(ir.Float32, 2, 0), d.normal(ir.Float32, 2, 0))
	}
}

func convertCases(s *suite) {
	for _, from := range all {
		for _, to := range all {
			attrs := ir.ConvertAttrs{DType: to}
			d := s.new(ir.Convert, "%v to %v", from, to)
			switch {
			case from == ir.Bool:
				d.add(attrs, d.normal(from, 5, 7))
			case from.IsFloat():
				v := d.domain(from, ir.Shape{11, 13}, func(x float64) float64 { return x * 40 })
				d.add(attrs, d.specials(v))
			default:
				d.add(attrs, d.extremes(from, 11, 13))
			}
			d = s.new(ir.Convert, "%v to %v[]", from, to)
			d.add(attrs, d.normal(from))
			d = s.new(ir.Convert, "%v to %v[0]", from, to)
			d.add(attrs, d.normal(from, 0))
		}
		if !from.IsFloat() {
			continue
		}
		for _, to := range integers { // far outside the integer range
			d := s.new(ir.Convert, "%v to %v saturating", from, to)
			d.add(ir.ConvertAttrs{DType: to}, value(from, ir.Shape{8}, func(i int) float64 {
				return []float64{1e30, -1e30, 3e9, -3e9, 127.9, -128.9, 255.5, -0.5}[i]
			}))
		}
	}
}
