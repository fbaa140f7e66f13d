package applications_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
)

type configCase struct {
	Constructor string          `json:"constructor"`
	Arguments   json.RawMessage `json:"arguments"`
	Parameters  int             `json:"parameters"`
	Config      any             `json:"config"`
}

// TestConfigs compares the whole to_json of every constructor, with its defaults and in variations, with that of real
// Keras: layers, names, order, configuration, connections; and the number of parameters. Networks with layers of their
// own are also read from Keras's document.
func TestConfigs(t *testing.T) {
	seen := map[string]bool{}
	for line := range bytes.Lines(unpack(t, "configs.json.bz2")) {
		var c configCase
		require.NoError(t, json.Unmarshal(line, &c))
		seen[c.Constructor] = true
		t.Run(c.Constructor+string(c.Arguments), func(t *testing.T) {
			var a arguments
			require.NoError(t, json.Unmarshal(c.Arguments, &a))
			m, err, known := construct(c.Constructor, a, a.options())
			require.True(t, known, "there is no constructor %s", c.Constructor)
			require.NoError(t, err)
			assert.Equal(t, c.Parameters, m.CountParams())
			text, err := m.ToJSON()
			require.NoError(t, err)
			var ours any
			require.NoError(t, json.Unmarshal(text, &ours))
			var found []string
			differences("", c.Config, ours, &found)
			if len(found) > 0 {
				t.Errorf("%d differences from Keras, the first ones:\n%s", len(found), strings.Join(found[:min(len(found), 12)], "\n"))
			}
			if string(c.Arguments) != "{}" || !slices.Contains([]string{"ConvNeXtTiny", "InceptionResNetV2", "MobileNetV3Small"}, c.Constructor) {
				return
			}
			text, err = json.Marshal(c.Config)
			require.NoError(t, err)
			m, err = keras.ModelFromJSON(text)
			require.NoError(t, err)
			assert.Equal(t, c.Parameters, m.CountParams())
		})
	}
	require.Len(t, seen, 40, "constructors of keras.applications")
}

// differences lists where two documents differ, by path.
func differences(path string, want, got any, found *[]string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		if strings.HasSuffix(path, "/kwargs") {
			dropDefaults(w)
		}
		keys := map[string]bool{}
		for k := range w {
			keys[k] = true
		}
		for k := range g {
			keys[k] = true
		}
		sorted := make([]string, 0, len(keys))
		for k := range keys {
			sorted = append(sorted, k)
		}
		sort.Strings(sorted)
		for _, k := range sorted {
			wk, inWant := w[k]
			gk, inGot := g[k]
			if inWant != inGot {
				*found = append(*found, fmt.Sprintf("%s/%s: Keras has it: %v, here: %v", path, k, inWant, inGot))
				continue
			}
			differences(path+"/"+k, wk, gk, found)
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			differences(fmt.Sprintf("%s/%d", path, i), w[i], g[i], found)
		}
		return
	}
	if want == "__tensor__" && got == "__numpy__" { // a constant, of the backend or not: both are read
		return
	}
	if !reflect.DeepEqual(want, got) {
		*found = append(*found, fmt.Sprintf("%s: Keras has %.200v, here %.200v", path, want, got))
	}
}

// dropDefaults removes the arguments of a call that Keras writes although they have their defaults.
func dropDefaults(kwargs map[string]any) {
	if v, has := kwargs["mask"]; has && v == nil {
		delete(kwargs, "mask")
	}
	if v, has := kwargs["training"]; has && (v == nil || v == false) {
		delete(kwargs, "training")
	}
}
