package opstest

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Array is a dense row-major array. Integers and bools (0 and 1) are held as float64 too, exact up to 2^53.
type Array struct {
	Shape []int
	DType ir.DType
	F     []float64
}

// Type returns element type and shape.
func (a Array) Type() ir.Type { return ir.Type{DType: a.DType, Shape: a.Shape} }

// Floats returns a float64 array with the given elements.
func Floats(shape []int, values ...float64) Array { return newArray(ir.Float64, shape, values) }

// Ints returns an int32 array.
func Ints(shape []int, values ...float64) Array { return newArray(ir.Int32, shape, values) }

// Bools returns a bool array of zeros and ones.
func Bools(shape []int, values ...float64) Array { return newArray(ir.Bool, shape, values) }

// Scalar returns a float64 scalar.
func Scalar(v float64) Array { return newArray(ir.Float64, nil, []float64{v}) }

func newArray(d ir.DType, shape []int, values []float64) Array {
	if n := ir.Shape(shape).Size(); n != len(values) {
		panic(fmt.Sprintf("opstest: shape %v needs %d values, received %d", shape, n, len(values)))
	}
	return Array{Shape: shape, DType: d, F: values}
}

// As returns the array with another element type; the numbers are rounded to it.
func (a Array) As(d ir.DType) Array {
	out := Array{Shape: a.Shape, DType: d, F: make([]float64, len(a.F))}
	for i, v := range a.F {
		out.F[i] = ir.Element(ir.AppendElement(nil, d, v), d, 0)
	}
	return out
}

// Random returns a float64 array of numbers that look random, evenly spread over [low, high), the same for the same
// seed.
func Random(seed int, low, high float64, shape ...int) Array {
	a := Array{Shape: shape, DType: ir.Float64, F: make([]float64, ir.Shape(shape).Size())}
	state := uint64(seed)*0x9e3779b97f4a7c15 + 0x1234567
	for i := range a.F {
		state ^= state << 13 // xorshift64 (Marsaglia, 2003)
		state ^= state >> 7
		state ^= state << 17
		a.F[i] = low + (high-low)*float64(state>>11)*0x1p-53
	}
	return a
}

// Normal returns numbers spread like Random over [-2, 2), none closer than 0.05 to 0, so that kinks at 0 are far away.
func Normal(seed int, shape ...int) Array {
	a := Random(seed, -1.95, 1.95, shape...)
	for i, v := range a.F {
		a.F[i] = v + math.Copysign(0.05, v)
	}
	return a
}

// Distinct returns the numbers 0, 1, ... in an order that looks random, times step: no two are closer than step, so
// that a small change moves no maximum and keeps the order of a sort.
func Distinct(seed int, step float64, shape ...int) Array {
	a := Random(seed, 0, 1, shape...)
	order := make([]float64, len(a.F))
	for i, v := range a.F {
		for j, w := range a.F {
			if w < v || w == v && j < i {
				order[i]++
			}
		}
		order[i] = (order[i] - float64(len(order))/2 + 0.3) * step
	}
	return Array{Shape: a.Shape, DType: ir.Float64, F: order}
}
