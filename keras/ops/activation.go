package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Constants of the self-normalizing activation (Klambauer et al., "Self-Normalizing Neural Networks", 2017).
const (
	seluAlpha = 1.6732632423543772
	seluScale = 1.0507009873554805
)

// wide returns f(x) for a function of several steps. Half precision is computed in float32 and rounded once, at the
// end, so that results, and not only the single steps, are right to the last place.
func wide(x *Tensor, f func(x *Tensor) *Tensor) *Tensor {
	x = float(x)
	d := x.DType()
	if !d.IsHalf() {
		return f(x).WithMask(x.mask)
	}
	return Cast(f(Cast(x, ir.Float32)), d).WithMask(x.mask)
}

// wideOfTwo is wide for a function of two operands. It brings them to one type and shape.
func wideOfTwo(a, b *Tensor, f func(a, b *Tensor) *Tensor) *Tensor {
	a, b = common(a, b)
	d := a.DType()
	if !d.IsHalf() {
		return f(a, b)
	}
	return Cast(f(Cast(a, ir.Float32), Cast(b, ir.Float32)), d)
}

// withSlope is wide for a function whose gradient has a formula of its own, because the gradient of its steps would be
// a difference of nearly equal terms.
func withSlope(x *Tensor, f func(x *Tensor) *Tensor, slope func(x, dy *Tensor) *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
			return []*Tensor{f(xs[0])}, func(dys []*Tensor) []*Tensor { return []*Tensor{slope(xs[0], dys[0])} }
		}, x)[0]
	})
}

// Exponential returns e to the power x. It is the activation's name for [Exp].
func Exponential(x *Tensor) *Tensor { return Exp(x) }

// ReluWith is the rectifier with all of Keras's options: with threshold t and slope s,
//
//	x > t:  min(x, maxValue), but at least 0
//	x <= t: s · (x - t)
//
// maxValue is math.Inf(1) for none.
func ReluWith(x *Tensor, negativeSlope, maxValue, threshold float64) *Tensor {
	if negativeSlope == 0 && threshold == 0 && math.IsInf(maxValue, 1) {
		return Relu(x)
	}
	if negativeSlope != 0 && threshold == 0 && math.IsInf(maxValue, 1) {
		return LeakyRelu(x, negativeSlope)
	}
	positive := Relu(x)
	switch {
	case threshold != 0:
		positive = Where(CompareScalar(ir.Gt, x, threshold), x, ZerosLike(x))
	case maxValue == 6: // Keras's own special case, which differs in the gradient at 6
		positive = Relu6(x)
	}
	if !math.IsInf(maxValue, 1) && !(threshold == 0 && maxValue == 6) {
		positive = Clip(positive, 0, maxValue)
	}
	if negativeSlope != 0 {
		below := Relu(AddScalar(Negative(x), threshold))
		positive = Subtract(positive, MultiplyScalar(below, negativeSlope))
	}
	return positive.WithMask(x.mask)
}

// Relu6 returns min(max(x, 0), 6). Its gradient is 0 at both ends.
func Relu6(x *Tensor) *Tensor {
	if x.DType() == ir.Bool {
		x = float(x)
	}
	return Where(CompareScalar(ir.Ge, x, 6), FullLike(x, 6), Relu(x)).WithMask(x.mask)
}

// LeakyRelu returns x where x >= 0 and slope · x elsewhere.
func LeakyRelu(x *Tensor, slope float64) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		return Where(CompareScalar(ir.Ge, x, 0), x, MultiplyScalar(x, slope))
	})
}

// Elu returns x where x > 0 and alpha · (e^x - 1) elsewhere. Source: Clevert et al., 2015.
func Elu(x *Tensor, alpha float64) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		positive := CompareScalar(ir.Gt, x, 0)
		// The exponential gets no positive number, because its overflow would spoil the gradient of the other branch.
		low := Expm1(Where(positive, ZerosLike(x), x))
		if alpha != 1 {
			low = MultiplyScalar(low, alpha)
		}
		return Where(positive, x, low)
	})
}

