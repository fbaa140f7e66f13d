package keras_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
)

// times is a Dense that multiplies the sum of its inputs.
func times(name string, factor float64) *layers.Dense {
	return &layers.Dense{Units: 1, Name: name, KernelInitializer: &initializers.Constant{Value: factor}}
}

// The result of a layer in the middle, for both kinds of models: x·2, and beside it x·2·3 and x·2·3·5.
func TestLayerOutput(t *testing.T) {
	in := keras.Input(keras.Shape(1), keras.InputName("x"))
	a := layers.Apply(times("a", 2), in)
	functional, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(times("c", 5), layers.Apply(times("b", 3), a))))
	require.NoError(t, err)
	sequential, err := keras.NewSequential([]layers.Layer{times("a", 2), times("b", 3), times("c", 5)}, keras.InputShape(1))
	require.NoError(t, err)
	for _, m := range []*keras.Model{functional, sequential} {
		body, err := keras.NewFunctional(keras.Inputs(m.Inputs()...), keras.Outputs(m.LayerOutput("a"), m.LayerOutput("b"), m.Outputs()[0]))
		require.NoError(t, err, m)
		require.Len(t, body.Layers(), 3, "the calls are shared")
		y, err := body.PredictAll(context.Background(), data.Arrays([][]float32{{1}, {-7}}, nil))
		require.NoError(t, err)
		require.Equal(t, []float64{2, -14}, y[0].Float64s())
		require.Equal(t, []float64{6, -42}, y[1].Float64s())
		require.Equal(t, []float64{30, -210}, y[2].Float64s())

		head, err := keras.NewFunctional(keras.Inputs(m.LayerInputs("c")...), keras.Outputs(m.LayerOutput("c")))
		require.NoError(t, err)
		z, err := head.Predict(context.Background(), data.Arrays([][]float32{{1}}, nil))
		require.NoError(t, err)
		require.Equal(t, []float64{5}, z.Float64s())
	}
	require.Same(t, in, functional.LayerOutput("x"))

	// A stack that changes has another graph.
	_, err = sequential.Pop()
	require.NoError(t, err)
	require.ErrorContains(t, sequential.LayerOutput("c").Err(), `has no layer "c"`)
	require.Equal(t, []int{layers.Unknown, 1}, []int(sequential.Outputs()[0].Shape()))
}

// Mistakes travel with the tensor, and are reported by the function that receives it.
func TestLayerOutputErrors(t *testing.T) {
	open, err := keras.NewSequential([]layers.Layer{times("a", 2)})
	require.NoError(t, err)
	require.Nil(t, open.Outputs())
	own, err := keras.NewModel(&twins{})
	require.NoError(t, err)
	declared, err := keras.NewSequential([]layers.Layer{times("alpha", 2)}, keras.InputShape(1))
	require.NoError(t, err)
	for _, c := range []struct {
		m    *keras.Model
		want string
	}{
		{open, "has no symbolic input yet; make it with keras.InputShape"},
		{own, "whose graph is not known"},
		{declared, `has no layer "alpa"; did you mean "alpha"? its layers are ["alpha"]`},
	} {
		_, err := keras.NewFunctional(keras.Inputs(keras.Input(keras.Shape(1))), keras.Outputs(c.m.LayerOutput("alpa")))
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, c.m.LayerInputs("alpa")[0].Err(), c.want)
		require.Contains(t, c.m.LayerOutput("alpa").String(), c.want)
		require.Len(t, c.m.LayerOutputs("alpa"), 1)
	}
}

// twins has two members with one name, such as a network and its moving average, made with clone_model in Keras.
type twins struct {
	Network, Average *keras.Model
}

func (w *twins) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return ops.Add(w.Network.Call(c, x), w.Average.Call(c, x))
}

// Members of a user's own type may have the same name: the second is numbered.
func TestTwins(t *testing.T) {
	network := func() *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(4), keras.Name("network"))
		require.NoError(t, err)
		return m
	}
	w := &twins{Network: network(), Average: network()}
	m, err := keras.NewModel(w)
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{2, 4}))
	require.Equal(t, "network", w.Network.Name())
	require.Equal(t, "network_1", w.Average.Name())
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for i, a := range weights {
		a.Fill(float64(i + 1))
	}
	require.NoError(t, m.SetWeights(weights))
	for _, name := range []string{"w.weights.h5", "w.weights.json"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, m.SaveWeights(path), name)
		other, err := keras.NewModel(&twins{Network: network(), Average: network()})
		require.NoError(t, err)
		require.NoError(t, other.Build([]int{2, 4}))
		require.NoError(t, other.LoadWeights(path), name)
		want, err := m.GetWeights()
		require.NoError(t, err)
		got, err := other.GetWeights()
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

// Features of a network, from a layer in its middle.
func ExampleModel_LayerOutput() {
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 8, KernelSize: []int{3}, Activation: "relu", Name: "features"},
		&layers.Flatten{},
		&layers.Dense{Units: 10},
	}, keras.InputShape(6, 6, 1))
	check(err)
	body, err := keras.NewFunctional(keras.Inputs(model.Inputs()...), keras.Outputs(model.LayerOutput("features")))
	check(err)
	features, err := body.Predict(context.Background(), data.Arrays(make([][6][6][1]float32, 2), nil))
	check(err)
	fmt.Println(features.Shape())
	// Output: [2 4 4 8]
}
