package cpu_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestHalfKernelGradientOfManyImages compares the kernel gradient of more images than are computed at once, the last of
// which are fewer and odd, and of more rows of them, with its definition: on whole numbers, whose sums are exact in
// every order.
func TestHalfKernelGradientOfManyImages(t *testing.T) {
	for _, c := range []struct{ batch, size, channels, filters, kernel, stride, dilation, pad int }{
		{11, 64, 8, 32, 3, 1, 1, 1}, // rows of pixels
		{37, 24, 8, 16, 3, 2, 1, 1}, // images
		{64, 24, 16, 32, 1, 2, 1, 0},
		{63, 32, 16, 32, 3, 2, 1, 1}, // bands of rows
		{33, 9, 24, 48, 3, 1, 2, 2},
		{9, 30, 3, 16, 7, 2, 1, 3},
		{5, 16, 4, 16, 4, 4, 1, 0},
	} {
		out := (c.size+2*c.pad-(c.kernel-1)*c.dilation-1)/c.stride + 1
		two := func(n int) []int { return []int{n, n} }
		conv := ir.ConvAttrs{Strides: two(c.stride), Dilation: two(c.dilation), PadLow: two(c.pad), PadHigh: two(c.pad), Groups: 1}
		g := tape{p: &ir.Program{}}
		x, dy := g.input("x", ir.BFloat16, c.batch, c.size, c.size, c.channels), g.input("dy", ir.BFloat16, c.batch, out, out, c.filters)
		g.p.AddOutput("dw", g.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: conv, Shape: ir.Shape{c.kernel, c.kernel, c.channels, c.filters}}, x, dy))
		s := newSession(t, g.p)
		numbers := make([][]float32, 2)
		r := rand.New(rand.NewPCG(5, 6))
		for i := range numbers {
			data := s.inputs[i].Bytes()
			numbers[i] = make([]float32, len(data)/2)
			for j := range numbers[i] {
				numbers[i][j] = float32(r.IntN(5) - 2)
				copy(data[2*j:], ir.AppendElement(nil, ir.BFloat16, float64(numbers[i][j])))
			}
		}
		s.run(t)
		sums := make([]float32, c.kernel*c.kernel*c.channels*c.filters)
		for pixel := range c.batch * out * out {
			image, row, column := pixel/(out*out), pixel/out%out*c.stride-c.pad, pixel%out*c.stride-c.pad
			gradients := numbers[1][pixel*c.filters:][:c.filters]
			for tap := range c.kernel * c.kernel {
				line, at := row+tap/c.kernel*c.dilation, column+tap%c.kernel*c.dilation
				if min(line, at) < 0 || max(line, at) >= c.size {
					continue
				}
				for channel, v := range numbers[0][((image*c.size+line)*c.size+at)*c.channels:][:c.channels] {
					to := sums[(tap*c.channels+channel)*c.filters:][:c.filters]
					for i, gradient := range gradients {
						to[i] += v * gradient
					}
				}
			}
		}
		var want []byte
		for _, v := range sums {
			want = ir.AppendElement(want, ir.BFloat16, float64(v))
		}
		require.True(t, bytes.Equal(want, s.outputs[0].Bytes()), "%+v", c)
	}
}
