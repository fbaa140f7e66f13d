package keras_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// lockstep is a strategy whose replicas run one program: short batches are padded.
func lockstep(t *testing.T, n int) distribute.Strategy {
	t.Helper()
	devices := make([]kernels.Device, n)
	for i := range devices {
		devices[i] = kernels.Device{Kind: "cpu", Index: i}
	}
	s, err := distribute.NewTPUStrategyOver(distribute.TPUOptions{Devices: devices})
	require.NoError(t, err)
	return s
}

// Replicas that run one program also equal one replica, even if batches do not divide evenly: padding counts nowhere. A
// batch of 3 leaves one of 4 replicas with only padding.
func TestFilledBatchesEqualOneReplica(t *testing.T) {
	for _, rc := range replicaCases() {
		for _, batch := range []int{8, 3} {
			for _, weighted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/batch %d/weighted %v", rc.name, batch, weighted), func(t *testing.T) {
					wantLoss, want := rc.train(t, 1, "float64", weighted, batch)
					for _, n := range []int{2, 3, 4} {
						loss, weights := rc.trainUnder(t, lockstep(t, n), "float64", weighted, batch)
						close64(t, fmt.Sprintf("%d replicas: loss", n), wantLoss, loss, 1e-7)
						for i := range weights {
							close64(t, fmt.Sprintf("%d replicas: weight %d", n, i), want[i].Float64s(), weights[i].Float64s(), 1e-6)
						}
					}
				})
			}
		}
	}
}

// Batch normalization without synchronization follows the replicas that have examples, whether their batches are padded
// or not.
func TestFilledBatchNormalization(t *testing.T) {
	train := func(s distribute.Strategy) []kernels.Array {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4}, &layers.BatchNormalization{Momentum: new(0.5)}, &layers.Dense{Units: 1}},
			distribute.Scope(s), keras.DTypePolicy("float64"), keras.Seed(3), keras.InputShape(2))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}))
		x, y := line(37)
		_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(9), keras.Epochs(2), keras.Shuffle(false))
		require.NoError(t, err)
		weights, err := m.GetWeights()
		require.NoError(t, err)
		return weights
	}
	mirrored, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1", "cpu:2", "cpu:3")
	require.NoError(t, err)
	want, got := train(mirrored), train(lockstep(t, 4))
	for i := range want {
		// Keras adds 1e-7 to the number of examples if some are excluded
		require.InDeltaSlice(t, want[i].Float64s(), got[i].Float64s(), 1e-5, "weight %d", i)
	}
}

// Every kind of metric excludes padding; predictions do not contain it.
func TestFilledMetrics(t *testing.T) {
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	run := func(s distribute.Strategy) (map[string]float64, []float64) {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Activation: "sigmoid"}},
			distribute.Scope(s), keras.DTypePolicy("float64"), keras.Seed(3), keras.InputShape(2))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "sgd", Metrics: []metrics.Metric{
			&metrics.MeanAbsoluteError{}, &metrics.BinaryAccuracy{}, &metrics.AUC{}, &metrics.Precision{}, &metrics.Recall{},
			&metrics.R2Score{NumRegressors: 1}, &metrics.F1Score{}, &metrics.RootMeanSquaredError{}, &metrics.CosineSimilarity{},
			&metrics.TruePositives{}, &metrics.PearsonCorrelation{}, &metrics.BinaryIoU{}, &metrics.CategoricalAccuracy{},
			&metrics.SensitivityAtSpecificity{Specificity: 0.5},
		}}))
		x, first := line(13)
		var y [][]float64
		for i, v := range first {
			y = append(y, []float64{float64(i % 2), float64(i / 3 % 2), float64(int(v*8) & 1)})
		}
		scores, err := m.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(5))
		require.NoError(t, err)
		p, err := m.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(5))
		require.NoError(t, err)
		require.Equal(t, 13, p.Shape()[0])
		return scores, p.Elements().([]float64)
	}
	want, wantPredictions := run(one)
	for _, n := range []int{2, 4} {
		got, predictions := run(lockstep(t, n))
		require.Len(t, got, len(want))
		for name := range want {
			require.InDelta(t, want[name], got[name], 1e-6, "%s on %d replicas", name, n)
		}
		require.InDeltaSlice(t, wantPredictions, predictions, 1e-12)
	}
}

// joined calls a layer with examples and steps on one axis.
type joined struct {
	Inner layers.Layer
	Out   *layers.Dense
}

func (m *joined) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	s := x.Shape()
	y := layers.Invoke(m.Inner, c, ops.Reshape(x, -1, 2))
	return layers.Invoke(m.Out, c, ops.Reshape(y, s[0], 6))
}

