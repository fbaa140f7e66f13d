package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// FloorDivide returns the largest whole number not above a / b. Integers stay integers; dividing one by zero gives 0.
func FloorDivide(a, b *Tensor) *Tensor {
	a, b = numericPair(a, b)
	return wideOfTwo(a, b, func(a, b *Tensor) *Tensor { q, _ := divmod(a, b); return q })
}

// Mod returns the remainder of FloorDivide; it has the sign of b.
func Mod(a, b *Tensor) *Tensor { _, r := divmod(a, b); return r }

// divmod takes the truncated remainder r and the quotient (a-r)/b, which is exact. Where the sign of r differs from
// that of b, both are corrected by one step.
func divmod(a, b *Tensor) (quotient, remainder *Tensor) {
	a, b = common(numericPair(a, b))
	r := apply1(ir.Rem, nil, a, b)
	q := apply1(ir.Div, nil, Subtract(a, r), b)
	if a.DType().IsSigned() {
		wrong := LogicalAnd(CompareScalar(ir.Ne, r, 0), NotEqual(Sign(r), Sign(b)))
		q = Subtract(q, Cast(wrong, q.DType()))
		r = Add(r, Where(wrong, b, ZerosLike(b)))
	}
	if q.DType().IsFloat() { // as in NumPy, by zero, the quotient is infinite and the remainder NaN
		q = Round(Where(CompareScalar(ir.Eq, b, 0), Divide(a, b), q))
	}
	return q, r
}

// DivideNoNan returns a / b, and 0 where b is 0; there the gradients are 0 too.
func DivideNoNan(a, b *Tensor) *Tensor {
	if !a.DType().IsFloat() && !b.DType().IsFloat() {
		a, b = float(a), float(b)
	}
	a, b = common(a, b)
	isZero := CompareScalar(ir.Eq, b, 0)
	return Where(isZero, ZerosLike(a), Divide(a, Where(isZero, OnesLike(b), b)))
}

// Log2 returns the logarithm to base 2.
func Log2(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(Log(x), 1/math.Ln2) })
}

// Log10 returns the logarithm to base 10.
func Log10(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(Log(x), 1/math.Ln10) })
}

// Exp2 returns 2 to the power x.
func Exp2(x *Tensor) *Tensor { return unaryFloat(ir.Exp2, x) }

func init() {
	derive(ir.Exp2, func(_, y *Tensor) *Tensor { return MultiplyScalar(y, math.Ln2) })
}

// Logaddexp returns ln(e^a + e^b) without overflow: max(a, b) + ln(1 + e^-|a-b|).
func Logaddexp(a, b *Tensor) *Tensor {
	return wideOfTwo(float(a), float(b), func(a, b *Tensor) *Tensor { return logOfSum(a, b, Exp, 1) })
}

// logOfSum is the logarithm of power(a) + power(b) to the base of the powers; base is the natural logarithm of that
// base.
func logOfSum(a, b *Tensor, power func(x *Tensor) *Tensor, base float64) *Tensor {
	top, diff := Maximum(a, b), Subtract(a, b)
	// The difference of equal infinities is NaN; their sum is the infinity itself.
	same := LogicalAnd(Equal(a, b), LogicalNot(Isfinite(a)))
	diff = Negative(Abs(Where(same, ZerosLike(diff), diff)))
	more := Log1p(power(diff))
	if base != 1 {
		more = MultiplyScalar(more, 1/base)
	}
	return Where(same, a, Add(top, more))
}

// Isinf returns whether each element is plus or minus infinity.
func Isinf(x *Tensor) *Tensor {
	if !x.DType().IsFloat() {
		return everywhere(x, 0)
	}
	return CompareScalar(ir.Eq, Abs(x), math.Inf(1))
}

// Isclose returns whether |a - b| <= atol + rtol · |b|. Equal infinities are close, NaN is close to nothing.
func Isclose(a, b *Tensor, rtol, atol float64) *Tensor {
	a, b = common(float(a), float(b))
	near := LessEqual(Abs(Subtract(a, b)), AddScalar(MultiplyScalar(Abs(b), rtol), atol))
	return LogicalOr(LogicalAnd(near, Isfinite(b)), Equal(a, b))
}

// Allclose returns whether all elements are close; see [Isclose].
func Allclose(a, b *Tensor, rtol, atol float64) *Tensor { return All(Isclose(a, b, rtol, atol)) }

// CountNonzero returns the number of elements that are not zero along the given axes, int32; without axes, of all
// elements.
func CountNonzero(x *Tensor, axes ...int) *Tensor {
	return Sum(Cast(Cast(x, ir.Bool), ir.Int32), axes...)
}

// Average returns the mean along axis weighted with weights: sum(weights · x) / sum(weights). weights has the shape of
// x or is a vector along axis; nil is the plain mean.
func Average(x, weights *Tensor, axis int) *Tensor {
	x = float(x)
	if weights == nil {
		return Mean(x, axis)
	}
	axis = x.Axis(axis)
	weights = Cast(weights, x.DType())
	if weights.Rank() == 1 && x.Rank() != 1 {
		shape := orAll(nil, 1, x.Rank())
		shape[axis] = weights.Dim(0)
		weights = Reshape(weights, shape...)
	}
	weights = BroadcastTo(weights, x.Shape()...)
	return Divide(Sum(Multiply(x, weights), axis), Sum(weights, axis))
}

// Outer returns the products of all pairs of elements of a and b, each flattened to a vector.
func Outer(a, b *Tensor) *Tensor {
	return Multiply(ExpandDims(Ravel(a), 1), ExpandDims(Ravel(b), 0))
}

// Median returns the middle element along axis, or the mean of the two middle ones of an even number, or NaN if there
// is any NaN.
func Median(x *Tensor, axis int) *Tensor {
	x = float(x)
	axis = x.Axis(axis)
	n := x.Dim(axis)
	if n == 0 {
		return noneLeft(x, axis)
	}
	if !dim.Known(n) {
		return Quantile(x, 0.5, axis)
	}
	sorted, _ := partitioned(x, axis, (n-1)/2, n/2, -1) //dim:known
	middle := Index(sorted, axis, n/2)                  //dim:known
	if n%2 == 0 {                                       //dim:known
		middle = MultiplyScalar(Add(Index(sorted, axis, n/2-1), middle), 0.5) //dim:known
	}
	last := Index(sorted, axis, -1) // NaN sorts last
	return Where(Isnan(last), last, middle)
}
