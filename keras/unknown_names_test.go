package keras_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// TestUnknownNamesListedOnce: errors list each existing name once, not as function and as class.
func TestUnknownNamesListedOnce(t *testing.T) {
	m := classifier(t)
	for _, c := range []keras.CompileConfig{{Loss: "mean_squared_eror"}, {Loss: "mse", Metrics: []string{"mean_squared_eror"}}} {
		err := m.Compile(c)
		require.ErrorContains(t, err, `did you mean "mean_squared_error"? known: `)
		_, known, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(err.Error(), "_", "")), "known: ")
		seen := map[string]bool{"mse": false}
		for _, name := range strings.Split(strings.ReplaceAll(known, "; ", ", "), ", ") {
			if len(name) > 4 { // MSE and mse are both names
				require.False(t, seen[name], name)
				seen[name] = true
			}
		}
	}
}

// TestUnknownNamesInFiles: a model whose file names a loss or a metric that is not known is read, predicts and is
// written again, as in Keras; fitting and evaluating say what is missing, each time. An optimizer must be known.
func TestUnknownNamesInFiles(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ compiled, missing string }{
		{`"loss": "mse", "metrics": ["acuracy"]`, `unknown metric "acuracy"; did you mean "accuracy"?`},
		{`"loss": "mse", "weighted_metrics": [["mae", "acuracy"]]`, `unknown metric "acuracy"`},
		{`"loss": "mes"`, `unknown loss "mes"; did you mean "mse"?`},
	} {
		document := `{"class_name": "Sequential", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "dtype": "float32", "name": "x"}},
			{"class_name": "Dense", "config": {"units": 1}}]}, "compile_config": {"optimizer": "sgd", ` + c.compiled + `}}`
		m, err := keras.ModelFromJSON([]byte(document))
		require.NoError(t, err, c.compiled)
		path := filepath.Join(t.TempDir(), "m.keras")
		require.NoError(t, m.Save(path), c.compiled)
		m, err = keras.LoadModel(path)
		require.NoError(t, err, c.compiled)
		x := [][]float32{{1, 2}, {3, 4}}
		_, err = m.PredictAll(ctx, data.Arrays(x, nil))
		require.NoError(t, err, c.compiled)
		for range 2 {
			_, err = m.Fit(ctx, data.Arrays(x, [][]float32{{1}, {2}}))
			require.ErrorContains(t, err, c.missing)
			_, err = m.Evaluate(ctx, data.Arrays(x, [][]float32{{1}, {2}}))
			require.ErrorContains(t, err, c.missing)
		}
		require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse"}))
		_, err = m.Fit(ctx, data.Arrays(x, [][]float32{{1}, {2}}))
		require.NoError(t, err)
	}
	for _, compiled := range []string{`"optimizer": "sdg"`, `"loss": "mse", "metrics": [{"class_name": "Mine", "registered_name": "Drawn>Mine", "config": {}}]`} {
		document := `{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "Dense", "config": {"units": 1}}]}, "compile_config": {` + compiled + `}}`
		_, err := keras.ModelFromJSON([]byte(document))
		require.Error(t, err, compiled)
	}
}
