package vec

import "math"

// The float32 kernels of this file have no portable twins. Without assembly they are functions of float64, most of them
// from package math, rounded once.

// apply stores f(x). It uses the assembly for op if no magnitude is above limit (0 means no limit).
func apply[T Float](op unaryOp, limit float32, f func(float64) float64, dst, x []T) {
	x = x[:len(dst)]
	if single[T]() && vectorized() {
		d, s := as32(dst), as32(x)
		for i := 0; i < len(d); i += guardBlock {
			applyBlock(op, limit, f, d[i:min(i+guardBlock, len(d))], s[i:min(i+guardBlock, len(d))])
		}
		return
	}
	switch {
	case single[T]():
	case limit != 0 && circular64(op, f, as64(dst), as64(x)), limit == 0 && function64(op, dst, x):
		return
	}
	first := 0
	if step := chainOf[op]; step != 0 && !single[T]() {
		first = start64(step, dst, x, nil)
	}
	for i := first; i < len(dst); i++ {
		dst[i] = T(f(float64(x[i])))
	}
}

// chainOf lists the steps of chains that compute the same.
var chainOf = [opExp2 + 1]ChainOp{opFloor: ChainFloor, opCeil: ChainCeil, opRound: ChainRound, opSign: ChainSign}

// guardBlock is how many elements are checked again because one of them exceeds the range of the assembly.
const guardBlock = 1 << 10

func applyBlock(op unaryOp, limit float32, f func(float64) float64, dst, x []float32) {
	if limit == 0 || within32(x, limit) {
		unary32(op, dst, x)
		return
	}
	var kept [guardBlock]float32 // dst may be x
	copy(kept[:], x)
	unary32(op, dst, x)
	for i, v := range kept[:len(dst)] {
		if v > limit || v < -limit {
			dst[i] = float32(f(float64(v)))
		}
	}
}

// circularMax is the largest operand of the assembly for sine and cosine, tangentMax that for the tangent. Near the
// poles of the tangent, the rounding of the reduction matters more.
const (
	circularMax = 105615
	tangentMax  = 1 << 15
)

// Floor stores the largest integer that is not above x.
func Floor[T Float](dst, x []T) { apply(opFloor, 0, math.Floor, dst, x) }

// Ceil stores the smallest integer that is not below x.
func Ceil[T Float](dst, x []T) { apply(opCeil, 0, math.Ceil, dst, x) }

// Round stores the nearest integer, the even one of two.
func Round[T Float](dst, x []T) { apply(opRound, 0, math.RoundToEven, dst, x) }

