package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// An exponential of a product loses as many places as the product has digits before the point: e^(c·x) of float32 is
// off by up to 60 units. Here the exponent is the sum of two numbers: a product of factors of few bits, which is exact,
// and the small rest.

// factorBits are the bits of such factors: the product of two has no more than float32 has.
const factorBits = 12

// expOfSum returns e^(high + low), of which low is the smaller one.
func expOfSum(high, low *Tensor) *Tensor {
	sum := Add(high, low)
	lost := Add(Subtract(high, sum), low)
	return Multiply(Exp(sum), AddScalar(lost, 1)) // to add the product with what is lost would flush it where the result is small
}

// expOfProduct returns e^(c·x) for a constant that is not 0.
func expOfProduct(x *Tensor, c float64) *Tensor {
	most := 106 / math.Abs(c) // from where on it is infinite or 0
	if x.DType() == ir.Float64 {
		most *= 7
	}
	fraction, exponent := math.Frexp(c)
	factor := math.Ldexp(math.Round(math.Ldexp(fraction, factorBits)), exponent-factorBits)
	step := math.Exp2(math.Ceil(math.Log2(most)) - factorBits)
	x = Clip(x, -most, most)
	high := MultiplyScalar(Round(MultiplyScalar(x, 1/step)), step)
	return expOfSum(MultiplyScalar(high, factor), Add(MultiplyScalar(high, c-factor), MultiplyScalar(Subtract(x, high), c)))
}
