package keras_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

func shaped(values any, shape ...int) data.Array {
	return data.Must(data.Must(data.ToArray(values)).Reshape(shape...))
}

// TestInputsAreNotWritten: arrays that a model reads in place stay unchanged, even if arrays of another type follow.
func TestInputsAreNotWritten(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2, KernelInitializer: "ones"}}, keras.InputShape(2))
	require.NoError(t, err)
	narrow, wide := []float32{1, 2, 3, 4}, []float64{5, 6, 7, 8}
	predict := func(x any, want ...float32) {
		y, err := m.PredictOnBatch(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		assert.Equal(t, want, y.Elements())
	}
	for range 2 {
		predict([][2]float32{{narrow[0], narrow[1]}, {narrow[2], narrow[3]}}, 3, 3, 7, 7)
		predict(shaped(slices.Clone(narrow), 2, 2), 3, 3, 7, 7)
		x := shaped(narrow, 2, 2)
		predict(x, 3, 3, 7, 7)
		predict(shaped(wide, 2, 2), 11, 11, 15, 15)
		assert.Equal(t, []float32{1, 2, 3, 4}, narrow)
		assert.Equal(t, []float64{5, 6, 7, 8}, wide)
	}
}