// A layer that sees several rows per example cannot tell which of them are padding.
func TestFilledJoinedAxes(t *testing.T) {
	for name, inner := range map[string]layers.Layer{
		"batch normalization of several rows": &layers.BatchNormalization{Synchronized: true},
		"the activity regularizer":            &layers.Dense{Units: 2, ActivityRegularizer: "l2"},
	} {
		m, err := keras.NewModel(&joined{Inner: inner, Out: &layers.Dense{Units: 1}}, distribute.Scope(lockstep(t, 2)))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		flat, y := line(3 * 7)
		x := make([][][]float32, 7)
		for i := range x {
			x[i] = flat[3*i : 3*i+3]
		}
		_, err = m.Fit(t.Context(), data.Arrays(x, y[:7]), keras.BatchSize(7))
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "needs batches that divide evenly")
		_, err = m.Fit(t.Context(), data.Arrays(x[:6], y[:6]), keras.BatchSize(6))
		require.NoError(t, err)
	}
}

// Layers called by TimeDistributed exclude padding as well.
func TestFilledInnerLayers(t *testing.T) {
	for _, c := range []struct {
		name  string
		inner layers.Layer
	}{
		{"normalization", &layers.BatchNormalization{Synchronized: true}},
		{"regularizer", &layers.Dense{Units: 2, ActivityRegularizer: "l2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			train := func(s distribute.Strategy) ([]kernels.Array, error) {
				m, err := keras.NewSequential([]layers.Layer{&layers.TimeDistributed{Layer: c.inner}, &layers.Flatten{}, &layers.Dense{Units: 1}},
					distribute.Scope(s), keras.DTypePolicy("float64"), keras.Seed(3), keras.InputShape(3, 2))
				require.NoError(t, err)
				require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}))
				flat, y := line(3 * 7)
				x := make([][][]float32, 7)
				for i := range x {
					x[i] = flat[3*i : 3*i+3]
				}
				if _, err = m.Fit(t.Context(), data.Arrays(x, y[:7]), keras.BatchSize(7)); err != nil {
					return nil, err
				}
				return m.GetWeights()
			}
			one, err := distribute.NewOneDeviceStrategy("cpu:0")
			require.NoError(t, err)
			want, err := train(one)
			require.NoError(t, err)
			switch inner := c.inner.(type) { // a layer belongs to one model
			case *layers.BatchNormalization:
				c.inner = &layers.BatchNormalization{Synchronized: inner.Synchronized}
			case *layers.Dense:
				c.inner = &layers.Dense{Units: inner.Units, ActivityRegularizer: inner.ActivityRegularizer}
			}
			got, err := train(lockstep(t, 2))
			require.NoError(t, err)
			for i := range want {
				close64(t, fmt.Sprint("weight ", i), want[i].Float64s(), got[i].Float64s(), 1e-6)
			}
		})
	}
}

// batchMean is a layer that adds a loss over its whole batch.
type batchMean struct{ layers.Base }

func (l *batchMean) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	c.AddLoss(ops.Mean(in[0]))
	return in
}

// Layers that cannot exclude rows report it, and work with batches that divide evenly.
func TestFilledBatchesThatCannotBe(t *testing.T) {
	x, y := line(7)
	for _, c := range []struct {
		name   string
		layers []layers.Layer
		loss   any
	}{
		{"added loss", []layers.Layer{&batchMean{}, &layers.Dense{Units: 1}}, "mse"},
		{"loss of the batch", []layers.Layer{&layers.Dense{Units: 1}}, losses.Func("mean", func(yTrue, yPred *ops.Tensor) *ops.Tensor {
			return ops.Mean(ops.Square(ops.Subtract(yTrue, yPred)))
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := keras.NewSequential(c.layers, distribute.Scope(lockstep(t, 2)), keras.InputShape(2))
			require.NoError(t, err)
			require.NoError(t, m.Compile(keras.CompileConfig{Loss: c.loss, Optimizer: "sgd"}))
			_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(7))
			require.ErrorContains(t, err, "needs batches that divide evenly: the replicas run one program, and the 7 examples of this batch were filled up to 4 on each")
			_, err = m.Fit(t.Context(), data.Arrays(x[:6], y[:6]), keras.BatchSize(6))
			require.NoError(t, err)
		})
	}

	// A custom loop must divide its batches.
	s := lockstep(t, 2)
	f := s.Function(func(_ *distribute.Replica, b distribute.Batch) *ops.Tensor { return ops.Sum(b.X) })
	three, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3}, []float64{1, 2, 3})
	require.NoError(t, err)
	parts, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{three}})
	require.NoError(t, err)
	_, err = s.Run(t.Context(), f, parts)
	require.ErrorContains(t, err, "run one program, with the same shapes: make batches that divide evenly")
}
