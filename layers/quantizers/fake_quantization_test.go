package quantizers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// TestFakeQuantizationIsThatOfKeras: values and gradients as Keras computes them with JAX.
func TestFakeQuantizationIsThatOfKeras(t *testing.T) {
	var want struct {
		X, Upstream []float64
		Cases       []struct {
			Low, High    []float64
			Axis         *int
			Bits         int
			Narrow       bool
			Y            []float64
			XGradient    []float64 `json:"x_gradient"`
			LowGradient  []float64 `json:"low_gradient"`
			HighGradient []float64 `json:"high_gradient"`
		}
	}
	text, err := os.ReadFile("testdata/fake_quantization.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	require.Len(t, want.Cases, 36)
	for i, c := range want.Cases {
		name := fmt.Sprintf("case %d, %d bits", i, c.Bits)
		g := ops.NewGraph("test")
		end := ir.Shape{len(c.Low)}
		if c.Axis == nil {
			end = nil
		}
		x, low, high := g.Input("x", ir.Float32, 4, 3), g.Input("low", ir.Float32, end...), g.Input("high", ir.Float32, end...)
		y := quantizers.FakeQuantization{NumBits: c.Bits, NarrowRange: c.Narrow, Axis: c.Axis}.Apply(x, low, high)
		loss := ops.Sum(ops.Multiply(y, ops.Constant(g, ir.Float32, ir.Shape{4, 3}, want.Upstream)))
		for k, v := range append([]*ops.Tensor{y}, ops.Grad(loss, x, low, high)...) {
			g.Program().AddOutput(fmt.Sprint("out", k), v.Value())
		}
		var in []reference.Value
		for _, v := range []struct {
			shape  ir.Shape
			values []float64
		}{{ir.Shape{4, 3}, want.X}, {end, c.Low}, {end, c.High}} {
			value, err := reference.New(ir.Float32, v.shape, v.values...)
			require.NoError(t, err)
			in = append(in, value)
		}
		out, err := reference.Run(g.Program(), in)
		require.NoError(t, err)
		for k, w := range [][]float64{c.Y, c.XGradient, c.LowGradient, c.HighGradient} {
			require.Len(t, out[k].F, len(w), name)
			for j, v := range w {
				require.InDelta(t, v, out[k].F[j], 3e-6*(1+math.Abs(v)), "%s, result %d, place %d", name, k, j)
			}
		}
	}
}

func TestFakeQuantizationRejects(t *testing.T) {
	apply := func(q quantizers.FakeQuantization, dtype ir.DType, end ...int) (err error) {
		defer ops.Catch(&err)
		g := ops.NewGraph("test")
		q.Apply(g.Input("x", dtype, 4, 3), g.Input("low", ir.Float32, end...), g.Input("high", ir.Float32, end...))
		return nil
	}
	axis := func(a int) *int { return &a }
	require.NoError(t, apply(quantizers.FakeQuantization{Axis: axis(-1)}, ir.Float32, 3))
	require.ErrorContains(t, apply(quantizers.FakeQuantization{NumBits: 1}, ir.Float32), "NumBits 1; expected 2 to 16")
	require.ErrorContains(t, apply(quantizers.FakeQuantization{}, ir.Int32), "expected floats")
	require.ErrorContains(t, apply(quantizers.FakeQuantization{}, ir.Float32, 3), "expected one number, or set Axis")
	require.ErrorContains(t, apply(quantizers.FakeQuantization{Axis: axis(2)}, ir.Float32, 3), "the values have 2 axes")
	require.ErrorContains(t, apply(quantizers.FakeQuantization{Axis: axis(0)}, ir.Float32, 3), "expected (4), the length of axis 0")
}

func ExampleFakeQuantization() {
	g := ops.NewGraph("example")
	x := ops.Constant(g, ir.Float32, ir.Shape{4}, []float64{-1, 0.1, 0.3, 9})
	y := quantizers.FakeQuantization{NumBits: 2}.Apply(x, ops.Constant(g, ir.Float32, nil, []float64{0}), ops.Constant(g, ir.Float32, nil, []float64{1.5}))
	g.Program().AddOutput("y", y.Value())
	out, err := reference.Run(g.Program(), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(out[0].F)
	// Output: [0 0 0.5 1.5]
}
