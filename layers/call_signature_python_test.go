package layers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers"
)

// signatures prints the parameters of the calls of all of Keras's layers.
const signatures = `
import inspect, json, keras
out = {}
for name in dir(keras.layers):
    c = getattr(keras.layers, name)
    if isinstance(c, type) and issubclass(c, keras.layers.Layer):
        p = inspect.signature(c.call).parameters.values()
        out[c.__name__] = [v.name for v in p if v.kind == v.POSITIONAL_OR_KEYWORD][1:]
print(json.dumps(out))`

// TestCallParametersOfKeras compares the parameters of calls with those of real Keras. GOKERAS_PYTHON names the Python.
func TestCallParametersOfKeras(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	text, err := exec.Command(python, "-c", signatures).Output()
	require.NoError(t, err)
	known := map[string][]string{}
	require.NoError(t, json.Unmarshal(text, &known))
	compared := 0
	for _, class := range layers.ClassNames() {
		l, err := layers.FromObject([]byte(`{"class_name": "` + class + `", "config": {}}`))
		if err != nil {
			continue
		}
		want, isKeras := known[layers.ClassName(l)]
		if !isKeras || class == "Lambda" { // whose function here accepts only tensors
			continue
		}
		compared++
		if got := layers.CallParameters(l); got != nil {
			assert.Equal(t, want, got, class)
			continue
		}
		assert.LessOrEqual(t, len(slices.DeleteFunc(slices.Clone(want), func(name string) bool { return name == "training" })), 1, "%s takes %v", class, want)
	}
	assert.Greater(t, compared, 100)
}
