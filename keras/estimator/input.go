package estimator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// InputFn makes the data set of a session, TensorFlow's input_fn. Its batches are those of one replica: X holds the features, Y the
// labels. The context tells how many replicas share a step, and which part of the data this process reads where there are several.
type InputFn func(c distribute.InputContext) (data.Dataset, error)

// named are arrays with names, nil where positions identify them.
type named struct {
	names  []string
	arrays []kernels.Array
}

// transform turns the features and labels of a batch into the arrays that the trace gets. It works on the host, where text is.
type transform func(features, labels data.Tensors) (x, y named, err error)

// plain hands everything on as it is, with floats as float32.
func plain(features, labels data.Tensors) (x, y named, err error) {
	if x, err = namedArrays(features); err == nil {
		y, err = namedArrays(labels)
	}
	return x, y, err
}

func namedArrays(t data.Tensors) (named, error) {
	out := named{names: t.Names}
	for i, d := range t.Arrays {
		a, err := fromDense(d)
		if err != nil {
			return out, fmt.Errorf("array %d: %w", i, err)
		}
		out.arrays = append(out.arrays, a)
	}
	return out, nil
}

// layout is what all batches of a session have in common: the names of their arrays.
type layout struct {
	known bool
	x, y  []string
}

// host is a data set of an input function as strategies take it.
type host struct {
	ds        data.Dataset
	transform transform
	labels    bool // whether labels are wanted
	layout    *layout
}

// Batches implements [distribute.Dataset].
func (h host) Batches(ctx context.Context, epoch int) iter.Seq2[distribute.HostBatch, error] {
	return func(yield func(distribute.HostBatch, error) bool) {
		for b, err := range h.ds.Batches(ctx, epoch) {
			var out distribute.HostBatch
			if err == nil {
				out, err = h.batch(b)
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

func (h host) batch(b data.Batch) (distribute.HostBatch, error) {
	if b.SampleWeight.Len() > 0 {
		return distribute.HostBatch{}, errors.New("estimator: the data set has sample weights; estimators take weights as a feature: hand them on among the features and name it with WeightColumn")
	}
	if b.X.Len() == 0 {
		return distribute.HostBatch{}, errors.New("estimator: a batch of the input function has no features")
	}
	labels := b.Y
	if !h.labels {
		labels = data.Tensors{}
	}
	x, y, err := h.transform(b.X, labels)
	if err != nil {
		return distribute.HostBatch{}, fmt.Errorf("estimator: a batch of the input function: %w", err)
	}
	l := h.layout
	if !l.known {
		*l = layout{true, x.names, y.names}
	}
	if !slices.Equal(l.x, x.names) || !slices.Equal(l.y, y.names) {
		return distribute.HostBatch{}, fmt.Errorf("estimator: the first batch has features %q and labels %q, and a later one has %q and %q; all need the same", l.x, l.y, x.names, y.names)
	}
	for i, a := range slices.Concat(x.arrays, y.arrays) {
		if len(a.Type.Shape) == 0 {
			return distribute.HostBatch{}, fmt.Errorf("estimator: array %d of a batch is a scalar; expected (batch, ...): batch the data set", i)
		}
	}
	return distribute.HostBatch{X: x.arrays, Y: y.arrays}, nil
}

// distributed calls the input function and hands its batches to the replicas.
func distributed(s distribute.Strategy, f InputFn, t transform, labels bool, l *layout) (*distribute.DistributedDataset, error) {
	if f == nil {
		return nil, errors.New("estimator: the input function is nil; pass a function that returns a data set of batches")
	}
	d, err := s.DistributeDatasetsFromFunction(func(c distribute.InputContext) (distribute.Dataset, error) {
		ds, err := f(c)
		if err != nil {
			return nil, err
		}
		if v := reflect.ValueOf(ds); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, errors.New("the input function returned no data set")
		}
		return host{ds, t, labels, l}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("estimator: %w", err)
	}
	return d, nil
}

// fromDense copies an array; float64 becomes float32, the type in which estimators compute.
func fromDense(d *tensor.Dense) (kernels.Array, error) {
	d, err := data.ToDense(d)
	if err != nil {
		return kernels.Array{}, err
	}
	shape := ir.Shape(slices.Clone([]int(d.Shape())))
	values := reflect.ValueOf(d.Data())
	if values.Kind() != reflect.Slice { // a scalar
		one := reflect.MakeSlice(reflect.SliceOf(values.Type()), 1, 1)
		one.Index(0).Set(values)
		values = one
	}
	dtype, ok := dtypes[values.Type().Elem().Kind()]
	if !ok {
		return kernels.Array{}, fmt.Errorf("arrays of %v cannot be features or labels", d.Dtype())
	}
	v := values.Interface()
	switch list := v.(type) {
	case []float64:
		return kernels.FromFloat64s(ir.Float32, shape, list)
	case []int:
		v = convert[int64](list)
	case []uint:
		v = convert[uint64](list)
	}
	bytes, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		return kernels.Array{}, err
	}
	a := kernels.Array{Type: ir.Type{DType: dtype, Shape: shape}, Data: bytes}
	if len(bytes) != a.Type.Bytes() {
		return a, fmt.Errorf("an array of shape %v holds %d bytes; expected %d", shape, len(bytes), a.Type.Bytes())
	}
	return a, nil
}

// dtypes are the types of a program for those of Go.
var dtypes = map[reflect.Kind]ir.DType{
	reflect.Bool: ir.Bool, reflect.Int8: ir.Int8, reflect.Int16: ir.Int16, reflect.Int32: ir.Int32, reflect.Int64: ir.Int64, reflect.Int: ir.Int64,
	reflect.Uint8: ir.Uint8, reflect.Uint16: ir.Uint16, reflect.Uint32: ir.Uint32, reflect.Uint64: ir.Uint64, reflect.Uint: ir.Uint64,
	reflect.Float32: ir.Float32, reflect.Float64: ir.Float32,
}

func convert[T, F int | uint | int64 | uint64](list []F) []T {
	out := make([]T, len(list))
	for i, x := range list {
		out[i] = T(x)
	}
	return out
}

// toDense copies rows of results into an array of gorgonia.org/tensor; half precision becomes float32, and a scalar has shape (1).
func toDense(a kernels.Array) (*tensor.Dense, error) {
	shape := []int(a.Type.Shape)
	if len(shape) == 0 {
		shape = []int{1}
	}
	n := a.Type.Shape.Size()
	if n == 0 {
		return tensor.New(tensor.WithShape(shape...), tensor.Of(tensor.Float32)), nil
	}
	var backing any
	switch a.Type.DType {
	case ir.Bool:
		list := make([]bool, n)
		for i := range list {
			list[i] = a.Data[i] != 0
		}
		backing = list
	case ir.Int64:
		backing = make([]int64, n)
	case ir.Int32:
		backing = make([]int32, n)
	case ir.Uint8:
		backing = make([]uint8, n)
	case ir.Float64:
		backing = make([]float64, n)
	case ir.Float32:
		backing = make([]float32, n)
	default: // other types are rare in results: they come as float32
		wide, err := kernels.FromFloat64s(ir.Float32, a.Type.Shape, a.Float64s())
		if err != nil {
			return nil, err
		}
		return toDense(wide)
	}
	if a.Type.DType != ir.Bool {
		if _, err := binary.Decode(a.Data, binary.LittleEndian, backing); err != nil {
			return nil, err
		}
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing)), nil
}
