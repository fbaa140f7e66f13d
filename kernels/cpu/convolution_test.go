package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
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
		p := ir.New("conv")
		var inputs []reference.Value
		input := func(shape ...int) ir.Value {
			values := make([]float64, ir.Shape(shape).Size())
			for i := range values {
				values[i] = r.NormFloat64()
			}
			v, err := reference.New(c.dtype, shape, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			return p.AddInput("", v.Type)
		}
		add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, attrs, in...)
			require.NoError(t, err)
			return out[0]
		}
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
		got, want := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
		for i := range got {
			require.NoError(t, kernelstest.Compare(got[i], want[i], 64, true), "%+v: output %d", c, i)
		}
		e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		assert.Equal(t, c.steps, e.Stats().Steps, "%+v", c)
		e.Close()
	}
}
