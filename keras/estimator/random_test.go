package estimator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestPredictionsDrawAnew: each batch of a prediction draws new numbers, and each call the same ones, like a TensorFlow
// graph with a seed.
func TestPredictionsDrawAnew(t *testing.T) {
	noise := func(_ *estimator.Context, features estimator.Features, _ *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
		x := features.First()
		y := ops.Add(x, ops.RandomNormal(x, ir.Float32, 0, 1, 0, x.Shape()...))
		return estimator.EstimatorSpec{Mode: mode, Predictions: map[string]*ops.Tensor{"y": y}}, nil
	}
	zeros := make([][]float32, 12)
	for i := range zeros {
		zeros[i] = make([]float32, 3)
	}
	e, err := estimator.New(noise, config(t, 1), nil)
	require.NoError(t, err)
	var calls [2][][]float32
	for i := range calls {
		for row, err := range e.Predict(ctx, rows(zeros, zeros, 4)) {
			require.NoError(t, err)
			calls[i] = append(calls[i], row["y"].Float32s())
		}
		require.Len(t, calls[i], 12)
	}
	require.Equal(t, calls[0], calls[1])
	for i, row := range calls[0] {
		for _, other := range calls[0][:i] {
			require.NotEqual(t, other, row)
		}
	}
}
