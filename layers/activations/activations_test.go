package activations_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/activations"
)

// TestKeras checks the function of each name, with Keras's default options, and its gradient.
func TestKeras(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range vectors.Load(t, "activations").Cases {
		if string(c.Config) != "{}" || c.Class == "threshold" {
			continue
		}
		seen[c.Class] = true
		t.Run(c.Name, func(t *testing.T) {
			f, err := activations.Get(c.Class)
			require.NoError(t, err)
			name, ok := activations.Name(f)
			assert.True(t, ok)
			assert.Equal(t, c.Class, name)
			if strings.HasPrefix(c.Name, "tanh/") {
				c.ATol = 1e-6 // Keras itself is not more accurate: JAX's compiled tanh on CPUs has float32 accuracy, even in float64
			}
			x := c.Input(t, "x")
			d, err := ir.ParseDType(x.DType)
			require.NoError(t, err)
			inputs := []opstest.Array{{Shape: x.Shape, DType: d, F: x.Data}}
			cotangent, hasGradient := c.Inputs.Get("cotangent")
			if hasGradient {
				inputs = append(inputs, opstest.Array{Shape: cotangent.Shape, DType: d, F: cotangent.Data})
			}
			out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				y := f(in[0])
				if !hasGradient {
					return []*ops.Tensor{y}
				}
				return append([]*ops.Tensor{y}, ops.VJP([]*ops.Tensor{y}, in[1:], in[0])...)
			}, inputs...)
			c.Close(t, "y", out[0].F, out[0].Shape, c.Output(t, "y"))
			if hasGradient {
				c.Close(t, "gradient", out[1].F, out[1].Shape, c.Gradient(t, "x"))
			}
		})
	}
	assert.Len(t, seen, 29)
	for _, name := range activations.Names() {
		assert.True(t, seen[name] || name == "test_double" || name == "steep", "no case for %s", name)
	}
}

func double(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, 2) }

func TestGet(t *testing.T) {
	for _, linear := range []any{nil, "", "linear", activations.Func(nil)} {
		f, err := activations.Get(linear)
		require.NoError(t, err)
		name, _ := activations.Name(f)
		assert.Equal(t, "linear", name)
	}
	for alias, name := range map[string]string{"swish": "silu", "hard_swish": "hard_silu"} {
		f, err := activations.Get(alias)
		require.NoError(t, err)
		got, _ := activations.Name(f)
		assert.Equal(t, name, got)
	}
	f, err := activations.Get(config.Object{ClassName: "function", Config: json.RawMessage(`"relu"`), RegisteredName: "function"})
	require.NoError(t, err)
	name, _ := activations.Name(f)
	assert.Equal(t, "relu", name)
	for _, bad := range []any{"rely", 3, config.Object{ClassName: "Thing"}} {
		_, err := activations.Get(bad)
		assert.Error(t, err, "%v", bad)
	}
	_, err = activations.Get("threshold")
	assert.ErrorContains(t, err, "two values")
}

func TestRegister(t *testing.T) {
	_, ok := activations.Name(double)
	assert.False(t, ok)
	activations.Register("test_double", double)
	f, err := activations.Get("test_double")
	require.NoError(t, err)
	name, ok := activations.Name(f)
	assert.True(t, ok)
	assert.Equal(t, "Custom>test_double", name)
	assert.Panics(t, func() { activations.Register("test_double", double) })
	assert.Panics(t, func() { activations.Register("nil", nil) })
	assert.Panics(t, func() { activations.Register("two", double, "a", "b") })
	assert.Panics(t, func() { activations.Register("two", double, "a>b") })
}

// layer has a field as layers do.
type layer struct {
	Activation any `keras:"activation,default=linear"`
}

func TestConfig(t *testing.T) {
	for _, row := range []struct {
		value any
		want  any
	}{{nil, "linear"}, {"relu", "relu"}, {activations.Func(ops.Tanh), "tanh"}} {
		c, err := config.Encode(layer{row.value})
		require.NoError(t, err)
		assert.Equal(t, row.want, c["activation"])
	}
	_, err := config.Encode(layer{func(x *ops.Tensor) *ops.Tensor { return x }})
	assert.ErrorContains(t, err, "Register")
	var l layer
	require.NoError(t, config.Decode(json.RawMessage(`{"activation":"gelu"}`), &l))
	assert.Equal(t, "gelu", l.Activation)
	assert.Error(t, config.Decode(json.RawMessage(`{"activation":"gelo"}`), &l))
}
