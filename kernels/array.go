package kernels

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Array holds numbers, bools or text in host memory: an element type, the lengths of its axes, and its elements, dense,
// row-major and little-endian. It is the only array type that models accept and return; package data calls it
// data.Array.
//
// An Array is a view, like a slice: copying it copies no elements, and writes to Data, or to a slice from [View], are
// visible in all copies. [Array.Clone] copies the elements. The zero Array means no array; see [Array.IsZero]. An array
// with an axis of length 0 is an array without elements.
//
// An array of text is an array of bytes (uint8) whose last axis holds the characters; see [TextArray].
type Array struct {
	Type ir.Type // element type, and the length of each axis; a scalar has no axis
	Data []byte  // the elements: Type.Bytes() bytes
}

// NewArray returns zeros.
func NewArray(t ir.Type) Array { return Array{t, make([]byte, t.Bytes())} }

// Must returns a and panics if err is not nil. Use it for arrays whose creation cannot fail, as in package variables
// and tests.
func Must(a Array, err error) Array {
	if err != nil {
		panic(err)
	}
	return a
}

// IsZero reports whether a is the zero Array, which stands for no array.
func (a Array) IsZero() bool {
	return a.Type.DType == ir.Invalid && a.Type.Shape == nil && a.Data == nil
}

// Shape returns the length of each axis, outermost first. The caller must not change it.
func (a Array) Shape() []int { return a.Type.Shape }

// DType returns the element type.
func (a Array) DType() ir.DType { return a.Type.DType }

// Rank returns the number of axes, 0 for a scalar.
func (a Array) Rank() int { return len(a.Type.Shape) }

// Len returns the number of elements, 1 for a scalar.
func (a Array) Len() int {
	if a.IsZero() {
		return 0
	}
	return a.Type.Shape.Size()
}

// Check returns an error if a is the zero Array, or the length of Data does not match Type.
func (a Array) Check() error {
	switch {
	case a.IsZero():
		return fmt.Errorf("the array is the zero Array, which holds nothing")
	case !a.Type.DType.Valid():
		return fmt.Errorf("the array has no element type")
	case slices.ContainsFunc(a.Type.Shape, func(n int) bool { return n < 0 }):
		return fmt.Errorf("the array has shape %v; expected lengths of 0 and more", a.Shape())
	}
	if n := ir.MulLengths(a.Type.DType.Size(), ir.MulLengths(a.Type.Shape...)); n != len(a.Data) {
		return fmt.Errorf("an array of type %v has %d bytes; expected %d", a.Type, len(a.Data), n)
	}
	return nil
}

// Clone returns a copy in new memory.
func (a Array) Clone() Array {
	if a.IsZero() {
		return a
	}
	return Array{ir.Type{DType: a.Type.DType, Shape: a.Type.Shape.Clone()}, append(make([]byte, 0, len(a.Data)), a.Data...)}
}

// Equal reports whether two arrays have the same type and the same bits in every element. So a NaN equals itself, and 0
// differs from -0.
func (a Array) Equal(b Array) bool {
	return a.IsZero() == b.IsZero() && a.Type.Equal(b.Type) && bytes.Equal(a.Data, b.Data)
}

// Reshape returns the same elements, in the same memory, with other axes. One length may be -1 and is then computed.
func (a Array) Reshape(shape ...int) (Array, error) {
	if err := a.Check(); err != nil {
		return Array{}, fmt.Errorf("kernels: Reshape: %w", err)
	}
	out, n, open := ir.Shape(slices.Clone(shape)), 1, -1
	for i, length := range shape {
		switch {
		case length == -1 && open < 0:
			open = i
		case length < 0:
			return Array{}, fmt.Errorf("kernels: Reshape: shape %v; expected lengths of 0 and more, of which one may be -1", shape)
		default:
			n = ir.MulLengths(n, length)
		}
	}
	if open >= 0 && n > 0 && a.Len()%n == 0 {
		out[open] = a.Len() / n
		n = a.Len()
	} else if open >= 0 {
		n = -1
	}
	if n != a.Len() {
		return Array{}, fmt.Errorf("kernels: Reshape: an array of shape %v has %d elements, which shape %v does not hold", a.Shape(), a.Len(), shape)
	}
	return Array{ir.Type{DType: a.Type.DType, Shape: out}, a.Data}, nil
}

// Element returns element i, counted row-major, as a float64; 64-bit integers beyond 2^53 are rounded. It panics if i
// is out of range.
func (a Array) Element(i int) float64 { return ir.Element(a.Data, a.Type.DType, i) }

// At returns the element at an index for each axis, as a float64. It panics if an index is out of range or missing, as
// indexing a slice does.
func (a Array) At(indices ...int) float64 {
	if len(indices) != len(a.Type.Shape) {
		panic(fmt.Sprintf("kernels: Array.At: %d indices for an array of shape %v", len(indices), a.Shape()))
	}
	at := 0
	for axis, i := range indices {
		n := a.Type.Shape[axis]
		if i < 0 || i >= n {
			panic(fmt.Sprintf("kernels: Array.At: index %d is out of range on axis %d of shape %v", i, axis, a.Shape()))
		}
		at = at*n + i
	}
	return a.Element(at)
}

// Slice returns elements from to until-1 of the first axis; they share the array's memory. It panics if the range is
// invalid, as slicing a slice does.
func (a Array) Slice(from, until int) Array {
	row := 0
	if n := a.Type.Shape[0]; n > 0 {
		row = len(a.Data) / n
	}
	if from < 0 || until < from || until > a.Type.Shape[0] {
		panic(fmt.Sprintf("kernels: Array.Slice: rows [%d:%d] of an array of shape %v", from, until, a.Shape()))
	}
	shape := a.Type.Shape.Clone()
	shape[0] = until - from
	return Array{ir.Type{DType: a.Type.DType, Shape: shape}, a.Data[from*row : until*row : until*row]}
}

// Row returns element i of the first axis without that axis; it shares the array's memory. It panics if i is out of
// range.
func (a Array) Row(i int) Array {
	row := a.Slice(i, i+1)
	row.Type.Shape = row.Type.Shape[1:]
	return row
}

// FromFloat64s returns an array of the given type with the given elements; see [ir.Floats] for the conversion.
//
//go:noinline
func FromFloat64s(dtype ir.DType, shape ir.Shape, values []float64) (Array, error) {
	l, err := ir.Floats(dtype, shape, values)
	return Array{l.Type, l.Data}, err
}

// SetFloat64s converts values, as [FromFloat64s] does, and replaces the elements from index first on.
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

// Fill sets every element to value.
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
