package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Dataset yields batches in host memory. keras.DistributeDataset makes one from a data.Dataset.
type Dataset interface {
	// Batches traverses the data once; epoch seeds a shuffle. A batch may be overwritten when the next is requested.
	Batches(ctx context.Context, epoch int) iter.Seq2[HostBatch, error]
}

// fixedBatches is implemented by datasets whose batches all have one size.
type fixedBatches interface{ FixedBatches() bool }

// DistributedDataset yields batches divided among the replicas of a strategy.
type DistributedDataset struct {
	strategy Strategy
	sources  []Dataset // one; or one for each replica
	cut      bool      // batches are global ones
	group    WorkerGroup
}

func (s *local) DistributeDataset(ds Dataset, options ...InputOptions) (*DistributedDataset, error) {
	if _, err := inputOptions(options, false); err != nil {
		return nil, err
	}
	if isNil(ds) {
		return nil, errors.New("distribute: DistributeDataset: the dataset is nil")
	}
	return &DistributedDataset{strategy: s.self, sources: []Dataset{ds}, cut: true}, nil
}

func (s *local) DistributeDatasetsFromFunction(f func(InputContext) (Dataset, error), options ...InputOptions) (*DistributedDataset, error) {
	o, err := inputOptions(options, true)
	if err != nil {
		return nil, err
	}
	pipelines := 1 // of this process
	if o.ReplicationMode == PerReplicaInput {
		pipelines = len(s.at.Devices)
	}
	d := &DistributedDataset{strategy: s.self, group: s.at.Group}
	for i := range pipelines {
		ds, err := f(InputContext{pipelines * s.at.Total / len(s.at.Devices), s.at.First*pipelines/len(s.at.Devices) + i, s.at.Total})
		if err != nil {
			return nil, fmt.Errorf("distribute: the dataset of pipeline %d: %w", i, err)
		}
		if isNil(ds) {
			return nil, fmt.Errorf("distribute: DistributeDatasetsFromFunction: the function returned no dataset for pipeline %d; expected a Dataset that yields local batches", i)
		}
		d.sources = append(d.sources, ds)
	}
	return d, nil
}

