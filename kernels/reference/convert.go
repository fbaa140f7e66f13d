package reference

import (
	"math/big"

	"github.com/gokeras/gokeras/kernels/ir"
)

// convert rounds even without Interpreter.Round, because rounding is its purpose, unless Interpreter.Excess is set.
func (c *call) convert() error {
	from, to := c.in[0].Type.DType, c.out[0].Type.DType
	for i := range c.in[0].Type.Shape.Size() {
		switch {
		case from.IsFloat() && to.IsFloat():
			if c.out[0].F[i] = c.in[0].F[i]; !c.Excess {
				c.out[0].F[i] = ir.RoundFloat(to, c.in[0].F[i])
			}
		case from.IsFloat():
			c.out[0].I[i] = integer(to, ir.AppendElement(nil, to, c.in[0].F[i]), 0)
		case to.IsFloat():
			c.out[0].F[i] = roundInteger(to, from, c.in[0].I[i])
		case to == ir.Bool:
			c.out[0].I[i] = truth(c.in[0].I[i] != 0)
		default:
			c.out[0].I[i] = wrap(to, c.in[0].I[i])
		}
	}
	return nil
}

// roundInteger returns the number of type d that is nearest to the integer x of type from, ties to even.
func roundInteger(d, from ir.DType, x int64) float64 {
	exact := new(big.Float).SetPrec(64)
	if from == ir.Uint64 {
		exact.SetUint64(uint64(x))
	} else {
		exact.SetInt64(x)
	}
	f, _ := exact.SetMode(big.ToNearestEven).SetPrec(uint(d.Digits())).Float64()
	return ir.RoundFloat(d, f) // what is too large for float16 becomes infinite
}
