package data

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"gorgonia.org/tensor"
)

// dtypes are the element types that an array of a model may have.
var dtypes = []tensor.Dtype{
	tensor.Float32, tensor.Float64, tensor.Bool,
	tensor.Int, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
	tensor.Uint, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64,
}

const dtypeHint = "expected float32, float64, bool, or an integer type"

func isModelDtype(dt tensor.Dtype) bool { return slices.Contains(dtypes, dt) }

// Empty returns an array without elements: one of the lengths must be 0. A model predicts nothing from it: an array of no rows.
//
// Data of such an array is an empty slice. Of an array without elements that [tensor.New] makes it panics, and so it does for the types of one
// byte (bool, int8, uint8), of which gorgonia.org/tensor can hold none otherwise: look at the shape first.
func Empty(dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	if dt.Type == nil {
		return nil, fmt.Errorf("data: Empty: the element type is the zero tensor.Dtype; %s", dtypeHint)
	}
	if n, ok := volume(shape, int(dt.Size())); !ok || n != 0 || !isModelDtype(dt) {
		return nil, fmt.Errorf("data: Empty: received element type %s and shape %v; %s, and a length of 0 among lengths that are not negative", dt, shape, dtypeHint)
	}
	return emptyDense(dt, shape...), nil
}

func emptyDense(dt tensor.Dtype, shape ...int) *tensor.Dense {
	d := tensor.NewDense(dt, tensor.Shape(slices.Clone(shape)))
	if dt.Size() > 1 {
		d.Raw = make([]byte, dt.Size()-1) // Data takes the address of the first byte, and counts whole elements
	}
	return d
}

// isEmpty says whether an array has no elements.
func isEmpty(d *tensor.Dense) bool { return slices.Contains(d.Shape(), 0) }

// rawOf returns the bytes of the elements of a row-major array.
func rawOf(d *tensor.Dense) []byte {
	if isEmpty(d) {
		return nil
	}
	return d.Raw
}

// newDense returns a zero-filled row-major array.
func newDense(dt tensor.Dtype, shape ...int) *tensor.Dense {
	if slices.Contains(shape, 0) {
		return emptyDense(dt, shape...)
	}
	return tensor.NewDense(dt, tensor.Shape(slices.Clone(shape)))
}

// denseOf wraps a slice, whose length must fit the shape, without copying it. No shape means a scalar.
func denseOf(backing any, shape ...int) *tensor.Dense {
	if slices.Contains(shape, 0) {
		return emptyDense(tensor.Dtype{Type: reflect.TypeOf(backing).Elem()}, shape...)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
}

// describe gives element type and shape: "float32[32 10]", "int64[]" for a scalar.
func describe(d *tensor.Dense) string {
	if d == nil {
		return "nil"
	}
	return d.Dtype().Name() + fmt.Sprint([]int(d.Shape()))
}

// maxBytes is more than a machine can address, and so the end of what is tried: 64 TiB, or 2 GiB where int has 32 bits.
const maxBytes = min(1<<46, math.MaxInt)

// volume multiplies dimensions; ok is false where one is negative or the product of the non-zero ones exceeds maxBytes.
func volume(shape []int, itemSize int) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxBytes/itemSize/d {
			return 0, false
		}
		n *= max(d, 1)
	}
	if slices.Contains(shape, 0) {
		n = 0
	}
	return n, true
}

// rowMajor says whether the bytes of d are its elements in order, without gaps.
func rowMajor(d *tensor.Dense) bool {
	shape, strides := d.Shape(), d.Strides()
	if len(shape) == 0 || isEmpty(d) {
		return true
	}
	if len(strides) != len(shape) || len(d.Raw) != shape.TotalSize()*int(d.Dtype().Size()) {
		return false
	}
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && strides[i] != step {
			return false
		}
		step *= shape[i]
	}
	return true
}

// compact returns d itself where it is row-major and contiguous, else a copy that is (of a transpose, a slice or a
// column-major array).
func compact(d *tensor.Dense) *tensor.Dense {
	if rowMajor(d) {
		return d
	}
	return packStrided(d.Dtype(), d.Raw, d.Shape(), d.Strides())
}

// cloneDense returns a row-major copy of d in fresh memory.
func cloneDense(d *tensor.Dense) *tensor.Dense {
	if d == nil {
		return nil
	}
	if rowMajor(d) {
		c := newDense(d.Dtype(), d.Shape()...)
		copy(rawOf(c), d.Raw)
		return c
	}
	return compact(d)
}

// packStrided copies an array whose element (i, j, ...) starts at byte itemSize*(i*strides[0] + j*strides[1] + ...) of raw
// into a fresh row-major array.
func packStrided(dt tensor.Dtype, raw []byte, shape, strides []int) *tensor.Dense {
	out := newDense(dt, shape...)
	item, rank := int(dt.Size()), len(shape)
	index := make([]int, rank)
	inner, innerStride := shape[rank-1], strides[rank-1]*item
	for dst := out.Raw; len(dst) > 0; {
		src := 0
		for axis, i := range index[:rank-1] {
			src += i * strides[axis] * item
		}
		for range inner {
			copy(dst[:item], raw[src:src+item])
			dst, src = dst[item:], src+innerStride
		}
		for axis := rank - 2; axis >= 0; axis-- { // count up like an odometer, last axis fastest
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return out
}

// rowsOf returns rows lo..hi-1 of a row-major array as an array that shares its memory.
func rowsOf(d *tensor.Dense, lo, hi int) *tensor.Dense {
	shape := slices.Clone(d.Shape())
	shape[0] = hi - lo
	if isEmpty(d) || lo == hi {
		return emptyDense(d.Dtype(), shape...)
	}
	row := d.Shape().TotalSize() / d.Shape()[0]
	return denseOf(reflect.ValueOf(d.Data()).Slice(lo*row, hi*row).Interface(), shape...)
}

// rowOf returns row i of a row-major array, without axis 0, as an array that shares its memory.
func rowOf(d *tensor.Dense, i int) *tensor.Dense {
	shape := d.Shape()
	if isEmpty(d) {
		return emptyDense(d.Dtype(), shape[1:]...)
	}
	row := shape.TotalSize() / shape[0]
	return denseOf(reflect.ValueOf(d.Data()).Slice(i*row, (i+1)*row).Interface(), shape[1:]...)
}

// stack copies arrays of one shape into a fresh array with a new axis 0.
func stack(parts []*tensor.Dense) *tensor.Dense {
	first := parts[0]
	out := newDense(first.Dtype(), append([]int{len(parts)}, first.Shape()...)...)
	if isEmpty(out) {
		return out
	}
	size := len(out.Raw) / len(parts)
	for i, p := range parts {
		copy(out.Raw[i*size:(i+1)*size], compact(p).Raw)
	}
	return out
}
