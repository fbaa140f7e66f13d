package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func attention(scale float64, causal bool) opstest.Func {
	return func(_ *ops.Graph, in tensors) tensors {
		var mask *ops.Tensor
		if len(in) == 4 {
			mask = in[3]
		}
		return tensors{ops.Attention(in[0], in[1], in[2], mask, scale, causal)}
	}
}

func init() {
	n := opstest.Normal
	in := []opstest.Array{n(1, 2, 3, 2, 2), n(2, 2, 4, 2, 2), n(3, 2, 4, 2, 3)}
	masks := map[string]opstest.Array{
		"keys":     opstest.Bools([]int{2, 1, 1, 4}, 1, 1, 0, 1, 0, 1, 1, 0),
		"pairs":    opstest.Bools([]int{3, 4}, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1), // the second query sees nothing
		"no key":   opstest.Bools([]int{1, 1, 1, 1}, 0),
		"any rank": opstest.Bools(nil, 1),
	}
	addCase("attention", true, attention(0.5, false), in...)
	addCase("attention, causal", true, attention(0.5, true), in...)
	addCase("attention, no keys", true, attention(0.5, false), in[0], n(2, 2, 0, 2, 2), n(3, 2, 0, 2, 3))
	addCase("attention, no queries", true, attention(0.5, false), n(1, 2, 0, 2, 2), in[1], in[2])
	for name, mask := range masks {
		addCase("attention, mask of "+name, true, attention(0.5, false), append(in[:3:3], mask)...)
		addCase("attention, causal, mask of "+name, true, attention(0.5, true), append(in[:3:3], mask)...)
	}
}

// A query that attends to no key gives zeros and passes on no gradient, not NaN.
func TestAttentionThatSeesNothing(t *testing.T) {
	q := opstest.Normal(1, 1, 2, 1, 2)
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		y := ops.Attention(in[0], in[0], in[0], in[1], 1, false)
		return tensors{y, ops.Grad(ops.Square(y), in[0])[0]}
	}, q, opstest.Bools([]int{2, 2}, 0, 0, 0, 1))
	require.Equal(t, []float64{0, 0}, out[0].F[:2])
	require.Equal(t, q.F[2:], out[0].F[2:])
	require.Equal(t, []float64{0, 0}, out[1].F[:2])
}

func TestAttentionResult(t *testing.T) {
	// One query, scores 0 and ln 3: the weights are 1/4 and 3/4.
	out := opstest.Eval(t, attention(2, false),
		opstest.Floats([]int{1, 1, 1, 1}, math.Log(3)/2), opstest.Floats([]int{1, 2, 1, 1}, 0, 1), opstest.Floats([]int{1, 2, 1, 1}, 4, 8))
	require.InDelta(t, 7, out[0].F[0], 1e-14)
	err := opstest.EvalError(attention(1, false), opstest.Normal(1, 1, 2, 1, 2), opstest.Normal(1, 1, 2, 1, 3), opstest.Normal(1, 1, 2, 1, 2))
	require.ErrorContains(t, err, "q, k, v must be floats (B, T, H, D)")
	err = opstest.EvalError(attention(1, false), opstest.Normal(1, 1, 2, 1, 2), opstest.Normal(1, 1, 2, 1, 2), opstest.Normal(1, 1, 2, 1, 2), opstest.Ints([]int{3}, 1, 1, 1).As(ir.Int8))
	require.ErrorContains(t, err, "mask must be bool and broadcast to [1 1 2 2]")
}
