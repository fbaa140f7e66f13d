package estimator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// InputFn creates the data set of a session, TensorFlow's input_fn. Its batches are those of one replica: X holds the
// features, Y the labels. The context says how many replicas share a step, and with several processes which part of the
// data this one reads.
type InputFn func(c distribute.InputContext) (data.Dataset, error)

// named are arrays with names, which are nil if the arrays are identified by position.
type named struct {
	names  []string
	arrays []kernels.Array
}

// transform turns the features and labels of a batch into the arrays for the trace. It runs on the host, where text is
// available.
type transform func(features, labels data.Tensors) (x, y named, err error)

// plain passes everything through, with floats as float32.
func plain(features, labels data.Tensors) (x, y named, err error) {
	if x, err = namedArrays(features); err == nil {
		y, err = namedArrays(labels)
	}
	return x, y, err
}

func namedArrays(t data.Tensors) (named, error) {
	out := named{names: t.Names}
	for i, d := range t.Arrays {
		a, err := computed(d)
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

// host is the data set of an input function in the form that strategies take.
type host struct {
	ds        data.Dataset
	transform transform
	labels    bool // whether labels are needed
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

// distributed calls the input function and distributes its batches to the replicas.
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

// computed returns an array in the types that estimators compute with: float64 becomes float32.
func computed(a data.Array) (kernels.Array, error) {
	if err := a.Check(); err != nil {
		return a, err
	}
	if a.DType().IsFloat() {
		return a.Convert(ir.Float32)
	}
	return a, nil
}

// resultOf returns a result in the form for callers: half precision becomes float32, and a scalar gets the shape (1).
func resultOf(a kernels.Array) (data.Array, error) {
	if a.Rank() == 0 {
		a.Type.Shape = ir.Shape{1}
	}
	if a.DType().IsHalf() {
		return a.Convert(ir.Float32)
	}
	return a.Clone(), nil
}
