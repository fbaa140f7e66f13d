package layers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
)

// fileCase is a model that real Keras wrote, and what it predicts.
type fileCase struct {
	File     []byte
	Document json.RawMessage
	Inputs   []fileArray
	Outputs  []fileArray
}

type fileArray struct {
	Shape []int
	DType string
	Data  []float64
}

func fileCases(t *testing.T) map[string]fileCase {
	t.Helper()
	all := recorded.JSON[struct{ Models map[string]fileCase }](t, "testdata/layer_files.json.gz")
	require.Len(t, all.Models, 5)
	return all.Models
}

// dense makes an array for Predict.
func (a fileArray) dense() data.Array {
	if a.DType == "int32" {
		values := make([]int32, len(a.Data))
		for i, v := range a.Data {
			values[i] = int32(v)
		}
		return data.Must(data.ArrayOf(values, a.Shape...))
	}
	values := make([]float32, len(a.Data))
	for i, v := range a.Data {
		values[i] = float32(v)
	}
	return data.Must(data.ArrayOf(values, a.Shape...))
}

// TestFilesOfKeras: models that Keras wrote give the same predictions here, also after writing and reading them again;
// layers and their calls are written as Keras wrote them.
func TestFilesOfKeras(t *testing.T) {
	for name, c := range fileCases(t) {
		t.Run(name, func(t *testing.T) {
			tolerance := 2e-6
			if name == "capped" { // computed in bfloat16
				tolerance = 4e-3
			}
			path := filepath.Join(t.TempDir(), "model.keras")
			require.NoError(t, os.WriteFile(path, c.File, 0o666))
			m, err := keras.LoadModel(path)
			require.NoError(t, err)
			c.checkPredictions(t, m, tolerance)
			c.checkDocument(t, m)
			again := filepath.Join(t.TempDir(), "again.keras")
			require.NoError(t, m.Save(again))
			m, err = keras.LoadModel(again)
			require.NoError(t, err)
			c.checkPredictions(t, m, tolerance)
			c.checkDocument(t, m)
		})
	}
}

func (c fileCase) checkPredictions(t *testing.T, m *keras.Model, tolerance float64) {
	t.Helper()
	inputs := make([]any, len(c.Inputs))
	for i, x := range c.Inputs {
		inputs[i] = x.dense()
	}
	got, err := m.PredictAll(t.Context(), data.Arrays(inputs, nil))
	require.NoError(t, err)
	require.Len(t, got, len(c.Outputs))
	for i, want := range c.Outputs {
		require.Equal(t, want.Shape, []int(got[i].Shape()))
		for j, w := range want.Data {
			v := float64(got[i].Elements().([]float32)[j])
			require.True(t, math.Abs(v-w) <= tolerance*max(1, math.Abs(w)), "output %d, element %d: %v, want %v", i, j, v, w)
		}
	}
}

// checkDocument compares configurations and calls of layers.
func (c fileCase) checkDocument(t *testing.T, m *keras.Model) {
	t.Helper()
	text, err := m.ToJSON()
	require.NoError(t, err)
	got, want := layersOf(t, text), layersOf(t, c.Document)
	require.Len(t, got, len(want))
	for name, w := range want {
		g := got[name]
		for _, key := range []string{"class_name", "module", "registered_name", "config", "inbound_nodes"} {
			assert.Equal(t, withoutNulls(withoutIDs(w[key])), withoutNulls(withoutIDs(g[key])), "%s of %s", key, name)
		}
	}
}

// layersOf returns the layers of a document by name.
func layersOf(t *testing.T, document []byte) map[string]map[string]any {
	t.Helper()
	var d struct {
		Config struct{ Layers []map[string]any }
	}
	require.NoError(t, json.Unmarshal(document, &d))
	out := map[string]map[string]any{}
	for _, l := range d.Config.Layers {
		out[fmt.Sprint(l["name"])] = l
	}
	return out
}

// withoutIDs drops the numbers by which Keras identifies objects of a file, whether a call is a training call, which
// the model's caller decides, and types of tensors, for which Keras ignores reverse_dtype.
func withoutIDs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, e := range v {
			if key != "shared_object_id" && key != "training" {
				out[key] = withoutIDs(e)
			}
		}
		if out["keras_history"] != nil {
			delete(out, "dtype")
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutIDs(e)
		}
		return out
	}
	return v
}
