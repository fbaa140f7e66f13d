package keras_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// partHolder is a model that holds parts in fields of every kind.
type partHolder struct {
	Part   layers.Layer            `keras:"part"`
	Model  *keras.Model            `keras:"model"`
	Parts  []layers.Layer          `keras:"parts"`
	Models []*keras.Model          `keras:"models"`
	Named  map[string]layers.Layer `keras:"named"`
	Others map[string]*keras.Model `keras:"others"`
}

func (h *partHolder) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	for _, part := range layers.LayersIn(reflect.ValueOf(h)) {
		x = layers.Invoke(part, c, x)
	}
	return x
}

// layerHolder is a layer that holds a layer.
type layerHolder struct {
	layers.Base
	Inner layers.Layer `keras:"inner"`
}

func (h *layerHolder) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{layers.Invoke(h.Inner, c, in[0])}
}

func init() {
	keras.RegisterModel[partHolder]("tests")
	layers.Register[layerHolder]("tests")
}

// innerKinds create models of every kind, with two inputs and outputs.
var innerKinds = map[string]func(t *testing.T, options ...keras.Option) *keras.Model{
	"Sequential": func(t *testing.T, options ...keras.Option) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Activation: "tanh"}, &layers.Dense{Units: 2}}, append(options, keras.InputShape(2))...)
		require.NoError(t, err)
		return m
	},
	"Sequential of unknown input": func(t *testing.T, options ...keras.Option) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Activation: "tanh"}, &layers.Dense{Units: 2}}, options...)
		require.NoError(t, err)
		return m
	},
	"Functional": func(t *testing.T, options ...keras.Option) *keras.Model {
		in := keras.Input(keras.Shape(2))
		out := layers.Apply(&layers.Dense{Units: 2}, layers.Apply(&layers.Dense{Units: 3, Activation: "tanh"}, in))
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out), options...)
		require.NoError(t, err)
		return m
	},
	"registered": func(t *testing.T, options ...keras.Option) *keras.Model { return coder(t, options...) },
}

// innerPlaces put a model into another.
var innerPlaces = map[string]func(inner *keras.Model, options ...keras.Option) (*keras.Model, error){
	"layer of a Sequential": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewSequential([]layers.Layer{inner}, append(options, keras.InputShape(2))...)
	},
	"layer of a Functional": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		in := keras.Input(keras.Shape(2))
		return keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(inner, in)), options...)
	},
	"layer of a Functional in a Sequential": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		in := keras.Input(keras.Shape(2))
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(inner, in)))
		if err != nil {
			return nil, err
		}
		return keras.NewSequential([]layers.Layer{m}, append(options, keras.InputShape(2))...)
	},
	"wrapper of layers": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewSequential([]layers.Layer{
			&layers.RepeatVector{N: 2}, &layers.TimeDistributed{Layer: inner}, &layers.GlobalAveragePooling1D{},
		}, append(options, keras.InputShape(2))...)
	},
	"field of a user's layer": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewSequential([]layers.Layer{&layerHolder{Inner: inner}}, append(options, keras.InputShape(2))...)
	},
	"field of any layer": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&partHolder{Part: inner}, options...)
	},
	"field of a model": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&partHolder{Model: inner}, options...)
	},
	"list of layers": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&partHolder{Parts: []layers.Layer{&layers.Dense{Units: 2}, inner}}, options...)
	},
	"list of models": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&partHolder{Models: []*keras.Model{inner}}, options...)
	},
	"map of layers": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&partHolder{Named: map[string]layers.Layer{"a": &layers.Dense{Units: 2}, "b": inner}}, options...)
	},
	"map of models": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		return keras.NewModel(&partHolder{Others: map[string]*keras.Model{"a": inner}}, options...)
	},
	"field of a registered model in a Functional": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		m, err := keras.NewModel(&partHolder{Model: inner})
		if err != nil {
			return nil, err
		}
		in := keras.Input(keras.Shape(2))
		return keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(m, in)), options...)
	},
	"field of a registered model in a list": func(inner *keras.Model, options ...keras.Option) (*keras.Model, error) {
		m, err := keras.NewModel(&partHolder{Model: inner})
		if err != nil {
			return nil, err
		}
		return keras.NewModel(&partHolder{Models: []*keras.Model{m}}, options...)
	},
}

// findModel returns the model of the given name inside another.
func findModel(t *testing.T, m *keras.Model, name string) *keras.Model {
	var found *keras.Model
	layers.Walk(m, func(l layers.Layer) {
		if inner, ok := l.(*keras.Model); ok && inner.Name() == name {
			found = inner
		}
	})
	require.NotNil(t, found, "the model %q inside", name)
	return found
}

// TestModelsInsideOthers: a model of every kind is restored completely from every place inside another: its layers,
// weights and policy, whether it is trained, and its compile configuration, including the state of its optimizer.
func TestModelsInsideOthers(t *testing.T) {
	outerOptions := map[string][]keras.Option{"": nil, "halves around": {keras.DTypePolicy("mixed_bfloat16")}}
	innerOptions := map[string][]keras.Option{"": nil, "halves inside": {keras.DTypePolicy("mixed_bfloat16")}}
	for kind, make := range innerKinds {
		for place, put := range innerPlaces {
			for around, outer := range outerOptions {
				for inside, own := range innerOptions {
					if testing.Short() && own != nil {
						continue
					}
					t.Run(strings.Join([]string{kind, place, around, inside}, "/"), func(t *testing.T) {
						inner := make(t, append(own, keras.Name("inner"))...)
						m, err := put(inner, outer...)
						require.NoError(t, err)
						checkComesBack(t, m, inner, own != nil || outer == nil)
					})
				}
			}
		}
	}
}

