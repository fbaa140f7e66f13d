package keras_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
	"github.com/gokeras/gokeras/optimizers"
)

// recordedArray is an array recorded from Keras.
type recordedArray struct {
	Shape  []int
	DType  string
	Values []float64
}

func (a recordedArray) dense() data.Array {
	if a.DType == "int32" {
		values := make([]int32, len(a.Values))
		for i, v := range a.Values {
			values[i] = int32(v)
		}
		return shaped(values, a.Shape...)
	}
	values := make([]float32, len(a.Values))
	for i, v := range a.Values {
		values[i] = float32(v)
	}
	return shaped(values, a.Shape...)
}

// changedModel is the result of Keras's LoRA and quantization for a model; see testdata/quantization.py.
type changedModel struct {
	Name          string
	Before, After string
	Steps         []struct {
		Quantize string
		Config   json.RawMessage
		Rank     int
		Alpha    float64
		Drawn    []recordedArray
	}
	X, Y, Predicted  recordedArray
	Weights, Trained []recordedArray
	Names, Trainable []string
	Losses           []float64
}

func changedModels(t *testing.T) []changedModel {
	t.Helper()
	cases := recorded.JSON[[]changedModel](t, "testdata/quantization.json.gz")
	require.NotEmpty(t, cases)
	return cases
}

func readBase64(t *testing.T, text string) *keras.Model {
	t.Helper()
	file, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	m, err := keras.ReadModel(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	return m
}

// requireArrays compares weights with those of Keras: quantized ones in steps of their grid, because a value halfway
// between two steps may be rounded to either.
func requireArrays(t *testing.T, want []recordedArray, got []kernels.Array, names []string, slack float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Equal(t, w.Shape, []int(got[i].Type.Shape), names[i])
		require.Equal(t, w.DType, got[i].Type.DType.String(), names[i])
		for k, v := range got[i].Float64s() {
			if w.DType != "float32" {
				require.Equal(t, w.Values[k], v, "%s [%d]", names[i], k)
				continue
			}
			require.InDelta(t, w.Values[k], v, slack*(1e-5+2e-5*math.Abs(w.Values[k])), "%s [%d]", names[i], k)
		}
	}
}

// TestChangedModelsAreThoseOfKeras changes models as Keras did, and compares weights, predictions, files and two steps
// of training.
func TestChangedModelsAreThoseOfKeras(t *testing.T) {
	for _, c := range changedModels(t) {
		t.Run(c.Name, func(t *testing.T) {
			m := readBase64(t, c.Before)
			for _, s := range c.Steps {
				if s.Quantize != "" {
					var how any = s.Quantize
					if string(s.Config) != "null" {
						c, err := quantizers.Deserialize(s.Config)
						require.NoError(t, err)
						how = c
					}
					require.NoError(t, m.Quantize(how))
					continue
				}
				drawn := s.Drawn
				for _, l := range m.Layers() {
					if e, ok := l.(layers.LoraEnabler); ok {
						require.NoError(t, e.EnableLora(s.Rank, layers.LoraOptions{Alpha: s.Alpha}))
					}
				}
				for _, v := range m.Weights() {
					if strings.Contains(v.Name(), "lora") {
						require.NoError(t, v.SetValue(arrayOf(t, drawn[0])))
						drawn = drawn[1:]
					}
				}
				require.Empty(t, drawn)
			}
			names := func() (all, trained []string) {
				for _, v := range m.Weights() {
					all = append(all, v.Path())
				}
				for _, v := range m.TrainableVariables() {
					trained = append(trained, v.Path())
				}
				return all, trained
			}
			all, trained := names()
			require.Equal(t, lastTwo(c.Names), lastTwo(all))
			if !strings.HasSuffix(c.Name, "float8") { // Keras counts scales and histories, which are not trained, as trainable
				require.Equal(t, lastTwo(c.Trainable), lastTwo(trained))
			}
			arrays, err := m.GetWeights()
			require.NoError(t, err)
			requireArrays(t, c.Weights, arrays, all, 1)
			requirePredictions(t, c, m)

			file := t.TempDir() + "/model.keras"
			require.NoError(t, m.Save(file))
			again, err := keras.LoadModel(file)
			require.NoError(t, err)
			requireSameFile(t, readBase64(t, c.After), again)

			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}))
			if strings.HasPrefix(c.Name, "reversible") && (strings.Contains(c.Name, "int8") && !strings.Contains(c.Name, "weights") || strings.Contains(c.Name, "activations")) {
				return // Keras's gradient of scores is only that of the scale: the one through the integers is lost
			}
			slack := 1.0
			if c.Losses[0] > 5 { // the steps are large, and amplify rounding differences
				slack = 100
			}
			for _, want := range c.Losses {
				scores, err := m.TrainOnBatch(t.Context(), data.Arrays(c.X.dense(), c.Y.dense()))
				require.NoError(t, err)
				require.InDelta(t, want, scores["loss"], slack*(2e-5*math.Abs(want)+1e-5))
			}
			arrays, err = m.GetWeights()
			require.NoError(t, err)
			requireArrays(t, c.Trained, arrays, all, slack)
		})
	}
}

