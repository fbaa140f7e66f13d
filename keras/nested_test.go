package keras_test

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/saving"
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
	require.NoError(t, m.SetWeights(values))
}

// The results of a model z - a that is called inside another with dicts, as in Keras 3.15.1.
func TestInnerModelCalledWithDict(t *testing.T) {
	for _, row := range []struct {
		inputs string
		dict   map[string]any
		want   any
	}{
		{"list", map[string]any{"z": 5, "a": 2}, 3},
		{"list", map[string]any{"z": 5, "a": 2, "m": 9}, 3},
		{"list", map[string]any{"0": 9, "z": 5, "a": 2}, 3},
		{"list", map[string]any{"z": 5}, `its inputs are ["z" "a"]; the dict of the call has ["z"]`},
		{"list", map[string]any{"q": 5, "r": 2}, `its inputs are ["z" "a"]; the dict of the call has ["q" "r"]`},
		{"dict", map[string]any{"z": 5, "a": 2}, 3},
		{"dict", map[string]any{"z": 5, "a": 2, "zz": 9}, 3},
		{"dict", map[string]any{"z": 5, "a": 2, "m": 9}, `of which Keras would take the first 2; leave "m" out`}, // and give 9 - 2
		{"dict", map[string]any{"z": 5}, `its inputs are ["a" "z"]; the dict of the call has ["z"]`},
		{"one", map[string]any{"z": 5, "a": 2}, 5},
		{"one", map[string]any{"a": 2}, `its inputs are ["z"]; the dict of the call has ["a"]`},
	} {
		z, a := keras.Input(keras.Shape(1), keras.InputName("z")), keras.Input(keras.Shape(1), keras.InputName("a"))
		ins, out := keras.Inputs(z, a), layers.Apply(&layers.Subtract{}, z, a)
		switch row.inputs {
		case "dict":
			ins = keras.Dict(map[string]*layers.KerasTensor{"z": z, "a": a})
		case "one":
			ins, out = keras.Inputs(z), layers.Apply(&layers.Identity{}, z)
		}
		inner, err := keras.NewFunctional(ins, keras.Outputs(out))
		require.NoError(t, err)
		var tensors []*layers.KerasTensor
		var values []any
		call := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(row.dict)) {
			x := keras.Input(keras.Shape(1))
			call[key], tensors = x, append(tensors, x)
			values = append(values, [][]float32{{float32(row.dict[key].(int))}})
		}
		result := layers.ApplyArguments(inner, layers.Arguments{Positional: []any{call}})[0]
		if text, refused := row.want.(string); refused {
			require.ErrorContains(t, result.Err(), text, row)
			continue
		}
		m, err := keras.NewFunctional(keras.Inputs(tensors...), keras.Outputs(layers.Apply(&layers.Identity{}, result)))
		require.NoError(t, err, row)
		for range 2 { // as created, and as read again
			got, err := m.Predict(context.Background(), data.Arrays(values, nil))
			require.NoError(t, err, row)
			require.Equal(t, []float32{float32(row.want.(int))}, got.Elements(), row)
			text, err := m.ToJSON()
			require.NoError(t, err)
			m, err = keras.ModelFromJSON(text)
			require.NoError(t, err)
		}
	}
}

// A dict of data is assigned by the names of the inputs, whatever their order.
func TestDataInAnotherOrder(t *testing.T) {
	z, a := keras.Input(keras.Shape(1), keras.InputName("z")), keras.Input(keras.Shape(1), keras.InputName("a"))
	for _, ins := range []keras.Tensors{keras.Inputs(z, a), keras.Inputs(a, z), keras.Dict(map[string]*layers.KerasTensor{"z": z, "a": a})} {
		m, err := keras.NewFunctional(ins, keras.Outputs(layers.Apply(&layers.Subtract{}, z, a)))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		five, two := data.Must(data.ArrayOf([]float32{5}, 1, 1)), data.Must(data.ArrayOf([]float32{2}, 1, 1))
		for _, x := range []any{
			map[string]any{"a": two, "z": five},
			data.Tensors{Names: []string{"z", "a"}, Arrays: []data.Array{five, two}},
			data.Tensors{Names: []string{"a", "z"}, Arrays: []data.Array{two, five}},
		} {
			got, err := m.Predict(context.Background(), data.Arrays(x, nil))
			require.NoError(t, err)
			require.Equal(t, []float32{3}, got.Elements())
			history, err := m.Fit(context.Background(), data.Arrays(x, [][]float32{{0}}))
			require.NoError(t, err)
			require.Equal(t, 9.0, history.Logs["loss"][0])
		}
	}
}

