package keras_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// setAll gives a model's weights the values 0.1, 0.2, ...
func setAll(t *testing.T, m *keras.Model) {
	t.Helper()
	next := 0.0
	var values []kernels.Array
	for _, v := range m.Weights() {
		a := make([]float64, v.Type().Shape.Size())
		for i := range a {
			next += 0.1
			a[i] = next
		}
		value, err := kernels.FromFloat64s(ir.Float32, v.Type().Shape, a)
		require.NoError(t, err)
		values = append(values, value)
	}
	require.NoError(t, m.SetWeightArrays(values))
}

// A model of a fixed batch inside one of an open batch takes any number of examples, as in Keras.
func TestFixedBatchInsideOpenBatch(t *testing.T) {
	in := keras.Input(keras.Shape(2), keras.FixedBatch(2))
	inner, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 2}, in)))
	require.NoError(t, err)
	x := keras.Input(keras.Shape(2))
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(inner, x)))
	require.NoError(t, err)
	require.Equal(t, "(None, 2) float32", m.Outputs()[0].String())
	setAll(t, m) // [[0.1 0.2] [0.3 0.4]] and [0.5 0.6]
	got, err := m.Predict(context.Background(), data.Arrays([][]float32{{1, 0}, {0, 1}, {1, 1}}, nil))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{0.6, 0.8, 0.8, 1, 0.9, 1.2}, got.Data(), 1e-6)
	_, err = m.Predict(context.Background(), data.Arrays([][]float32{{1, 0, 3}}, nil))
	require.ErrorContains(t, err, "expects shape (None, 2), received shape (1, 3)")
}

// Keras 3.15.1 names these models so in a new process.
func TestInnerModelsAreNumbered(t *testing.T) {
	first := sequential(t, nil, &layers.Dense{Units: 2})
	second := sequential(t, nil, &layers.Dense{Units: 3}, &layers.Dense{Units: 1})
	in := keras.Input(keras.Shape(1))
	third, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, in)))
	require.NoError(t, err)
	require.Equal(t, "sequential", second.Name())
	whole := sequential(t, []keras.Option{keras.InputShape(4)}, first, second, third)
	require.Equal(t, []string{"sequential", "sequential_1", "functional", "sequential_2"},
		[]string{first.Name(), second.Name(), third.Name(), whole.Name()})

	// A model that is part of a larger one keeps its name; only the outermost is named anew.
	x := keras.Input(keras.Shape(4))
	outer, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(whole, x)))
	require.NoError(t, err)
	require.Equal(t, []string{"sequential_1", "sequential_2", "functional_1"}, []string{second.Name(), whole.Name(), outer.Name()})

	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, outer.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.Equal(t, outer.Name(), again.Name())
	require.Equal(t, weightPaths(outer), weightPaths(again))
}

func weightPaths(m *keras.Model) (paths []string) {
	for _, v := range m.Weights() {
		paths = append(paths, v.Path())
	}
	return paths
}

// What a model inside is compiled with, and the state of its optimizer, survive a file.
func TestInnerOptimizerSurvivesFile(t *testing.T) {
	inner := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 2})
	require.NoError(t, inner.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	x, y := [][]float32{{1, 0}, {0, 1}, {1, 1}}, [][]float32{{1, 0}, {0, 1}, {1, 1}}
	_, err := inner.Fit(context.Background(), data.Arrays(x, y), keras.Epochs(3))
	require.NoError(t, err)
	m := sequential(t, []keras.Option{keras.InputShape(2)}, inner, &layers.Dense{Units: 2})
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	want, err := inner.OptimizerArrays()
	require.NoError(t, err)
	require.Len(t, want, 6) // iteration, learning rate, and two moments of kernel and bias
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))

	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	loaded := again.Layers()[0].(*keras.Model)
	got, err := loaded.OptimizerArrays()
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, 3.0, got[0].At(0))
	_, err = loaded.Fit(context.Background(), data.Arrays(x, y)) // goes on
	require.NoError(t, err)

	bare, err := keras.LoadModel(path, keras.WithoutCompile())
	require.NoError(t, err)
	require.Nil(t, bare.Layers()[0].(*keras.Model).Optimizer())
	require.NoError(t, m.Save(path, keras.WithoutCompile()))
	bare, err = keras.LoadModel(path)
	require.NoError(t, err)
	require.Nil(t, bare.Layers()[0].(*keras.Model).Optimizer())
}

