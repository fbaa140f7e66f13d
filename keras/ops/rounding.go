package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// RoundTo rounds to the given number of decimals, halves to even: round(x·10^d)/10^d, where a negative d rounds to
// tens, hundreds, ... Integers stay unchanged for d of at least 0. The gradient is zero.
func RoundTo(x *Tensor, decimals int) *Tensor {
	if !x.DType().IsFloat() {
		if decimals >= 0 {
			return x
		}
		return Cast(RoundTo(Cast(x, ir.Float32), decimals), x.DType())
	}
	switch {
	case decimals == 0:
		return Round(x)
	case decimals < 0:
		scale := math.Pow10(-decimals)
		return MultiplyScalar(Round(DivideScalar(x, scale)), scale)
	}
	scale := math.Pow10(decimals)
	return DivideScalar(Round(MultiplyScalar(x, scale)), scale)
}

// Fmod returns the remainder of a / b with the quotient truncated to an integer; it has the sign of a. (See [Mod] for
// the other convention.)
func Fmod(a, b *Tensor) *Tensor {
	a, b = common(numericPair(a, b))
	return apply1(ir.Rem, nil, a, b)
}

// Signbit returns whether the sign bit of each element is set; that of minus zero is.
func Signbit(x *Tensor) *Tensor {
	if !x.DType().IsFloat() {
		return CompareScalar(ir.Lt, numeric(x), 0)
	}
	return CompareScalar(ir.Lt, View(x, bitsOf[x.DType().Size()]), 0)
}
