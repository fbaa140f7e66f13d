// Package gorgonia converts tensors of gorgonia.org/tensor to arrays and back. Programs that do not import it do not
// link that package.
package gorgonia

import (
	"fmt"
	"reflect"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// FromTensor returns a dense tensor as an array. The array shares the memory of a row-major tensor without gaps; a
// transpose, a slice with gaps or a column-major tensor is copied. A scalar tensor becomes an array without axes.
func FromTensor(t tensor.Tensor) (data.Array, error) {
	a, err := fromTensor(t)
	if err != nil {
		return data.Array{}, fmt.Errorf("gorgonia: FromTensor: %w", err)
	}
	return a, nil
}

func fromTensor(t tensor.Tensor) (data.Array, error) {
	d, ok := t.(*tensor.Dense)
	switch {
	case t == nil || ok && d == nil:
		return data.Array{}, fmt.Errorf("the tensor is nil")
	case !ok:
		return data.Array{}, fmt.Errorf("received a %T; expected a *tensor.Dense (a sparse tensor has a Dense method)", t)
	case d.Dtype().Type == nil:
		return data.Array{}, fmt.Errorf("the tensor is the zero tensor.Dense, without an element type; make it with tensor.New")
	}
	dtype := kernels.DTypeOfKind(d.Dtype().Kind())
	shape := slices.Clone([]int(d.Shape()))
	switch {
	case dtype == ir.Invalid:
		return data.Array{}, fmt.Errorf("the tensor holds elements of type %v; expected numbers or bools", d.Dtype())
	case slices.ContainsFunc(shape, func(n int) bool { return n < 0 }):
		return data.Array{}, fmt.Errorf("the tensor has shape %v; expected lengths of 0 and more", shape)
	case slices.Contains(shape, 0):
		return kernels.NewArray(ir.Type{DType: dtype, Shape: shape}), nil
	case len(d.Raw) == 0:
		return data.Array{}, fmt.Errorf("the tensor has shape %v and no memory", shape)
	case !d.IsNativelyAccessible():
		return data.Array{}, fmt.Errorf("the tensor lives in memory that Go cannot read; copy it to the host first")
	case d.IsMasked():
		return data.Array{}, fmt.Errorf("the tensor is masked; fill the masked values first, or give their weight as SampleWeight")
	}
	if !rowMajor(d, shape) {
		return kernels.ArrayAt(dtype, reflect.ValueOf(packed(d.Raw, dtype.Size(), shape, d.Strides())).UnsafePointer(), ir.Shape(shape).Size(), shape...)
	}
	return kernels.ArrayAt(dtype, reflect.ValueOf(d.Raw).UnsafePointer(), ir.Shape(shape).Size(), shape...)
}

// rowMajor reports whether the bytes of d are its elements in row-major order, without gaps.
func rowMajor(d *tensor.Dense, shape []int) bool {
	strides := d.Strides()
	if len(shape) == 0 {
		return true
	}
	if len(strides) != len(shape) || len(d.Raw) != ir.Shape(shape).Size()*int(d.Dtype().Size()) {
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

// packed copies the elements of a strided tensor in row-major order, to memory aligned for them.
func packed(raw []byte, item int, shape, strides []int) []uint64 {
	n := ir.Shape(shape).Size() * item
	out := make([]uint64, (n+7)/8)
	a := kernels.Must(kernels.ArrayOf(out))
	index := make([]int, len(shape))
	for at := 0; at < n; at += item {
		from := 0
		for axis, i := range index {
			from += i * strides[axis]
		}
		copy(a.Data[at:at+item], raw[from*item:(from+1)*item])
		for axis := len(shape) - 1; axis >= 0; axis-- { // count up like an odometer, last axis fastest
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return out
}

// ToTensor returns an array as a tensor, in the same memory. Half precision, which tensors do not support, is copied as
// float32. Arrays without elements are an error, because gorgonia.org/tensor has none.
func ToTensor(a data.Array) (*tensor.Dense, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("gorgonia: ToTensor: %w", err)
	}
	if a.Len() == 0 {
		return nil, fmt.Errorf("gorgonia: ToTensor: received an array of shape %v; expected at least one element", a.Shape())
	}
	if a.Rank() == 0 {
		return tensor.New(tensor.FromScalar(reflect.ValueOf(a.Elements()).Index(0).Interface())), nil
	}
	return tensor.New(tensor.WithShape(slices.Clone(a.Shape())...), tensor.WithBacking(a.Elements())), nil
}
