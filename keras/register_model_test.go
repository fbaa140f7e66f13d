package keras_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// ownCoder makes its layers from its settings.
type ownCoder struct {
	Units   int                      `keras:"units"`
	Decoder *layers.Dense            `keras:"decoder_layer"`
	Blocks  []layers.Layer           `keras:"blocks"`
	Heads   map[string]*layers.Dense `keras:"heads"`
	Encoder layers.Layer             `keras:"-"`
	Head    *keras.Model             `keras:"-"`
	Comment string
}

func (a *ownCoder) Assemble() (err error) {
	if a.Units < 1 {
		return errors.New("a code of no units")
	}
	if a.Units > 1000 {
		panic("too many")
	}
	a.Encoder = &layers.Dense{Units: a.Units, Activation: "tanh"}
	a.Head, err = keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}, &layers.BatchNormalization{}})
	return err
}

func (a *ownCoder) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = layers.Invoke(a.Decoder, c, layers.Invoke(a.Encoder, c, x))
	for _, block := range a.Blocks {
		x = layers.Invoke(block, c, x)
	}
	if len(a.Heads) > 0 {
		x = ops.Add(layers.Invoke(a.Heads["a"], c, x), layers.Invoke(a.Heads["b"], c, x))
	}
	return layers.Invoke(a.Head, c, x)
}

// unknownModel is not registered.
type unknownModel struct{ ownCoder }

func init() { keras.RegisterModel[ownCoder]("tests") }

func coder(t *testing.T, options ...keras.Option) *keras.Model {
	m, err := keras.NewModel(&ownCoder{Units: 3, Decoder: &layers.Dense{Units: 2, Activation: "relu"}}, options...)
	require.NoError(t, err)
	return m
}

// TestRegisteredModelInFiles: a model of a user's type is written and read with its weights and the optimizer's state,
// by itself, inside a Functional model and inside a layer.
func TestRegisteredModelInFiles(t *testing.T) {
	x, y := [][]float32{{1, 2}, {-1, 3}, {0.5, -2}}, [][]float32{{1, 0}, {0, 1}, {1, 1}}
	for name, make := range map[string]func() *keras.Model{
		"alone":  func() *keras.Model { return coder(t, keras.Name("mine")) },
		"halves": func() *keras.Model { return coder(t, keras.DTypePolicy("mixed_bfloat16")) },
		"inside": func() *keras.Model {
			in := keras.Input(keras.Shape(2))
			m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(coder(t), layers.Apply(coder(t), in))))
			require.NoError(t, err)
			return m
		},
		"in a layer": func() *keras.Model {
			m, err := keras.NewSequential([]layers.Layer{
				&layers.RepeatVector{N: 2}, &layers.TimeDistributed{Layer: coder(t)}, &layers.GlobalAveragePooling1D{},
			}, keras.InputShape(2))
			require.NoError(t, err)
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := make()
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
			_, err := m.TrainOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "m.keras")
			require.NoError(t, m.Save(path))
			read, err := keras.LoadModel(path)
			require.NoError(t, err)
			require.Equal(t, m.Name(), read.Name())
			for range 2 {
				want, err := m.PredictOnBatch(t.Context(), data.Arrays(x, nil))
				require.NoError(t, err)
				got, err := read.PredictOnBatch(t.Context(), data.Arrays(x, nil))
				require.NoError(t, err)
				require.Equal(t, want.Elements(), got.Elements())
				first, err := m.TrainOnBatch(t.Context(), data.Arrays(x, y))
				require.NoError(t, err)
				second, err := read.TrainOnBatch(t.Context(), data.Arrays(x, y))
				require.NoError(t, err)
				require.Equal(t, first, second)
			}
			document, err := m.ToJSON()
			require.NoError(t, err)
			fresh, err := keras.ModelFromJSON(document)
			require.NoError(t, err)
			require.Equal(t, m.CountParams(), fresh.CountParams())
		})
	}
}

