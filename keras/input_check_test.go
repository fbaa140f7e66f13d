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

// TestNaNInputs checks that NaN in the data is reported once, with batch and name, wherever it is, and is an error on
// request.
func TestNaNInputs(t *testing.T) {
	for _, place := range []int{0, 7, 30, 35} { // of 36, in batches of 12
		x, y := make([][]float32, 12), make([]float64, 12)
		for i := range x {
			x[i] = []float32{float32(math.Inf(1)), -1e38, 1} // which are not NaN
			x[i][0] = float32(i)
		}
		x[place/3][place%3] = float32(math.NaN())
		var out bytes.Buffer
		_, err := smallModel(t, 1, "mse").Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(3), keras.Shuffle(false), keras.ProgressOutput(&out))
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

// TestNaNElsewhere checks that calls that do not train report NaN too.
func TestNaNElsewhere(t *testing.T) {
	x, y := make([][]float32, 12), make([]float32, 12)
	for i := range x {
		x[i] = []float32{float32(i), 1, 2}
	}
	x[9][1] = float32(math.NaN())
	bad := data.Arrays(x, y)
	one := data.Arrays(x[8:], y[8:])
	m := smallModel(t, 1, "mse")
	for _, row := range []struct {
		name  string
		run   func(option keras.CallOption) error
		want  string
		wrong string // in the error on request
	}{
		{"Evaluate", func(o keras.CallOption) error {
			_, err := m.Evaluate(t.Context(), bad, o, keras.BatchSize(4))
			return err
		}, "Evaluate: batch 2: input", "batch 2: input"},
		{"Predict", func(o keras.CallOption) error {
			_, err := m.Predict(t.Context(), bad, o, keras.BatchSize(4))
			return err
		}, "Predict: batch 2: input", "batch 2: input"},
		{"Predict of a dataset", func(o keras.CallOption) error {
			_, err := m.Predict(t.Context(), bad.Elements().Batch(4, false), o)
			return err
		}, "Predict: batch 2: input", "batch 2: input"},
		{"validation", func(o keras.CallOption) error {
			_, err := m.Fit(t.Context(), data.Arrays(x[:4], y[:4]), o, keras.ValidationData(bad), keras.BatchSize(4), keras.Epochs(2))
			return err
		}, "validation: batch 2: input", "batch 2: input"},
		{"TestOnBatch", func(o keras.CallOption) error {
			_, err := m.TestOnBatch(t.Context(), one, o)
			return err
		}, "TestOnBatch: input", "TestOnBatch: input"},
		{"TrainOnBatch", func(o keras.CallOption) error {
			_, err := smallModel(t, 1, "mse").TrainOnBatch(t.Context(), one, o)
			return err
		}, "TrainOnBatch: input", "TrainOnBatch: input"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, row.run(keras.ProgressOutput(&out)))
			assert.Equal(t, 1, strings.Count(out.String(), "has a NaN (element "), out.String())
			assert.Contains(t, out.String(), row.want)
			require.ErrorContains(t, row.run(keras.RefuseNaN()), row.wrong)
		})
	}
	var out bytes.Buffer
	_, err := m.TestOnBatch(t.Context(), one, keras.ProgressOutput(&out))
	require.NoError(t, err)
	assert.Empty(t, out.String(), "a model tells once")
	for _, x := range []data.Dataset{data.Arrays(x[:8], y[:8])} {
		_, err := m.Predict(t.Context(), x, keras.ProgressOutput(&out), keras.RefuseNaN())
		require.NoError(t, err)
		_, err = m.Evaluate(t.Context(), x, keras.ProgressOutput(&out), keras.RefuseNaN())
		require.NoError(t, err)
		assert.Empty(t, out.String())
	}
	signs := data.Arrays(x[:2], []float32{-1, 1})
	_, err = smallModel(t, 1, "binary_crossentropy").TrainOnBatch(t.Context(), signs)
	require.ErrorContains(t, err, "takes 0 and 1")
	_, err = smallModel(t, 1, "binary_crossentropy").Evaluate(t.Context(), signs)
	require.ErrorContains(t, err, "takes 0 and 1")
}

// TestLabelsThatAreNone checks labels that are not class numbers, and signs for losses of probabilities.
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
