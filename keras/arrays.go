package keras

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// denseTypes are the element types of host arrays for those of a program; half precision has none and is widened.
var denseTypes = map[ir.DType]tensor.Dtype{
	ir.Bool: tensor.Bool, ir.Int8: tensor.Int8, ir.Int16: tensor.Int16, ir.Int32: tensor.Int32, ir.Int64: tensor.Int64,
	ir.Uint8: tensor.Uint8, ir.Uint16: tensor.Uint16, ir.Uint32: tensor.Uint32, ir.Uint64: tensor.Uint64,
	ir.Float32: tensor.Float32, ir.Float64: tensor.Float64,
}

// toDense copies a value into an array of gorgonia.org/tensor.
func toDense(a kernels.Array) (*tensor.Dense, error) {
	dtype, ok := denseTypes[a.Type.DType]
	if !ok {
		wide, err := kernels.FromFloat64s(ir.Float32, a.Type.Shape, a.Float64s())
		if err != nil {
			return nil, err
		}
		a, dtype = wide, tensor.Float32
	}
	if a.Type.Shape.Size() == 0 {
		return data.Empty(dtype, a.Type.Shape...)
	}
	backing, err := typedSlice(a)
	if err != nil {
		return nil, err
	}
	if len(a.Type.Shape) == 0 {
		return tensor.New(tensor.WithShape(1), tensor.Of(dtype), tensor.WithBacking(backing)), nil
	}
	return tensor.New(tensor.WithShape(a.Type.Shape...), tensor.Of(dtype), tensor.WithBacking(backing)), nil
}

// typedSlice copies the elements into a slice of their Go type.
func typedSlice(a kernels.Array) (any, error) {
	n := a.Type.Shape.Size()
	switch a.Type.DType {
	case ir.Bool:
		return sliceOf[bool](a.Data, n), nil
	case ir.Int8:
		return sliceOf[int8](a.Data, n), nil
	case ir.Int16:
		return sliceOf[int16](a.Data, n), nil
	case ir.Int32:
		return sliceOf[int32](a.Data, n), nil
	case ir.Int64:
		return sliceOf[int64](a.Data, n), nil
	case ir.Uint8:
		return sliceOf[uint8](a.Data, n), nil
	case ir.Uint16:
		return sliceOf[uint16](a.Data, n), nil
	case ir.Uint32:
		return sliceOf[uint32](a.Data, n), nil
	case ir.Uint64:
		return sliceOf[uint64](a.Data, n), nil
	case ir.Float32:
		return sliceOf[float32](a.Data, n), nil
	case ir.Float64:
		return sliceOf[float64](a.Data, n), nil
	}
	return nil, fmt.Errorf("keras: no Go type for %v", a.Type.DType)
}

// sliceOf copies little-endian memory into typed memory; all supported machines are little endian.
func sliceOf[T any](data []byte, n int) []T {
	out := make([]T, n)
	if n > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), len(data)), data)
	}
	return out
}

// fromDense views an array as a value; a transposed or sliced one is copied.
func fromDense(d *tensor.Dense) (kernels.Array, error) {
	if d == nil {
		return kernels.Array{}, fmt.Errorf("the array is nil")
	}
	dtype, ok := hostTypes[d.Dtype()]
	if !ok {
		return kernels.Array{}, fmt.Errorf("arrays of %v are not supported; use floats, integers or bool", d.Dtype())
	}
	if !rowMajor(d) {
		var err error
		if d, err = data.ToDense(d); err != nil {
			return kernels.Array{}, err
		}
	}
	return kernels.Array{Type: ir.Type{DType: dtype, Shape: slices.Clone(ir.Shape(d.Shape()))}, Data: rawBytes(d)}, nil
}

// GetWeights returns copies of all weights as arrays, in the order of Weights.
func (m *Model) GetWeights() ([]*tensor.Dense, error) {
	arrays, err := m.WeightArrays()
	if err != nil {
		return nil, err
	}
	out := make([]*tensor.Dense, len(arrays))
	for i, a := range arrays {
		if out[i], err = toDense(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SetWeights replaces all weights. Where the number or a shape is wrong nothing is changed.
func (m *Model) SetWeights(weights []*tensor.Dense) error {
	arrays := make([]kernels.Array, len(weights))
	for i, w := range weights {
		var err error
		if arrays[i], err = fromDense(w); err != nil {
			return fmt.Errorf("keras: SetWeights: weight %d: %w", i, err)
		}
	}
	return m.SetWeightArrays(arrays)
}
