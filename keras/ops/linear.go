package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Inner sums the products of a and b over the last axes of both; the result has the other axes of a, then those of b.
func Inner(a, b *Tensor) *Tensor {
	if a.Rank() == 0 || b.Rank() == 0 {
		return Multiply(a, b)
	}
	return Tensordot(a, b, []int{-1}, []int{-1})
}

// Vdot sums the products of all elements of a and b, which have the same number of elements.
func Vdot(a, b *Tensor) *Tensor { return Tensordot(Ravel(a), Ravel(b), []int{0}, []int{0}) }

// NumpyDot is numpy.dot: the product with a scalar, or the sum over the last axis of a and the second to last (of a
// vector, the only) axis of b; leading axes do not pair up. keras.ops.dot has this meaning.
func NumpyDot(a, b *Tensor) *Tensor {
	if a.Rank() == 0 || b.Rank() == 0 {
		return Multiply(a, b)
	}
	return Tensordot(a, b, []int{-1}, []int{max(b.Rank()-2, 0)})
}

// Kron returns the Kronecker product: each element of a is replaced by its product with the whole of b.
func Kron(a, b *Tensor) *Tensor {
	for a.Rank() < b.Rank() {
		a = ExpandDims(a, 0)
	}
	for b.Rank() < a.Rank() {
		b = ExpandDims(b, 0)
	}
	shape := make([]int, a.Rank())
	var as, bs []int
	for i := range shape {
		as, bs = append(as, a.Dim(i), 1), append(bs, 1, b.Dim(i))
		shape[i] = dim.Mul(a.Dim(i), b.Dim(i))
	}
	return Reshape(Multiply(Reshape(a, as...), Reshape(b, bs...)), shape...)
}

// Cross returns the vector product over the last axes, of length 3. Two of length 2 give only the third component.
// Other axes broadcast.
func Cross(a, b *Tensor) *Tensor {
	known := func(x *Tensor) bool { return x.Rank() > 0 && (x.Dim(-1) == 2 || x.Dim(-1) == 3) }
	if !known(a) || !known(b) {
		Failf(graphOf(a, b), "cross: the last axes must have length 2 or 3, received shapes %v and %v", a.Shape(), b.Shape())
	}
	part := func(x *Tensor, i int) *Tensor {
		if i == 2 && x.Dim(-1) == 2 {
			return ZerosLike(Index(x, -1, 0))
		}
		return Index(x, -1, i)
	}
	component := func(i, j int) *Tensor {
		return Subtract(Multiply(part(a, i), part(b, j)), Multiply(part(a, j), part(b, i)))
	}
	if a.Dim(-1) == 2 && b.Dim(-1) == 2 {
		return component(0, 1)
	}
	return Stack(-1, component(1, 2), component(2, 0), component(0, 1))
}

// Normalize divides x by its p-norm along axis, which [VectorNorm] defines, but at least by epsilon. For order 2 see
// [L2Normalize].
func Normalize(x *Tensor, axis int, order, epsilon float64) *Tensor {
	x = float(x)
	if order == 2 {
		return L2Normalize(x, axis, epsilon)
	}
	return Divide(x, KeepDims(MaximumScalar(VectorNorm(x, order, axis), epsilon), x, axis)).WithMask(x.mask)
}

// NormalizeAxes divides x by its p-norm over several axes together, but at least by epsilon; without axes, over all
// axes. Over two axes, and with an order other than 2, it is a matrix norm, as in NumPy.
func NormalizeAxes(x *Tensor, axes []int, order, epsilon float64) *Tensor {
	x = float(x)
	if x.Rank() == 0 {
		x = ExpandDims(x, 0)
	}
	axes = allAxes(x, axes)
	switch {
	case len(axes) == 1:
		return Normalize(x, axes[0], order, epsilon)
	case order == 2:
		squares := KeepDims(Sum(Square(x), axes...), x, axes...)
		return Multiply(x, Rsqrt(MaximumScalar(squares, max(epsilon*epsilon, x.DType().LeastNormal())))).WithMask(x.mask)
	case len(axes) == 2:
		return Divide(x, KeepDims(MaximumScalar(MatrixNorm(x, order, axes[0], axes[1]), epsilon), x, axes...)).WithMask(x.mask)
	}
	Failf(x.g, "normalize: over the %d axes %v of %v only order 2 is defined, received %v", len(axes), axes, x.Shape(), order)
	return nil
}

// Cdist returns the Euclidean distances between the rows of a (..., m, d) and those of b (..., n, d), (..., m, n).
func Cdist(a, b *Tensor) *Tensor {
	if a.Rank() < 2 || b.Rank() < 2 || !dim.MayEqual(a.Dim(-1), b.Dim(-1)) {
		Failf(graphOf(a, b), "cdist: needs (..., m, d) and (..., n, d), received %v and %v", a.Shape(), b.Shape())
	}
	if a, b := float(a), float(b); b.DType() == ir.Float32 && dim.Known(b.Dim(-2)) && b.Dim(-2) >= distancesSide {
		// This way the vector elements are distances, and not the terms of one distance.
		return Norm(Subtract(ExpandDims(a, -1), ExpandDims(SwapAxes(b, -2, -1), -3)), -2)
	}
	return Norm(Subtract(ExpandDims(float(a), -2), ExpandDims(float(b), -3)), -1)
}

// distancesSide is the number of points of b from which on Cdist computes their distances side by side, in float32.
const distancesSide = 32
