package keras_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

func contrastiveLoss(yTrue, yPred *ops.Tensor) *ops.Tensor {
	apart := ops.Square(ops.Relu(ops.AddScalar(ops.Negative(yPred), 1)))
	return ops.Mean(ops.Add(ops.Multiply(ops.AddScalar(ops.Negative(yTrue), 1), ops.Square(yPred)), ops.Multiply(yTrue, apart)), -1)
}

func meanPrediction(_, yPred *ops.Tensor) *ops.Tensor { return ops.Mean(yPred, -1) }

func unregistered(_, yPred *ops.Tensor) *ops.Tensor { return ops.Mean(yPred, -1) }

func init() {
	losses.RegisterFunc("contrastive_loss", contrastiveLoss)
	metrics.RegisterFunc("mean_prediction", meanPrediction, "mine")
}

// TestRegisteredFunctions: named functions of labels and predictions are written as Keras 3.15.1 writes its registered
// functions, and are restored, however they were passed to Compile.
func TestRegisteredFunctions(t *testing.T) {
	x, y := [][]float32{{1, 2}, {3, 4}}, [][]float32{{0}, {1}}
	var want map[string]float64
	for _, c := range []struct{ loss, metric any }{
		{contrastiveLoss, meanPrediction},
		{"contrastive_loss", "mean_prediction"},
		{"Custom>contrastive_loss", "mine>mean_prediction"},
		{losses.Func("contrastive_loss", contrastiveLoss), metrics.Func("mean_prediction", meanPrediction)},
		{[]any{contrastiveLoss}, []any{"mean_prediction"}},
	} {
		m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 1})
		require.NoError(t, m.Compile(keras.CompileConfig{Loss: c.loss, Metrics: []any{c.metric}}))
		path := filepath.Join(t.TempDir(), "functions.keras")
		require.NoError(t, m.Save(path))
		text := strings.ReplaceAll(document(t, m), `\u003e`, ">")
		assert.Contains(t, text, `{"class_name":"function","config":"Custom>contrastive_loss","module":"builtins","registered_name":"function"}`)
		assert.Contains(t, text, `{"class_name":"function","config":"mine>mean_prediction","module":"builtins","registered_name":"function"}`)
		again, err := keras.LoadModel(path)
		require.NoError(t, err)
		for _, model := range []*keras.Model{m, again} {
			logs, err := model.TrainOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			if want == nil {
				want = logs
			}
			assert.Equal(t, want, logs)
			assert.Contains(t, logs, "mean_prediction")
		}
	}
}

// TestFunctionsWithoutNames: errors on saving say what to do, and so do those on reading a file of a program that
// registers more.
func TestFunctionsWithoutNames(t *testing.T) {
	m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 1})
	path := filepath.Join(t.TempDir(), "functions.keras")
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: unregistered}))
	err := m.Save(path)
	require.ErrorContains(t, err, `give it a name in them with losses.RegisterFunc, or save the model with keras.WithoutCompile()`)
	require.Equal(t, 1, strings.Count(err.Error(), "WithoutCompile"), err)
	require.NoError(t, m.Save(path, keras.WithoutCompile()))
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Metrics: []any{unregistered}}))
	require.ErrorContains(t, m.Save(path), `metrics.RegisterFunc`)
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: &losses.FuncLoss{Name: "c", F: contrastiveLoss, Reduction: losses.Sum}}))
	require.ErrorContains(t, m.Save(path), `of which files have no reduction: this one has "sum"`)

	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse"}))
	for key, call := range map[string]string{"loss": "losses.RegisterFunc", "metrics": "metrics.RegisterFunc"} {
		text, err := m.ToJSON()
		require.NoError(t, err)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(text, &doc))
		doc["compile_config"].(map[string]any)[key] = json.RawMessage(`{"module": "builtins", "class_name": "function", "config": "other>stranger", "registered_name": "function"}`)
		text, err = json.Marshal(doc)
		require.NoError(t, err)
		_, err = keras.ModelFromJSON(text)
		require.ErrorContains(t, err, call)
	}
}
