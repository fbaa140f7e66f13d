package keras_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// A metric of one output also has a direction under its own name, as in Keras, where a callback that monitors it warns
// that there is no value of that name.
func TestMonitorAMetricOfAnOutput(t *testing.T) {
	m := twoByTwo(t)
	compile(t, m, keras.CompileConfig{Optimizer: frozenRate(), Loss: "mse", Metrics: map[string][]string{"sum": {"mae"}, "double": {"cosine_similarity"}}})
	var out bytes.Buffer
	early := &callbacks.EarlyStopping{Monitor: "mae"}
	ds := data.Arrays([]any{twoLeft, twoRight}, []any{[]float64{0, 0}, []float64{1, 1}})
	_, err := m.Fit(t.Context(), ds, keras.Callbacks(early), keras.ProgressOutput(&out))
	require.NoError(t, err)
	require.Contains(t, out.String(), "Early stopping conditioned on metric `mae` which is not available. Available metrics are: ")
	require.Equal(t, "min", m.Direction("sum_mae"))
	require.Equal(t, "min", m.Direction("val_mae"))
	require.Equal(t, "max", m.Direction("cosine_similarity"))
	require.Empty(t, m.Direction("double_mae"))
	require.Empty(t, m.Direction("accuracy"))
}
