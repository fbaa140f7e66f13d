package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

func init() {
	addCase("check numerics", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.CheckNumerics(x, "x")) }), opstest.Normal(1, 2, 3))
	addCase("check numerics forward", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.CheckNumericsForward(x, "x")) }), opstest.Normal(1, 2, 3))
}

// TestCheckNumerics: the operand, or the gradient that flows through it, is checked; if the gradient is not checked, it
// passes unchanged.
func TestCheckNumerics(t *testing.T) {
	run := func(check func(x *ops.Tensor, what string) *ops.Tensor, at float64) error {
		g := ops.NewGraph("roots")
		x := g.Input("x", ir.Float32, 2)
		var y *ops.Tensor
		g.InScope("root", func() { y = ops.Sqrt(check(x, "x")) })
		dx := ops.Grad(ops.Sum(y), x)[0]
		g.Program().AddOutput("y", ops.In(g, y))
		g.Program().AddOutput("dx", ops.In(g, dx))
		v, err := reference.New(ir.Float32, ir.Shape{2}, 4, at)
		require.NoError(t, err)
		_, err = reference.Run(g.Program(), []reference.Value{v})
		return err
	}
	require.NoError(t, run(ops.CheckNumerics, 1))
	require.ErrorContains(t, run(ops.CheckNumerics, math.NaN()), "root: x is NaN or infinite (element [1] of shape [2])")
	require.ErrorContains(t, run(ops.CheckNumerics, 0), "root: the gradient of x is NaN or infinite (element [1] of shape [2])")
	require.ErrorContains(t, run(ops.CheckNumericsForward, math.Inf(1)), "root: x is NaN")
	require.NoError(t, run(ops.CheckNumericsForward, 0))
}
