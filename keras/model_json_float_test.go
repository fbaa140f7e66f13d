package keras_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestReadFloat64TrainsOn: a float64 model from a file computes the same bits as the original: its data are not rounded
// to float32.
func TestReadFloat64TrainsOn(t *testing.T) {
	x, y := make([][]float64, 5), make([][]float64, 5)
	for i := range x {
		x[i], y[i] = []float64{1 / float64(3+i), 0.1 * float64(i)}, []float64{1 / float64(7+i)}
	}
	ctx := context.Background()
	in := keras.Input(keras.Shape(2))
	graph, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, in)), keras.DTypePolicy("float64"))
	require.NoError(t, err)
	nested := sequential(t, nil, &layers.Dense{Units: 4, Activation: "gelu"}, &layers.LayerNormalization{})
	for i, m := range []*keras.Model{
		sequential(t, []keras.Option{keras.InputShape(2), keras.DTypePolicy("float64")}, &layers.Dense{Units: 3, Activation: "tanh"}, &layers.Dense{Units: 1}),
		graph,
		sequential(t, []keras.Option{keras.InputShape(2), keras.DTypePolicy("float64")}, nested, &layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 1}),
	} {
		compile(t, m, keras.CompileConfig{Optimizer: [...]any{&optimizers.RMSprop{LearningRate: 0.1}, "adam", "adamw"}[i], Loss: "huber", Metrics: []string{"mae"}})
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.keras", i))
		require.NoError(t, m.Save(path))
		read, err := keras.LoadModel(path)
		require.NoError(t, err)
		for range 2 {
			want, err := m.TrainOnBatch(ctx, data.Arrays(x, y))
			require.NoError(t, err)
			got, err := read.TrainOnBatch(ctx, data.Arrays(x, y))
			require.NoError(t, err)
			require.Equal(t, want, got, "model %d", i)
		}
		weights, err := m.GetWeights()
		require.NoError(t, err)
		readWeights, err := read.GetWeights()
		require.NoError(t, err)
		require.Equal(t, weights, readWeights, "model %d", i)
		want, err := m.Predict(ctx, data.Arrays(x, nil))
		require.NoError(t, err)
		got, err := read.Predict(ctx, data.Arrays(x, nil))
		require.NoError(t, err)
		require.Equal(t, ir.Float64, got.DType())
		require.Equal(t, want.Float64s(), got.Float64s(), "model %d", i)
	}
}

// TestReadQuantizedFloat64: a float64 model whose layers were quantized stays float64 when it is read from a file.
func TestReadQuantizedFloat64(t *testing.T) {
	x, y := make([][]float64, 7), make([][]float64, 7)
	for i := range x {
		x[i], y[i] = []float64{1 / float64(3+i), 0.1 * float64(i)}, []float64{1 / float64(7+i)}
	}
	for _, mode := range []string{"int8", "int4"} {
		t.Run(mode, func(t *testing.T) {
			m := sequential(t, []keras.Option{keras.InputShape(2), keras.DTypePolicy("float64")}, &layers.Dense{Units: 4, Activation: "tanh"}, &layers.LayerNormalization{}, &layers.Dense{Units: 1})
			require.NoError(t, m.Quantize(mode))
			compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.01, Momentum: 0.9}, Loss: "mse", Metrics: []string{"mae"}})
			path := filepath.Join(t.TempDir(), "m.keras")
			require.NoError(t, m.Save(path))
			fit := func() (*keras.History, error) {
				read, err := keras.LoadModel(path)
				require.NoError(t, err)
				return read.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Epochs(3), keras.Shuffle(false), keras.Verbose(0))
			}
			whole, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(2), keras.Epochs(3), keras.Shuffle(false), keras.Verbose(0))
			require.NoError(t, err)
			fromFile, err := fit()
			require.NoError(t, err)
			require.Equal(t, whole.Logs, fromFile.Logs)
		})
	}
}
