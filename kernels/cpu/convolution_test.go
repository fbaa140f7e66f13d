package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// TestConvolutionPooled compares a convolution with bias, relu and pooling in one step with separate steps.
func TestConvolutionPooled(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for _, c := range []struct {
		batch, size, in, out int
		dtype                ir.DType
		bias, relu, stored   bool
		steps                int
		low, high, stride    int // of the rows
		dilation             int
	}{
		{5, 11, 1, 32, ir.Float32, true, true, false, 1, 0, 0, 1, 1},
		{5, 11, 1, 32, ir.Float32, true, true, true, 2, 0, 0, 1, 1}, // the result is needed, too
		{4, 12, 3, 5, ir.Float32, false, true, false, 1, 0, 0, 1, 1},
		{9, 20, 2, 40, ir.Float32, true, false, false, 1, 0, 0, 1, 1},
		{6, 10, 4, 70, ir.Float64, false, false, false, 1, 0, 0, 1, 1},
		{3, 11, 2, 8, ir.Float32, true, true, false, 1, 0, 0, 1, 1},
		{1, 28, 1, 32, ir.Float32, true, true, false, 1, 0, 0, 1, 1}, // an image in bands
		{1, 30, 16, 16, ir.Float32, true, true, false, 1, 1, 1, 1, 1},
		{2, 41, 8, 33, ir.Float32, true, true, false, 1, 2, 1, 1, 2},
		{1, 64, 8, 40, ir.Float64, false, true, false, 1, 1, 0, 2, 1},
		{1, 40, 4, 32, ir.Float32, true, true, false, 1, 9, 8, 1, 1}, // more padding than the kernel has rows
		{8, 8, 2, 8, ir.Float32, true, true, false, 2, 0, 0, 1, 1},   // too few pixels
	} {
		p := &draft{Program: ir.New("conv"), t: t}
		input := func(shape ...int) ir.Value { return p.input(c.dtype, shape, r.NormFloat64) }
		add := p.add
		none := []int{0, 0}
		y := add(ir.Conv, ir.ConvAttrs{Strides: []int{c.stride, 1}, Dilation: []int{c.dilation, 1}, PadLow: []int{c.low, 0}, PadHigh: []int{c.high, 0}, Groups: 1}, input(c.batch, c.size, c.size, c.in), input(3, 3, c.in, c.out))
		if c.bias {
			y = add(ir.Add, nil, y, add(ir.Broadcast, ir.BroadcastAttrs{Shape: p.Type(y).Shape, Axes: []int{3}}, input(c.out)))
		}
		if c.relu {
			y = add(ir.Relu, nil, y)
		}
		two := []int{2, 2}
		p.AddOutput("pooled", add(ir.MaxPool, ir.PoolAttrs{Window: two, Strides: two, PadLow: none, PadHigh: none}, y))
		if c.stored {
			p.AddOutput("y", y)
		}
		got, want := runOnce(t, p.Program, p.inputs, false), runOnce(t, p.Program, p.inputs, true)
		for i := range got {
			require.NoError(t, kernelstest.Compare(got[i], want[i], 64, true), "%+v: output %d", c, i)
		}
		e, err := Backend{}.load(p.Program, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		assert.Equal(t, c.steps, e.Stats().Steps, "%+v", c)
		e.Close()
	}
}

// TestTransposedConvolution compares random transposed convolutions that are one step with bias and relu with separate
// steps, on one to three axes, in groups, with windows that are smaller and larger than the strides.
func TestTransposedConvolution(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for range 120 {
		axes, groups := 1+r.IntN(3), 1+r.IntN(5)/4*r.IntN(4)
		in, out := groups*(1+r.IntN(20)), groups*(1+r.IntN(70)) // channels of what is read, and of the result
		conv := ir.ConvAttrs{Groups: groups}
		x, y, kernel := ir.Shape{1 + r.IntN(4)}, ir.Shape{0}, ir.Shape{}
		y[0] = x[0]
		for range axes {
			n, k, stride := 1+r.IntN(9), 1+r.IntN(4), 1+r.IntN(3)
			size := (n-1)*stride + k
			low := min(r.IntN(2), k/2)
			conv.Strides, conv.Dilation = append(conv.Strides, stride), append(conv.Dilation, 1)
			conv.PadLow, conv.PadHigh = append(conv.PadLow, low), append(conv.PadHigh, 0)
			x, y, kernel = append(x, n), append(y, max(size-low, 1)), append(kernel, k)
		}
		x, y, kernel = append(x, in), append(y, out), append(kernel, out/groups, in)
		d := ir.Float32
		if r.IntN(4) == 0 {
			d = ir.Float64
		}
		p := &draft{Program: ir.New("transposed"), t: t}
		input := func(shape ir.Shape) ir.Value { return p.input(d, shape, r.NormFloat64) }
		add := p.add
		v := add(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: conv, Shape: y}, input(x), input(kernel))
		if r.IntN(4) > 0 {
			v = add(ir.Add, nil, v, add(ir.Broadcast, ir.BroadcastAttrs{Shape: y, Axes: []int{len(y) - 1}}, input(ir.Shape{out})))
		}
		if r.IntN(2) == 0 {
			v = add(ir.Relu, nil, v)
		}
		p.AddOutput("y", v)
		got, want := runOnce(t, p.Program, p.inputs, false), runOnce(t, p.Program, p.inputs, true)
		require.NoError(t, kernelstest.Compare(got[0], want[0], 64, true), "%v", p.Program)
		e, err := Backend{}.load(p.Program, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		assert.Equal(t, 1, e.Stats().Steps, "%v", p.Program)
		e.Close()
	}
}