// Sign stores −1, 0 or 1; NaN stays, and so do zeros with their sign.
func Sign[T Float](dst, x []T) { apply(opSign, 0, sign, dst, x) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// Exp2 stores 2 to the power x.
func Exp2[T Float](dst, x []T) { apply(opExp2, 0, math.Exp2, dst, x) }

// Expm1 stores eˣ − 1.
func Expm1[T Float](dst, x []T) { apply(opExpm1, 0, math.Expm1, dst, x) }

// Log1p stores log(1 + x): −Inf for −1, NaN below.
func Log1p[T Float](dst, x []T) { apply(opLog1p, 0, math.Log1p, dst, x) }

// Sin stores the sine of x radians.
func Sin[T Float](dst, x []T) { apply(opSin, circularMax, sine, dst, x) }

// Cos stores the cosine of x radians.
func Cos[T Float](dst, x []T) { apply(opCos, circularMax, cosine, dst, x) }

// Tan stores the tangent of x radians.
func Tan[T Float](dst, x []T) { apply(opTan, tangentMax, tangent, dst, x) }

// Asin stores the angle in radians whose sine is x.
func Asin[T Float](dst, x []T) { apply(opAsin, 0, math.Asin, dst, x) }

// Acos stores the angle in radians whose cosine is x.
func Acos[T Float](dst, x []T) { apply(opAcos, 0, acos, dst, x) }

// acos is the arc cosine. That of package math is a difference from π/2, so it is inaccurate near 1.
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// Atan stores the angle in radians whose tangent is x.
func Atan[T Float](dst, x []T) { apply(opAtan, 0, math.Atan, dst, x) }

// Sinh stores the hyperbolic sine of x.
func Sinh[T Float](dst, x []T) { apply(opSinh, 0, math.Sinh, dst, x) }

// Cosh stores the hyperbolic cosine of x.
func Cosh[T Float](dst, x []T) { apply(opCosh, 0, math.Cosh, dst, x) }

// Asinh stores the inverse hyperbolic sine of x.
func Asinh[T Float](dst, x []T) { apply(opAsinh, 0, asinh, dst, x) }

// asinh keeps the sign of zero.
func asinh(x float64) float64 {
	if x == 0 {
		return x
	}
	return math.Asinh(x)
}

// Acosh stores the inverse hyperbolic cosine of x: NaN below 1.
func Acosh[T Float](dst, x []T) { apply(opAcosh, 0, math.Acosh, dst, x) }

// Atanh stores the inverse hyperbolic tangent of x: NaN beyond −1 and 1.
func Atanh[T Float](dst, x []T) { apply(opAtanh, 0, math.Atanh, dst, x) }

// ErfInv stores the number whose error function is x: NaN beyond −1 and 1.
func ErfInv[T Float](dst, x []T) { apply(opErfInv, 0, math.Erfinv, dst, x) }

// Erfc stores 1 − erf(x), without loss of digits far above 0.
func Erfc[T Float](dst, x []T) { apply(opErfc, 0, math.Erfc, dst, x) }

// pairs stores f(a, b), with the assembly if there is any.
func pairs[T Float](op binaryOp, op64 binary64Op, f func(a, b float64) float64, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[T]() && binary32(op, as32(dst), as32(a), as32(b)) {
		return
	}
	if !single[T]() && binary64(op64, as64(dst), as64(a), as64(b)) {
		return
	}
	for i, v := range a {
		dst[i] = T(f(float64(v), float64(b[i])))
	}
}

// Pow stores a to the power b, as C's pow does for special operands.
func Pow[T Float](dst, a, b []T) { pairs(opPow, opPow64, power, dst, a, b) }

// Atan2 stores the angle of the point with abscissa b and ordinate a.
func Atan2[T Float](dst, a, b []T) { pairs(opAtan2, opAtan264, atan2, dst, a, b) }

// atan2 has the sign of y, even if y/x is 0.
func atan2(y, x float64) float64 { return math.Copysign(math.Atan2(math.Abs(y), x), y) }

// Rem stores the remainder of a/b with the sign of a, as C's fmod.
func Rem[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if !single[T]() && rem64(as64(dst), as64(a), as64(b)) {
		return
	}
	if !single[T]() || !vectorized() {
		for i, v := range a {
			dst[i] = T(math.Mod(float64(v), float64(b[i])))
		}
		return
	}
	d, x, y := as32(dst), as32(a), as32(b)
	for i := 0; i < len(d); i += guardBlock {
		end := min(i+guardBlock, len(d))
		remBlock(d[i:end], x[i:end], y[i:end])
	}
}

// maxQuotient is the largest quotient of the assembly for remainders.
const maxQuotient = 1 << 22

func remBlock(dst, a, b []float32) {
	if quotients32(a, b, maxQuotient) {
		binary32(opRem, dst, a, b)
		return
	}
	var x, y [guardBlock]float32 // dst may be one of them
	copy(x[:], a)
	copy(y[:], b)
	binary32(opRem, dst, a, b)
	for i, v := range x[:len(dst)] {
		if q := v / y[i]; q > maxQuotient || q < -maxQuotient {
			dst[i] = float32(math.Mod(float64(v), float64(y[i])))
		}
	}
}
