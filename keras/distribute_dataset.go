package keras

import (
	"context"
	"fmt"
	"iter"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// DistributedDataset hands out the batches of a dataset cut into one part a replica, for custom training loops.
type DistributedDataset struct {
	strategy distribute.Strategy
	ds       data.Dataset
}

// DistributeDataset cuts each batch of ds for the replicas of a strategy:
//
//	loader := data.Arrays(x, y).Loader(64, true, seed)
//	for batch, err := range keras.DistributeDataset(strategy, loader).Batches(ctx, epoch) {
//		losses, err := strategy.Run(ctx, step, batch)
//	}
//
// Floats become float32.
func DistributeDataset(s distribute.Strategy, ds data.Dataset) *DistributedDataset {
	return &DistributedDataset{s, ds}
}

// Batches goes through the data once; epoch seeds the shuffle. A batch is valid until the next one is asked for.
func (d *DistributedDataset) Batches(ctx context.Context, epoch int) iter.Seq2[distribute.PerReplicaBatch, error] {
	return func(yield func(distribute.PerReplicaBatch, error) bool) {
		for b, err := range d.ds.Batches(ctx, epoch) {
			var host distribute.HostBatch
			if err == nil {
				host, err = hostBatch(b)
			}
			var parts distribute.PerReplicaBatch
			if err == nil {
				parts, err = distribute.SplitBatch(d.strategy, host)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(parts, nil) {
				return
			}
		}
	}
}

func hostBatch(b data.Batch) (distribute.HostBatch, error) {
	var out distribute.HostBatch
	for _, part := range []struct {
		from []*tensor.Dense
		to   *[]kernels.Array
	}{{b.X.Arrays, &out.X}, {b.Y.Arrays, &out.Y}, {b.SampleWeight.Arrays, &out.SampleWeight}} {
		for _, d := range part.from {
			a, err := fromDense(d)
			if err != nil {
				return out, fmt.Errorf("keras: DistributeDataset: %w", err)
			}
			if a.Type.DType == ir.Float64 {
				if a, err = kernels.FromFloat64s(ir.Float32, a.Type.Shape, a.Float64s()); err != nil {
					return out, err
				}
			}
			*part.to = append(*part.to, a)
		}
	}
	return out, nil
}