// Documents store constants in the kind that Keras has: tensors, or NumPy arrays.
func TestConstantsKeepTheirKind(t *testing.T) {
	constant := func(class string) string {
		return `{"class_name":"` + class + `","config":{"dtype":"float32","value":[[1.5,2]]}}`
	}
	x := `{"class_name":"__keras_tensor__","config":{"dtype":"float32","keras_history":["x",0,0],"shape":[null,2]}}`
	document := `{"class_name": "Functional", "config": {"name": "f", "layers": [
		{"class_name": "InputLayer", "name": "x", "inbound_nodes": [], "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "x"}},
		{"module": "keras.layers", "class_name": "Add", "name": "s", "config": {"name": "s"},
		 "inbound_nodes": [{"args": [[` + x + `,` + constant("__tensor__") + `,` + constant("__numpy__") + `]], "kwargs": {}}]}],
		"input_layers": ["x", 0, 0], "output_layers": ["s", 0, 0]}}`
	m, err := keras.ModelFromJSON([]byte(document))
	require.NoError(t, err)
	text, err := m.ToJSON()
	require.NoError(t, err)
	require.JSONEq(t, `[`+x+`,`+constant("__tensor__")+`,`+constant("__numpy__")+`]`, string(firstArgument(t, text, 1)))

	// Made in Go: layers keep arrays, and models accept only tensors where they take several.
	a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{1, 2}, []float64{1.5, 2})
	require.NoError(t, err)
	in := keras.Input(keras.Shape(2))
	p, q := keras.Input(keras.Shape(2)), keras.Input(keras.Shape(2))
	inner, err := keras.NewFunctional(keras.Inputs(p, q), keras.Outputs(layers.Apply(&layers.Add{}, p, q)))
	require.NoError(t, err)
	for layer, class := range map[layers.Layer]string{&layers.Add{}: "__numpy__", inner: "__tensor__"} {
		y := layers.ApplyArguments(layer, layers.Arguments{Positional: []any{[]any{in, a}}})[0]
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(y))
		require.NoError(t, err)
		text, err := m.ToJSON()
		require.NoError(t, err)
		require.Contains(t, string(firstArgument(t, text, 1)), class)
	}
}

// firstArgument returns the first argument of the first call of a layer in a document.
func firstArgument(t *testing.T, document []byte, layer int) []byte {
	t.Helper()
	var o struct {
		Config struct {
			Layers []struct {
				Nodes []struct {
					Args []json.RawMessage `json:"args"`
				} `json:"inbound_nodes"`
			} `json:"layers"`
		} `json:"config"`
	}
	require.NoError(t, json.Unmarshal(document, &o))
	return o.Config.Layers[layer].Nodes[0].Args[0]
}

// A model with a fixed batch inside one with an open batch accepts any number of examples, as in Keras.
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
	require.InDeltaSlice(t, []float32{0.6, 0.8, 0.8, 1, 0.9, 1.2}, got.Elements(), 1e-6)
	_, err = m.Predict(context.Background(), data.Arrays([][]float32{{1, 0, 3}}, nil))
	require.ErrorContains(t, err, "expects shape (None, 2), received shape (1, 3)")
}

