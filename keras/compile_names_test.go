package keras_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
)

// TestCompileKnowsOutputs: a value for an output that a Functional model does not have is an error of Compile, which
// lists the existing names. Everything that Keras accepts is accepted.
func TestCompileKnowsOutputs(t *testing.T) {
	in := keras.Input(keras.Shape(2))
	price := layers.Apply(&layers.Dense{Units: 1, Name: "price"}, in)
	colour := layers.Apply(&layers.Dense{Units: 2, Name: "colour"}, in)
	listed, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(price, colour))
	require.NoError(t, err)
	dict, err := keras.NewFunctional(keras.Inputs(in), keras.Dict(map[string]*layers.KerasTensor{"a": price, "b": colour}))
	require.NoError(t, err)
	single, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(price))
	require.NoError(t, err)
	losses := map[string]any{"price": "mse", "colour": nil}
	for name, c := range map[string]struct {
		m      *keras.Model
		config keras.CompileConfig
		want   string // of the error
	}{
		"loss":                 {listed, keras.CompileConfig{Loss: map[string]any{"prise": "mse", "colour": "mse"}}, `Loss: there is no output "prise"; did you mean "price"? the outputs are ["price" "colour"]`},
		"loss missing":         {listed, keras.CompileConfig{Loss: map[string]any{"price": "mse"}}, `Loss: the map has no entry for output "colour"`},
		"losses":               {listed, keras.CompileConfig{Loss: []any{"mse"}}, "the model has 2 outputs, received a list of 1"},
		"weights":              {listed, keras.CompileConfig{Loss: losses, LossWeights: map[string]float64{"color": 2}}, `LossWeights: there is no output "color"; did you mean "colour"?`},
		"metrics":              {listed, keras.CompileConfig{Loss: losses, Metrics: map[string][]string{"shape": {"mae"}}}, `Metrics: there is no output "shape"; the outputs are ["price" "colour"]`},
		"weighted metrics":     {listed, keras.CompileConfig{Loss: losses, WeightedMetrics: map[string]any{"price_1": "mae"}}, `WeightedMetrics: there is no output "price_1"; did you mean "price"?`},
		"layer of a dict":      {dict, keras.CompileConfig{Loss: map[string]any{"price": "mse"}}, `the outputs are ["a" "b"]`},
		"no number":            {listed, keras.CompileConfig{Loss: losses, LossWeights: []int{1, 2}}, `LossWeights: output "price": received [1 2] of type []int; expected one number`},
		"one output":           {single, keras.CompileConfig{Loss: map[string]string{"colour": "mse"}}, `Loss: there is no output "colour"; the outputs are ["price"]`},
		"none for an output":   {listed, keras.CompileConfig{Loss: losses, Metrics: map[string]any{"price": []any{"mae"}, "colour": nil}}, ""},
		"for a part of a dict": {dict, keras.CompileConfig{Loss: map[string]any{"b": "mse"}, Metrics: map[string]any{"b": "mae"}}, ""},
		"lists":                {listed, keras.CompileConfig{Loss: []any{"mse", nil}, LossWeights: []float64{1, 0}, Metrics: []any{nil, []any{"mae", "mse"}}}, ""},
		"no metrics":           {listed, keras.CompileConfig{Loss: losses, Metrics: []string{}, WeightedMetrics: []any{}}, ""},
		"maps of metrics":      {listed, keras.CompileConfig{Loss: losses, Metrics: map[string]metrics.Metric{"price": &metrics.AUC{}}, WeightedMetrics: map[string][]any{"price": {"mae"}}}, ""},
		"one weight":           {dict, keras.CompileConfig{Loss: "mse", LossWeights: 2}, ""},
		"weight of one":        {dict, keras.CompileConfig{Loss: "mse", LossWeights: map[string]any{"a": 2.5}}, ""},
		"lists of metrics":     {dict, keras.CompileConfig{Loss: map[string]any{"a": []any{"mse"}}, Metrics: []any{[]string{"mae"}, []string{"mse"}}}, ""},
		"one for all":          {listed, keras.CompileConfig{Loss: "mse"}, ""},
		"flat metrics":         {single, keras.CompileConfig{Loss: []any{"mse"}, Metrics: []metrics.Metric{&metrics.AUC{}, &metrics.Mean{}}}, ""},
		"words in capitals":    {single, keras.CompileConfig{Loss: "CE", Metrics: []string{"ACC", "Accuracy"}}, ""},
		"by its name":          {single, keras.CompileConfig{Loss: map[string]string{"price": "mse"}, LossWeights: map[string]float64{"price": 2}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.m.Compile(c.config)
			if c.want != "" {
				require.ErrorContains(t, err, "keras: Compile: ")
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
		})
	}
	t.Run("a file of a model that only predicts", func(t *testing.T) {
		require.NoError(t, single.Compile(keras.CompileConfig{Loss: map[string]string{"price": "mse"}}))
		text, err := single.ToJSON()
		require.NoError(t, err)
		read, err := keras.ModelFromJSON([]byte(strings.Replace(string(text), `{"price":"mse"}`, `{"other":"mse"}`, 1)))
		require.NoError(t, err)
		_, err = read.TrainOnBatch(t.Context(), data.Arrays([][]float32{{1, 2}}, [][]float32{{1}}))
		require.ErrorContains(t, err, `there is no output "other"`)
	})
}
