package plot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// chain is a small Sequential model.
func chain(t testing.TB) *keras.Model {
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 8, KernelSize: []int{3}, Activation: "relu"},
		&layers.BatchNormalization{},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dropout{Rate: 0.5},
		&layers.Dense{Units: 10, Activation: "softmax"},
	}, keras.InputShape(28, 28, 1))
	require.NoError(t, err)
	return m
}

// residual is a network with n blocks, each of which adds its input to its result: 6 layers a block.
func residual(t testing.TB, n int) *keras.Model {
	in := keras.Input(keras.Shape(32, 32, 16), keras.InputName("image"))
	h := in
	for range n {
		x := layers.Apply(&layers.Conv2D{Filters: 16, KernelSize: []int{3}, Padding: "same"}, h)
		x = layers.Apply(&layers.BatchNormalization{}, x)
		x = layers.Apply(&layers.Activation{Activation: "relu"}, x)
		x = layers.Apply(&layers.Conv2D{Filters: 16, KernelSize: []int{3}, Padding: "same"}, x)
		h = layers.Apply(&layers.Add{}, x, h)
		h = layers.Apply(&layers.Activation{Activation: "relu"}, h)
	}
	h = layers.Apply(&layers.GlobalAveragePooling2D{}, h)
	return functional(t, keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 10}, h)))
}

func functional(t testing.TB, in, out keras.Tensors) *keras.Model {
	m, err := keras.NewFunctional(in, out)
	require.NoError(t, err)
	return m
}

// inception has branches of different length.
func inception(t testing.TB) *keras.Model {
	in := keras.Input(keras.Shape(16, 16, 8))
	h := in
	for range 2 {
		a := layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{1}}, h)
		b := layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{1}}, h)
		b = layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: "same"}, b)
		c := layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{1}}, h)
		c = layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: "same"}, c)
		c = layers.Apply(&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: "same"}, c)
		d := layers.Apply(&layers.MaxPooling2D{PoolSize: []int{3}, Strides: []int{1}, Padding: "same"}, h)
		h = layers.Apply(&layers.Concatenate{}, a, b, c, d)
	}
	return functional(t, keras.Inputs(in), keras.Outputs(h))
}

// siamese applies one encoder, itself a model with a nested model, to two inputs.
func siamese(t testing.TB) *keras.Model {
	tower, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 32, Activation: "relu"}, &layers.LayerNormalization{}}, keras.Name("tower"), keras.InputShape(16))
	require.NoError(t, err)
	x := keras.Input(keras.Shape(16), keras.InputName("features"))
	y := layers.Apply(tower, x)
	z := layers.Apply(&layers.Dense{Units: 32}, x)
	encoder, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(&layers.Add{}, y, z)), keras.Name("encoder"))
	require.NoError(t, err)
	left, right := keras.Input(keras.Shape(16), keras.InputName("left")), keras.Input(keras.Shape(16), keras.InputName("right"))
	a, b := layers.Apply(encoder, left), layers.Apply(encoder, right)
	distance := layers.Apply(&layers.Subtract{}, a, b)
	score := layers.Apply(&layers.Dense{Units: 1, Activation: "sigmoid"}, distance)
	return functional(t, keras.Inputs(left, right), keras.Outputs(score, a))
}

// narrow has a nested model whose name is wider than its layers.
func narrow(t testing.TB) *keras.Model {
	inner, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.Name("a_model_with_quite_a_long_name"), keras.InputShape(2))
	require.NoError(t, err)
	in := keras.Input(keras.Shape(2))
	return functional(t, keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, layers.Apply(inner, in))))
}

// recurring applies a layer to its own result, and again later.
func recurring(t testing.TB) *keras.Model {
	again := &layers.Dense{Units: 8}
	other := &layers.Dense{Units: 8}
	in := keras.Input(keras.Shape(8))
	h := layers.Apply(again, layers.Apply(again, in))
	h = layers.Apply(again, layers.Apply(other, h))
	return functional(t, keras.Inputs(in), keras.Outputs(h))
}

// block is a subclassed model.
type block struct{ Inner *layers.Dense }

func (b *block) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(b.Inner, c, x)
}
