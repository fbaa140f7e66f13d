package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestHalfKernelGradientOfManyImages compares the kernel gradient of more images than are computed at once, the last of
// which are fewer and odd, with its definition: on whole numbers, whose sums are exact in every order.
func TestHalfKernelGradientOfManyImages(t *testing.T) {
	const batch, size, channels, filters = 11, 64, 8, 32
	g := tape{p: &ir.Program{}}
	conv := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}
	x, dy := g.input("x", ir.BFloat16, batch, size, size, channels), g.input("dy", ir.BFloat16, batch, size, size, filters)
	g.p.AddOutput("dw", g.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: conv, Shape: ir.Shape{3, 3, channels, filters}}, x, dy))
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
	sums := make([]float32, 9*channels*filters)
	for pixel := range batch * size * size {
		row, column := pixel/size%size, pixel%size
		gradients := numbers[1][pixel*filters:][:filters]
		for tap := range 9 {
			up, left := tap/3-1, tap%3-1
			if row+up < 0 || row+up >= size || column+left < 0 || column+left >= size {
				continue
			}
			for channel, v := range numbers[0][(pixel+up*size+left)*channels:][:channels] {
				to := sums[(tap*channels+channel)*filters:][:filters]
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
	require.Equal(t, want, s.outputs[0].Bytes())
}
