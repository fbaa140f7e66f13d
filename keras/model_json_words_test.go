package keras_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
)

// TestJSONErrorsSpeakOfTheFile: errors about documents name keys and what was expected there, not Go types.
func TestJSONErrorsSpeakOfTheFile(t *testing.T) {
	layer := func(text string) string {
		return `{"class_name":"Sequential","config":{"name":"s","layers":[` + text + `]}}`
	}
	compiled := func(text string) string {
		return strings.TrimSuffix(layer(`{"class_name":"Dense","config":{"units":2}}`), "}") + `,"compile_config":` + text + `}`
	}
	for document, want := range map[string]string{
		`[]`:               `expected an object, received a list`,
		`{"class_name":1}`: `key "class_name": expected a string, received a number`,
		`{"class_name":"Sequential","config":"x"}`:          `Sequential: expected an object, received a string`,
		`{"class_name":"Sequential","config":{"layers":3}}`: `Sequential: key "layers": expected a list, received a number`,
		layer(`7`): `expected an object, received a number`,
		layer(`{"class_name":"Dense","config":{"units":2,"kernel_initializer":{"a":1}}}`): `key "kernel_initializer": initializers: received an object without a class_name`,
		layer(`{"class_name":"Dense","config":{"units":2,"activation":[1]}}`):             `received a list; expected a name`,
		layer(`{"class_name":"Dense","config":{"units":2,"bias_constraint":1}}`):          `received the number 1; expected a name`,
		layer(`{"class_name":"Bidirectional","config":{"layer":{"units":2}}}`):            `received an object without a class_name; expected a layer`,
		layer(`{"class_name":"InputLayer","config":{"batch_shape":"x"}}`):                 `InputLayer: key "batch_shape": expected a list, received a string`,
		compiled(`[1]`):                         `compile_config: expected an object, received a list`,
		compiled(`{"steps_per_execution":"x"}`): `compile_config: key "steps_per_execution": expected a whole number, received a string`,
		`{"class_name":"ownCoder","config":{"trainable":2},"registered_name":"tests>ownCoder"}`:               `key "trainable": expected true or false, received a number`,
		`{"class_name":"ownCoder","config":{"units":1},"registered_name":"tests>ownCoder","build_config":[]}`: `build_config: expected an object, received a list`,
	} {
		_, err := keras.ModelFromJSON([]byte(document))
		require.ErrorContains(t, err, want, document)
		for _, word := range goWords {
			require.NotContains(t, err.Error(), word, document)
		}
	}
}
