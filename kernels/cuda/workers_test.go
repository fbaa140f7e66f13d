//go:build linux

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
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
	over    chan struct{} // closed with the first error
}

func newRound(workers int) *round {
	r := &round{brought: make([][]kernels.Array, workers), over: make(chan struct{})}
	r.changed.L = &r.mu
	return r
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
	if w.err == nil {
		close(w.over)
	}
	w.err = errors.Join(w.err, err)
	w.changed.Broadcast()
}

// Ended is for devices that wait for each other.
func (w roundWorker) Ended() (<-chan struct{}, func() error) {
	return w.over, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	}
}

// Break ends the group.
func (w roundWorker) Break(err error) error {
	w.Fail(err)
	return w.err
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

// Workers with a GPU each meet through host memory or NCCL, and come to what replicas of one process come to; also with
// the state of the optimizer in pieces.
func TestWorkersTraining(t *testing.T) {
	b, f := fakes()
	network := func() []layers.Layer {
		return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 4, Activation: "relu"}, &layers.BatchNormalization{Synchronized: true}, &layers.Dense{Units: 3}}
	}
	want, _ := fittedOn(t, mirroredOn(t, "cpu", 2, false), network())
	for _, c := range []struct {
		implementation string
		shard          bool
	}{{"RING", false}, {"RING", true}, {"AUTO", false}, {"NCCL", true}} {
		library, err := b.library()
		require.NoError(t, err)
		before := library.(*fakenccl.Library).Calls()["ncclAllReduce"]
		r := newRound(2)
		models := make([]*keras.Model, 2)
		t.Run(fmt.Sprint(c), func(t *testing.T) {
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
							MirroredOptions: distribute.MirroredOptions{Devices: []string{fmt.Sprint("fakecuda:", rank)}, ShardOptimizerState: c.shard}, Group: w, Implementation: c.implementation})
						require.NoError(t, err)
						models[rank], _ = fittedOn(t, s, network())
					})
				}
			})
			require.NoError(t, errors.Join(f.Fault(), library.(*fakenccl.Library).Fault()))
			require.Equal(t, c.implementation != "RING", library.(*fakenccl.Library).Calls()["ncclAllReduce"] > before)
			for _, m := range models {
				sameWeights(t, want, m, 2e-4)
			}
		})
	}
}

// When the group of the workers ends, because one is gone, those who wait for it in NCCL get the reason. What does not
// fit together is an error beforehand.
func TestWorkerGoneInNCCL(t *testing.T) {
	b, f := fakes()
	r := newRound(2)
	ends := each(2, func(rank int) []kernels.Communicator {
		s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
			MirroredOptions: distribute.MirroredOptions{Devices: []string{fmt.Sprint("fakecuda:", rank)}}, Group: roundWorker{r, rank}, Implementation: "NCCL"})
		if !assert.NoError(t, err) {
			return nil
		}
		all, err := s.Communicators()
		assert.NoError(t, err)
		return all
	})
	require.Len(t, ends[0], 1)
	require.Len(t, ends[1], 1)
	buffer, err := b.NewBuffer(kernels.Device{Kind: "fakecuda"}, ir.Type{DType: ir.Float32, Shape: ir.Shape{4}})
	require.NoError(t, err)
	defer buffer.Free()
	failed := make(chan error)
	go func() { failed <- ends[0][0].AllReduce(context.Background(), ir.Sum, []kernels.Buffer{buffer}) }()
	roundWorker{r, 1}.Fail(errors.New("worker 1 is gone"))
	require.ErrorContains(t, <-failed, "worker 1 is gone")
	for _, end := range ends {
		end[0].Close()
	}
	require.NoError(t, f.Fault())
	for text, o := range map[string]distribute.MultiWorkerOptions{
		"the implementation NCCL needs GPUs, the devices are [cpu:0]":  {MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0"}}, Implementation: "NCCL"},
		"RingAllReduce cannot go together":                             {MirroredOptions: distribute.MirroredOptions{Devices: []string{"fakecuda:0"}, CrossDeviceOps: distribute.RingAllReduce{}}, Implementation: "NCCL"},
		"\"MPI\" is not an implementation; valid are AUTO, RING, NCCL": {MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0"}}, Implementation: "MPI"},
		"cannot travel between workers as int8":                        {MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0"}}, Wire: ir.Int8},
		"Timeout must not be negative":                                 {MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0"}}, Timeout: -1},
	} {
		require.ErrorContains(t, o.Check(), text)
		_, err := distribute.NewMultiWorkerMirroredStrategyOver(o)
		require.ErrorContains(t, err, text)
	}
}

// NcclAllReduce under a Mirrored strategy: the weights of the CPU, an error where there is no library, and the
// fallback.
func TestNcclAllReduce(t *testing.T) {
	b, f := fakes()
	network := func() []layers.Layer { return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 3}} }
	want, _ := fittedOn(t, mirroredOn(t, "cpu", 2, false), network())
	library, err := b.library()
	require.NoError(t, err)
	before := library.(*fakenccl.Library).Calls()["ncclAllReduce"]
	s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"fakecuda:0", "fakecuda:1"}, CrossDeviceOps: distribute.NcclAllReduce{NumPacks: 1}})
	require.NoError(t, err)
	got, _ := fittedOn(t, s, network())
	require.NoError(t, errors.Join(f.Fault(), library.(*fakenccl.Library).Fault()))
	sameWeights(t, want, got, 2e-4)
	require.Greater(t, library.(*fakenccl.Library).Calls()["ncclAllReduce"], before)

	_, err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"fakecuda:0", "fakecuda:1"}, CrossDeviceOps: distribute.NcclAllReduce{Wire: ir.Int8}})
	require.ErrorContains(t, err, "NcclAllReduce: sums cannot travel between GPUs as int8; Wire is bfloat16, float16, or left out")

	apart() // has no NCCL: unless the machine has
	bare, err := kernels.Lookup("apartcuda")
	require.NoError(t, err)
	bare.(*backend).openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no library; install it") }
	devices := []string{"apartcuda:0", "apartcuda:1"}
	_, err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: devices, CrossDeviceOps: distribute.NcclAllReduce{}})
	require.ErrorContains(t, err, "NcclAllReduce: there is no library; install it; or leave CrossDeviceOps out, or set Fallback")
	_, err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: devices, CrossDeviceOps: distribute.NcclAllReduce{Fallback: true}})
	require.NoError(t, err)
	err = distribute.MultiWorkerOptions{MirroredOptions: distribute.MirroredOptions{Devices: devices}, Implementation: "NCCL"}.Check()
	require.ErrorContains(t, err, "the implementation NCCL: there is no library; install it; or use AUTO or RING")
}