// lastTwo keeps the layer and the weight of each path: in Keras the model's name may precede them.
func lastTwo(paths []string) (out []string) {
	for _, p := range paths {
		parts := strings.Split(p, "/")
		out = append(out, strings.Join(parts[max(len(parts)-2, 0):], "/"))
	}
	return out
}

func arrayOf(t *testing.T, a recordedArray) kernels.Array {
	t.Helper()
	out, err := kernels.FromFloat64s(ir.Float32, a.Shape, a.Values)
	require.NoError(t, err)
	return out
}

func requirePredictions(t *testing.T, c changedModel, m *keras.Model) {
	t.Helper()
	y, err := m.Predict(t.Context(), data.Arrays(c.X.dense(), nil))
	require.NoError(t, err)
	require.Equal(t, c.Predicted.Shape, []int(y.Shape()))
	for i, v := range y.Elements().([]float32) {
		require.InDelta(t, c.Predicted.Values[i], float64(v), 1e-5+2e-5*math.Abs(c.Predicted.Values[i]), "[%d]", i)
	}
}

// requireSameFile compares models read from two files.
func requireSameFile(t *testing.T, want, got *keras.Model) {
	t.Helper()
	a, err := want.GetWeights()
	require.NoError(t, err)
	b, err := got.GetWeights()
	require.NoError(t, err)
	require.Len(t, b, len(a))
	for i := range a {
		require.Equal(t, a[i].Type, b[i].Type)
		x, y := a[i].Float64s(), b[i].Float64s()
		for k := range x {
			require.InDelta(t, x[k], y[k], 1e-5+2e-5*math.Abs(x[k]), "%s [%d]", want.Weights()[i].Path(), k)
		}
	}
	first, err := want.ToJSON()
	require.NoError(t, err)
	second, err := got.ToJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(first), string(second))
}

// TestModelsThatCannotBeQuantized: an error changes nothing, and programs compiled before quantization are no longer
// used.
func TestModelsThatCannotBeQuantized(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}, &layers.Dense{Units: 2}}, keras.InputShape(4))
	require.NoError(t, err)
	require.ErrorContains(t, m.Quantize("int6"), "unknown mode")
	require.ErrorContains(t, m.Quantize("int8", func(layers.Layer) bool { return false }), "no layer that can be quantized")
	unbuilt, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}})
	require.NoError(t, err)
	require.ErrorContains(t, unbuilt.Quantize("int8"), "build it first")

	x := shaped([]float32{1, 2, 3, 4, -1, 0.5, 2, 1}, 2, 4)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	train := func() error {
		_, err := m.TrainOnBatch(t.Context(), data.Arrays(x, shaped([]float32{1, 2, 3, 4}, 2, 2)))
		return err
	}
	require.NoError(t, train())
	before, err := m.Predict(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	require.NoError(t, m.Quantize("int4", func(l layers.Layer) bool { return layers.Name(l) == "dense_1" }))
	after, err := m.Predict(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	require.NotEqual(t, before.Elements(), after.Elements())
	for i, v := range before.Elements().([]float32) {
		require.InDelta(t, v, after.Elements().([]float32)[i], 0.5)
	}
	require.ErrorContains(t, train(), "call Compile again")
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	require.NoError(t, train())
	require.ErrorContains(t, m.Quantize("int8"), `layer "dense_1" is quantized already`)
	require.Equal(t, "", layers.QuantizedBy(m.Layers()[0]))
}
