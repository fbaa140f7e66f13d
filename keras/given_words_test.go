package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers/activations"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/quantizers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// getters are the functions that make a value from what a user gives, each with a file object that it accepts.
var getters = []struct {
	name string
	get  func(v any) (any, error)
	good map[string]any
}{
	{"losses", func(v any) (any, error) { return losses.Get(v) }, map[string]any{"class_name": "Huber", "config": map[string]any{"delta": 2}}},
	{"metrics", func(v any) (any, error) { return metrics.Get(v) }, map[string]any{"class_name": "AUC", "config": map[string]any{"num_thresholds": 7}}},
	{"optimizers", func(v any) (any, error) { return optimizers.Get(v) }, map[string]any{"class_name": "SGD", "config": map[string]any{"learning_rate": 0.5}}},
	{"initializers", func(v any) (any, error) { return initializers.Get(v) }, map[string]any{"class_name": "Constant", "config": map[string]any{"value": 2}}},
	{"regularizers", func(v any) (any, error) { return regularizers.Get(v) }, map[string]any{"class_name": "L2", "config": map[string]any{"l2": 0.5}}},
	{"constraints", func(v any) (any, error) { return constraints.Get(v) }, map[string]any{"class_name": "MaxNorm", "config": map[string]any{"max_value": 3, "axis": 0}}},
	{"activations", func(v any) (any, error) { return activations.Get(v) }, map[string]any{"class_name": "function", "config": "relu"}},
	{"quantizers", func(v any) (any, error) { return quantizers.Get(v) }, map[string]any{"class_name": "AbsMaxQuantizer", "config": map[string]any{"axis": 0}}},
}

// TestGettersSpeakOfWhatIsGiven: maps as in Keras's files are accepted, and errors about others describe the given
// value in the user's words, not by Go types.
func TestGettersSpeakOfWhatIsGiven(t *testing.T) {
	for _, g := range getters {
		got, err := g.get(g.good)
		require.NoError(t, err, g.name)
		require.NotNil(t, got, g.name)
		for _, wrong := range []struct {
			given any
			want  string
		}{
			{map[string]any{}, "received an object without a class_name; expected"},
			{map[string]any{"name": "x"}, "received an object without a class_name; expected"},
			{map[string]any{"class_name": 3}, "received an object that is none of a file; expected"},
			{map[string]any{"class_name": "Nothing"}, `"Nothing"`},
			{map[string]any{"class_name": g.good["class_name"], "config": map[string]any{"nothing": 1}}, ""},
			{[]any{"mse"}, "received a list; expected"},
			{3, "received the number 3; expected"},
			{int64(-2), "received the number -2; expected"},
			{float32(1.5), "received the number 1.5; expected"},
			{true, "received the value true; expected"},
			{[]string{"mse"}, "received a []string; expected"},
			{struct{}{}, "received a struct {}; expected"},
		} {
			_, err := g.get(wrong.given)
			require.ErrorContains(t, err, wrong.want, "%s of %v", g.name, wrong.given)
			for _, word := range []string{"interface {}", "map[", "config.Object", "json"} {
				require.NotContains(t, err.Error(), word, "%s of %v", g.name, wrong.given)
			}
		}
	}
}
