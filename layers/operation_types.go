package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The functions here give operations the element types of Keras, if those of package ops, which were chosen for layers
// and losses, differ.

// amongFloats computes in the type of the float if a float is combined with integers, like Keras's weak promotion.
func amongFloats(f func(x, y *ops.Tensor) *ops.Tensor) func(x, y *ops.Tensor) *ops.Tensor {
	return func(x, y *ops.Tensor) *ops.Tensor { return f(likeFloat(x, y), likeFloat(y, x)) }
}

// likeFloat returns x in the type of y if only y is a float.
func likeFloat(x, y *ops.Tensor) *ops.Tensor {
	if y.DType().IsFloat() && !x.DType().IsFloat() {
		return ops.Cast(x, y.DType())
	}
	return x
}

// floatPair computes integers in float32, or in float64 if one has type int64.
func floatPair(f func(x, y *ops.Tensor) *ops.Tensor) func(x, y *ops.Tensor) *ops.Tensor {
	return amongFloats(func(x, y *ops.Tensor) *ops.Tensor {
		if !x.DType().IsFloat() && !y.DType().IsFloat() && (x.DType() != ir.Bool || y.DType() != ir.Bool) {
			d := ir.Float32
			if x.DType() == ir.Int64 || y.DType() == ir.Int64 {
				d = ir.Float64
			}
			x, y = ops.Cast(x, d), ops.Cast(y, d)
		}
		return f(x, y)
	})
}

// int64AsFloat computes int64 in float64.
func int64AsFloat(f func(*ops.Tensor) *ops.Tensor) func(*ops.Tensor) *ops.Tensor {
	return func(x *ops.Tensor) *ops.Tensor {
		if x.DType() == ir.Int64 {
			x = ops.Cast(x, ir.Float64)
		}
		return f(x)
	}
}

// inPromoted gives a product of integers the common type of its factors.
func inPromoted(f func(x, y *ops.Tensor) *ops.Tensor) func(x, y *ops.Tensor) *ops.Tensor {
	return func(x, y *ops.Tensor) *ops.Tensor {
		z := f(x, y)
		if d := ops.Promote(x.DType(), y.DType()); !d.IsFloat() {
			z = ops.Cast(z, d)
		}
		return z
	}
}

// matmul adds up products of bytes in 32 bits, as Keras does only here and in einsum.
func matmul(x, y *ops.Tensor) *ops.Tensor {
	if x.DType() == ir.Int8 && y.DType() == ir.Int8 {
		return ops.Matmul(ops.Cast(x, ir.Int32), ops.Cast(y, ir.Int32))
	}
	return inPromoted(ops.Matmul)(x, y)
}

// einsum computes in the common type of all operands, or in 32 bits if all are bytes.
func einsum(subscripts string, xs ...*ops.Tensor) *ops.Tensor {
	if !slices.ContainsFunc(xs, func(x *ops.Tensor) bool { return x.DType() != ir.Int8 }) {
		wide := make([]*ops.Tensor, len(xs))
		for i, x := range xs {
			wide[i] = ops.Cast(x, ir.Int32)
		}
		return ops.Einsum(subscripts, wide...)
	}
	d := ir.Bool
	for _, x := range xs {
		d = ops.Promote(d, x.DType())
	}
	y := ops.Einsum(subscripts, xs...)
	if !d.IsFloat() {
		y = ops.Cast(y, d)
	}
	return y
}

// summed adds or multiplies small integers in 32 bits.
func summed(f func(x *ops.Tensor, axes ...int) *ops.Tensor) func(x *ops.Tensor, axes ...int) *ops.Tensor {
	return func(x *ops.Tensor, axes ...int) *ops.Tensor { return f(inWord(x), axes...) }
}

func inWord(x *ops.Tensor) *ops.Tensor {
	switch x.DType() {
	case ir.Uint8, ir.Uint16:
		return ops.Cast(x, ir.Uint32)
	case ir.Int8, ir.Int16:
		return ops.Cast(x, ir.Int32)
	}
	return x
}

// extreme keeps the type of bools.
func extreme(f func(x *ops.Tensor, axes ...int) *ops.Tensor) func(x *ops.Tensor, axes ...int) *ops.Tensor {
	return func(x *ops.Tensor, axes ...int) *ops.Tensor {
		y := f(x, axes...)
		if x.DType() == ir.Bool {
			y = ops.Cast(y, ir.Bool)
		}
		return y
	}
}

// withoutNaN sums or multiplies integers directly, because they hold no NaN.
func withoutNaN(skipping, plain func(x *ops.Tensor, axis int) *ops.Tensor) func(x *ops.Tensor, axis int) *ops.Tensor {
	return func(x *ops.Tensor, axis int) *ops.Tensor {
		if x.DType().IsFloat() {
			return skipping(x, axis)
		}
		return plain(x, axis)
	}
}

// differences computes n-th differences along an axis; those of bools say where neighbours differ.
func differences(a *operands) *ops.Tensor {
	x, n, axis := a.tensor("a"), a.integer("n"), a.integer("axis")
	if x.DType() != ir.Bool {
		return ops.Diff(x, n, axis)
	}
	for range n {
		x = ops.Cast(ops.Diff(ops.Cast(x, ir.Int32), 1, axis), ir.Bool)
	}
	return x
}

// ofBools returns a function that is replaced by another one if both operands are bools: the sum of two bools says
// whether one of them is true.
func ofBools(bools, others func(x, y *ops.Tensor) *ops.Tensor) func(x, y *ops.Tensor) *ops.Tensor {
	return func(x, y *ops.Tensor) *ops.Tensor {
		if x.DType() == ir.Bool && y.DType() == ir.Bool {
			return bools(x, y)
		}
		return others(x, y)
	}
}

// amongWhole applies f, which like a convolution only moves and adds values, to integers by way of floats that hold
// them.
func amongWhole(x *ops.Tensor, f func(x *ops.Tensor) *ops.Tensor) *ops.Tensor {
	d := x.DType()
	switch {
	case d.IsFloat():
		return f(x)
	case d.Size() > 2:
		return ops.Cast(f(ops.Cast(x, ir.Float64)), d)
	}
	return ops.Cast(f(ops.Cast(x, ir.Float32)), d)
}

// squareOf computes the square; that of bools is int32.
func squareOf(x *ops.Tensor) *ops.Tensor {
	if x.DType() == ir.Bool {
		x = ops.Cast(x, ir.Int32)
	}
	return ops.Square(x)
}

// outer computes the product of each element of x with each of y; that of bools says whether both are true.
func outer(x, y *ops.Tensor) *ops.Tensor {
	if x.DType() == ir.Bool && y.DType() == ir.Bool {
		return ops.Cast(ops.Outer(ops.Cast(x, ir.Uint8), ops.Cast(y, ir.Uint8)), ir.Bool)
	}
	return ops.Outer(x, y)
}
