package kernels

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Array is a dense, row-major, little-endian value in host memory.
type Array struct {
	Type ir.Type
	Data []byte
}

// NewArray returns zeros.
func NewArray(t ir.Type) Array { return Array{t, make([]byte, t.Bytes())} }

// At returns element i (row-major) as a float64.
func (a Array) At(i int) float64 { return ir.Element(a.Data, a.Type.DType, i) }

// Float64s returns all elements as float64.
func (a Array) Float64s() []float64 {
	out := make([]float64, a.Type.Shape.Size())
	for i := range out {
		out[i] = a.At(i)
	}
	return out
}

// FromFloat64s returns an array of the given type with the given elements; see [ir.Floats] for the conversion.
func FromFloat64s(dtype ir.DType, shape ir.Shape, values []float64) (Array, error) {
	l, err := ir.Floats(dtype, shape, values)
	return Array{l.Type, l.Data}, err
}

// SetFloat64s converts values, as [FromFloat64s] does, and puts them in the place of the elements from first on.
func (a Array) SetFloat64s(first int, values []float64) error {
	size := a.Type.DType.Size()
	if n := len(a.Data) / size; first < 0 || len(values) > n-first {
		return fmt.Errorf("kernels: an array of type %v has no elements %d to %d", a.Type, first, first+len(values)-1)
	}
	at := a.Data[first*size : first*size : (first+len(values))*size]
	for _, v := range values {
		at = ir.AppendElement(at, a.Type.DType, v)
	}
	return nil
}

// Fill puts value in the place of every element.
func (a Array) Fill(value float64) {
	size := a.Type.DType.Size()
	if len(a.Data) < size {
		return
	}
	ir.AppendElement(a.Data[:0], a.Type.DType, value)
	for n := size; n < len(a.Data); n *= 2 {
		copy(a.Data[n:], a.Data[:n])
	}
}

// Rows returns elements from to until-1 of the first axis; they share the array's memory.
func (a Array) Rows(from, until int) Array {
	row := 0
	if n := a.Type.Shape[0]; n > 0 {
		row = len(a.Data) / n
	}
	shape := a.Type.Shape.Clone()
	shape[0] = until - from
	return Array{ir.Type{DType: a.Type.DType, Shape: shape}, a.Data[from*row : until*row]}
}
