package keras

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// DistributedDataset yields the batches of a dataset, each divided into one part per replica, for custom training
// loops.
type DistributedDataset = distribute.DistributedDataset

// DistributeDataset divides each batch of ds among the replicas of a strategy:
//
//	loader := data.Arrays(x, y).Loader(64, true, seed)
//	for batch, err := range keras.DistributeDataset(strategy, loader).Batches(ctx, epoch) {
//		losses, err := strategy.Run(ctx, step, batch)
//	}
//
// Floats become float32; see [HostDataset] for other types. Options that do not fit are reported by the first batch.
func DistributeDataset(s distribute.Strategy, ds data.Dataset, options ...distribute.InputOptions) *DistributedDataset {
	if s == nil {
		d, _ := distribute.Default().DistributeDataset(failing{errors.New("keras: DistributeDataset: the strategy is nil; make one, as with distribute.NewMirroredStrategy()")})
		return d
	}
	d, err := s.DistributeDataset(HostDataset(ds, ir.Float32), options...)
	if err != nil {
		d, _ = s.DistributeDataset(failing{err}) // cannot fail: a dataset and no options
	}
	return d
}

// DistributeDatasetsFromFunction yields the batches of the dataset that f creates, one for each replica; see
// [distribute.Strategy].DistributeDatasetsFromFunction. Floats become float32.
func DistributeDatasetsFromFunction(s distribute.Strategy, f func(distribute.InputContext) (data.Dataset, error), options ...distribute.InputOptions) (*DistributedDataset, error) {
	if s == nil || f == nil {
		return nil, errors.New("keras: DistributeDatasetsFromFunction: the strategy or the function is nil; pass both")
	}
	return s.DistributeDatasetsFromFunction(func(c distribute.InputContext) (distribute.Dataset, error) {
		ds, err := f(c)
		if err != nil {
			return nil, err
		}
		if v := reflect.ValueOf(ds); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, nil
		}
		return HostDataset(ds, ir.Float32), nil
	}, options...)
}

// HostDataset returns ds in the form that a strategy takes, with floats of the given type.
func HostDataset(ds data.Dataset, float ir.DType) distribute.Dataset {
	if v := reflect.ValueOf(ds); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return failing{errors.New("keras: DistributeDataset: the data are nil; pass a data.Dataset of batches")}
	}
	return hostDataset{ds, float}
}

// failing is a dataset that yields an error.
type failing struct{ err error }

func (f failing) Batches(context.Context, int) iter.Seq2[distribute.HostBatch, error] {
	return func(yield func(distribute.HostBatch, error) bool) { yield(distribute.HostBatch{}, f.err) }
}

type hostDataset struct {
	ds    data.Dataset
	float ir.DType
}

// Batches implements [distribute.Dataset].
func (h hostDataset) Batches(ctx context.Context, epoch int) iter.Seq2[distribute.HostBatch, error] {
	return func(yield func(distribute.HostBatch, error) bool) {
		for b, err := range h.ds.Batches(ctx, epoch) {
			var host distribute.HostBatch
			if err == nil {
				host, err = hostBatch(b, h.float)
			}
			if !yield(host, err) || err != nil {
				return
			}
		}
	}
}

func hostBatch(b data.Batch, float ir.DType) (distribute.HostBatch, error) {
	var out distribute.HostBatch
	for _, part := range []struct {
		from []data.Array
		to   *[]kernels.Array
	}{{b.X.Arrays, &out.X}, {b.Y.Arrays, &out.Y}, {b.SampleWeight.Arrays, &out.SampleWeight}} {
		for _, d := range part.from {
			a, err := d, d.Check()
			if err != nil {
				return out, prefixed("DistributeDataset", err)
			}
			if a.Type.DType.IsFloat() && a.Type.DType != float {
				if a, err = kernels.FromFloat64s(float, a.Type.Shape, a.Float64s()); err != nil {
					return out, err
				}
			}
			*part.to = append(*part.to, a)
		}
	}
	return out, nil
}
