package data

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Array is the array type of this module: element type, axis lengths, elements. Models accept and return arrays.
//
//	predictions, err := model.Predict(ctx, data.Arrays(x, nil))
//	predictions.Shape()                          // []int{32, 10}
//	predictions.At(3, 7)                         // of example 3 the probability of class 7
//	values, err := data.View[float32](predictions) // all values, in place
//	rows, err := data.Rows[float64](predictions)   // [][]float64, a row for each example
//
// Its methods are those of [kernels.Array], where go doc shows them: Shape, Rank, Len, DType, At, Row, Slice, Reshape,
// Convert, Clone, Float32s, Float64s, Int64s, Strings, Image and others.
//
// Tensors of gorgonia.org/tensor and matrices of gonum are converted to arrays and back by the packages data/gorgonia
// and data/gonum.
type Array = kernels.Array

// Number is a Go type of numbers.
type Number = kernels.Number

// Element is a Go type that elements of arrays can have: numbers and bools.
type Element = kernels.Element

// Arrayer is implemented by types that can be converted to an array: ToArray and everything that takes `any` for arrays
// uses it.
type Arrayer interface {
	// Array returns the array, which may share memory with the receiver.
	Array() (Array, error)
}

// ArrayOf returns an array of the given shape (default: a vector) whose elements are those of values, in the same
// memory.
func ArrayOf[T Element](values []T, shape ...int) (Array, error) {
	return kernels.ArrayOf(values, shape...)
}

// Scalar returns an array without axes: one number, such as the label of a single example in a pipeline.
func Scalar[T Element](v T) Array {
	a, _ := kernels.ArrayOf([]T{v}, []int{}...) // which cannot fail
	return a
}

// Must returns a, and panics if err is not nil. It is for arrays whose creation cannot fail, as in tests.
//
//	x := data.Must(data.ArrayOf([]float32{1, 2, 3, 4}, 2, 2))
func Must(a Array, err error) Array { return kernels.Must(a, err) }

// Zeros returns an array of zeros; a length may be 0.
func Zeros[T Element](shape ...int) (Array, error) {
	if _, ok := volume(shape, 8); !ok {
		return Array{}, fmt.Errorf("data: Zeros: shape %v; expected lengths of 0 and more that fit into memory", shape)
	}
	return kernels.NewArray(ir.Type{DType: kernels.DTypeOf[T](), Shape: append(ir.Shape{}, shape...)}), nil
}

// View returns the elements of an array as a slice of their Go type, row-major, in the array's memory. It fails if T is
// not the element type.
func View[T Element](a Array) ([]T, error) { return kernels.View[T](a) }

// Values returns a copy of the elements of an array, row-major, converted to T as Go converts numbers; bools are 0 and
// 1.
func Values[T Number](a Array) []T { return kernels.Values[T](a) }

// Rows returns the examples of an array as plain Go slices: one row for each position of axis 0, with the example
// flattened row-major. Numbers are converted as Go converts them; bools are 0 and 1. The rows are a copy and share one
// block of memory.
//
//	predictions, err := model.Predict(ctx, data.Arrays(x, nil))
//	rows, err := data.Rows[float64](predictions)
func Rows[T Number](a Array) ([][]T, error) { return kernels.Rows[T](a) }
