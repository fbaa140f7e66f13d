package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	n := opstest.Normal
	addCase("fori loop", true, func(_ *ops.Graph, in tensors) tensors {
		return ops.ForiLoop(2, 5, func(i *ops.Tensor, state tensors) tensors {
			return tensors{ops.Sin(ops.Add(ops.Multiply(state[0], in[1]), ops.Cast(i, ir.Float64)))}
		}, in[0])
	}, n(1, 3), n(2, 3))
	addCase("map", true, func(_ *ops.Graph, in tensors) tensors {
		return ops.Map(func(xs tensors) tensors { return tensors{ops.Matmul(xs[0], in[1]), ops.Exp(xs[0])} }, in[0])
	}, n(1, 3, 2), n(2, 2))
	for _, reverse := range []bool{false, true} {
		addCase(caseName("associative scan")+caseName(reverse), true, unary(func(x *ops.Tensor) *ops.Tensor {
			return ops.AssociativeScan(ops.Multiply, x, 1, reverse)
		}), n(1, 2, 5, 2))
	}
}

func TestLoops(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		add := func(i *ops.Tensor, state tensors) tensors { return tensors{ops.Add(state[0], ops.Cast(i, ir.Float64))} }
		return append(append(ops.ForiLoop(-1, 3, add, in[0]), ops.ForiLoop(3, 1, add, in[0])...),
			ops.AssociativeScan(ops.Add, in[1], 0, false), ops.AssociativeScan(ops.Add, in[1], 0, true), ops.AssociativeScan(ops.Add, in[2], 0, true))
	}, opstest.Scalar(10), opstest.Floats([]int{5}, 1, 2, 3, 4, 5), opstest.Floats([]int{0}))
	for i, want := range [][]float64{{12}, {10}, {1, 3, 6, 10, 15}, {15, 14, 12, 9, 5}, {}} {
		require.Equal(t, want, out[i].F)
	}
}

// Products of matrices, which depend on their order, equal those of a loop, for even and odd numbers of slices along
// any axis.
func TestAssociativeScanOrder(t *testing.T) {
	for n := 1; n < 24; n++ {
		for axis := range 2 {
			shape := []int{n, 2, 2}
			if axis == 1 {
				shape = []int{1, n, 2, 2}
			}
			x := opstest.Normal(n, shape...)
			out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
				return tensors{ops.AssociativeScan(ops.Matmul, in[0], axis, false)}
			}, x)
			m := [4]float64{1, 0, 0, 1}
			for i := range n {
				v := x.F[4*i : 4*i+4]
				m = [4]float64{m[0]*v[0] + m[1]*v[2], m[0]*v[1] + m[1]*v[3], m[2]*v[0] + m[3]*v[2], m[2]*v[1] + m[3]*v[3]}
				require.InDeltaSlice(t, m[:], out[0].F[4*i:4*i+4], 1e-9, "%d of %d along axis %d", i, n, axis)
			}
		}
	}
}

func TestSwitch(t *testing.T) {
	fn := func(_ *ops.Graph, in tensors) tensors {
		var branches []func(tensors) tensors
		for k := range 3 {
			branches = append(branches, func(xs tensors) tensors { return tensors{ops.MultiplyScalar(xs[0], float64(k+1))} })
		}
		y := ops.Switch(in[0], branches, in[1])
		return append(y, ops.Grad(y[0], in[1])...)
	}
	for i, want := range map[float64]float64{-5: 1, 0: 1, 1: 2, 2: 3, 9: 3} {
		out := opstest.Eval(t, fn, opstest.Ints(nil, i), opstest.Scalar(10))
		require.Equal(t, 10*want, out[0].F[0])
		require.Equal(t, want, out[1].F[0])
	}
	err := opstest.EvalError(func(_ *ops.Graph, in tensors) tensors { return ops.Switch(in[0], nil) }, opstest.Ints(nil, 0))
	require.ErrorContains(t, err, "at least one branch")
}
