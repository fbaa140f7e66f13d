package ops

import "github.com/gokeras/gokeras/kernels/ir"

// Promote returns the common element type of values of types a and b (see the package comment).
func Promote(a, b ir.DType) ir.DType {
	switch {
	case a == b:
		return a
	case a == ir.Bool:
		return b
	case b == ir.Bool:
		return a
	case a.IsFloat() && b.IsFloat():
		if a.Size() == b.Size() { // float16 and bfloat16
			return ir.Float32
		}
		return larger(a, b)
	case a.IsFloat():
		return a
	case b.IsFloat():
		return b
	case a.IsSigned() == b.IsSigned():
		return larger(a, b)
	}
	signed, unsigned := a, b
	if b.IsSigned() {
		signed, unsigned = b, a
	}
	if signed.Size() > unsigned.Size() {
		return signed
	}
	switch unsigned {
	case ir.Uint8:
		return ir.Int16
	case ir.Uint16:
		return ir.Int32
	case ir.Uint32:
		return ir.Int64
	}
	return ir.Float32 // as JAX does for int64 and uint64
}

func larger(a, b ir.DType) ir.DType {
	if b.Size() > a.Size() {
		return b
	}
	return a
}

// Cast converts x to another element type: floats to integers truncate, anything to bool is x != 0. The gradient is
// cast back; integers and bools have none.
func Cast(x *Tensor, dtype ir.DType) *Tensor {
	if x.DType() == dtype {
		return x
	}
	return apply1(ir.Convert, ir.ConvertAttrs{DType: dtype}, x).WithMask(x.mask)
}

func init() {
	rules[ir.Convert] = func(c *vjp) []*Tensor { return []*Tensor{Cast(c.dy(0), c.in(0).DType())} }
}

// common brings operands to one element type and shape.
func common(a, b *Tensor) (*Tensor, *Tensor) {
	if d := Promote(a.DType(), b.DType()); a.DType() != d || b.DType() != d {
		a, b = Cast(a, d), Cast(b, d)
	}
	if a.Shape().Equal(b.Shape()) {
		return a, b
	}
	s, err := ir.BroadcastShapes(a.Shape(), b.Shape())
	if err != nil {
		Fail(graphOf(a, b), err)
	}
	return BroadcastTo(a, s...), BroadcastTo(b, s...)
}

// float brings x to a float type; integers and bools become float32, as in Keras.
func float(x *Tensor) *Tensor {
	if x.DType().IsFloat() {
		return x
	}
	return Cast(x, ir.Float32)
}