// Selu returns 1.0507009873554805 · elu(x, 1.6732632423543772).
func Selu(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(Elu(x, seluAlpha), seluScale) })
}

// Celu returns max(x, 0) + alpha · (e^(min(x, 0)/alpha) - 1). Source: Barron, 2017.
func Celu(x *Tensor, alpha float64) *Tensor {
	f := func(x *Tensor) *Tensor {
		low := Expm1(DivideScalar(MinimumScalar(x, 0), alpha))
		return Add(MaximumScalar(x, 0), MultiplyScalar(low, alpha))
	}
	if size := math.Abs(alpha); alpha == 1 || !(size > 1e-30 && size < 1e30) { // the exponents are x, or too large
		return wide(x, f)
	}
	return withSlope(x, f, func(x, dy *Tensor) *Tensor { return Multiply(dy, expOfProduct(MinimumScalar(x, 0), 1/alpha)) })
}

// Softplus returns ln(1 + e^x), computed as max(x, 0) + ln(1 + e^-|x|). Its gradient is sigmoid(x).
func Softplus(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		return Add(MaximumScalar(x, 0), Log1p(Exp(Negative(Abs(x)))))
	})
}

// LogSigmoid returns ln(sigmoid(x)) = -softplus(-x). -x has the type of x, so unsigned integers wrap around, as in
// Keras.
func LogSigmoid(x *Tensor) *Tensor {
	return wide(Negative(x), func(minus *Tensor) *Tensor { return Negative(Softplus(minus)) })
}

// Softsign returns x / (1 + |x|).
func Softsign(x *Tensor) *Tensor {
	below := func(x *Tensor) *Tensor { return AddScalar(Abs(x), 1) }
	return withSlope(x, func(x *Tensor) *Tensor { return Divide(x, below(x)) },
		func(x, dy *Tensor) *Tensor { return Divide(dy, Square(below(x))) })
}

// Silu returns x · sigmoid(x), also called swish.
func Silu(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return Multiply(x, Sigmoid(x)) })
}

// Mish returns x · tanh(softplus(x)). Source: Misra, 2019. With n = e^x (e^x + 2), tanh(ln(1 + e^x)) is n / (n + 2),
// which needs one exponential and no logarithm, and stays accurate near 0.
func Mish(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		e := Exp(MinimumScalar(x, 20)) // above 20 the quotient is 1; e² must stay finite
		n := Multiply(e, AddScalar(e, 2))
		return Multiply(x, Divide(n, AddScalar(n, 2)))
	})
}

// Gelu returns x · Φ(x), where Φ(x) = (1 + erf(x/√2)) / 2 is the distribution function of the normal distribution. With
// approximate set it returns x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2. Source: Hendrycks, Gimpel, 2016.
func Gelu(x *Tensor, approximate bool) *Tensor {
	x = float(x)
	if !approximate {
		return unary(ir.Gelu, x)
	}
	// (1 + tanh(u)) / 2 = sigmoid(2u), which stays accurate where tanh(u) is near -1 and has the shorter gradient.
	scale := math.Sqrt(8 / math.Pi)
	return wide(x, func(x *Tensor) *Tensor {
		return Multiply(x, Sigmoid(Multiply(x, AddScalar(MultiplyScalar(Square(x), 0.044715*scale), scale))))
	})
}

// Glu splits x into halves a and b along axis and returns a · sigmoid(b). Source: Dauphin et al., 2017.
func Glu(x *Tensor, axis int) *Tensor {
	halves := Split(float(x), 2, axis)
	return Multiply(halves[0], Sigmoid(halves[1]))
}

// HardSigmoid returns min(max(x/6 + 1/2, 0), 1), computed as relu6(x + 3) / 6.
func HardSigmoid(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(Relu6(AddScalar(x, 3)), 1.0/6) })
}

// HardSilu returns x · hardSigmoid(x), also called hard swish.
func HardSilu(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		return Multiply(x, HardSigmoid(x))
	})
}

