package layers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// TestKerasAugmentation compares configurations, and the effects of layers on images, labels and masks, with real
// Keras, with given numbers instead of random ones.
func TestKerasAugmentation(t *testing.T) {
	classes := map[string]int{}
	for _, c := range vectors.Load(t, "augmentation").Cases {
		classes[c.Class]++
		t.Run(c.Name, func(t *testing.T) {
			l, err := layers.New(c.Class)
			require.NoError(t, err)
			require.NoError(t, config.Decode(c.Config, l))
			checkConfig(t, l, c.Config)
			runAugmentation(t, l, c)
		})
	}
	assert.Len(t, classes, 6)
}

// runAugmentation runs a layer on the inputs of a case and compares the outputs.
func runAugmentation(t *testing.T, l layers.Layer, c vectors.Case) {
	t.Helper()
	r := distribute.NewReplica("test", 1, 1, 1)
	var given []reference.Value
	inputs, numbers := map[string]*ops.Tensor{}, map[string]*ops.Tensor{}
	for _, a := range c.Inputs {
		dtype, err := ir.ParseDType(a.DType)
		require.NoError(t, err)
		v, err := reference.New(dtype, a.Shape, a.Data...)
		require.NoError(t, err)
		given = append(given, v)
		x := r.Graph().Input(a.Name, dtype, a.Shape...)
		if key, ok := strings.CutPrefix(a.Name, "t/"); ok {
			numbers[key] = x
		} else {
			inputs[a.Name] = x
		}
	}
	results := map[string]*ops.Tensor{}
	var err error
	func() {
		defer ops.Catch(&err)
		results["output"], _ = layers.TransformImages(l, inputs["x"], numbers)
		if inputs["labels"] != nil || inputs["masks"] != nil {
			results["labels"], results["masks"] = layers.MixOthers(l, inputs["labels"], inputs["masks"], numbers)
		}
	}()
	require.NoError(t, err)
	for _, want := range c.Outputs {
		y := results[want.Name]
		require.NotNil(t, y, want.Name)
		assert.Equal(t, want.DType, y.DType().String())
		r.Graph().Program().AddOutput(want.Name, ops.In(r.Graph(), y))
	}
	out, err := (reference.Interpreter{Round: true}).Run(r.Graph().Program(), given)
	require.NoError(t, err)
	for i, want := range c.Outputs {
		values := make([]float64, out[i].Type.Shape.Size())
		for j := range values {
			values[j] = out[i].At(j)
		}
		c.Close(t, want.Name, values, out[i].Type.Shape, want)
	}
}
