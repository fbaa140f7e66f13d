//go:build linux

package cuda

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// apart is a backend of kind "apartcuda", whose devices do not reach each other's memory.
var apart = sync.OnceValue(func() *fakedriver.Fake {
	f := fakedriver.New(fakedriver.Options{Devices: 3, NoPeers: func(_, _ int) bool { return true }})
	kernels.Register(newBackend("apartcuda", func() (driver.API, error) { return f, nil }))
	return f
})

func mirroredOn(t testing.TB, kind string, n int, shard bool) distribute.Strategy {
	o := distribute.MirroredOptions{ShardOptimizerState: shard}
	for i := range n {
		o.Devices = append(o.Devices, fmt.Sprint(kind, ":", i))
	}
	s, err := distribute.NewMirroredStrategyWith(o)
	require.NoError(t, err)
	return s
}

// fittedOn trains a small network, whose last batches are uneven, with empty parts where there are many replicas.
func fittedOn(t *testing.T, s distribute.Strategy, network []layers.Layer) (*keras.Model, *keras.History) {
	model, err := keras.NewSequential(network, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 0.01, Options: optimizers.Options{GlobalClipNorm: new(1.0)}},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
		Metrics:   []string{"accuracy"},
	}))
	x, y := digits()
	history, err := model.Fit(t.Context(), data.Arrays(x[:17], y[:17]), keras.Epochs(2), keras.BatchSize(6))
	require.NoError(t, err)
	return model, history
}

// Replicas on GPUs come to what as many replicas on the CPU come to, weights and logs: with uneven and empty parts,
// statistics of the whole batch, and dropout. Without the dropout that is what one device comes to.
func TestReplicasTraining(t *testing.T) {
	_, f := fakes()
	network := func(rate float64) []layers.Layer {
		return []layers.Layer{
			&layers.Conv2D{Filters: 2, KernelSize: []int{3}, Strides: []int{2}, Activation: "relu"},
			&layers.BatchNormalization{Synchronized: true},
			&layers.Flatten{},
			&layers.Dropout{Rate: rate},
			&layers.Dense{Units: 3},
		}
	}
	alone, aloneHistory := fittedOn(t, mirroredOn(t, "cpu", 1, false), network(0))
	for _, n := range []int{2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			want, wantHistory := fittedOn(t, mirroredOn(t, "cpu", n, false), network(0.25))
			got, history := fittedOn(t, mirroredOn(t, "fakecuda", n, false), network(0.25))
			require.NoError(t, f.Fault())
			sameWeights(t, want, got, 2e-4)
			for name, values := range wantHistory.Logs {
				assert.InDeltaSlice(t, values, history.Logs[name], 1e-3, name)
			}
			if n > 4 {
				return // the interpreter is slow
			}
			same, sameHistory := fittedOn(t, mirroredOn(t, "fakecuda", n, n == 2), network(0))
			require.NoError(t, f.Fault())
			sameWeights(t, alone, same, 2e-4)
			for name, values := range aloneHistory.Logs {
				assert.InDeltaSlice(t, values, sameHistory.Logs[name], 1e-3, name)
			}
		})
	}
	t.Run("through the host", func(t *testing.T) {
		f := apart()
		got, _ := fittedOn(t, mirroredOn(t, "apartcuda", 3, false), network(0))
		require.NoError(t, f.Fault())
		sameWeights(t, alone, got, 2e-4)
	})
	t.Run("bits of sharded state", func(t *testing.T) {
		want, _ := fittedOn(t, mirroredOn(t, "fakecuda", 2, false), network(0.25))
		got, _ := fittedOn(t, mirroredOn(t, "fakecuda", 2, true), network(0.25))
		sameWeights(t, want, got, 0)
	})
}

// A custom loop: sums, and gathers of uneven parts, between the replicas.
func TestReplicasOwnLoop(t *testing.T) {
	_, f := fakes()
	s := mirroredOn(t, "fakecuda", 3, false)
	step := s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		sum := r.AllReduce(ir.Sum, ops.Sum(in.X))[0] // 21
		all := r.AllGather(in.X, 0)                  // 1 2 3 4 5 6
		dot := ops.Sum(ops.Multiply(all, ops.Arange(r, ir.Float32, 6)))
		return ops.Add(ops.Add(sum, dot), ops.MultiplyScalar(ops.Cast(r.ID(), ir.Float32), 1000))
	})
	var batch distribute.PerReplicaBatch
	for _, values := range [][]float64{{1, 2, 3}, {4}, {5, 6}} {
		a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{len(values)}, values)
		require.NoError(t, err)
		batch = append(batch, distribute.HostBatch{X: []kernels.Array{a}})
	}
	out, err := s.Run(t.Context(), step, batch)
	require.NoError(t, err)
	require.NoError(t, f.Fault())
	for i, a := range out {
		require.Equal(t, 21+70+1000*float64(i), a.Element(0))
	}
}

// Every way of combining works, those that are arranged included.
func TestReplicasCrossDeviceOps(t *testing.T) {
	_, f := fakes()
	network := func() []layers.Layer { return []layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 3}} }
	want, _ := fittedOn(t, mirroredOn(t, "cpu", 3, false), network())
	for name, o := range map[string]distribute.CrossDeviceOps{
		"one": distribute.ReductionToOneDevice{}, "ring": distribute.RingAllReduce{NumPacks: 2}, "groups": distribute.HierarchicalCopyAllReduce{},
	} {
		for _, shard := range []bool{false, true} {
			t.Run(fmt.Sprint(name, shard), func(t *testing.T) {
				s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"fakecuda:0", "fakecuda:1", "fakecuda:2"}, CrossDeviceOps: o, ShardOptimizerState: shard})
				require.NoError(t, err)
				got, _ := fittedOn(t, s, network())
				require.NoError(t, f.Fault())
				sameWeights(t, want, got, 2e-4)
			})
		}
	}
	t.Run("failure", func(t *testing.T) {
		s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"fakecuda:0", "fakecuda:1"}, CrossDeviceOps: distribute.RingAllReduce{}})
		require.NoError(t, err)
		model, _ := fittedOn(t, s, network())
		x, y := digits()
		y[5] = 7
		_, err = model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(24))
		require.ErrorContains(t, err, "7")
		y[5] = 2
		_, err = model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(24))
		require.NoError(t, err, "the model works after the mistake")
		require.NoError(t, f.Fault())
	})
}