// nestedOutputs is what Keras 3.15.1 writes for keras.Model([a, b], {"p": [d(a), d(b)], "q": (Add()([a, b]),)}).
const nestedOutputs = `{"p": [["d", 0, 0], ["d", 1, 0]], "q": [["sum", 0, 0]]}`

func TestNestedOutputStructure(t *testing.T) {
	tensorOf := func(name string) string {
		return `{"class_name": "__keras_tensor__", "config": {"shape": [null, 2], "dtype": "float32", "keras_history": ["` + name + `", 0, 0]}}`
	}
	input := func(name string) string {
		return `{"class_name": "InputLayer", "name": "` + name + `", "inbound_nodes": [], "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "` + name + `"}}`
	}
	document := `{"class_name": "Functional", "config": {"name": "f", "layers": [` + input("a") + `,` + input("b") + `,
		{"module": "keras.layers", "class_name": "Dense", "name": "d", "config": {"name": "d", "units": 1},
		 "inbound_nodes": [{"args": [` + tensorOf("a") + `], "kwargs": {}}, {"args": [` + tensorOf("b") + `], "kwargs": {}}]},
		{"module": "keras.layers", "class_name": "Add", "name": "sum", "config": {"name": "sum"},
		 "inbound_nodes": [{"args": [[` + tensorOf("a") + `,` + tensorOf("b") + `]], "kwargs": {}}]}],
		"input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": ` + nestedOutputs + `}}`
	m, err := keras.ModelFromJSON([]byte(document))
	require.NoError(t, err)
	setAll(t, m) // kernel [0.1 0.2], bias 0.3
	got, err := m.PredictAll(context.Background(), data.Arrays(data.Tensors{Names: []string{"a", "b"}, Arrays: []*tensor.Dense{row(1, 0), row(0, 1)}}, nil))
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.InDeltaSlice(t, []float32{0.4}, got[0].Data(), 1e-6)
	require.InDeltaSlice(t, []float32{0.5}, got[1].Data(), 1e-6)
	require.InDeltaSlice(t, []float32{1, 1}, got[2].Data(), 1e-6)
	written, err := m.ToJSON()
	require.NoError(t, err)
	var o struct {
		Config struct {
			Outputs json.RawMessage `json:"output_layers"`
		} `json:"config"`
	}
	require.NoError(t, json.Unmarshal(written, &o))
	require.JSONEq(t, nestedOutputs, string(o.Config.Outputs))
}

// A file with models inside models opens under any strategy.
func TestNestedModelUnderStrategy(t *testing.T) {
	inner := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 2})
	require.NoError(t, inner.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	m := sequential(t, []keras.Option{keras.InputShape(3, 2)}, &layers.TimeDistributed{Layer: inner}, &layers.Flatten{},
		sequential(t, []keras.Option{keras.InputShape(6)}, &layers.Dense{Units: 2}))
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	again, err := keras.LoadModel(path, distribute.Scope(s))
	require.NoError(t, err)
	require.Len(t, again.Weights(), 4)
	for _, v := range again.Weights() {
		require.Same(t, s, v.Strategy())
	}
	got, err := again.Layers()[2].(*keras.Model).Predict(context.Background(), data.Arrays([][]float32{{1, 0, 0, 0, 0, 0}}, nil))
	require.NoError(t, err)
	kernel, err := m.Weights()[2].Value()
	require.NoError(t, err)
	require.InDeltaSlice(t, kernel.Float64s()[:2], []float64{float64(got.Data().([]float32)[0]), float64(got.Data().([]float32)[1])}, 1e-6)
}

func row(values ...float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(1, len(values)), tensor.WithBacking(values))
}
