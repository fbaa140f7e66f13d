package constraints_test

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
	"github.com/gokeras/gokeras/layers/constraints"
)

func apply(c constraints.Constraint) opstest.Func {
	return func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{c.Apply(in[0])} }
}

func TestKeras(t *testing.T) {
	for _, c := range vectors.Load(t, "constraints").Cases {
		t.Run(c.Name, func(t *testing.T) {
			constraint, err := constraints.Get(config.Object{ClassName: c.Class, Config: c.Config})
			require.NoError(t, err)
			x := c.Input(t, "x")
			d, err := ir.ParseDType(x.DType)
			require.NoError(t, err)
			out := opstest.Eval(t, apply(constraint), opstest.Array{Shape: x.Shape, DType: d, F: x.Data})
			assert.Equal(t, d, out[0].DType)
			c.Close(t, "y", out[0].F, out[0].Shape, c.Output(t, "y"))

			back, err := config.Encode(constraint)
			require.NoError(t, err)
			text, err := json.Marshal(back)
			require.NoError(t, err)
			assert.JSONEq(t, string(c.Config), string(text))
		})
	}
}

// Zero values are Keras's defaults: MaxNorm(2, axis=0), MinMaxNorm(0, 1, rate=1, axis=0) and UnitNorm(axis=0). The
// columns are 5 and 0.5 long.
func TestZeroValues(t *testing.T) {
	for name, c := range map[string]struct {
		zero    constraints.Constraint
		lengths [2]float64
	}{
		"MaxNorm":    {constraints.MaxNorm{}, [2]float64{2, 0.5}},
		"MinMaxNorm": {constraints.MinMaxNorm{}, [2]float64{1, 0.5}},
		"UnitNorm":   {constraints.UnitNorm{}, [2]float64{1, 1}},
	} {
		y := opstest.Eval(t, apply(c.zero), opstest.Floats([]int{2, 2}, 3, 0.3, -4, 0.4))[0].F
		assert.InDelta(t, c.lengths[0], math.Hypot(y[0], y[2]), 1e-5, name)
		assert.InDelta(t, c.lengths[1], math.Hypot(y[1], y[3]), 1e-5, name)
	}
}

// A list without axes means along no axis, also for a scalar: Keras's sum over no axis is each number by itself.
func TestNoAxes(t *testing.T) {
	none := []int{}
	x := opstest.Floats([]int{2, 2}, 3, 0.3, -4, 0.4)
	for _, c := range []struct {
		of   constraints.Constraint
		want []float64
	}{
		{constraints.MaxNorm{Axis: none}, []float64{2, 0.3, -2, 0.4}},
		{constraints.MinMaxNorm{Axis: none, MinValue: 0.35}, []float64{1, 0.35, -1, 0.4}},
		{constraints.UnitNorm{Axis: none}, []float64{1, 1, -1, 1}},
	} {
		assert.InDeltaSlice(t, c.want, opstest.Eval(t, apply(c.of), x)[0].F, 1e-5)
	}
	assert.InDelta(t, -2, opstest.Eval(t, apply(constraints.MaxNorm{Axis: none}), opstest.Scalar(-5))[0].F[0], 1e-5)
}

func TestGet(t *testing.T) {
	c, err := constraints.Get(nil)
	assert.NoError(t, err)
	assert.Nil(t, c)
	for _, name := range append(constraints.Names(), "max_norm", "min_max_norm", "non_neg", "unit_norm") {
		_, err := constraints.Get(name)
		assert.NoError(t, err, name)
	}
	c, err = constraints.Get(func(w *ops.Tensor) *ops.Tensor { return ops.Negative(w) })
	require.NoError(t, err)
	assert.Equal(t, []float64{-5}, opstest.Eval(t, apply(c), opstest.Floats([]int{1}, 5))[0].F)
	for _, bad := range []any{"norm", 1.5, (*constraints.NonNeg)(nil), config.Object{ClassName: "NonNeg", Config: json.RawMessage(`{"l":1}`)}} {
		_, err := constraints.Get(bad)
		assert.Error(t, err, "%v", bad)
	}
}

func TestErrors(t *testing.T) {
	x := opstest.Floats([]int{2}, 1, 2)
	assert.ErrorContains(t, opstest.EvalError(apply(constraints.UnitNorm{Axis: []int{1}}), x), "axis 1 is outside")
	assert.ErrorContains(t, opstest.EvalError(apply(constraints.MaxNorm{}), opstest.Scalar(1)), "scalar")
	assert.ErrorContains(t, opstest.EvalError(apply(constraints.MaxNorm{}), opstest.Ints([]int{1}, 1)), "float")
}

// Without an axis, a weight of any rank is one vector, also in files: ((3, 0.3), (-4, 0.4)) has the length √25.25.
func TestWholeWeights(t *testing.T) {
	x := opstest.Floats([]int{2, 2}, 3, 0.3, -4, 0.4)
	for class, length := range map[string]float64{"MaxNorm": 2, "MinMaxNorm": 1, "UnitNorm": 1} {
		c, err := constraints.Get(config.Object{ClassName: class, Config: json.RawMessage(`{"axis":null}`)})
		require.NoError(t, err, class)
		f := length / math.Sqrt(25.25)
		assert.InDeltaSlice(t, []float64{3 * f, 0.3 * f, -4 * f, 0.4 * f}, opstest.Eval(t, apply(c), x)[0].F, 1e-6, class)
		assert.InDelta(t, -length, opstest.Eval(t, apply(c), opstest.Scalar(-5))[0].F[0], 1e-5, class)
		back, err := config.Encode(c)
		require.NoError(t, err, class)
		axis, written := back["axis"]
		assert.True(t, written && axis == nil, class)
	}
}
