package keras_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// policyMaps are the results of Keras's DTypePolicyMap; see testdata/policy_map.py.
type policyMaps struct {
	Lookups []struct {
		Default, Name, Compute, Variable string
		Entries                          map[string]string
		Found                            map[string]struct{ Name, Compute, Variable, Mode, Error string }
		Object                           json.RawMessage
	}
	Models []struct {
		Name, Document, Output string
		X, Y                   recordedArray
		Weights                []recordedArray
		Layers                 map[string]struct {
			Compute, Variable, Mode string
			Weights                 map[string]string
		}
	}
}

// TestPolicyMapsAreThoseOfKeras compares every look-up, and the contents of files.
func TestPolicyMapsAreThoseOfKeras(t *testing.T) {
	for _, c := range recorded.JSON[policyMaps](t, "testdata/policy_map.json.gz").Lookups {
		m, err := ops.NewDTypePolicyMap(c.Default)
		require.NoError(t, err)
		for key, policy := range c.Entries {
			require.NoError(t, m.Set(key, policy))
			require.ErrorContains(t, m.Set(key, policy), "already")
		}
		policy, err := ops.ParseDTypePolicy(m.String())
		require.NoError(t, err)
		require.Equal(t, []string{c.Name, c.Compute, c.Variable}, []string{policy.Name, policy.Compute.String(), policy.Variable.String()})
		for path, want := range c.Found {
			p, err := policy.At(ops.DTypePolicy{}, path)
			if want.Error != "" {
				require.ErrorContains(t, err, "matches several keys")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, []string{want.Name, want.Compute, want.Variable, want.Mode}, []string{p.Name, p.Compute.String(), p.Variable.String(), p.Quantization.Mode}, path)
		}
		l := &layers.Dense{Units: 1, DType: m.String()}
		o, err := layers.ToObject(l)
		require.NoError(t, err)
		text, err := json.Marshal(o["config"].(map[string]any)["dtype"])
		require.NoError(t, err)
		if len(c.Entries) > 0 {
			require.JSONEq(t, string(c.Object), string(text))
		}
	}
}

// TestModelsWithPolicyMaps opens models whose layers have maps, compares types and predictions with Keras's, and writes
// the documents again.
func TestModelsWithPolicyMaps(t *testing.T) {
	for _, c := range recorded.JSON[policyMaps](t, "testdata/policy_map.json.gz").Models {
		t.Run(c.Name, func(t *testing.T) {
			m, err := keras.ModelFromJSON([]byte(c.Document))
			require.NoError(t, err)
			types := map[string]string{}
			for _, v := range m.Weights() {
				types[v.Path()] = v.Type().DType.String()
			}
			for path, l := range c.Layers {
				for name, want := range l.Weights {
					name = strings.TrimPrefix(name, "stack/")
					require.Equal(t, want, types[name], "%s of %s: %v", name, path, types)
				}
			}
			again, err := m.ToJSON()
			require.NoError(t, err)
			require.Equal(t, dtypesOf(t, []byte(c.Document)), dtypesOf(t, again))
			if len(c.Weights) == 0 {
				return
			}
			var weights []kernels.Array
			for _, w := range c.Weights {
				d, err := ir.ParseDType(w.DType)
				require.NoError(t, err)
				a, err := kernels.FromFloat64s(d, w.Shape, w.Values)
				require.NoError(t, err)
				weights = append(weights, a)
			}
			require.NoError(t, m.SetWeights(weights))
			y, err := m.Predict(t.Context(), data.Arrays(c.X.dense(), nil))
			require.NoError(t, err)
			all := m.Layers()
			require.Equal(t, c.Output, layers.OutputTypes(all[len(all)-1])[0].DType.String())
			most := 1.0 // all sums have terms of the magnitude of the largest results
			for _, want := range c.Y.Values {
				most = max(most, math.Abs(want))
			}
			for i, want := range c.Y.Values {
				require.InDelta(t, want, y.Element(i), most/128, "element %d", i)
			}
		})
	}
}

// dtypesOf lists the policies in a document, by the name of the layer.
func dtypesOf(t *testing.T, document []byte) map[string]any {
	var model struct {
		Config struct {
			Layers []struct {
				Config map[string]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(document, &model))
	found := map[string]any{}
	for _, l := range model.Config.Layers {
		found[l.Config["name"].(string)] = withoutIDs(l.Config["dtype"])
	}
	return found
}

// withoutIDs removes the numbers by which Keras identifies shared objects.
func withoutIDs(v any) any {
	if m, ok := v.(map[string]any); ok {
		delete(m, "shared_object_id")
		for k := range m {
			m[k] = withoutIDs(m[k])
		}
	}
	return v
}

// TestQuantizeLayersWithMaps adds an entry for the layer's path, and keeps the other entries.
func TestQuantizeLayersWithMaps(t *testing.T) {
	m, err := ops.NewDTypePolicyMap("float32")
	require.NoError(t, err)
	require.NoError(t, m.Set("stack/b", "mixed_bfloat16"))
	first, second := &layers.Dense{Units: 4, Name: "a", DType: m.String()}, &layers.Dense{Units: 4, Name: "b", DType: m.String()}
	model, err := keras.NewSequential([]layers.Layer{first, second}, keras.InputShape(8), keras.Name("stack"))
	require.NoError(t, err)
	require.NoError(t, model.Quantize("int8"))
	require.JSONEq(t, `{"default_policy": "float32", "policy_map": {"stack/a": "int8_from_float32", "stack/b": "mixed_bfloat16"}}`, first.DType)
	require.JSONEq(t, `{"default_policy": "float32", "policy_map": {"stack/b": "int8_from_mixed_bfloat16"}}`, second.DType)
	document, err := model.ToJSON()
	require.NoError(t, err)
	again, err := keras.ModelFromJSON(document)
	require.NoError(t, err)
	for i, v := range model.Weights() {
		require.Equal(t, v.Type(), again.Weights()[i].Type(), v.Path())
	}
}

// TestPolicyMapErrors checks that errors say what is wrong.
func TestPolicyMapErrors(t *testing.T) {
	m, err := ops.NewDTypePolicyMap("")
	require.NoError(t, err)
	require.ErrorContains(t, m.Set("a(", "float32"), "regular expression")
	require.ErrorContains(t, m.Set("a", "nonsense"), "nonsense")
	require.ErrorContains(t, m.Set("a", m.String()), "cannot be a map")
	require.ErrorContains(t, m.Delete("a"), "no entry")
	_, err = ops.NewDTypePolicyMap(m.String())
	require.ErrorContains(t, err, "cannot be a map")
	_, err = ops.ParseDTypePolicy("{broken")
	require.ErrorContains(t, err, "broken")
	require.NoError(t, m.Set("seq.*", "float16"))
	require.NoError(t, m.Set(".*e", "bfloat16"))
	_, err = keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, Name: "dense", DType: m.String()}}, keras.InputShape(2))
	require.ErrorContains(t, err, "matches several keys")
	other, err := ops.NewDTypePolicyMap("mixed_bfloat16")
	require.NoError(t, err)
	require.NoError(t, other.Set("x", "float32"))
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, Name: "x"}, &layers.Dense{Units: 1, Name: "y"}}, keras.InputShape(2), keras.DTypePolicy(other.String()))
	require.NoError(t, err)
	require.Equal(t, ir.BFloat16, layers.OutputTypes(model.Layers()[1])[0].DType)
}
