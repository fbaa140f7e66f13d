package keras_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/recorded"
)

// nullObject is a configuration that Keras wrote, and Keras's result for null under each of its keys.
type nullObject struct {
	Kind      string
	ClassName string `json:"class_name"`
	Config    map[string]any
	Nulls     map[string]string
}

func (o *nullObject) read(t *testing.T, key string, value any) error {
	t.Helper()
	keys := maps.Clone(o.Config)
	if key != "" {
		keys[key] = value
	}
	text, err := json.Marshal(keys)
	require.NoError(t, err)
	_, err = config.Resolve(o.Kind, config.Object{ClassName: o.ClassName, Config: text})
	return err
}

// meaningless are keys without a meaning here, or for which null makes Keras miss another key in this configuration.
var meaningless = map[string]bool{"Discretization.bin_boundaries": true, "IntegerLookup.vocabulary_dtype": true, "StringLookup.oov_method": true}

// Null is read where Keras accepts it, and is an error where Keras refuses it: Dropout with "rate": null is not Dropout
// with a rate of 0.
func TestNullInConfigs(t *testing.T) {
	all := recorded.JSON[struct{ Objects []nullObject }](t, "testdata/null_configs.json.gz")
	counts, refused := map[string]int{}, []string(nil)
	for _, o := range all.Objects {
		if err := o.read(t, "", nil); err != nil {
			t.Errorf("%s %s: %v", o.Kind, o.ClassName, err)
			continue
		}
		for key, outcome := range o.Nulls {
			err := o.read(t, key, nil)
			counts[outcome]++
			switch outcome {
			case "error":
				if meaningless[o.ClassName+"."+key] {
					continue
				}
				assert.Error(t, err, "%s %s: %s", o.Kind, o.ClassName, key)
			case "default":
				assert.NoError(t, err, "%s %s: %s", o.Kind, o.ClassName, key)
			case "kept":
				if err != nil {
					refused = append(refused, fmt.Sprintf("%s %s %s", o.Kind, o.ClassName, key))
				}
			}
		}
	}
	t.Log(len(all.Objects), "objects:", counts)
	// Only nulls are refused that Keras keeps until it fails, or with which it computes something else than would be
	// computed here.
	list, err := os.ReadFile("testdata/null_refused.txt")
	require.NoError(t, err)
	slices.Sort(refused)
	require.Equal(t, strings.Split(strings.TrimSpace(string(list)), "\n"), refused)
}

// An empty list would be taken for a missing one, where it does not mean that.
func TestEmptyListsInConfigs(t *testing.T) {
	for _, c := range []struct{ class, text, key, want string }{
		{"MaxPooling2D", `{%q:[]}`, "pool_size", "expected a list with elements, received an empty one"},
		{"Cropping2D", `{%q:[]}`, "cropping", "expected a list with elements, received an empty one"},
		{"MultiHeadAttention", `{"num_heads":1,"key_dim":2,%q:[]}`, "attention_axes", ""},
	} {
		_, err := config.Resolve("layer", config.Object{ClassName: c.class, Config: json.RawMessage(fmt.Sprintf(c.text, c.key))})
		if c.want == "" {
			require.NoError(t, err, c.class)
		} else {
			require.ErrorContains(t, err, c.want, c.class)
		}
	}
}

// Normalizations whose epsilon is None use keras.config.epsilon.
func TestEpsilonOfNone(t *testing.T) {
	for _, class := range []string{"LayerNormalization", "RMSNormalization"} {
		l, err := config.Resolve("layer", config.Object{ClassName: class, Config: json.RawMessage(`{"epsilon":null}`)})
		require.NoError(t, err, class)
		keys, err := config.Encode(l)
		require.NoError(t, err, class)
		require.Equal(t, 1e-7, keys["epsilon"], class)
	}
}
