package keras_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestSequentialOfAModel: a stack whose first layer is a model has that model's input, as in Keras, so that it can be
// looked at, frozen and saved before it has seen data. A model alone, and one with several inputs, give none.
func TestSequentialOfAModel(t *testing.T) {
	tokens := keras.Input(keras.Shape(4), keras.DType("int32"), keras.InputName("tokens"))
	base, err := keras.NewFunctional(keras.Inputs(tokens), keras.Outputs(layers.Apply(&layers.Flatten{}, layers.Apply(&layers.Embedding{InputDim: 5, OutputDim: 2}, tokens))))
	require.NoError(t, err)
	a, b := keras.Input(keras.Shape(3)), keras.Input(keras.Shape(3))
	two, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Add{}, a, b)))
	require.NoError(t, err)
	dense := func() layers.Layer { return &layers.Dense{Units: 3} }
	for name, c := range map[string]struct {
		stack   []layers.Layer
		weights int
	}{
		"functional": {[]layers.Layer{base, dense()}, 3},
		"sequential": {[]layers.Layer{sequential(t, []keras.Option{keras.InputShape(4)}, dense()), dense()}, 4},
		"stack":      {[]layers.Layer{sequential(t, nil, sequential(t, []keras.Option{keras.InputShape(4)}, dense()), dense()), dense()}, 6},
		"no input":   {[]layers.Layer{sequential(t, nil, dense()), dense()}, 0},
		"alone":      {[]layers.Layer{sequential(t, nil, dense())}, 0},
		"two inputs": {[]layers.Layer{two, dense()}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := keras.NewSequential(c.stack)
			require.NoError(t, err)
			require.Len(t, m.Weights(), c.weights)
			path := filepath.Join(t.TempDir(), "m.keras")
			if c.weights == 0 {
				require.ErrorContains(t, m.Save(path), "has no weights yet")
				require.Nil(t, m.Inputs())
				return
			}
			require.Equal(t, c.stack[0].(*keras.Model).Inputs()[0].DType(), m.Inputs()[0].DType())
			require.NoError(t, m.Save(path))
			x := data.Arrays([][]int32{{0, 1, 2, 3}, {4, 3, 2, 1}}, nil)
			want, err := m.Predict(context.Background(), x)
			require.NoError(t, err)
			read, err := keras.LoadModel(path)
			require.NoError(t, err)
			got, err := read.Predict(context.Background(), x)
			require.NoError(t, err)
			require.Equal(t, want.Elements(), got.Elements())
		})
	}
}

// TestAddToAModel: layers that are added to a model in a stack are built at once.
func TestAddToAModel(t *testing.T) {
	m := sequential(t, nil, sequential(t, []keras.Option{keras.InputShape(4)}, &layers.Dense{Units: 2}))
	require.Nil(t, m.Inputs())
	require.Error(t, m.Add(&layers.Reshape{TargetShape: []int{5}}), "two numbers are not five")
	require.Nil(t, m.Inputs(), "the stack is as it was")
	require.NoError(t, m.Add(&layers.Dense{Units: 3}))
	require.Len(t, m.Weights(), 4)
	_, err := m.Pop()
	require.NoError(t, err)
	require.NoError(t, m.Add(&layers.Dense{Units: 1}))
	require.Equal(t, []int{layers.Unknown, 1}, []int(m.Outputs()[0].Shape()))
}
