package quantizers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// FakeQuantization rounds numbers to the values that NumBits bits can represent in a range from a smallest to a largest
// number, and returns them as floats: Keras's fake_quant_with_min_max_vars, for training a network for its later
// quantization.
//
// The range is moved a little, so that zero is one of the 2^NumBits (or, narrow, 2^NumBits - 1) equidistant values.
// Gradients flow to x if it is inside the range, and to an end of the range if x is at or beyond it, so the range can
// be trained. Results equal those of Keras's JAX and torch backends.
type FakeQuantization struct {
	NumBits     int  // from 2 to 16; 0 is 8
	NarrowRange bool // leave the lowest value out
	Axis        *int // the axis with a range for each index; nil is one range for all. Negative axes count from the end
}

// Apply quantizes x (...). low and high are scalars or, with an Axis, vectors of its length.
func (q FakeQuantization) Apply(x, low, high *ops.Tensor) *ops.Tensor {
	g := x.Graph()
	bits := q.NumBits
	if bits == 0 {
		bits = 8
	}
	if bits < 2 || bits > 16 {
		ops.Failf(g, "FakeQuantization: NumBits %d; expected 2 to 16, or 0 for 8", q.NumBits)
	}
	if !x.DType().IsFloat() {
		ops.Failf(g, "FakeQuantization: the values are %s; expected floats", x.DType())
	}
	d := ir.Float32
	if x.DType() == ir.Float64 {
		d = ir.Float64
	}
	low, high = q.spread(x, ops.Cast(low, d), "low"), q.spread(x, ops.Cast(high, d), "high")
	most, least := float64(int(1)<<bits-1), 0.0
	if q.NarrowRange {
		least = 1
	}
	// The values that quantization can give, in steps of scale, from first to last.
	width := ops.Subtract(ops.StopGradient(high), ops.StopGradient(low))
	scale, inverse := ops.DivideScalar(width, most-least), ops.Divide(ops.Full(x, d, most-least), width)
	zero := ops.Round(ops.Clip(ops.Subtract(ops.Full(x, d, least), ops.Divide(ops.StopGradient(low), scale)), least, most))
	first := ops.Multiply(ops.Subtract(ops.Full(x, d, least), zero), scale)
	last := ops.Multiply(ops.Subtract(ops.Full(x, d, most), zero), scale)

	wide := ops.Cast(x, d)
	fixed := ops.StopGradient(wide)
	half := ops.Full(x, d, 0.5)
	middle := ops.Floor(ops.Add(ops.Multiply(ops.Negative(first), inverse), half))
	inside := ops.Minimum(ops.Maximum(fixed, first), last)
	steps := ops.Floor(ops.Add(ops.Subtract(ops.Multiply(ops.Subtract(inside, first), inverse), middle), half))
	rounded := ops.Multiply(steps, scale)

	// The following adds nothing to the values; it only passes gradients.
	none := ops.ZerosLike(wide)
	through := func(where, v *ops.Tensor) *ops.Tensor {
		return ops.Where(where, ops.BroadcastTo(ops.Subtract(v, ops.StopGradient(v)), x.Shape()...), none)
	}
	rounded = ops.Add(rounded, through(ops.LogicalAnd(ops.GreaterEqual(fixed, first), ops.LessEqual(fixed, last)), wide))
	rounded = ops.Add(rounded, through(ops.LessEqual(fixed, first), low))
	rounded = ops.Add(rounded, through(ops.GreaterEqual(fixed, last), high))
	return ops.Cast(rounded, x.DType())
}

// spread reshapes an end of the range to the rank of x.
func (q FakeQuantization) spread(x, end *ops.Tensor, name string) *ops.Tensor {
	if q.Axis == nil {
		if end.Shape().Size() != 1 {
			ops.Failf(x.Graph(), "FakeQuantization: %s has shape %v; expected one number, or set Axis", name, end.Shape())
		}
		return ops.Reshape(end)
	}
	axis := *q.Axis
	if axis < 0 {
		axis += x.Rank()
	}
	if axis < 0 || axis >= x.Rank() {
		ops.Failf(x.Graph(), "FakeQuantization: Axis %d; the values have %d axes", *q.Axis, x.Rank())
	}
	if end.Rank() != 1 || end.Dim(0) != x.Dim(axis) {
		ops.Failf(x.Graph(), "FakeQuantization: %s has shape %v; expected (%d), the length of axis %d", name, end.Shape(), x.Dim(axis), axis)
	}
	shape := make([]int, x.Rank())
	for i := range shape {
		shape[i] = 1
	}
	shape[axis] = x.Dim(axis)
	return ops.Reshape(end, shape...)
}
