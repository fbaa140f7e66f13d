package keras_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestPredictAfterWeightsChange: predictions keep the weights in the layout of the kernels. Whatever changes the
// weights in between, the next prediction is that of a new model with the same weights.
func TestPredictAfterWeightsChange(t *testing.T) {
	ctx := context.Background()
	for _, replicas := range []int{1, 2} {
		build := func() *keras.Model {
			strategy := mirrored(t, []string{"cpu:0", "cpu:1"}[:replicas]...)
			return sequential(t, []keras.Option{keras.InputShape(96), distribute.Scope(strategy)},
				&layers.Dense{Units: 64, Activation: "relu"}, &layers.Dense{Units: 40})
		}
		m := build()
		compile(t, m, keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse"})
		x, y := grid(8, 96), grid(8, 40)
		predict := func(m *keras.Model, n int) any {
			out, err := m.PredictOnBatch(ctx, data.Arrays(x[:n], nil))
			require.NoError(t, err)
			return out.Elements()
		}
		last := any(nil)
		check := func(what string) {
			t.Helper()
			weights, err := m.GetWeights()
			require.NoError(t, err)
			fresh := build()
			require.NoError(t, fresh.SetWeights(weights))
			for _, n := range []int{2, 8} {
				want := predict(fresh, n)
				for range 3 {
					require.Equal(t, want, predict(m, n), "%d replicas, after %s", replicas, what)
				}
			}
			now := predict(m, 8)
			require.NotEqual(t, last, now, "%s changes the predictions", what)
			last = now
		}
		check("nothing")
		path := filepath.Join(t.TempDir(), "w.weights.h5")
		require.NoError(t, m.SaveWeights(path))
		_, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(4))
		require.NoError(t, err)
		check("Fit")
		_, err = m.TrainOnBatch(ctx, data.Arrays(x, y))
		require.NoError(t, err)
		check("TrainOnBatch")
		require.NoError(t, m.LoadWeights(path))
		check("LoadWeights")
		weights, err := m.GetWeights()
		require.NoError(t, err)
		weights[0].Elements().([]float32)[5] += 3
		require.NoError(t, m.SetWeights(weights))
		check("SetWeights")
		value, err := m.Weights()[2].Value()
		require.NoError(t, err)
		require.NoError(t, m.Weights()[2].AssignAdd(value))
		check("AssignAdd")
	}
}