func isNil(ds Dataset) bool {
	v := reflect.ValueOf(ds)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Batches traverses the data once; epoch seeds a shuffle. A batch is valid until the next one is requested. The pass
// ends when no replica has data left; until then replicas without data get batches of 0 examples. Inside a step
// function it is an error.
func (d *DistributedDataset) Batches(ctx context.Context, epoch int) iter.Seq2[PerReplicaBatch, error] {
	if err := exec.OutsideTrace(); err != nil {
		return func(yield func(PerReplicaBatch, error) bool) { yield(nil, err) }
	}
	if d.cut {
		return d.cutBatches(ctx, epoch)
	}
	return d.takenBatches(ctx, epoch)
}

// cutBatches cuts global batches.
func (d *DistributedDataset) cutBatches(ctx context.Context, epoch int) iter.Seq2[PerReplicaBatch, error] {
	return func(yield func(PerReplicaBatch, error) bool) {
		for b, err := range d.sources[0].Batches(ctx, epoch) {
			var parts PerReplicaBatch
			if err == nil {
				parts, err = SplitBatch(d.strategy, b)
			}
			if !yield(parts, err) || err != nil {
				return
			}
		}
	}
}

// takenBatches gives each replica a batch of its own.
func (d *DistributedDataset) takenBatches(ctx context.Context, epoch int) iter.Seq2[PerReplicaBatch, error] {
	return func(yield func(PerReplicaBatch, error) bool) {
		n := len(d.strategy.Devices())
		next := make([]func() (HostBatch, error, bool), len(d.sources))
		for i, ds := range d.sources {
			pull, stop := iter.Pull2(ds.Batches(ctx, epoch))
			defer stop()
			next[i] = pull
		}
		var like *HostBatch // what a batch looks like
		for {
			parts, have := make(PerReplicaBatch, n), make([]bool, n)
			left := false
			for i := range n {
				b, err, ok := next[i%len(next)]()
				if err != nil {
					yield(nil, err)
					return
				}
				if !ok {
					continue
				}
				if len(next) == 1 && n > 1 {
					b = cloned(b) // the source may use its memory again for the next replica
				}
				if like == nil {
					e := withoutExamples(b)
					like = &e
				}
				parts[i], have[i], left = b, true, true
			}
			anywhere, err := anyWorker(ctx, d.group, left)
			if err != nil {
				yield(nil, err)
				return
			}
			if !anywhere {
				return
			}
			if like == nil {
				err := errors.New("distribute: the dataset of this process has no batch at all while others have; give each process at least one, so that the types are known")
				FailTogether(d.strategy, err)
				yield(nil, err)
				return
			}
			for i := range parts {
				if !have[i] {
					parts[i] = *like
				}
			}
			if !yield(parts, nil) {
				return
			}
		}
	}
}

// cloned copies a batch.
func cloned(b HostBatch) HostBatch {
	return mapArrays(b, func(a kernels.Array) kernels.Array {
		return kernels.Array{Type: a.Type, Data: append([]byte(nil), a.Data...)}
	})
}

// withoutExamples returns a batch of the same kind without examples.
func withoutExamples(b HostBatch) HostBatch {
	return mapArrays(b, func(a kernels.Array) kernels.Array {
		if len(a.Type.Shape) == 0 {
			return a
		}
		return a.Slice(0, 0)
	})
}

func mapArrays(b HostBatch, f func(kernels.Array) kernels.Array) HostBatch {
	all := func(in []kernels.Array) []kernels.Array {
		out := make([]kernels.Array, len(in))
		for i, a := range in {
			out[i] = f(a)
		}
		return out
	}
	return HostBatch{X: all(b.X), Y: all(b.Y), SampleWeight: all(b.SampleWeight)}
}

// PerReplicaSpec describes one array of a batch: its type on each replica. The length of the first axis is -1 if
// batches may differ.
type PerReplicaSpec struct {
	Replicas int
	DType    ir.DType
	Shape    []int
}

// ElementSpec describes the batches by looking at the first one: X, Y and sample weights.
func (d *DistributedDataset) ElementSpec(ctx context.Context) (x, y, weights []PerReplicaSpec, err error) {
	fixed, _ := d.sources[0].(fixedBatches)
	for b, err := range d.Batches(ctx, 0) {
		if err != nil {
			return nil, nil, nil, err
		}
		specs := func(arrays []kernels.Array) []PerReplicaSpec {
			out := make([]PerReplicaSpec, len(arrays))
			for i, a := range arrays {
				out[i] = PerReplicaSpec{len(b), a.Type.DType, append([]int{}, a.Type.Shape...)}
				uneven := slices.ContainsFunc(b, func(p HostBatch) bool { return p.Examples() != b[0].Examples() })
				if uneven || fixed == nil || !fixed.FixedBatches() {
					out[i].Shape[0] = -1
				}
			}
			return out
		}
		return specs(b[0].X), specs(b[0].Y), specs(b[0].SampleWeight), nil
	}
	return nil, nil, nil, errors.New("distribute: ElementSpec: the dataset has no batch to describe")
}

// Iterator traverses the data once, batch by batch. Close it unless it was read to the end. It is not safe for
// concurrent use. It must not be used in step functions: they are traced once and would see one batch forever.
func (d *DistributedDataset) Iterator(ctx context.Context, epoch int) *DistributedIterator {
	next, stop := iter.Pull2(d.Batches(ctx, epoch))
	return &DistributedIterator{strategy: d.strategy, next: next, stop: stop}
}

// DistributedIterator is returned by [DistributedDataset.Iterator].
type DistributedIterator struct {
	strategy Strategy
	next     func() (PerReplicaBatch, error, bool)
	stop     func()
}

// Next returns the next batch, or io.EOF when no replica has data left. A batch is valid until the following call.
// Inside a step function it is an error.
func (it *DistributedIterator) Next() (PerReplicaBatch, error) {
	if err := exec.OutsideTrace(); err != nil {
		return nil, err
	}
	b, err, ok := it.next()
	if !ok {
		return nil, io.EOF
	}
	return b, err
}

// Optional is a batch or the end of the data.
type Optional struct {
	batch PerReplicaBatch
	has   bool
}

// HasValue reports whether there is a batch.
func (o Optional) HasValue() bool { return o.has }

// Value returns the batch, or an error if there is none.
func (o Optional) Value() (PerReplicaBatch, error) {
	if !o.has {
		return nil, errors.New("distribute: the optional has no value: the data had ended; ask HasValue first")
	}
	return o.batch, nil
}

// GetNextAsOptional is like Next, but returns the end of the data as a value instead of an error.
func (it *DistributedIterator) GetNextAsOptional() (Optional, error) {
	b, err := it.Next()
	if err == io.EOF {
		return Optional{}, nil
	}
	return Optional{b, err == nil}, err
}

// Run runs f on up to steps batches. It returns the results of the last one and the number of batches, which is smaller
// than steps if the data ended.
func (it *DistributedIterator) Run(ctx context.Context, f *Function, steps int) (last PerReplica, done int, err error) {
	for done < steps {
		b, err := it.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return last, done, err
		}
		if last, err = it.strategy.Run(ctx, f, b); err != nil {
			return last, done, err
		}
		done++
	}
	return last, done, nil
}

// Close ends the pass.
func (it *DistributedIterator) Close() { it.stop() }
