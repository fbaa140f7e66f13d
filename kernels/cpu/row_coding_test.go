package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestRowCodings compares rows that are quantized by one kernel with each of its operations computed alone, to the bit:
// along the last axis or several, with scales that are read elsewhere or returned, numbers that are not finite, and
// forms that are something else, such as scales along the first axis.
func TestRowCodings(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 7))
	fused := 0
	for range 150 {
		shape := ir.Shape{1 + r.IntN(6), 1 + r.IntN(5), 2 + r.IntN(60)}
		axes := [][]int{{2}, {2}, {1, 2}, {0, 1, 2}, {1}, {0}}[r.IntN(6)]
		p := ir.New("coding")
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			v, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return v[0]
		}
		filled := func(s ir.Shape, v float64) ir.Value {
			return add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, v, s...)})
		}
		wide := func(v ir.Value, s ir.Shape) ir.Value {
			return add(ir.Broadcast, ir.BroadcastAttrs{Shape: s, Axes: []int{0, 1, 2}}, v)
		}
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: shape})
		ones := shape.WithOnes(axes...)
		top := add(ir.Reshape, ir.ReshapeAttrs{Shape: ones}, add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: axes}, add(ir.Abs, nil, x)))
		scale := add(ir.Div, nil, filled(ones, 127), add(ir.Add, nil, top, filled(ones, 1e-7)))
		early := r.IntN(8) == 0
		if early {
			p.AddOutput("before", add(ir.Exp, nil, scale))
		}
		y := add(ir.Round, nil, add(ir.Mul, nil, x, wide(scale, shape)))
		y = add(ir.Minimum, nil, add(ir.Maximum, nil, y, filled(shape, -127)), filled(shape, 127))
		if r.IntN(8) == 0 {
			p.AddOutput("floats", y)
		}
		code := add(ir.Convert, ir.ConvertAttrs{DType: ir.Int8}, y)
		p.AddOutput("code", code)
		switch r.IntN(4) {
		case 0:
			p.AddOutput("scale", scale)
		case 1:
			p.AddOutput("back", add(ir.Div, nil, add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, code), wide(scale, shape)))
		case 2:
			more := ir.Shape{shape[0], shape[1], shape[2]}
			for _, a := range axes {
				more[a] = 3
			}
			p.AddOutput("more", add(ir.Neg, nil, wide(scale, more)))
		}
		for _, u := range fuse.Build(p, fuse.Options{}).Units {
			if u.Fused != nil && u.Fused.Coding != nil {
				require.False(t, early || axes[len(axes)-1] != 2)
				fused++
			}
		}
		xs := make([]float64, shape.Size())
		for i := range xs {
			if xs[i] = float64(float32(r.NormFloat64())); r.IntN(200) == 0 {
				xs[i] = []float64{math.Inf(1), math.Inf(-1), math.NaN(), 0}[r.IntN(4)]
			}
		}
		in, err := reference.New(ir.Float32, shape, xs...)
		require.NoError(t, err)
		want, got := runOnce(t, p, []reference.Value{in}, true), runOnce(t, p, []reference.Value{in}, false)
		for k := range want {
			for i := range want[k].Type.Shape.Size() {
				a, b := want[k].At(i), got[k].At(i)
				require.True(t, a == b || a != a && b != b, "%v along %v: %v is %v, want %v at %d", shape, axes, p.Outputs[k].Name, b, a, i)
			}
		}
	}
	require.Greater(t, fused, 40)
}
