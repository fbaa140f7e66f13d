package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// The exponential of a product loses as many binary places as the product has digits before the point: in float32,
// e^(c·x) is off by up to 60 units in the last place. Here the exponent is the sum of two numbers: a product of factors
// with few bits, which is exact, and a small rest.

// factorBits is the number of bits in such factors: the product of two fits into float32.
const factorBits = 12

// expOfSum returns e^(high + low), where low is much smaller than high.
func expOfSum(high, low *Tensor) *Tensor {
	sum := Add(high, low)
	lost := Add(Subtract(high, sum), low)
	return Multiply(Exp(sum), AddScalar(lost, 1)) // adding the product with the rest instead would flush it to zero for small results
}

// expOfProduct returns e^(c·x) for a constant c that is not 0.
func expOfProduct(x *Tensor, c float64) *Tensor {
	most := 106 / math.Abs(c) // from there on the result is infinite or 0
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
