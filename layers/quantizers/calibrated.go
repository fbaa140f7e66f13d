package quantizers

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Statistics holds what calibration measured of the inputs x of a layer, as rows of features.
type Statistics struct {
	Rows       int       // how many
	Products   []float64 // sum of x[i]·x[j] over rows, (features, features); of GPTQ
	Magnitudes []float64 // largest |x[i]|, (features); of AWQ
}

// Calibrated is a matrix (inputs, outputs) of integers q, with a scale and a zero for each group of inputs in each
// output:
//
//	w[i, j] ≈ (q[j, i] - zero[j, g])·scale[j, g] / saliency[i],   g = group[i]
type Calibrated struct {
	Values   kernels.Array // q (outputs, inputs), uint8 from 0
	Scale    kernels.Array // (outputs, groups), of the type of the matrix
	Zero     kernels.Array // (outputs, groups), uint8
	Saliency kernels.Array // (inputs), of the type of the matrix; AWQ only
	Group    kernels.Array // (inputs), float32
}

// precise rounds to the type of weights, or to float32 if that has fewer digits.
func precise(d ir.DType) func(float64) float64 {
	if d == ir.Float64 {
		return rounding(d)
	}
	return rounding(ir.Float32)
}

// grid maps the weights of one group in one output to integers from 0 to most.
type grid struct{ scale, zero, most float64 }

// gridOf finds the grid for values from least to greatest. round rounds to the type of the weights.
func gridOf(least, greatest float64, bits int, symmetric bool, round func(float64) float64) grid {
	g := grid{most: math.Exp2(float64(bits)) - 1}
	if symmetric {
		greatest = max(-least, greatest)
		least = -greatest
	}
	if least == greatest {
		least, greatest = least-1, greatest+1
	}
	g.fit(least, greatest, round)
	switch {
	case symmetric:
		g.zero = (g.most + 1) / 2
	case g.zero < 0 || g.zero > 255: // a byte cannot hold it
		g.fit(min(least, 0), max(greatest, 0), round)
	}
	return g
}

func (g *grid) fit(least, greatest float64, round func(float64) float64) {
	if g.scale = round(round(greatest-least) / g.most); g.scale <= 0 {
		g.scale = round(1e-8)
	}
	g.zero = math.RoundToEven(round(-least / g.scale))
}

// number returns the integer for w.
func (g grid) number(w float64, round func(float64) float64) float64 {
	return min(max(math.RoundToEven(round(round(w/g.scale)+g.zero)), 0), g.most)
}

// value returns the value of an integer.
func (g grid) value(q float64, round func(float64) float64) float64 {
	return round(g.scale * (q - g.zero))
}

// extremes returns the least and the greatest of values.
func extremes(values []float64) (least, greatest float64) {
	least, greatest = values[0], values[0]
	for _, v := range values[1:] {
		least, greatest = min(least, v), max(greatest, v)
	}
	return least, greatest
}

// outputsOf checks a matrix (inputs, outputs) and the statistics of its inputs, and returns one row for each output.
func outputsOf(what string, w kernels.Array, rows, features int) ([][]float64, error) {
	if len(w.Type.Shape) != 2 || !w.Type.DType.IsFloat() || w.Type.Shape.Size() == 0 {
		return nil, fmt.Errorf("quantizers: %s: expected a matrix of a float type, received %v", what, w.Type)
	}
	inputs, outputs := w.Type.Shape[0], w.Type.Shape[1]
	if rows < 1 {
		return nil, fmt.Errorf("quantizers: %s: calibration saw no inputs", what)
	}
	if features != inputs {
		return nil, fmt.Errorf("quantizers: %s: calibration saw inputs of %d features, and the matrix %v has %d", what, features, w.Type, inputs)
	}
	values, out := w.Float64s(), make([][]float64, outputs)
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("quantizers: %s: the matrix holds %v; train or load the weights first", what, v)
		}
	}
	for j := range out {
		out[j] = make([]float64, inputs)
		for i := range inputs {
			out[j][i] = values[i*outputs+j]
		}
	}
	return out, nil
}

// calibrated makes arrays from numbers [output][input] and grids [output][group].
func calibrated(d ir.DType, numbers [][]float64, grids [][]grid, group []float64) (Calibrated, error) {
	outputs, inputs, groups := len(numbers), len(group), len(grids[0])
	var q, scales, zeros []float64
	for j := range outputs {
		q = append(q, numbers[j]...)
		for _, g := range grids[j] {
			scales, zeros = append(scales, g.scale), append(zeros, g.zero)
		}
	}
	var c Calibrated
	for _, part := range []struct {
		into   *kernels.Array
		dtype  ir.DType
		shape  ir.Shape
		values []float64
	}{
		{&c.Values, ir.Uint8, ir.Shape{outputs, inputs}, q},
		{&c.Scale, d, ir.Shape{outputs, groups}, scales},
		{&c.Zero, ir.Uint8, ir.Shape{outputs, groups}, zeros},
		{&c.Group, ir.Float32, ir.Shape{inputs}, group},
	} {
		a, err := kernels.FromFloat64s(part.dtype, part.shape, part.values)
		if err != nil {
			return c, err
		}
		*part.into = a
	}
	return c, nil
}