// An open axis fits an inner model that declares its length: the results of Keras 3.15.1 when models are created and
// when they are called.
func TestOpenAxisInFrontOfFixed(t *testing.T) {
	none := layers.Unknown
	y := keras.Input(keras.Shape(4, 3))
	functional, err := keras.NewFunctional(keras.Inputs(y), keras.Outputs(layers.Apply(&layers.Dense{Units: 2}, y)))
	require.NoError(t, err)
	for _, inner := range []*keras.Model{functional, sequential(t, []keras.Option{keras.InputShape(4, 3)}, &layers.Dense{Units: 2})} {
		for _, row := range []struct {
			shape []int
			want  string
		}{
			{[]int{none, 3}, "(None, None, 2)"}, {[]int{4, none}, "(None, 4, 2)"}, {[]int{none, none}, "(None, None, 2)"},
			{[]int{5, 3}, ""}, {[]int{none, 4}, ""},
		} {
			x := keras.Input(keras.Shape(row.shape...))
			out := layers.Apply(inner, x)
			if row.want == "" {
				require.ErrorContains(t, out.Err(), "expects shape (None, 4, 3), received shape (None, ", "%v", row.shape)
				continue
			}
			require.NoError(t, out.Err(), "%v", row.shape)
			require.Equal(t, row.want, layers.ShapeString(out.Shape()), "%v", row.shape)
		}
		x := keras.Input(keras.Shape(none, 3))
		m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(inner, x)))
		require.NoError(t, err)
		got, err := m.Predict(context.Background(), data.Arrays(make([][4][3]float32, 2), nil))
		require.NoError(t, err)
		require.Equal(t, []int{2, 4, 2}, got.Shape())
		_, err = m.Predict(context.Background(), data.Arrays(make([][5][3]float32, 2), nil))
		require.ErrorContains(t, err, "expects shape (None, 4, 3), received shape (2, 5, 3)")
	}
}

// The names that Keras 3.15.1 gives these models in a new process.
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

	// A model that is part of a larger one keeps its name; only the outermost is renamed.
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

// The compile configuration of a nested model, and the state of its optimizer, survive in a file.
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
	require.Equal(t, 3.0, got[0].Element(0))
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

// The optimizer of a model without weights has a step count and a learning rate, which are stored in the file as Keras
// does: for the model itself and for a nested one.
func TestOptimizerWithoutWeightsInFile(t *testing.T) {
	inner := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Reshape{TargetShape: []int{1, 2}})
	require.NoError(t, inner.Compile(keras.CompileConfig{Optimizer: "rmsprop", Loss: "mse"}))
	x, y := [][]float32{{1, 0}, {0, 1}}, [][][]float32{{{1, 0}}, {{0, 1}}}
	_, err := inner.Fit(context.Background(), data.Arrays(x, y))
	require.NoError(t, err)
	require.NoError(t, inner.SetLearningRate(0.25))
	m := sequential(t, []keras.Option{keras.InputShape(2)}, inner, &layers.Dense{Units: 2})
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	path := filepath.Join(t.TempDir(), "m.keras")
	for _, c := range []struct {
		m     *keras.Model
		place string
	}{{inner, "optimizer/vars/"}, {m, "layers/" + inner.Name() + "/optimizer/vars/"}} {
		require.NoError(t, c.m.Save(path))
		var report keras.LoadReport
		again, err := keras.LoadModel(path, keras.Report(&report))
		require.NoError(t, err)
		require.Contains(t, report.Matched, saving.Match{Tensor: c.place + "0", Variable: "rm_sprop/iteration"})
		require.Contains(t, report.Matched, saving.Match{Tensor: c.place + "1", Variable: "rm_sprop/learning_rate"})
		if c.m == m {
			again = again.Layers()[0].(*keras.Model)
		}
		got, err := again.OptimizerArrays()
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, []float64{0, 0.25}, []float64{got[0].Element(0), got[1].Element(0)})
	}
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
	got, err := m.PredictAll(context.Background(), data.Arrays(data.Tensors{Names: []string{"a", "b"}, Arrays: []data.Array{row(1, 0), row(0, 1)}}, nil))
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.InDeltaSlice(t, []float32{0.4}, got[0].Elements(), 1e-6)
	require.InDeltaSlice(t, []float32{0.5}, got[1].Elements(), 1e-6)
	require.InDeltaSlice(t, []float32{1, 1}, got[2].Elements(), 1e-6)
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

// A file with nested models opens under any strategy.
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
	require.InDeltaSlice(t, kernel.Float64s()[:2], []float64{float64(got.Elements().([]float32)[0]), float64(got.Elements().([]float32)[1])}, 1e-6)
}

func row(values ...float32) data.Array {
	return data.Must(data.ArrayOf(values, 1, len(values)))
}
