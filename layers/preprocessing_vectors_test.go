package layers_test

import (
	"encoding/json"
	"fmt"
	"strings"
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

// preprocessingCase is what the cases record besides arrays.
type preprocessingCase struct {
	Mode     string
	Training bool
	Adapted  json.RawMessage
}

// adapter is implemented by the layers that learn from numbers before training.
type adapter interface {
	Adapt(batches ...kernels.Array) error
}

// TestKerasPreprocessing compares results of layers on numbers and images with those of real Keras; random layers use
// given numbers.
func TestKerasPreprocessing(t *testing.T) {
	for _, c := range vectors.Load(t, "preprocessing").Cases {
		t.Run(c.Name, func(t *testing.T) {
			var info preprocessingCase
			c.DecodeExtra(t, &info)
			l, err := layers.New(c.Class)
			require.NoError(t, err)
			require.NoError(t, config.Decode(c.Config, l))
			checkConfig(t, l, c.Config)
			if info.Adapted != nil {
				adaptTo(t, l, c)
				checkConfig(t, l, info.Adapted)
				if c.Class == "Normalization" {
					return // its results after adapting are in layers_core
				}
			}
			y, values := runPreprocessing(t, l, c, info)
			want := c.Output(t, "output")
			assert.Equal(t, want.DType, y.DType().String())
			c.Close(t, "output", values, y.Shape(), want)
		})
	}
}

// adaptTo adapts a layer to the batches of a case.
func adaptTo(t *testing.T, l layers.Layer, c vectors.Case) {
	t.Helper()
	var batches []kernels.Array
	for _, a := range c.Inputs {
		if strings.HasPrefix(a.Name, "adapt_") {
			dtype, err := ir.ParseDType(a.DType)
			require.NoError(t, err)
			b, err := kernels.FromFloat64s(dtype, a.Shape, a.Data)
			require.NoError(t, err)
			batches = append(batches, b)
		}
	}
	require.NoError(t, l.(adapter).Adapt(batches...))
}

// checkConfig compares the configuration of a layer with Keras's.
func checkConfig(t *testing.T, l layers.Layer, config json.RawMessage) {
	t.Helper()
	o, err := layers.ToObject(l)
	require.NoError(t, err)
	text, err := json.Marshal(o["config"])
	require.NoError(t, err)
	var got, want any
	require.NoError(t, json.Unmarshal(text, &got))
	require.NoError(t, json.Unmarshal(config, &want))
	assert.Equal(t, withoutNulls(want), withoutNulls(got))
}

// runPreprocessing runs a layer on the inputs of a case.
func runPreprocessing(t *testing.T, l layers.Layer, c vectors.Case, info preprocessingCase) (y *ops.Tensor, values []float64) {
	t.Helper()
	r := distribute.NewReplica("test", 1, 1, 1)
	var in []*ops.Tensor
	var given []reference.Value
	numbers := map[string]*ops.Tensor{}
	for _, a := range c.Inputs {
		if strings.HasPrefix(a.Name, "adapt_") {
			continue
		}
		dtype, err := ir.ParseDType(a.DType)
		require.NoError(t, err)
		v, err := reference.New(dtype, a.Shape, a.Data...)
		require.NoError(t, err)
		given = append(given, v)
		x := r.Graph().Input(a.Name, dtype, a.Shape...)
		if key, ok := strings.CutPrefix(a.Name, "t/"); ok {
			numbers[key] = x
		} else {
			in = append(in, x)
		}
	}
	var err error
	func() {
		defer ops.Catch(&err)
		context := r.Inference()
		context.Training = info.Training
		context.Policy = policyFor(t, c.DType)
		if info.Mode == "call" {
			y = layers.InvokeAll(l, context, in...)[0]
			return
		}
		var ok bool
		y, ok = layers.TransformImages(l, in[0], numbers)
		require.True(t, ok, "%s takes no numbers", c.Class)
	}()
	require.NoError(t, err)
	r.Graph().Program().AddOutput("y", ops.In(r.Graph(), y))
	for _, input := range r.Graph().Program().Inputs[len(given):] { // the random state, if it is drawn but not used
		state := r.Graph().Program().Type(input.Value)
		v, err := reference.New(state.DType, state.Shape, make([]float64, state.Shape.Size())...)
		require.NoError(t, err)
		given = append(given, v)
	}
	out, err := (reference.Interpreter{Round: true}).Run(r.Graph().Program(), given)
	require.NoError(t, err)
	values = make([]float64, y.Shape().Size())
	for i := range values {
		values[i] = out[0].At(i)
	}
	return y, values
}

func policyFor(t *testing.T, dtype string) ops.DTypePolicy {
	t.Helper()
	p, err := ops.ParseDTypePolicy(dtype)
	require.NoError(t, err, fmt.Sprint(dtype))
	return p
}
