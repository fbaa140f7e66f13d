package layers_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// lookupArray is an array of strings or integers in a case.
type lookupArray struct {
	Shape   []int
	Strings []string
	Ints    []int64
}

func (a lookupArray) host() layers.HostArray {
	return layers.HostArray{Shape: a.Shape, Strings: a.Strings, Ints: a.Ints}
}

// lookupCase is what the cases record besides the result.
type lookupCase struct {
	Inputs, Adapt []lookupArray
	Vocabulary    []string
	IDF           []float64
	GetVocabulary []any             `json:"get_vocabulary"`
	ConfigAfter   json.RawMessage   `json:"config_after"`
	OutputStrings []string          `json:"output_strings"`
	Assets        map[string]string `json:"assets"`
}

// wordLayer is implemented by the layers with a vocabulary of words.
type wordLayer interface {
	layers.HostLayer
	layers.AssetKeeper
	Adapt(batches ...layers.HostArray) error
	SetVocabulary(words []string, idfWeights ...float64) error
	GetVocabulary(special bool) []string
}

// TestKerasLookups compares lookups, vectorizers and hashes with real Keras: results, learned vocabularies,
// configurations, and the files with vocabularies, also after reading them.
func TestKerasLookups(t *testing.T) {
	for _, c := range vectors.Load(t, "lookup").Cases {
		t.Run(c.Name, func(t *testing.T) {
			var info lookupCase
			c.DecodeExtra(t, &info)
			l := lookupLayer(t, c.Class, c.Config)
			if w, ok := l.(wordLayer); ok {
				prepareWords(t, w, info)
			} else if n, ok := l.(*layers.IntegerLookup); ok && info.Adapt != nil {
				var batches []kernels.Array
				for _, a := range info.Adapt {
					batches = append(batches, int64s(a))
				}
				require.NoError(t, n.Adapt(batches...))
			}
			checkLookup(t, l, c, info)
			// Keras's files lose empty words at the end. Ours store such vocabularies in the configuration.
			lost := info.Assets != nil && len(info.GetVocabulary) > 0 && info.GetVocabulary[len(info.GetVocabulary)-1] == ""
			if lost {
				info.Assets = nil
				info.ConfigAfter = withKey(t, info.ConfigAfter, "vocabulary", info.GetVocabulary)
			}
			checkConfig(t, l, info.ConfigAfter)
			holder, ok := l.(layers.AssetKeeper)
			if !ok {
				return
			}
			assets, err := holder.Assets()
			require.NoError(t, err)
			for file, content := range info.Assets {
				require.Equal(t, content, string(assets[file]))
			}
			if again := lookupLayer(t, c.Class, info.ConfigAfter); lost {
				checkLookup(t, again, c, info)
			} else if info.Assets != nil {
				files := map[string][]byte{}
				for file, content := range info.Assets {
					files[file] = []byte(content)
				}
				require.NoError(t, again.(layers.ArrayKeeper).LoadArrays(l.(layers.ArrayKeeper).Arrays()))
				require.NoError(t, again.(layers.AssetKeeper).LoadAssets(files))
				checkLookup(t, again, c, info)
			}
		})
	}
}

// withKey adds a key to a configuration.
func withKey(t *testing.T, configuration json.RawMessage, key string, value any) json.RawMessage {
	t.Helper()
	var keys map[string]any
	require.NoError(t, json.Unmarshal(configuration, &keys))
	keys[key] = value
	text, err := json.Marshal(keys)
	require.NoError(t, err)
	return text
}

func lookupLayer(t *testing.T, class string, settings json.RawMessage) layers.Layer {
	t.Helper()
	l, err := layers.New(class)
	require.NoError(t, err)
	require.NoError(t, config.Decode(settings, l))
	checkConfig(t, l, settings)
	return l
}

func prepareWords(t *testing.T, l wordLayer, info lookupCase) {
	t.Helper()
	if info.Adapt != nil {
		var batches []layers.HostArray
		for _, a := range info.Adapt {
			batches = append(batches, a.host())
		}
		require.NoError(t, l.Adapt(batches...))
	}
	if info.Vocabulary != nil {
		require.NoError(t, l.SetVocabulary(info.Vocabulary, info.IDF...))
	}
	var want []string
	for _, w := range info.GetVocabulary {
		want = append(want, w.(string))
	}
	assert.Equal(t, want, l.GetVocabulary(true))
}

// checkLookup compares the result of a layer.
func checkLookup(t *testing.T, l layers.Layer, c vectors.Case, info lookupCase) {
	t.Helper()
	host, ok := layers.AsHostLayer(l)
	if !ok {
		shape, values := runLookup(t, l, info.Inputs[0])
		c.Close(t, "output", values, shape, c.Output(t, "output"))
		return
	}
	var in []layers.HostArray
	var types []ir.Type
	for _, a := range info.Inputs {
		in = append(in, a.host())
		shape := slices.Clone(a.Shape)
		shape[0] = layers.Unknown
		types = append(types, ir.Type{DType: map[bool]ir.DType{true: ir.Int64}[a.Strings == nil], Shape: shape})
	}
	y, err := host.Transform(in...)
	require.NoError(t, err)
	declared, err := host.HostType(types...)
	require.NoError(t, err)
	require.Len(t, declared.Shape, len(y.Shape))
	for i, n := range declared.Shape {
		assert.True(t, n == layers.Unknown || n == y.Shape[i], "declared %v, is %v", declared.Shape, y.Shape)
	}
	if info.OutputStrings != nil {
		assert.Equal(t, info.OutputStrings, y.Strings)
		return
	}
	values := slices.Clone(y.Floats)
	for _, n := range y.Ints {
		values = append(values, float64(n))
	}
	assert.Equal(t, map[bool]ir.DType{true: ir.Int64, false: ir.Float32}[y.Ints != nil], declared.DType)
	c.Close(t, "output", values, y.Shape, c.Output(t, "output"))
}

func int64s(a lookupArray) kernels.Array {
	out := kernels.Array{Type: ir.Type{DType: ir.Int64, Shape: a.Shape}}
	for _, v := range a.Ints {
		for i := range 8 {
			out.Data = append(out.Data, byte(v>>(8*i)))
		}
	}
	return out
}

// runLookup runs a layer on integers of up to 64 bits.
func runLookup(t *testing.T, l layers.Layer, x lookupArray) (shape []int, values []float64) {
	t.Helper()
	r := distribute.NewReplica("test", 1, 1, 1)
	in := r.Graph().Input("x", ir.Int64, x.Shape...)
	var y *ops.Tensor
	var err error
	func() {
		defer ops.Catch(&err)
		y = layers.InvokeAll(l, r.Inference(), in)[0]
	}()
	require.NoError(t, err)
	r.Graph().Program().AddOutput("y", ops.In(r.Graph(), y))
	v, err := reference.New(ir.Int64, x.Shape, make([]float64, len(x.Ints))...)
	require.NoError(t, err)
	copy(v.I, x.Ints)
	out, err := (reference.Interpreter{Round: true}).Run(r.Graph().Program(), []reference.Value{v})
	require.NoError(t, err)
	for i := range y.Shape().Size() {
		values = append(values, out[0].At(i))
	}
	return y.Shape(), values
}
