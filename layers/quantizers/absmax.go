package quantizers

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Quantizer turns floats into integers with one scale for all elements along some axes.
type Quantizer interface {
	// Quantize returns integers q and the scale, with x ≈ q/scale. The scale has length 1 on the axes along which it is
	// shared. Without axes, the quantizer's own axes are used.
	Quantize(x *ops.Tensor, axes ...int) (q, scale *ops.Tensor)
	// QuantizeArray does the same outside a program, for weights.
	QuantizeArray(x kernels.Array, axes ...int) (q, scale kernels.Array, err error)
}

// AbsMaxQuantizer maps the largest absolute value along the axes to the end of the range:
//
//	scale = ValueRange[1] / (max|x| + Epsilon)
//	q = clip(round(x·scale), ValueRange[0], ValueRange[1])
//
// Ties are rounded to even. The zero value is Keras's default. Behaviour of keras.quantizers.AbsMaxQuantizer.
type AbsMaxQuantizer struct {
	ValueRange  []int   `keras:"value_range,default=[-127,127]"`  // least and greatest q; nil is -127 to 127
	Epsilon     float64 `keras:"epsilon,default=1e-07"`           // keeps the scale finite; 0 is 1e-7
	OutputDType string  `keras:"output_dtype,plain,default=int8"` // "" is int8
	Axis        []int   `keras:"axis,omitempty"`                  // along which one scale is shared if a call names none; nil is the last axis
}

// settings holds the fields with their defaults.
func (q *AbsMaxQuantizer) settings() (low, high, epsilon float64, dtype ir.DType, err error) {
	low, high, epsilon, dtype = -127, 127, q.Epsilon, ir.Int8
	if epsilon == 0 {
		epsilon = 1e-7
	}
	if q.OutputDType != "" {
		if dtype, err = ir.ParseDType(q.OutputDType); err != nil {
			return low, high, epsilon, dtype, fmt.Errorf("quantizers: OutputDType: %w", err)
		}
	}
	if q.ValueRange != nil {
		if len(q.ValueRange) != 2 || q.ValueRange[0] >= q.ValueRange[1] || q.ValueRange[1] <= 0 {
			return low, high, epsilon, dtype, fmt.Errorf("quantizers: ValueRange must be two numbers, the second greater than the first and than 0, received %v", q.ValueRange)
		}
		low, high = float64(q.ValueRange[0]), float64(q.ValueRange[1])
	}
	if dtype == ir.Int8 && (low < -128 || high > 127) {
		return low, high, epsilon, dtype, fmt.Errorf("quantizers: OutputDType int8 holds -128 to 127, received the ValueRange %v", q.ValueRange)
	}
	return low, high, epsilon, dtype, nil
}

func (q *AbsMaxQuantizer) axes(given []int) []int {
	if len(given) > 0 {
		return given
	}
	if q.Axis != nil {
		return q.Axis
	}
	return []int{-1}
}

// Quantize is [AbsMaxQuantizer] inside a program.
func (q *AbsMaxQuantizer) Quantize(x *ops.Tensor, axes ...int) (quantized, scale *ops.Tensor) {
	low, high, epsilon, dtype, err := q.settings()
	if err != nil {
		ops.Fail(x.Graph(), err)
	}
	largest := ops.Max(ops.Abs(x), q.axes(axes)...)
	for _, a := range sortedAxes(q.axes(axes), x.Rank()) {
		largest = ops.ExpandDims(largest, a)
	}
	largest = ops.AddScalar(largest, epsilon)
	scale = ops.Divide(ops.Scalar(largest, high), largest)
	return ops.Cast(ops.Clip(ops.Round(ops.Multiply(x, scale)), low, high), dtype), scale
}

// sortedAxes counts axes from the front, in ascending order.
func sortedAxes(axes []int, rank int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = a
		if a < 0 {
			out[i] += rank
		}
	}
	slices.Sort(out)
	return out
}