// sameDocument reports the first difference between two documents.
func sameDocument(t *testing.T, want, got []byte) {
	t.Helper()
	var a, b any
	require.NoError(t, json.Unmarshal(want, &a))
	require.NoError(t, json.Unmarshal(got, &b))
	var compare func(path string, a, b any)
	compare = func(path string, a, b any) {
		if strings.HasSuffix(path, "].config.dtype") && strings.Contains(path, "args") { // of a tensor, which no reader looks at
			return
		}
		switch first := a.(type) {
		case map[string]any:
			if second, ok := b.(map[string]any); ok {
				keys := maps.Clone(first)
				maps.Copy(keys, second)
				for _, key := range slices.Sorted(maps.Keys(keys)) {
					compare(path+"."+key, first[key], second[key])
				}
				return
			}
		case []any:
			if second, ok := b.([]any); ok && len(first) == len(second) {
				for i := range first {
					compare(fmt.Sprintf("%s[%d]", path, i), first[i], second[i])
				}
				return
			}
		}
		assert.Equal(t, a, b, path)
	}
	compare("document", a, b)
	if t.Failed() {
		t.FailNow()
	}
}

// checkComesBack compares a model and a nested one with what a reader makes of them. The nested one is compared
// separately only if alone is set: inside it uses the outer model's policy, and separately its own.
func checkComesBack(t *testing.T, m, inner *keras.Model, alone bool) {
	batch := data.Arrays([][]float32{{1, 2}, {-1, 3}, {0.5, -2}}, [][]float32{{1, 0}, {0, 1}, {1, 1}})
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	_, err := m.TrainOnBatch(t.Context(), batch)
	require.NoError(t, err)
	require.NoError(t, inner.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.25, Momentum: 0.5}, Loss: "mae", Metrics: []string{"mse"}}))
	_, err = inner.TrainOnBatch(t.Context(), batch)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))
	read, err := keras.LoadModel(path)
	require.NoError(t, err)
	want, err := m.ToJSON()
	require.NoError(t, err)
	got, err := read.ToJSON()
	require.NoError(t, err)
	sameDocument(t, want, got)
	pairs := [][2]*keras.Model{{m, read}}
	if alone {
		pairs = append(pairs, [2]*keras.Model{inner, findModel(t, read, "inner")})
	}
	for _, pair := range pairs {
		for range 2 {
			want, err := pair[0].PredictOnBatch(t.Context(), batch)
			require.NoError(t, err)
			got, err := pair[1].PredictOnBatch(t.Context(), batch)
			require.NoError(t, err)
			require.Equal(t, want.Elements(), got.Elements())
			first, err := pair[0].TrainOnBatch(t.Context(), batch)
			require.NoError(t, err)
			second, err := pair[1].TrainOnBatch(t.Context(), batch)
			require.NoError(t, err)
			require.Equal(t, first, second)
		}
	}
}

// TestCompiledInsideWithoutForm: if the compile configuration of a nested model cannot be stored in a file, Save and
// ToJSON return an error, wherever the model is. Omitting the configuration avoids the error.
func TestCompiledInsideWithoutForm(t *testing.T) {
	for place, put := range innerPlaces {
		t.Run(place, func(t *testing.T) {
			inner := innerKinds["Sequential"](t, keras.Name("inner"))
			m, err := put(inner)
			require.NoError(t, err)
			require.NoError(t, m.Build([]int{layers.Unknown, 2}))
			require.NoError(t, inner.Compile(keras.CompileConfig{Loss: &ownLoss{Factor: math.NaN()}}))
			path := filepath.Join(t.TempDir(), "m.keras")
			_, err = m.ToJSON()
			for _, err := range []error{err, m.Save(path)} {
				require.ErrorContains(t, err, `what the model "inner" inside is compiled with cannot be written: loss: `)
				require.Equal(t, 1, strings.Count(err.Error(), "keras: "), err.Error())
			}
			require.NoError(t, m.Save(path, keras.WithoutCompile()))
			read, err := keras.LoadModel(path)
			require.NoError(t, err)
			_, err = findModel(t, read, "inner").Evaluate(t.Context(), data.Arrays([][]float32{{1, 2}}, [][]float32{{1, 2}}))
			require.ErrorContains(t, err, "not compiled")
		})
	}
}

// TestCompiledInsideOfKeras reads a model that Keras wrote, with compiled models in its fields, and lets Keras read it
// again if GOKERAS_PYTHON names a Python that has it: the nested models continue training.
func TestCompiledInsideOfKeras(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "compiled_inside.json"))
	require.NoError(t, err)
	check := func(path string, text []byte) {
		t.Helper()
		var want [][]float64
		require.NoError(t, json.Unmarshal(text, &want), string(text))
		m, err := keras.LoadModel(path)
		require.NoError(t, err)
		for i, l := range m.Layers() {
			for _, loss := range want[i] {
				logs, err := l.(*keras.Model).TrainOnBatch(t.Context(), data.Arrays(
					[][]float32{{1, 2}, {-1, 3}, {0.5, -2}, {2, 0.25}}, [][]float32{{1, 0}, {0, 1}, {1, 1}, {0.5, 0}}))
				require.NoError(t, err)
				require.InDelta(t, loss, logs["loss"], 1e-5)
			}
		}
	}
	path := filepath.Join("testdata", "compiled_inside.keras")
	check(path, text)
	m, err := keras.LoadModel(path)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))
	check(path, text)
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	command := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "compiled_inside.py"), path)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	check(path, out)
	require.JSONEq(t, string(text), string(out))
}
