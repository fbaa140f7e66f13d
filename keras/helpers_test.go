package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// grid returns n examples of d features, all different.
func grid(n, d int) [][]float32 {
	x := make([][]float32, n)
	for i := range x {
		x[i] = make([]float32, d)
		for j := range x[i] {
			x[i][j] = float32((i*d+j)%17)/17 - float32(i)/float32(4*n)
		}
	}
	return x
}

// cycle returns the labels 0, 1, ..., classes-1, 0, 1, ...
func cycle(n, classes int) []int {
	y := make([]int, n)
	for i := range y {
		y[i] = i % classes
	}
	return y
}

func ones(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

// classifier is a network with 4 features and 3 classes, compiled but not built unless options give a shape.
func classifier(t testing.TB, options ...keras.Option) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 5, Activation: "relu"}, &layers.Dense{Units: 3},
	}, options...)
	require.NoError(t, err)
	compile(t, m, keras.CompileConfig{
		Optimizer: "sgd", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"},
	})
	return m
}

func compile(t testing.TB, m *keras.Model, c keras.CompileConfig) {
	t.Helper()
	require.NoError(t, m.Compile(c))
}

func sequential(t testing.TB, options []keras.Option, stack ...layers.Layer) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential(stack, options...)
	require.NoError(t, err)
	return m
}

func mirrored(t testing.TB, devices ...string) distribute.Strategy {
	t.Helper()
	s, err := distribute.NewMirroredStrategy(devices...)
	require.NoError(t, err)
	return s
}
