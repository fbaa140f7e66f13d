//go:build linux

package pjrt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// cores makes a strategy on the first n devices of the plugin, the way a program does on a TPU.
func cores(t *testing.T, n int) *tpu.Strategy {
	t.Helper()
	t.Setenv("GOKERAS_PJRT_PLUGIN", plugin(t))
	resolver := &cluster.TPU{Name: "local"}
	require.NoError(t, tpu.ConnectToCluster(t.Context(), resolver))
	topology, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{Resolver: resolver, DeviceKind: "xla"})
	require.NoError(t, err)
	require.Equal(t, tpu.Coordinates{4, 1, 1, 1}, topology.MeshShape())
	assignment, err := tpu.AssignDevices(topology, tpu.AssignmentOptions{Replicas: n})
	require.NoError(t, err)
	s, err := tpu.NewStrategy(t.Context(), tpu.Options{Resolver: resolver, Topology: topology, DeviceAssignment: assignment})
	require.NoError(t, err)
	require.Equal(t, n, s.NumReplicasInSync())
	return s
}

// Replicas on the cores train to what one replica trains to, with batches of 10 that do not divide among 4 and a last
// one of 4, measure the same and predict the same.
func TestTPUStrategy(t *testing.T) {
	run := func(s distribute.Strategy) (*keras.Model, *keras.History, map[string]float64, []float32) {
		model, err := keras.NewSequential([]layers.Layer{
			&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Activation: "relu"},
			&layers.MaxPooling2D{},
			&layers.BatchNormalization{Synchronized: true},
			&layers.Flatten{},
			&layers.Dense{Units: 16, Activation: "gelu", KernelRegularizer: "l2", ActivityRegularizer: "l2"},
			&layers.Dense{Units: 3},
		}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
		require.NoError(t, err)
		require.NoError(t, model.Compile(keras.CompileConfig{
			Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"},
		}))
		x, y := digits()
		history, err := model.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(2), keras.BatchSize(10))
		require.NoError(t, err)
		scores, err := model.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(10))
		require.NoError(t, err)
		predictions, err := model.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(10))
		require.NoError(t, err)
		return model, history, scores, predictions.Elements().([]float32)
	}
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantHistory, wantScores, wantPredictions := run(one)
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n, " replicas"), func(t *testing.T) {
			got, history, scores, predictions := run(cores(t, n))
			sameWeights(t, want, got, 2e-4)
			for name, values := range wantHistory.Logs {
				require.InDeltaSlice(t, values, history.Logs[name], 1e-3, name)
			}
			for name, v := range wantScores {
				require.InDelta(t, v, scores[name], 1e-3, name)
			}
			require.InDeltaSlice(t, wantPredictions, predictions, 1e-3)
		})
	}
}

// spmd makes a strategy of two replicas on two devices each.
func spmd(t *testing.T) *tpu.Strategy {
	t.Helper()
	t.Setenv("GOKERAS_PJRT_PLUGIN", plugin(t))
	topology, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{Resolver: &cluster.TPU{Name: "local"}, DeviceKind: "xla"})
	require.NoError(t, err)
	assignment, err := tpu.AssignDevices(topology, tpu.AssignmentOptions{Replicas: 2, ComputationShape: []int{2, 1, 1, 1}})
	require.NoError(t, err)
	_, err = tpu.NewStrategy(t.Context(), tpu.Options{Topology: topology, DeviceAssignment: assignment})
	require.ErrorContains(t, err, "2 cores for each replica; expected 1, or the option SPMDPartitioning")
	s, err := tpu.NewStrategy(t.Context(), tpu.Options{Topology: topology, DeviceAssignment: assignment, SPMDPartitioning: true})
	require.NoError(t, err)
	require.Equal(t, 2, s.NumReplicasInSync())
	return s
}

// cutter cuts what it is given over the cores of a replica.
type cutter struct {
	layers.Base
	Name string
	s    *tpu.Strategy // nil: on one device
}

func (l *cutter) Forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	x := inputs[0]
	if l.s == nil {
		return []*ops.Tensor{ops.Sin(x)}
	}
	return []*ops.Tensor{l.s.ReplicateToLogicalDevices(ops.Sin(l.s.SplitToLogicalDevices(l.s.AssignToLogicalDevice(x, 1), 1, 2)))}
}

