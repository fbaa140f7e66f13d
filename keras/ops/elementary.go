package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Erfc returns 1 - erf(x). It is accurate where that is near 0.
func Erfc(x *Tensor) *Tensor { return unaryFloat(ir.Erfc, x) }

func init() {
	derive(ir.Erfc, func(x, _ *Tensor) *Tensor { return MultiplyScalar(Exp(Negative(Square(x))), -2/math.Sqrt(math.Pi)) })
}

// Cbrt returns the real cube root.
func Cbrt(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
			return []*Tensor{cubeRoot(xs[0])}, func(dys []*Tensor) []*Tensor {
				isZero := CompareScalar(ir.Eq, xs[0], 0)
				y := Cbrt(Where(isZero, OnesLike(xs[0]), xs[0]))
				return []*Tensor{Multiply(dys[0], Where(isZero, ZerosLike(y), Divide(Scalar(y, 1.0/3), Square(y))))}
			}
		}, x)[0]
	})
}

// cubeRoot improves a power, whose exponent 1/3 is rounded, by one Newton step.
func cubeRoot(x *Tensor) *Tensor {
	itself := Equal(MultiplyScalar(x, 0.5), x) // zeros and infinities
	size := Where(itself, OnesLike(x), Abs(x))
	y := PowerScalar(size, 1.0/3)
	y = Subtract(y, MultiplyScalar(Subtract(y, Divide(size, Square(y))), 1.0/3))
	return Where(itself, x, Multiply(Sign(x), y))
}

// Deg2rad returns x · π/180.
func Deg2rad(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(x, math.Pi/180) })
}

// Rad2deg returns x · 180/π.
func Rad2deg(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor { return MultiplyScalar(x, 180/math.Pi) })
}

// Hypot returns sqrt(a² + b²) without overflow.
func Hypot(a, b *Tensor) *Tensor {
	return wideOfTwo(float(a), float(b), hypotOf)
}

func hypotOf(a, b *Tensor) *Tensor {
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		return []*Tensor{hypot(Abs(xs[0]), Abs(xs[1]))}, func(dys []*Tensor) []*Tensor {
			y := Hypot(xs[0], xs[1])
			isZero := CompareScalar(ir.Eq, y, 0)
			return []*Tensor{Multiply(dys[0], cosine(xs[0], y, isZero)), Multiply(dys[0], cosine(xs[1], y, isZero))}
		}
	}, a, b)[0]
}

// cosine is x/y, the slope of y = sqrt(x² + ...) along x. It is 0 where y is 0, and the sign of x where x is infinite.
func cosine(x, y, isZero *Tensor) *Tensor {
	slope := Divide(x, Where(isZero, OnesLike(y), y))
	return Where(CompareScalar(ir.Eq, Abs(x), math.Inf(1)), Sign(x), slope)
}

// hypot is Hypot for numbers that are not negative.
func hypot(a, b *Tensor) *Tensor {
	top, low := Maximum(a, b), Minimum(a, b)
	isZero := CompareScalar(ir.Eq, top, 0)
	ratio := Divide(low, Where(isZero, OnesLike(top), top))
	infinite := CompareScalar(ir.Eq, top, math.Inf(1))
	ratio = Where(infinite, ZerosLike(ratio), ratio)
	return Multiply(top, Sqrt(AddScalar(Square(ratio), 1)))
}

// Heaviside returns 0 where x < 0, 1 where x > 0 and h where x is 0.
func Heaviside(x, h *Tensor) *Tensor {
	x, h = common(x, h)
	step := Where(CompareScalar(ir.Lt, x, 0), ZerosLike(x), OnesLike(x))
	step = Where(CompareScalar(ir.Eq, x, 0), h, step)
	return Where(Isnan(x), x, step)
}

// Fmax returns the larger of a and b. If one is NaN, it returns the other.
func Fmax(a, b *Tensor) *Tensor {
	a, b = common(a, b)
	return Where(Isnan(a), b, Where(Isnan(b), a, Maximum(a, b)))
}

// Fmin returns the smaller of a and b. If one is NaN, it returns the other.
func Fmin(a, b *Tensor) *Tensor {
	a, b = common(a, b)
	return Where(Isnan(a), b, Where(Isnan(b), a, Minimum(a, b)))
}

// Trunc drops the digits after the decimal point.
func Trunc(x *Tensor) *Tensor {
	x = float(x)
	return Multiply(Sign(x), Floor(Abs(x)))
}

// Sinc returns sin(πx)/(πx), which is 1 at 0.
func Sinc(x *Tensor) *Tensor {
	return wide(x, func(x *Tensor) *Tensor {
		return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
			return []*Tensor{sinc(xs[0])}, func(dys []*Tensor) []*Tensor { return []*Tensor{Multiply(dys[0], sincSlope(xs[0]))} }
		}, x)[0]
	})
}

func sinc(x *Tensor) *Tensor {
	isZero := CompareScalar(ir.Eq, x, 0)
	safe := Where(isZero, OnesLike(x), x)
	return Where(isZero, OnesLike(x), Divide(ofHalfTurns(Sin, safe), MultiplyScalar(safe, math.Pi)))
}

