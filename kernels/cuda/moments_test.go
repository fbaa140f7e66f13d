//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Mean and variance are found by one pass over memory: by one thread for each, by the threads of a block, and by many
// blocks, along axes that lie together or apart, of numbers whose mean is far from 0. What follows them, like the
// reciprocal root of the variance, is part of their kernel.
func TestMoments(t *testing.T) {
	for i, c := range []struct {
		shape    ir.Shape
		axes     []int
		dtype    ir.DType
		launches int
	}{
		{ir.Shape{3, 7, 5}, []int{0, 1}, ir.Float32, 1},
		{ir.Shape{1, 5}, []int{0}, ir.Float32, 1},
		{ir.Shape{150, 3, 5}, []int{0, 1}, ir.Float32, 1},
		{ir.Shape{30, 9, 2, 20}, []int{1, 3}, ir.Float32, 1},
		{ir.Shape{3, 1001}, []int{1}, ir.Float64, 1},
		{ir.Shape{4099, 33}, []int{0}, ir.Float32, 1},
		{ir.Shape{37, 61, 64}, []int{0, 1}, ir.BFloat16, 1},
		{ir.Shape{311, 503}, []int{0, 1}, ir.Float32, 1},
		{ir.Shape{3, 50001}, []int{1}, ir.Float16, 1},
		{ir.Shape{7, 700, 3, 13}, []int{1, 3}, ir.Float32, 1},
	} {
		t.Run(fmt.Sprintf("%v%v over %v", c.dtype, c.shape, c.axes), func(t *testing.T) {
			p := ir.New("moments")
			add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
				v, err := p.Add("layer", op, attrs, in...)
				require.NoError(t, err)
				return v[0]
			}
			wide := c.dtype
			x := p.AddInput("x", ir.Type{DType: c.dtype, Shape: c.shape})
			if c.dtype.IsHalf() {
				wide = ir.Float32
				x = add(ir.Convert, ir.ConvertAttrs{DType: wide}, x)
			}
			constant := func(x float64, shape ...int) ir.Value {
				return add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(wide, x, shape...)})
			}
			x = add(ir.Add, nil, x, constant(16, c.shape...))
			mean := func(x ir.Value) ir.Value {
				y := add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: c.axes}, x)
				s := p.Type(y).Shape
				return add(ir.Div, nil, y, constant(float64(c.shape.Size()/s.Size()), s...))
			}
			m := mean(x)
			var kept []int
			for axis := range c.shape {
				if !slices.Contains(c.axes, axis) {
					kept = append(kept, axis)
				}
			}
			centered := add(ir.Sub, nil, x, add(ir.Broadcast, ir.BroadcastAttrs{Shape: c.shape, Axes: kept}, m))
			variance := mean(add(ir.Mul, nil, centered, centered))
			for _, v := range []ir.Value{m, variance, add(ir.Rsqrt, nil, add(ir.Add, nil, variance, constant(1e-3, p.Type(variance).Shape...)))} {
				p.AddOutput("y", v)
			}
			plan, err := lower.Program(p, lower.Options{})
			require.NoError(t, err)
			require.Equal(t, c.launches, plan.Launches)
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Races: i%2 == 0}))
			agrees(t, b, p, rng, 64)
		})
	}
}