// HardTanh clips x to [-1, 1].
func HardTanh(x *Tensor) *Tensor {
	x = numeric(x)
	one := OnesLike(x)
	low := Where(CompareScalar(ir.Lt, x, -1), Negative(one), x)
	return Where(CompareScalar(ir.Gt, x, 1), one, low).WithMask(x.mask)
}

// HardShrink returns x where |x| > threshold and 0 elsewhere; integers become float32.
func HardShrink(x *Tensor, threshold float64) *Tensor {
	x = float(x)
	return Where(CompareScalar(ir.Gt, Abs(x), threshold), x, ZerosLike(x)).WithMask(x.mask)
}

// SoftShrink moves x by threshold towards 0 and returns 0 where |x| <= threshold; integers become float32.
func SoftShrink(x *Tensor, threshold float64) *Tensor {
	x = float(x)
	low := Where(CompareScalar(ir.Lt, x, -threshold), AddScalar(x, threshold), ZerosLike(x))
	return Where(CompareScalar(ir.Gt, x, threshold), SubtractScalar(x, threshold), low).WithMask(x.mask)
}

// TanhShrink returns x - tanh(x).
func TanhShrink(x *Tensor) *Tensor {
	return withSlope(x, func(x *Tensor) *Tensor { return Subtract(x, Tanh(x)) },
		func(x, dy *Tensor) *Tensor { return Multiply(dy, Square(Tanh(x))) })
}

// Squareplus returns (x + sqrt(x² + b)) / 2. Source: Barron, 2021.
func Squareplus(x *Tensor, b float64) *Tensor {
	far := 1e9 * math.Sqrt(math.Max(b, 1)) // from there on the root is |x|, in float64 too
	root := func(x *Tensor) *Tensor {      // x² overflows at 2e19
		size := Abs(x)
		return Where(CompareScalar(ir.Gt, size, far), size, Sqrt(AddScalar(Square(x), b)))
	}
	return withSlope(x, func(x *Tensor) *Tensor { return MultiplyScalar(Add(x, root(x)), 0.5) },
		func(x, dy *Tensor) *Tensor {
			return Multiply(dy, MultiplyScalar(AddScalar(Divide(x, root(x)), 1), 0.5))
		})
}

// SparsePlus returns 0 where x <= -1, x where x >= 1 and (x + 1)²/4 in between.
func SparsePlus(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		between := MultiplyScalar(Square(AddScalar(x, 1)), 0.25)
		high := Where(CompareScalar(ir.Ge, x, 1), x, between)
		return Where(CompareScalar(ir.Le, x, -1), ZerosLike(x), high)
	})
}

// SparseSigmoid returns min(max(x + 1, 0), 2) / 2.
func SparseSigmoid(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(Clip(AddScalar(x, 1), 0, 2), 0.5) })
}

// Sparsemax projects x along axis to the nearest point of the probability simplex: max(x - tau, 0), with tau chosen so
// that the result sums to 1. Source: Martins, Astudillo, "From Softmax to Sparsemax", ICML 2016, algorithm 1.
func Sparsemax(x *Tensor, axis int) *Tensor {
	x = float(x)
	sorted := Negative(Sort(Negative(x), axis))
	sums := Cumsum(sorted, axis)
	rank := AddScalar(Iota(x, x.DType(), axis, x.Shape()...), 1)
	support := CompareScalar(ir.Gt, Subtract(sorted, Divide(SubtractScalar(sums, 1), rank)), 0)
	// The largest supported sum is the sum over the support: its elements come first in the sorted order.
	inside := Where(support, sorted, ZerosLike(sorted))
	size := Sum(Cast(support, x.DType()), axis)
	tau := Divide(SubtractScalar(Sum(inside, axis), 1), size)
	return MaximumScalar(Subtract(x, KeepDims(tau, x, axis)), 0).WithMask(x.mask)
}

// Threshold returns x where x > threshold and value elsewhere.
func Threshold(x *Tensor, threshold, value float64) *Tensor {
	return Where(CompareScalar(ir.Gt, x, threshold), x, FullLike(x, value)).WithMask(x.mask)
}
