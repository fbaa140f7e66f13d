package regularizers_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/regularizers"
)

func array(t *testing.T, a vectors.Array) opstest.Array {
	d, err := ir.ParseDType(a.DType)
	require.NoError(t, err)
	return opstest.Array{Shape: a.Shape, DType: d, F: a.Data}
}

func penalty(r regularizers.Regularizer) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{r.Penalty(in[0])} }
}

func TestKeras(t *testing.T) {
	for _, c := range vectors.Load(t, "regularizers").Cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := regularizers.Get(config.Object{ClassName: c.Class, Config: c.Config})
			require.NoError(t, err)
			x := array(t, c.Input(t, "x"))
			out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				y := r.Penalty(in[0])
				return append([]*ops.Tensor{y}, gradOrZero(y, in[0]))
			}, x)
			assert.Equal(t, x.DType, out[0].DType)
			c.Close(t, "value", out[0].F, out[0].Shape, c.Output(t, "value"))
			c.Close(t, "gradient", out[1].F, out[1].Shape, c.Gradient(t, "x"))

			back, err := config.Encode(r)
			require.NoError(t, err)
			text, err := json.Marshal(back)
			require.NoError(t, err)
			assert.JSONEq(t, string(c.Config), string(text))
		})
	}
}

func gradOrZero(y, x *ops.Tensor) *ops.Tensor {
	if g := ops.Grad(y, x)[0]; g != nil {
		return g
	}
	return ops.ZerosLike(x)
}

func TestGradients(t *testing.T) {
	for _, r := range []regularizers.Regularizer{
		regularizers.L1{}, regularizers.L2{L2: new(0.7)}, regularizers.L1L2{L1: 0.3, L2: 0.2},
		regularizers.OrthogonalRegularizer{}, regularizers.OrthogonalRegularizer{Factor: new(1.0), Mode: regularizers.Columns},
	} {
		opstest.CheckGradients(t, penalty(r), opstest.Normal(3, 4, 3))
	}
}

func TestGet(t *testing.T) {
	r, err := regularizers.Get(nil)
	assert.NoError(t, err)
	assert.Nil(t, r)
	for _, name := range append(regularizers.Names(), "l1", "l2", "l1l2", "orthogonal_regularizer") {
		_, err := regularizers.Get(name)
		assert.NoError(t, err, name)
	}
	r, err = regularizers.Get(func(w *ops.Tensor) *ops.Tensor { return ops.Sum(w) })
	require.NoError(t, err)
	assert.Equal(t, []float64{5}, opstest.Eval(t, penalty(r), opstest.Floats([]int{2}, 2, 3))[0].F)
	for _, bad := range []any{"l3", 1.5, (*regularizers.L1)(nil), config.Object{ClassName: "L1", Config: json.RawMessage(`{"l":1}`)}} {
		_, err := regularizers.Get(bad)
		assert.Error(t, err, "%v", bad)
	}
	// Keras rejects this spelling too.
	_, err = regularizers.Get("l1_l2")
	assert.ErrorContains(t, err, "L1L2")
}

func TestErrors(t *testing.T) {
	for what, r := range map[string]regularizers.Regularizer{
		"received -1":    regularizers.L1{L1: new(-1.0)},
		"received NaN":   regularizers.L2{L2: new(math.NaN())},
		"received +Inf":  regularizers.L1L2{L2: math.Inf(1)},
		"unknown Mode":   regularizers.OrthogonalRegularizer{Mode: "diagonals"},
		"needs a matrix": regularizers.OrthogonalRegularizer{},
	} {
		shape := []int{2, 2}
		if what == "needs a matrix" {
			shape = []int{4}
		}
		assert.ErrorContains(t, opstest.EvalError(penalty(r), opstest.Floats(shape, 1, 2, 3, 4)), what)
	}
}

// Factors of 0 and 1 are not special cases: L1·Σ|w| + L2·Σw².
func TestL1L2OfWholeFactors(t *testing.T) {
	w := opstest.Floats([]int{3}, 1, -2, 0.5)
	for _, c := range [][3]float64{{0, 0, 0}, {1, 0, 3.5}, {0, 1, 5.25}, {1, 1, 8.75}, {2, 0, 7}, {0, 2, 10.5}} {
		got := opstest.Eval(t, penalty(regularizers.L1L2{L1: c[0], L2: c[1]}), w)
		require.Equal(t, c[2], got[0].F[0], "%v", c)
	}
}