// TestRegisteredModelRefused: Save rejects what could not be read again, and reading rejects what fits no type.
func TestRegisteredModelRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.keras")
	decoder := &layers.Dense{Units: 2}
	_, err := keras.NewModel(&ownCoder{Decoder: decoder})
	require.ErrorContains(t, err, "Assemble: a code of no units")
	_, err = keras.NewModel(&ownCoder{Units: 1001, Decoder: decoder})
	require.ErrorContains(t, err, "Assemble panicked: too many")
	m, err := keras.NewModel(&unknownModel{ownCoder{Units: 1, Decoder: decoder}})
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{layers.Unknown, 2}))
	require.ErrorContains(t, m.Save(path), "keras.RegisterModel[unknownModel]()")
	m, err = keras.NewModel(&ownCoder{Units: 1, Decoder: &layers.Dense{Units: 2}, Comment: "lost"})
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{layers.Unknown, 2}))
	require.ErrorContains(t, m.Save(path), "field Comment is lost")
	require.NoFileExists(t, path)
	_, err = keras.ModelFromJSON([]byte(`{"class_name":"Other","config":{},"registered_name":"tests>Other"}`))
	require.ErrorContains(t, err, `unknown class "tests>Other"`)
	head := `{"class_name":"Dense","config":{"units":2}}`
	for _, keys := range []string{"ab", "ba"} {
		_, err = keras.ModelFromJSON(fmt.Appendf(nil, `{"class_name":"ownCoder","config":{"units":1,"decoder_layer":%s,"heads":{"%c":%s,"%c":%s}},"registered_name":"tests>ownCoder"}`, head, keys[0], head, keys[1], head))
		if keys == "ab" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, `key "heads": "b" stands before "a"; expected layers of one class in alphabetical order`)
		}
	}
	for built, want := range map[string]string{
		`{"input_shape":[[2]],"input_dtypes":["int32","int32"]}`: "1 inputs and has 2 types",
		`{"input_shape":[null,2],"input_dtypes":["what"]}`:       "what",
		`{"input_shape":[null,-2]}`:                              "cannot be negative",
		`{"input_shape":{"a":[1,2],"b":[1,2]}}`:                  `expected one shape or a list`,
		`{"shapes_dict":{"a_shape":[1,2]}}`:                      "arguments by name",
		`[]`:                                                     "build_config",
	} {
		_, err = keras.ModelFromJSON(fmt.Appendf(nil, `{"class_name":"ownCoder","config":{"units":1,"decoder_layer":{"class_name":"Dense","config":{"units":2}}},"registered_name":"tests>ownCoder","build_config":%s}`, built))
		require.ErrorContains(t, err, "tests>ownCoder: ")
		require.ErrorContains(t, err, want)
	}
}

// trainedOn is registered_model.py's record of a model.
type trainedOn struct {
	Name            string
	Predicted, Then [][]float64
	Losses          []float64
}

// checkTrainsOn lets the model predict, continue training and predict again.
func checkTrainsOn(t *testing.T, m *keras.Model, want trainedOn) {
	t.Helper()
	x, y := [][]float32{{1, 2}, {-1, 3}, {0.5, -2}, {2, 0.25}}, [][]float32{{1, 0}, {0, 1}, {1, 1}, {0.5, 0}}
	require.Equal(t, want.Name, m.Name())
	predicts := func(want [][]float64) {
		t.Helper()
		got, err := m.PredictOnBatch(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		for i, row := range want {
			near(t, "predicted", row, got.Float64s()[2*i:2*i+2], 1e-5)
		}
	}
	predicts(want.Predicted)
	for _, loss := range want.Losses {
		logs, err := m.TrainOnBatch(t.Context(), data.Arrays(x, y))
		require.NoError(t, err)
		require.InDelta(t, loss, logs["loss"], 1e-5)
	}
	predicts(want.Then)
}

// TestRegisteredModelOfKeras reads a model of a user's class that Keras wrote, with the optimizer's state, and lets
// Keras read it again if GOKERAS_PYTHON names a Python that has it.
func TestRegisteredModelOfKeras(t *testing.T) {
	m, err := keras.LoadModel(filepath.Join("testdata", "registered_model.keras"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))
	text, err := os.ReadFile(filepath.Join("testdata", "registered_model.json"))
	require.NoError(t, err)
	var want trainedOn
	require.NoError(t, json.Unmarshal(text, &want))
	checkTrainsOn(t, m, want)

	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	command := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "registered_model.py"), path)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &want), string(out))
	m, err = keras.LoadModel(path)
	require.NoError(t, err)
	checkTrainsOn(t, m, want)
}

// registeredGAN has given parts, its own step with a second optimizer, and a metric.
type registeredGAN struct {
	Generator     *keras.Model         `keras:"generator"`
	Discriminator layers.Layer         `keras:"discriminator"`
	Optimizer     optimizers.Optimizer `keras:"-"`
	Seen          *metrics.Mean        `keras:"-"`
}

func (g *registeredGAN) Assemble() error {
	g.Optimizer, g.Seen = &optimizers.Adam{LearningRate: 0.1}, metrics.NewMean("seen")
	return nil
}

func (g *registeredGAN) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return g.Generator.Call(c, x)
}