// QuantizeArray is [AbsMaxQuantizer] outside of a program.
func (q *AbsMaxQuantizer) QuantizeArray(x kernels.Array, axes ...int) (quantized, scale kernels.Array, err error) {
	low, high, epsilon, dtype, err := q.settings()
	if err == nil && !x.Type.DType.IsFloat() {
		err = fmt.Errorf("quantizers: expected an array of a float type, received %v", x.Type)
	}
	rank := len(x.Type.Shape)
	by := sortedAxes(q.axes(axes), rank)
	for i, a := range by {
		if a < 0 || a >= rank || i > 0 && by[i-1] == a {
			err = fmt.Errorf("quantizers: the axes %v are not those of an array of shape %v", q.axes(axes), x.Type.Shape)
		}
	}
	if err != nil {
		return quantized, scale, err
	}
	shape := x.Type.Shape.Clone()
	for _, a := range by {
		shape[a] = 1
	}
	round := rounding(x.Type.DType)
	at := newSharedIndex(x.Type.Shape, shape)
	scales := make([]float64, shape.Size())
	inPieces(x, func(_ int, values []float64) {
		for _, v := range values {
			i := at.next()
			scales[i] = max(scales[i], math.Abs(v))
		}
	})
	for i, m := range scales {
		scales[i] = round(high / round(m+round(epsilon)))
	}
	quantized = kernels.NewArray(ir.Type{DType: dtype, Shape: x.Type.Shape.Clone()})
	at = newSharedIndex(x.Type.Shape, shape)
	inPieces(x, func(first int, values []float64) {
		for i, v := range values {
			values[i] = min(max(math.RoundToEven(round(v*scales[at.next()])), low), high)
		}
		if failed := quantized.SetFloat64s(first, values); failed != nil {
			err = failed
		}
	})
	if err != nil {
		return quantized, scale, err
	}
	scale, err = kernels.FromFloat64s(x.Type.DType, shape, scales)
	return quantized, scale, err
}

// pieceLength is the number of elements that are converted to float64 at a time. Converting a whole large matrix would
// take a multiple of its memory.
const pieceLength = 1 << 13

// inPieces calls f for all elements of an array, pieceLength at a time. first is the index of the first one. f may
// write to them.
func inPieces(x kernels.Array, f func(first int, values []float64)) {
	n := x.Len()
	values := make([]float64, min(pieceLength, n))
	for first := 0; first < n; first += pieceLength {
		f(first, elements(values[:min(pieceLength, n-first)], x, first))
	}
}

// elements fills values with the elements of an array from first on.
func elements(values []float64, x kernels.Array, first int) []float64 {
	for i := range values {
		values[i] = x.Element(first + i)
	}
	return values
}

// sharedIndex iterates over the elements of an array and gives the index of the corresponding element of another array,
// whose axes have the same length or length 1.
type sharedIndex struct {
	shape, strides, at []int // strides are 0 where the axis is 1
	index              int
}

func newSharedIndex(shape, shared ir.Shape) *sharedIndex {
	s := &sharedIndex{shape: shape, strides: shared.Strides(), at: make([]int, len(shape))}
	for a, n := range shared {
		if n == 1 {
			s.strides[a] = 0
		}
	}
	return s
}

// next returns the index for the next element.
func (s *sharedIndex) next() int {
	index := s.index
	for a := len(s.at) - 1; a >= 0; a-- {
		s.index += s.strides[a]
		if s.at[a]++; s.at[a] < s.shape[a] {
			break
		}
		s.index -= s.strides[a] * s.shape[a]
		s.at[a] = 0
	}
	return index
}

// rounding returns a function that rounds exact results as arithmetic in a type does.
func rounding(d ir.DType) func(float64) float64 {
	switch d {
	case ir.Float64:
		return func(x float64) float64 { return x }
	case ir.Float32:
		return func(x float64) float64 { return float64(float32(x)) }
	}
	one := kernels.NewArray(ir.Type{DType: d, Shape: ir.Shape{1}})
	return func(x float64) float64 {
		_ = one.SetFloat64s(0, []float64{x})
		return one.Element(0)
	}
}
