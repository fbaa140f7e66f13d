package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// limbBits is the number of bits of an integer that are convolved at a time. Up to 2²¹ products of 32 bits add up
// exactly in float64.
const limbBits = 16

// bilinear computes f, a bilinear function of floats such as a convolution, for integers too: in their common type,
// wrapping around beyond its limits as in Keras. For bools the result says whether any pair of operands is true.
func bilinear(x, kernel *ops.Tensor, f func(x, kernel *ops.Tensor) *ops.Tensor) *ops.Tensor {
	d := ops.Promote(x.DType(), kernel.DType())
	switch {
	case d.IsFloat():
		return f(x, kernel)
	case d == ir.Bool:
		return ops.Cast(f(ops.Cast(x, ir.Float32), ops.Cast(kernel, ir.Float32)), ir.Bool)
	}
	// x is the sum of xᵢ·2^(16i), and likewise the kernel. So f(x, kernel) is the sum of f(xᵢ, kernelⱼ)·2^(16(i+j)).
	// Terms beyond the type are left out.
	var sum *ops.Tensor
	left, right := limbs(ops.Cast(x, d)), limbs(ops.Cast(kernel, d))
	for i, u := range left {
		for j, v := range right[:len(right)-i] {
			part := ops.Cast(f(u, v), ir.Int64)
			if i+j > 0 {
				part = ops.LeftShift(part, ops.Scalar(part, float64(limbBits*(i+j))))
			}
			if sum == nil {
				sum = part
			} else {
				sum = ops.Add(sum, part)
			}
		}
	}
	return ops.Cast(sum, d)
}

// limbs splits integers into pieces of 16 bits, as float64. The last piece carries the sign.
func limbs(x *ops.Tensor) []*ops.Tensor {
	var out []*ops.Tensor
	for range (x.DType().Size() - 1) / 2 {
		low := ops.BitwiseAnd(x, ops.Scalar(x, 1<<limbBits-1))
		out = append(out, ops.Cast(low, ir.Float64))
		x = ops.RightShift(x, ops.Scalar(x, limbBits))
	}
	return append(out, ops.Cast(x, ir.Float64))
}
