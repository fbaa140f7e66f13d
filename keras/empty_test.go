package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

func emptyArray(t *testing.T, dt ir.DType, shape ...int) data.Array {
	t.Helper()
	return kernels.NewArray(ir.Type{DType: dt, Shape: shape})
}

// Predictions for no examples are an array of the right shape without rows, as from predict_on_batch of Keras. Training
// and evaluation need examples.
func TestNoExamples(t *testing.T) {
	networks := map[string]struct {
		in     []int
		layers func() []layers.Layer
		out    []int
	}{
		"dense": {[]int{3}, func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 4}, &layers.BatchNormalization{}, &layers.Dense{Units: 2}}
		}, []int{0, 2}},
		"images": {[]int{8, 8, 3}, func() []layers.Layer {
			return []layers.Layer{&layers.Conv2D{Filters: 4, KernelSize: []int{3}}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dense{Units: 5}}
		}, []int{0, 5}},
		"recurrent": {[]int{4, 3}, func() []layers.Layer {
			return []layers.Layer{&layers.LSTM{Units: 2, ReturnSequences: true}, &layers.LayerNormalization{}, &layers.GRU{Units: 3}}
		}, []int{0, 3}},
		"pooled": {[]int{4, 3}, func() []layers.Layer {
			return []layers.Layer{&layers.GlobalAveragePooling1D{}, &layers.Dropout{Rate: 0.5}, &layers.Softmax{}}
		}, []int{0, 3}},
	}
	ctx := context.Background()
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			for _, devices := range []int{1, 2} {
				strategy, err := distribute.NewMirroredStrategy([]string{"cpu:0", "cpu:1"}[:devices]...)
				require.NoError(t, err)
				m, err := keras.NewSequential(n.layers(), keras.InputShape(n.in...), distribute.Scope(strategy))
				require.NoError(t, err)
				none := emptyArray(t, ir.Float32, append([]int{0}, n.in...)...)
				for range 2 {
					y, err := m.Predict(ctx, data.Arrays(none, nil))
					require.NoError(t, err)
					assert.Equal(t, n.out, []int(y.Shape()))
					assert.Equal(t, []float32{}, y.Elements())
					y, err = m.PredictOnBatch(ctx, data.Arrays(none, nil))
					require.NoError(t, err)
					assert.Equal(t, n.out, []int(y.Shape()))
				}
				rows, err := m.PredictRows(ctx, data.Arrays(none, nil))
				require.NoError(t, err)
				assert.Empty(t, rows)

				require.NoError(t, m.Compile(keras.CompileConfig{Loss: &losses.MeanSquaredError{}, Optimizer: &optimizers.SGD{}}))
				labels := emptyArray(t, ir.Float32, n.out...)
				_, err = m.Fit(ctx, data.Arrays(none, labels))
				assert.ErrorContains(t, err, "no examples")
				_, err = m.Evaluate(ctx, data.Arrays(none, labels))
				assert.ErrorContains(t, err, "no examples")
				_, err = m.TrainOnBatch(ctx, data.Arrays(none, labels))
				assert.ErrorContains(t, err, "no examples")
				_, err = m.TestOnBatch(ctx, data.Arrays(none, labels))
				assert.ErrorContains(t, err, "no examples")
			}
		})
	}
}