// ofHalfTurns returns the sine or cosine of πx. It reduces x exactly to part of a period.
func ofHalfTurns(f func(*Tensor) *Tensor, x *Tensor) *Tensor {
	whole := Round(x)
	odd := Subtract(whole, MultiplyScalar(Round(MultiplyScalar(whole, 0.5)), 2)) // 0, 1 or -1
	sign := AddScalar(MultiplyScalar(Square(odd), -2), 1)
	return Multiply(sign, f(MultiplyScalar(Subtract(x, whole), math.Pi)))
}

// sincSlope is (cos(πx) - sinc(x))/x. Near 0, where the two terms are nearly equal, it is the series of that.
func sincSlope(x *Tensor) *Tensor {
	small := CompareScalar(ir.Lt, Abs(x), 0.25)
	near := Where(small, x, ZerosLike(x))
	u := MultiplyScalar(Square(near), math.Pi*math.Pi)
	series, factorial := ZerosLike(x), math.Gamma(20) // of 2k + 1
	for k := 9; k >= 1; k-- {
		series = AddScalar(Multiply(Negative(u), series), -2*float64(k)/factorial)
		factorial /= float64((2*k + 1) * 2 * k)
	}
	far := Where(small, OnesLike(x), x)
	return Where(small, Multiply(MultiplyScalar(near, math.Pi*math.Pi), series), Divide(Subtract(ofHalfTurns(Cos, far), Sinc(far)), far))
}

// Logaddexp2 returns log2(2^a + 2^b) without overflow.
func Logaddexp2(a, b *Tensor) *Tensor {
	a, b = commonFloat(a, b)
	return wideOfTwo(a, b, func(a, b *Tensor) *Tensor {
		return logOfSum(a, b, Exp2, math.Ln2)
	})
}

// Isneginf returns whether each element is minus infinity.
func Isneginf(x *Tensor) *Tensor { return isInfinity(x, math.Inf(-1)) }

// Isposinf returns whether each element is plus infinity.
func Isposinf(x *Tensor) *Tensor { return isInfinity(x, math.Inf(1)) }

func isInfinity(x *Tensor, infinity float64) *Tensor {
	if !x.DType().IsFloat() {
		return everywhere(x, 0)
	}
	return CompareScalar(ir.Eq, x, infinity)
}

// NanToNum replaces NaN by nan, plus infinity by posinf and minus infinity by neginf.
func NanToNum(x *Tensor, nan, posinf, neginf float64) *Tensor {
	if !x.DType().IsFloat() {
		return x
	}
	y := Where(Isnan(x), FullLike(x, nan), x)
	y = Where(Isposinf(x), FullLike(x, posinf), y)
	return Where(Isneginf(x), FullLike(x, neginf), y)
}

// Isin returns whether each element of x is one of the elements of values.
func Isin(x, values *Tensor) *Tensor {
	values = Ravel(values)
	n := values.Dim(0)
	if !dim.Known(n) || n == 0 || n > fewBorders && Promote(x.DType(), values.DType()) == ir.Bool { //dim:known
		return Any(Equal(ExpandDims(x, -1), values), -1)
	}
	if n > fewBorders { //dim:known
		d := Promote(x.DType(), values.DType())
		x, values = Cast(x, d), Sort(Cast(values, d), 0)
		return Equal(x, apply1(ir.Gather, ir.GatherAttrs{Mode: ir.IndexClip}, values, Searchsorted(values, x, false)))
	}
	found := Equal(x, Index(values, 0, 0))
	for i := 1; i < n; i++ { //dim:known
		found = LogicalOr(found, Equal(x, Index(values, 0, i)))
	}
	return found
}

// ArrayEqual returns whether a and b have the same shape and equal elements.
func ArrayEqual(a, b *Tensor) *Tensor {
	if !a.Shape().Equal(b.Shape()) {
		return Full(graphOf(a, b), ir.Bool, 0)
	}
	return All(Equal(a, b))
}

// SaturateCast converts x to another type; numbers beyond its range become its smallest or largest number. So
// infinities become finite in a smaller type, and negative numbers become false.
func SaturateCast(x *Tensor, dtype ir.DType) *Tensor {
	from := x.DType()
	if dtype == ir.Bool && from != ir.Bool {
		return Cast(MaximumScalar(x, 0), dtype)
	}
	if dtype.IsFloat() && from != ir.Bool && dtype.Largest() < largestOf(from) {
		limit := dtype.Largest()
		return Cast(MinimumScalar(MaximumScalar(x, -limit), limit), dtype)
	}
	if from.IsFloat() || !from.IsInteger() || !dtype.IsInteger() {
		return Cast(x, dtype) // floats saturate already
	}
	low, high := integerRange(dtype)
	fromLow, fromHigh := integerRange(from)
	if low > fromLow {
		x = MaximumScalar(x, low)
	}
	if high < fromHigh {
		x = MinimumScalar(x, high)
	}
	return Cast(x, dtype)
}

// largestOf is the largest number of a type.
func largestOf(d ir.DType) float64 {
	if d.IsFloat() {
		return d.Largest()
	}
	_, high := integerRange(d)
	return high
}

// integerRange returns the smallest and largest number of an integer type; those beyond 2^53 are rounded outwards.
func integerRange(d ir.DType) (low, high float64) {
	bits := d.Size() * 8
	if d.IsSigned() {
		return -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1
	}
	return 0, math.Ldexp(1, bits) - 1
}
