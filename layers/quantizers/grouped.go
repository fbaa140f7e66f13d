package quantizers

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Grouped is a matrix of integers with a scale and a zero for each group of rows in each column:
//
//	x[i, j] ≈ (q[i, j] - zero[g, j])·scale[g, j],   g = floor(i / block size)
type Grouped struct {
	Values kernels.Array // q (rows, columns), int8 between -8 and 7
	Scale  kernels.Array // (groups, columns), of the type of the matrix
	Zero   kernels.Array // (groups, columns), int8
}

// QuantizeGrouped quantizes a matrix (rows, columns) to four bits in groups of blockSize rows. A shorter last group
// counts as if it were filled with zeros. Behaviour of keras.quantizers.abs_max_quantize_grouped_with_zero_point.
func QuantizeGrouped(x kernels.Array, blockSize int) (Grouped, error) {
	if len(x.Type.Shape) != 2 || !x.Type.DType.IsFloat() {
		return Grouped{}, fmt.Errorf("quantizers: QuantizeGrouped: expected a matrix of a float type, received %v", x.Type)
	}
	if blockSize < 1 {
		return Grouped{}, fmt.Errorf("quantizers: QuantizeGrouped: the block size must be positive, received %d", blockSize)
	}
	const low, high, epsilon = -8.0, 7.0, 1e-7
	rows, columns := x.Type.Shape[0], x.Type.Shape[1]
	groups := (rows + blockSize - 1) / blockSize //dim:known of an array
	round := rounding(x.Type.DType)
	out := Grouped{kernels.NewArray(ir.Type{DType: ir.Int8, Shape: x.Type.Shape.Clone()}), kernels.NewArray(ir.Type{DType: x.Type.DType, Shape: ir.Shape{groups, columns}}),
		kernels.NewArray(ir.Type{DType: ir.Int8, Shape: ir.Shape{groups, columns}})}
	least, greatest := make([]float64, columns), make([]float64, columns)
	scales, zeros, row := make([]float64, columns), make([]float64, columns), make([]float64, columns)
	for g := range groups {
		first, last := g*blockSize, min((g+1)*blockSize, rows)
		for j := range columns {
			least[j], greatest[j] = math.Inf(1), math.Inf(-1)
			if last < first+blockSize { // zeros fill it up
				least[j], greatest[j] = 0, 0
			}
		}
		for i := first; i < last; i++ {
			for j, v := range elements(row, x, i*columns) {
				least[j], greatest[j] = min(least[j], v), max(greatest[j], v)
			}
		}
		for j := range columns {
			scales[j] = round(round(round(greatest[j]-least[j])+round(epsilon)) / (high - low))
			zeros[j] = min(max(round(math.RoundToEven(round(-least[j]/scales[j]))+low), low), high)
		}
		for i := first; i < last; i++ {
			for j, v := range elements(row, x, i*columns) {
				row[j] = min(max(math.RoundToEven(round(v/scales[j]))+zeros[j], low), high)
			}
			if err := out.Values.SetFloat64s(i*columns, row); err != nil {
				return out, err
			}
		}
		if err := errors.Join(out.Scale.SetFloat64s(g*columns, scales), out.Zero.SetFloat64s(g*columns, zeros)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Dequantize returns the matrix as floats of the scale's type.
func (g Grouped) Dequantize(blockSize int) (kernels.Array, error) {
	if len(g.Values.Type.Shape) != 2 || len(g.Scale.Type.Shape) != 2 || !g.Zero.Type.Shape.Equal(g.Scale.Type.Shape) || blockSize < 1 ||
		(g.Values.Type.Shape[0]+blockSize-1)/blockSize != g.Scale.Type.Shape[0] || g.Values.Type.Shape[1] != g.Scale.Type.Shape[1] { //dim:known of arrays
		return kernels.Array{}, fmt.Errorf("quantizers: Dequantize: values %v, scale %v and zero %v do not belong together with blocks of %d", g.Values.Type, g.Scale.Type, g.Zero.Type, blockSize)
	}
	columns := g.Values.Type.Shape[1]
	round := rounding(g.Scale.Type.DType)
	values, scales, zeros := g.Values.Float64s(), g.Scale.Float64s(), g.Zero.Float64s()
	for i := range values {
		at := i/columns/blockSize*columns + i%columns
		values[i] = round((values[i] - zeros[at]) * scales[at])
	}
	return kernels.FromFloat64s(g.Scale.Type.DType, g.Values.Type.Shape, values)
}
