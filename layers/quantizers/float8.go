package quantizers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Float8 is a format of floats in eight bits: [E4M3] or [E5M2]. Here its numbers are kept in a wider type.
type Float8 struct {
	Mantissa int     // bits of the fraction
	Least    int     // exponent of the smallest normal number
	Max      float64 // the largest number
}

// The two formats of Keras's float8 training: of values, and of gradients.
var (
	E4M3 = Float8{Mantissa: 3, Least: -6, Max: 448}    // float8_e4m3fn
	E5M2 = Float8{Mantissa: 2, Least: -14, Max: 57344} // float8_e5m2
)

// Round returns the numbers of the format that are nearest to x, with ties to even. Larger numbers become the largest
// number of the format.
func (f Float8) Round(x *ops.Tensor) *ops.Tensor {
	const bias, fraction = 127, 23 // of float32
	wide := ops.Clip(ops.Cast(x, ir.Float32), -f.Max, f.Max)
	bits := ops.View(wide, ir.Int32)
	power := func(exponent int) *ops.Tensor { // as bits, which may wrap around
		return ops.Scalar(bits, float64(int32(uint32(exponent)<<fraction)))
	}
	exponent := ops.Maximum(ops.BitwiseAnd(bits, power(255)), power(bias+f.Least))
	step := ops.View(ops.Subtract(exponent, power(f.Mantissa)), ir.Float32)
	inverse := ops.View(ops.Subtract(power(2*bias+f.Mantissa), exponent), ir.Float32) // dividing takes longer
	return ops.Cast(ops.Multiply(ops.Round(ops.Multiply(wide, inverse)), step), x.DType())
}

// QuantizeAndDequantize returns scale·Round(x/scale), in the type of x: x with the precision of the format. Behaviour
// of keras.quantizers.quantize_and_dequantize.
func (f Float8) QuantizeAndDequantize(x, scale *ops.Tensor) *ops.Tensor {
	scale = ops.Cast(scale, x.DType())
	return ops.Multiply(f.Round(ops.Divide(x, scale)), scale)
}

// ComputeFloat8Scale returns the scale with which numbers up to amax fill the format: amax/(largest/2^margin), or the
// current scale if amax is 0 or not finite. Behaviour of keras.quantizers.compute_float8_scale.
func ComputeFloat8Scale(amax, scale *ops.Tensor, largest float64, margin int) *ops.Tensor {
	inverse := ops.Divide(ops.Ones(scale, scale.DType(), scale.Shape()...), scale)
	factor := ops.Divide(ops.Divide(ops.Scalar(amax, largest), amax), ops.Scalar(amax, math.Ldexp(1, max(-1024, min(margin, 1023)))))
	factor = ops.Where(ops.CompareScalar(ir.Gt, amax, 0), factor, inverse)
	factor = ops.Where(ops.Isfinite(amax), factor, inverse)
	return ops.Divide(ops.Ones(scale, scale.DType(), scale.Shape()...), factor)
}

// ComputeFloat8AmaxHistory shifts a history of largest absolute values by one and puts that of x, amax, in front.
// Behaviour of keras.quantizers.compute_float8_amax_history.
func ComputeFloat8AmaxHistory(amax, history *ops.Tensor) *ops.Tensor {
	moved := ops.Roll(history, -1, 0)
	rest := ops.Slice(moved, []int{1}, []int{moved.Dim(0)})
	return ops.Concatenate(0, ops.Reshape(ops.Cast(amax, history.DType()), 1), rest)
}
