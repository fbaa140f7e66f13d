package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// Medians and quantiles along axes of open length: shapes and, for the lengths 4 and 5, numbers of Keras 3.15.1.
func TestMediansOfOpenAxes(t *testing.T) {
	five := [][2]float32{{-8, 3.25}, {-5, 6.25}, {-2, -7.75}, {1, -4.75}, {4, -1.75}}
	for name, row := range map[string]struct {
		call  func(x *layers.KerasTensor) *layers.KerasTensor
		shape string
		want  [2][]float32
	}{
		"median":             {func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Op("median", x, 1) }, "(None, 2)", [2][]float32{{-3.5, -0.75}, {-2, -1.75}}},
		"median of two axes": {func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Op("median", x, []int{1, 2}, true) }, "(None, 1, 1)", [2][]float32{{-3.375}, {-1.875}}},
		"quantile":           {func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Op("quantile", x, 0.3, 1) }, "(None, 2)", [2][]float32{{-5.3, -5.05}, {-4.4, -4.15}}},
		"percentile, lower":  {func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Op("percentile", x, 70, 1, "lower") }, "(None, 2)", [2][]float32{{-2, 3.25}, {-2, -1.75}}},
	} {
		x := keras.Input(keras.Shape(layers.Unknown, 2))
		y := row.call(x)
		require.NoError(t, y.Err(), name)
		require.Equal(t, row.shape, layers.ShapeString(y.Shape()), name)
		m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(y))
		require.NoError(t, err, name)
		for i, want := range row.want {
			got, err := m.Predict(context.Background(), data.Arrays([][][2]float32{five[:4+i]}, nil))
			require.NoError(t, err, name)
			require.InDeltaSlice(t, want, got.Elements(), 1e-5, name)
		}
	}
}
