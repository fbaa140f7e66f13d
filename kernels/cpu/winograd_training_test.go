package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// trainingConvolutions runs a program that replaces a variable. It computes the relu of a 3x3 convolution with bias, or
// the maxima of that, and the gradients of a convolution's input and kernel, in the given type.
func trainingConvolutions(t *testing.T, d ir.DType, pools bool, values [][]float64) (y, dx, dkernel []float64) {
	p := ir.New("")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	var in []ir.Value
	for _, shape := range trainingShapes {
		in = append(in, p.AddInput("", ir.Type{DType: d, Shape: shape}))
	}
	counter := p.AddInput("", ir.Type{DType: ir.Float32})
	one := []int{1, 1}
	a := ir.ConvAttrs{Strides: one, Dilation: one, PadLow: one, PadHigh: one, Groups: 1}
	sum := add(ir.Conv, a, in[0], in[1])
	shape := p.Type(sum).Shape
	result := add(ir.Relu, nil, add(ir.Add, nil, sum, add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{3}}, in[3])))
	if pools {
		result = add(ir.MaxPool, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}, result)
	}
	p.AddOutput("y", result)
	p.AddOutput("dx", add(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: trainingShapes[0]}, in[2], in[1]))
	p.AddOutput("dkernel", add(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: trainingShapes[1]}, in[0], in[2]))
	p.AddAlias("counter", add(ir.Neg, nil, counter), len(in))
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
	require.NoError(t, err)
	defer e.Close()
	var inputs, outputs []kernels.Buffer
	for i, v := range p.Inputs {
		b := newBuffer(here, p.Type(v.Value))
		if i < len(values) {
			require.NoError(t, b.Write(reference.Value{Type: p.Type(v.Value), F: values[i]}.Bytes()))
		}
		inputs = append(inputs, b)
	}
	for _, o := range p.Outputs[:3] {
		outputs = append(outputs, newBuffer(here, p.Type(o.Value)))
	}
	require.NoError(t, e.Run(context.Background(), inputs, append(outputs, nil)))
	read := func(i int) []float64 {
		raw := make([]byte, p.Type(p.Outputs[i].Value).Bytes())
		require.NoError(t, outputs[i].Read(raw))
		v, err := reference.FromBytes(p.Type(p.Outputs[i].Value), raw)
		require.NoError(t, err)
		return v.F
	}
	return read(0), read(1), read(2)
}

var trainingShapes = []ir.Shape{{4, 10, 12, 32}, {3, 3, 32, 48}, {4, 10, 12, 48}, {48}}

// TestWinogradTrains: programs that train compute 3x3 convolutions, with bias, relu and maxima, and the gradients of
// their inputs and kernels, by Winograd's algorithm with small tiles. The error is within 2e-6 of the largest result in
// float64, or within the rounding of 16 bits.
func TestWinogradTrains(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	var values [][]float64
	for _, s := range trainingShapes {
		x := make([]float64, s.Size())
		for i := range x {
			x[i] = float64(r.IntN(4097)-2048) / 1024 // float16 can represent these
		}
		values = append(values, x)
	}
	s := convolutionOf(trainingShapes[0], trainingShapes[1], ir.ConvAttrs{PadLow: []int{1, 1}, PadHigh: []int{1, 1}})
	require.NotNil(t, conv.NewSmallWinograd(s, 4))
	require.NotNil(t, conv.NewWinogradInputGradient(s, 4))
	for _, pools := range []bool{false, true} {
		y, dx, dkernel := trainingConvolutions(t, ir.Float64, pools, values)
		for _, c := range []struct {
			d     ir.DType
			bound float64
		}{{ir.Float32, 2e-6}, {ir.Float16, 1e-3}, {ir.BFloat16, 1e-2}} {
			gotY, gotDX, gotDKernel := trainingConvolutions(t, c.d, pools, values)
			for what, pair := range map[string][2][]float64{"y": {y, gotY}, "dx": {dx, gotDX}, "dkernel": {dkernel, gotDKernel}} {
				largest := 0.0
				for _, v := range pair[0] {
					largest = max(largest, math.Abs(v))
				}
				for i, v := range pair[0] {
					require.InDelta(t, v, pair[1][i], c.bound*largest, "%v, %s %d, maxima %v", c.d, what, i, pools)
				}
			}
		}
	}
}

// TestWinogradTrainsItself checks that Winograd's algorithm is used: the numbers differ from those of a direct
// convolution.
func TestWinogradTrainsItself(t *testing.T) {
	values := make([][]float64, len(trainingShapes))
	wide := make([][]float32, len(trainingShapes))
	r := rand.New(rand.NewPCG(8, 10))
	for i, s := range trainingShapes {
		values[i], wide[i] = make([]float64, s.Size()), make([]float32, s.Size())
		for j := range values[i] {
			wide[i][j] = r.Float32() - 0.5
			values[i][j] = float64(wide[i][j])
		}
	}
	s := convolutionOf(trainingShapes[0], trainingShapes[1], ir.ConvAttrs{PadLow: []int{1, 1}, PadHigh: []int{1, 1}})
	p := pool.New(1)
	defer p.Close()
	y, dx := make([]float32, len(wide[2])), make([]float32, len(wide[0]))
	conv.Forward(p, s, wide[0], wide[1], wide[3], true, y, make([]float32, conv.ForwardScratch[float32](s, 1)))
	conv.BackwardData(p, s, wide[2], wide[1], dx, make([]float32, conv.BackwardDataScratch[float32](s, 1)))
	gotY, gotDX, _ := trainingConvolutions(t, ir.Float32, false, values)
	differ := func(x []float32, got []float64) (n int) {
		for i, v := range x {
			if float64(v) != got[i] {
				n++
			}
		}
		return n
	}
	require.Greater(t, differ(y, gotY), len(y)/10)
	require.Greater(t, differ(dx, gotDX), len(dx)/10)
}
