package keras_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// TestNestedPreprocessingOfKeras opens a Keras model with nested models that begin with layers that run on the host:
// one within another, one called twice.
func TestNestedPreprocessingOfKeras(t *testing.T) {
	var want struct {
		Colors  []string
		Numbers []int64
		Output  []float32
	}
	text, err := os.ReadFile("testdata/nested_host.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	m, err := keras.LoadModel("testdata/nested_host.keras")
	require.NoError(t, err)
	n := len(want.Colors)
	colors, err := data.Text(want.Colors, n, 1)
	require.NoError(t, err)
	x := data.Arrays(data.Tensors{Arrays: []data.Array{colors, data.Must(data.ArrayOf(want.Numbers, n, 3))}}, nil)
	got, err := m.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	require.InDeltaSlice(t, want.Output, got.Elements().([]float32), 1e-5)

	path := filepath.Join(t.TempDir(), "again.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	second, err := again.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, got.Elements(), second.Elements())
}

// hashed creates a model from one layer that maps its input to another value, of the same type and shape.
func hashed(t *testing.T, sequential bool) *keras.Model {
	l := &layers.Hashing{NumBins: 3}
	if sequential {
		m, err := keras.NewSequential([]layers.Layer{l}, keras.InputShape(5), keras.InputDType("int64"))
		require.NoError(t, err)
		return m
	}
	in := keras.Input(keras.Shape(5), keras.DType("int64"))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(l, in)))
	require.NoError(t, err)
	return m
}

// TestNestedHostStage: a model that runs on the host gives the same numbers inside other models as alone. It used to be
// skipped if its results had the type of its inputs.
func TestNestedHostStage(t *testing.T) {
	numbers := []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}
	x := data.Arrays(data.Must(data.ArrayOf(numbers, 2, 5)), nil)
	alone, err := hashed(t, false).PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	require.NotEqual(t, numbers, alone.Elements())
	for _, inner := range []bool{false, true} {
		for name, outer := range map[string]func() (*keras.Model, error){
			"functional": func() (*keras.Model, error) {
				in := keras.Input(keras.Shape(5), keras.DType("int64"))
				return keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Activation{}, layers.Apply(hashed(t, inner), in))))
			},
			"functional in functional": func() (*keras.Model, error) {
				in, next := keras.Input(keras.Shape(5), keras.DType("int64")), keras.Input(keras.Shape(5), keras.DType("int64"))
				middle, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(hashed(t, inner), in)))
				require.NoError(t, err)
				return keras.NewFunctional(keras.Inputs(next), keras.Outputs(layers.Apply(middle, next)))
			},
			"sequential": func() (*keras.Model, error) {
				return keras.NewSequential([]layers.Layer{hashed(t, inner), &layers.Activation{}}, keras.InputShape(5), keras.InputDType("int64"))
			},
		} {
			m, err := outer()
			require.NoError(t, err, name)
			got, err := m.PredictOnBatch(t.Context(), x)
			require.NoError(t, err, name)
			require.Equal(t, asFloats(t, alone), asFloats(t, got), name)
		}
	}
}

func asFloats(t *testing.T, d data.Array) []float64 {
	t.Helper()
	require.NoError(t, d.Check())
	return d.Float64s()
}

// hashedInside calls a model that begins on the host from a program.
type hashedInside struct{ Inner *keras.Model }

func (h *hashedInside) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor { return h.Inner.Call(c, x) }

// TestNestedHostStageInAProgram: where no host stage can run it, such a model is refused.
func TestNestedHostStageInAProgram(t *testing.T) {
	const want = `begins with "hashing", which works on the host`
	_, err := keras.NewSequential([]layers.Layer{&layers.TimeDistributed{Layer: hashed(t, false)}}, keras.InputShape(4, 5), keras.InputDType("int64"))
	require.ErrorContains(t, err, want)
	in := keras.Input(keras.Shape(5), keras.DType("int64"))
	_, err = keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(hashed(t, false), layers.Apply(&layers.Activation{}, in))))
	require.ErrorContains(t, err, `layer "hashing" works on the host, before the outermost model's program`)
	m, err := keras.NewModel(&hashedInside{hashed(t, false)})
	require.NoError(t, err)
	_, err = m.PredictOnBatch(t.Context(), data.Arrays(data.Must(data.ArrayOf(make([]int64, 10), 2, 5)), nil))
	require.ErrorContains(t, err, want)
	_, err = keras.NewSequential([]layers.Layer{&layers.Activation{}, hashed(t, true)}, keras.InputShape(5), keras.InputDType("int64"))
	require.ErrorContains(t, err, want)
}