// Two replicas of two cores each, between which XLA divides what a layer asks for, train to what one device trains to,
// with batches that do not divide; the rest is copied to both cores.
func TestSPMDPartitioning(t *testing.T) {
	run := func(s distribute.Strategy, own *tpu.Strategy) (*keras.Model, []float64, map[string]float64, []float32) {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Flatten{}, &layers.Dense{Units: 16}, &cutter{Name: "cutter", s: own}, &layers.BatchNormalization{Synchronized: true}, &layers.Dense{Units: 3},
		}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
		x, y := digits()
		history, err := m.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(2), keras.BatchSize(9))
		require.NoError(t, err)
		scores, err := m.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(9))
		require.NoError(t, err)
		p, err := m.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(10))
		require.NoError(t, err)
		return m, history.Logs["loss"], scores, p.Elements().([]float32)
	}
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantLoss, wantScores, wantPredictions := run(one, nil)
	s := spmd(t)
	got, loss, scores, predictions := run(s, s)
	sameWeights(t, want, got, 2e-4)
	require.InDeltaSlice(t, wantLoss, loss, 1e-3)
	for name, v := range wantScores {
		require.InDelta(t, v, scores[name], 1e-3, name)
	}
	require.InDeltaSlice(t, wantPredictions, predictions, 1e-3)
}

// A custom loop on replicas of two cores: sums of replicas, numbers of replicas, groups, and errors that end it.
func TestSPMDLoop(t *testing.T) {
	s := spmd(t)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", Shape: ir.Shape{2}, DType: ir.Float32})
	require.NoError(t, err)
	run := func(f func(r *distribute.Replica, b distribute.Batch) *ops.Tensor) (distribute.PerReplica, error) {
		a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{4, 2}, []float64{1, 2, 3, 4, 5, 6, 7, 8})
		require.NoError(t, err)
		parts, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{a}})
		require.NoError(t, err)
		return s.Run(t.Context(), s.Function(f), parts)
	}
	for range 2 {
		out, err := run(func(r *distribute.Replica, b distribute.Batch) *ops.Tensor {
			x := s.SplitToLogicalDevices(b.X, 2, 1)
			sum := r.AllReduce(ir.Sum, ops.Sum(x, 0))[0]
			own := tpu.CrossReplicaSum(r, ops.Sum(s.SplitToLogicalDevices(b.X, 1, 2), 0), [][]int{{1}, {0}})
			r.AssignMirrored(v, ops.Add(r.Read(v), sum))
			return ops.Add(own, ops.Cast(r.ID(), ir.Float32))
		})
		require.NoError(t, err)
		require.Equal(t, []float64{4, 6}, out[0].Float64s())
		require.Equal(t, []float64{13, 15}, out[1].Float64s())
	}
	value, err := v.Value()
	require.NoError(t, err)
	require.Equal(t, []float64{32, 40}, value.Float64s())
	for message, f := range map[string]func(x *ops.Tensor) *ops.Tensor{
		"[1 1] makes 1 parts; expected 2": func(x *ops.Tensor) *ops.Tensor { return s.SplitToLogicalDevices(x, 1, 1) },
		"expected 2, one for each axis":   func(x *ops.Tensor) *ops.Tensor { return s.SplitToLogicalDevices(x, 2) },
		"logical core 2; a replica has 2": func(x *ops.Tensor) *ops.Tensor { return s.AssignToLogicalDevice(x, 2) },
	} {
		_, err := run(func(_ *distribute.Replica, b distribute.Batch) *ops.Tensor { return f(b.X) })
		require.ErrorContains(t, err, message)
	}
}

// A custom loop: a step on every core with a sum between them, and batches that do not divide refused before they run.
func TestTPULoop(t *testing.T) {
	s := cores(t, 4)
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", Shape: ir.Shape{}, DType: ir.Float32})
	require.NoError(t, err)
	step := s.Function(func(r *distribute.Replica, b distribute.Batch) *ops.Tensor {
		sum := r.AllReduce(ir.Sum, ops.Sum(b.X))[0]
		r.AssignMirrored(v, ops.Add(r.Read(v), sum))
		return ops.Sum(b.X)
	})
	run := func(values ...float64) (distribute.PerReplica, error) {
		a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{len(values)}, values)
		require.NoError(t, err)
		parts, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{a}})
		require.NoError(t, err)
		return s.Run(t.Context(), step, parts)
	}
	for range 3 {
		out, err := run(1, 2, 3, 4, 5, 6, 7, 8)
		require.NoError(t, err)
		total, err := s.Reduce(distribute.Sum, out)
		require.NoError(t, err)
		require.Equal(t, []float64{36}, total.Float64s())
	}
	_, err = run(1, 2, 3)
	require.ErrorContains(t, err, "make batches that divide evenly")
	value, err := v.Value()
	require.NoError(t, err)
	require.Equal(t, []float64{108}, value.Float64s())
}
