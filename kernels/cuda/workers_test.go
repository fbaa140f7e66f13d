//go:build linux

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// round is where workers of one process meet, for tests: each brings something, and gets what all brought.
type round struct {
	mu      sync.Mutex
	changed sync.Cond
	brought [][]kernels.Array
	came    int
	number  int
	last    [][]kernels.Array
	err     error
}

// roundWorker is one worker's end.
type roundWorker struct {
	*round
	rank int
}

func (w roundWorker) Rank() int    { return w.rank }
func (w roundWorker) Size() int    { return len(w.brought) }
func (w roundWorker) Close() error { return nil }

func (w roundWorker) Fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
	w.changed.Broadcast()
}

func (w roundWorker) meet(values []kernels.Array) ([][]kernels.Array, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var own []kernels.Array
	for _, a := range values {
		own = append(own, kernels.Array{Type: a.Type, Data: bytes.Clone(a.Data)})
	}
	at := w.number
	w.brought[w.rank] = own
	if w.came++; w.came == len(w.brought) {
		w.last, w.came = append([][]kernels.Array(nil), w.brought...), 0
		w.number++
		w.changed.Broadcast()
	}
	for w.number == at && w.err == nil {
		w.changed.Wait()
	}
	return w.last, w.err
}

func (w roundWorker) AllReduce(_ context.Context, _ distribute.WorkerCall, kind ir.Kind, values []kernels.Array) error {
	all, err := w.meet(values)
	if err != nil {
		return err
	}
	for i, a := range values {
		sum := all[0][i].Float64s()
		for _, other := range all[1:] {
			for k, x := range other[i].Float64s() {
				if sum[k] += x; kind == ir.Max {
					sum[k] = max(sum[k]-x, x)
				}
			}
		}
		if err := a.SetFloat64s(0, sum); err != nil {
			return err
		}
	}
	return nil
}

func (w roundWorker) Broadcast(_ context.Context, _ distribute.WorkerCall, root int, values []kernels.Array) error {
	all, err := w.meet(values)
	if err == nil {
		for i, a := range all[root] {
			copy(values[i].Data, a.Data)
		}
	}
	return err
}

func (w roundWorker) AllGather(_ context.Context, _ distribute.WorkerCall, data []byte) ([][]byte, error) {
	all, err := w.meet([]kernels.Array{{Type: ir.Type{DType: ir.Uint8, Shape: ir.Shape{len(data)}}, Data: data}})
	var out [][]byte
	for _, one := range all {
		out = append(out, one[0].Data)
	}
	return out, err
}

func (w roundWorker) Agree(ctx context.Context, call distribute.WorkerCall) error {
	all, err := w.AllGather(ctx, call, []byte(fmt.Sprint(call)))
	for _, other := range all {
		if err == nil && string(other) != fmt.Sprint(call) {
			err = fmt.Errorf("workers disagree: %q and %v", other, call)
		}
	}
	return err
}

// Workers with a GPU each meet through host memory, and come to what replicas of one process come to; also with the state of the optimizer in pieces.
func TestWorkersTraining(t *testing.T) {
	_, f := fakes()
	network := func() []layers.Layer {
		return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 4, Activation: "relu"}, &layers.BatchNormalization{Synchronized: true}, &layers.Dense{Units: 3}}
	}
	want, _ := fittedOn(t, mirroredOn(t, "cpu", 2, false), network())
	for _, shard := range []bool{false, true} {
		r := &round{brought: make([][]kernels.Array, 2)}
		r.changed.L = &r.mu
		models := make([]*keras.Model, 2)
		t.Run(fmt.Sprint("sharded ", shard), func(t *testing.T) {
			t.Run("both", func(t *testing.T) {
				for rank := range models {
					t.Run(fmt.Sprint(rank), func(t *testing.T) {
						t.Parallel()
						w := roundWorker{r, rank}
						t.Cleanup(func() {
							if t.Failed() {
								w.Fail(fmt.Errorf("worker %d failed", rank))
							}
						})
						s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
							MirroredOptions: distribute.MirroredOptions{Devices: []string{fmt.Sprint("fakecuda:", rank)}, ShardOptimizerState: shard}, Group: w})
						require.NoError(t, err)
						models[rank], _ = fittedOn(t, s, network())
					})
				}
			})
			require.NoError(t, f.Fault())
			for _, m := range models {
				sameWeights(t, want, m, 2e-4)
			}
		})
	}
}
