package keras_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

func smallModel(t *testing.T, units int, loss any) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units}}, keras.InputShape(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: loss}))
	return m
}

// TestNaNInputs checks that NaN in the data is told of once, with batch and name, wherever it stands, and is an error on request.
func TestNaNInputs(t *testing.T) {
	for _, place := range []int{0, 7, 30, 35} { // of 36, in batches of 12
		x, y := make([][]float32, 12), make([]float64, 12)
		for i := range x {
			x[i] = []float32{float32(math.Inf(1)), -1e38, 1} // which are no NaN
			x[i][0] = float32(i)
		}
		x[place/3][place%3] = float32(math.NaN())
		var out bytes.Buffer
		_, err := smallModel(t, 1, "mse").Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(3), keras.Shuffle(false), keras.Output(&out))
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(out.String(), "has a NaN"), out.String())
		want := []string{"epoch 1: batch 0: input", "epoch 1: batch 1: input", "epoch 1: batch 2: input"}[place/12]
		assert.Contains(t, out.String(), want)
		_, err = smallModel(t, 1, "mse").Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Shuffle(false), keras.RefuseNaN())
		require.ErrorContains(t, err, strings.TrimPrefix(want, "epoch 1: "))
	}
	y := []float64{1, 2, math.NaN(), 4}
	_, err := smallModel(t, 1, "mse").Fit(t.Context(), data.Arrays([][]float32{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}, y), keras.RefuseNaN())
	require.ErrorContains(t, err, `the target of output "dense" has a NaN (element 2`)
}

// TestLabelsThatAreNone checks labels that are no class numbers, and signs for losses of probabilities.
func TestLabelsThatAreNone(t *testing.T) {
	x := [][]float32{{1, 2, 3}, {3, 2, 1}, {2, 2, 2}}
	for _, loss := range []any{"sparse_categorical_crossentropy"} {
		for _, bad := range []float32{1.7, float32(math.NaN()), 0.5, -0.5} {
			_, err := smallModel(t, 3, loss).Fit(t.Context(), data.Arrays(x, []float32{0, 1, bad}), keras.Shuffle(false))
			require.ErrorContains(t, err, "element 2 of the labels is no whole number")
		}
		_, err := smallModel(t, 3, loss).Fit(t.Context(), data.Arrays(x, []float32{0, 1, 2}))
		require.NoError(t, err)
	}
	for _, loss := range []string{"binary_crossentropy", "binary_focal_crossentropy"} {
		_, err := smallModel(t, 1, loss).Fit(t.Context(), data.Arrays(x, []int{-1, 1, 1}))
		require.ErrorContains(t, err, loss+" takes 0 and 1")
		_, err = smallModel(t, 1, loss).Fit(t.Context(), data.Arrays(x, []int{0, 1, 1}))
		require.NoError(t, err)
	}
}
