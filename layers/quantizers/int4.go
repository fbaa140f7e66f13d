package quantizers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// PackInt4 packs two neighbours along an axis into one byte: the first in the four low bits, the second in the high
// ones. x is int8 with values between -8 and 7, or uint8 with values between 0 and 15; if the length is odd, the last
// high bits are 0. Behaviour of keras.quantizers.pack_int4.
func PackInt4(x kernels.Array, axis int) (kernels.Array, error) {
	axis, err := checkPacking("PackInt4", x.Type, axis)
	if err != nil {
		return kernels.Array{}, err
	}
	outer, n, inner := around(x.Type.Shape, axis)
	half := (n + 1) / 2 //dim:known of an array
	shape := x.Type.Shape.Clone()
	shape[axis] = half
	out := kernels.NewArray(ir.Type{DType: x.Type.DType, Shape: shape})
	for o := range outer {
		for i := range n {
			for k := range inner {
				out.Data[(o*half+i/2)*inner+k] |= x.Data[(o*n+i)*inner+k] & 15 << (i % 2 * 4)
			}
		}
	}
	return out, nil
}

// UnpackInt4 is the inverse of [PackInt4], for length numbers along the axis.
func UnpackInt4(packed kernels.Array, length, axis int) (kernels.Array, error) {
	axis, err := checkPacking("UnpackInt4", packed.Type, axis)
	if err != nil {
		return kernels.Array{}, err
	}
	outer, half, inner := around(packed.Type.Shape, axis)
	if (length+1)/2 != half {
		return kernels.Array{}, fmt.Errorf("quantizers: UnpackInt4: axis %d has %d bytes, which hold %d or %d numbers, not %d", axis, half, 2*half-1, 2*half, length)
	}
	shape := packed.Type.Shape.Clone()
	shape[axis] = length
	out := kernels.NewArray(ir.Type{DType: packed.Type.DType, Shape: shape})
	for o := range outer {
		for i := range length {
			for k := range inner {
				v := packed.Data[(o*half+i/2)*inner+k] >> (i % 2 * 4) & 15
				if packed.Type.DType == ir.Int8 {
					v = v ^ 8 - 8
				}
				out.Data[(o*length+i)*inner+k] = v
			}
		}
	}
	return out, nil
}

func checkPacking(what string, t ir.Type, axis int) (int, error) {
	if t.DType != ir.Int8 && t.DType != ir.Uint8 {
		return 0, fmt.Errorf("quantizers: %s: expected int8 or uint8, received %v", what, t)
	}
	if axis < 0 {
		axis += len(t.Shape)
	}
	if axis < 0 || axis >= len(t.Shape) {
		return 0, fmt.Errorf("quantizers: %s: there is no axis %d in shape %v", what, axis, t.Shape)
	}
	return axis, nil
}

// around splits a shape at an axis.
func around(s ir.Shape, axis int) (outer, n, inner int) {
	return s[:axis].Size(), s[axis], s[axis+1:].Size()
}

// UnpackInt4Tensor is [UnpackInt4] inside a program, of int8.
func UnpackInt4Tensor(packed *ops.Tensor, length, axis int) *ops.Tensor {
	axis, err := checkPacking("UnpackInt4", packed.Type(), axis)
	if err != nil {
		ops.Fail(packed.Graph(), err)
	}
	low := ops.RightShift(ops.LeftShift(packed, ops.Scalar(packed, 4)), ops.Scalar(packed, 4))
	high := ops.RightShift(packed, ops.Scalar(packed, 4))
	both := ops.Stack(axis+1, low, high)
	shape := slices.Clone(packed.Shape())
	shape[axis] *= 2 //dim:known weights have fixed axes
	whole := ops.Reshape(both, shape...)
	if length == shape[axis] {
		return whole
	}
	start, limit := make([]int, len(shape)), slices.Clone(shape)
	limit[axis] = length
	return ops.Slice(whole, start, limit)
}