func (g *registeredGAN) TrainStep(s *keras.Step) keras.StepLogs {
	forged := g.Generator.Call(s.Training(), s.X[0])
	c := s.Mean(ops.Subtract(layers.Invoke(g.Discriminator, s.Training(), forged), layers.Invoke(g.Discriminator, s.Training(), s.X[0])))
	s.Minimize(g.Optimizer, c, layers.TrainableWeights(g.Discriminator))
	loss := s.Mean(ops.Negative(layers.Invoke(g.Discriminator, s.Training(), g.Generator.Call(s.Training(), s.X[0]))))
	s.Minimize(s.Optimizer(), loss, g.Generator.TrainableVariables())
	g.Seen.UpdateValues(ops.Sum(forged, 1), nil)
	return keras.StepLogs{"loss": loss, "critic": c, "seen": g.Seen}
}

func init() { keras.RegisterModel[registeredGAN]() }

// TestRegisteredModelWithSteps: the loaded model has the type's step, and the state of all optimizers is restored once
// they are known.
func TestRegisteredModelWithSteps(t *testing.T) {
	generator, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2, Activation: "tanh"}}, keras.InputShape(2))
	require.NoError(t, err)
	critic, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dense{Units: 1}}, keras.InputShape(2), keras.Name("critic"))
	require.NoError(t, err)
	m, err := keras.NewModel(&registeredGAN{Generator: generator, Discriminator: critic})
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.RMSprop{LearningRate: 0.05}}))
	x := data.Arrays([][]float32{{1, 2}, {-1, 3}, {0.5, -2}}, nil)
	_, err = m.Fit(t.Context(), x, keras.Epochs(2))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "gan.keras")
	require.NoError(t, m.Save(path))
	read, err := keras.LoadModel(path)
	require.NoError(t, err)
	want, err := m.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	got, err := read.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, want.Elements(), got.Elements())
	_, err = read.TrainOnBatch(t.Context(), x) // from here on the step's optimizers are known
	require.NoError(t, err)
	require.NoError(t, read.LoadWeights(path))
	for range 3 {
		want, err := m.TrainOnBatch(t.Context(), x)
		require.NoError(t, err)
		got, err := read.TrainOnBatch(t.Context(), x)
		require.NoError(t, err)
		require.Equal(t, want["loss"], got["loss"])
		require.Equal(t, want["critic"], got["critic"])
	}
}

// Types that RegisterModel or Save rejects.
type (
	wordless struct{ Units int }
	nameless struct {
		ownCoder
		Name string `keras:"name"`
	}
)

func init() { keras.RegisterModel[nameless]("tests") }

// TestRegisterModelRefuses: registering a type that cannot be a model of a file panics. Save rejects a field whose tag
// is a key of the model itself if its value differs.
func TestRegisterModelRefuses(t *testing.T) {
	require.PanicsWithValue(t, "keras: RegisterModel: *keras_test.ownCoder is no struct type with a name; expected the type whose pointers are passed to NewModel, as in RegisterModel[Autoencoder]()",
		func() { keras.RegisterModel[*ownCoder]("tests") })
	require.PanicsWithValue(t, "keras: RegisterModel: keras: NewModel: *keras_test.wordless has no method Call; add Call(c *layers.Context, x *ops.Tensor) *ops.Tensor (and pass a pointer, if its receiver is one)",
		func() { keras.RegisterModel[wordless]("tests") })
	require.Panics(t, func() { keras.RegisterModel[ownCoder]("tests") })
	path := filepath.Join(t.TempDir(), "m.keras")
	for name, want := range map[string]string{"mine": "", "yours": "the field of nameless with the tag `keras:\"name\"` holds another value than the model has"} {
		m, err := keras.NewModel(&nameless{ownCoder{Units: 1, Decoder: &layers.Dense{Units: 2}}, "mine"}, keras.Name(name))
		require.NoError(t, err)
		require.NoError(t, m.Build([]int{layers.Unknown, 2}))
		if err = m.Save(path); want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
	}
}

// TestRegisteredModelCompiledInside: a nested model keeps its compile configuration, like models of other kinds.
func TestRegisteredModelCompiledInside(t *testing.T) {
	inner := coder(t)
	in := keras.Input(keras.Shape(2))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(inner, in)))
	require.NoError(t, err)
	require.NoError(t, inner.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	batch := data.Arrays([][]float32{{1, 2}, {-1, 3}}, [][]float32{{1, 0}, {0, 1}})
	_, err = inner.TrainOnBatch(t.Context(), batch)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))
	read, err := keras.LoadModel(path)
	require.NoError(t, err)
	other := read.Layers()[len(read.Layers())-1].(*keras.Model)
	for range 2 {
		want, err := inner.TrainOnBatch(t.Context(), batch)
		require.NoError(t, err)
		got, err := other.TrainOnBatch(t.Context(), batch)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
