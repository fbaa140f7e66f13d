package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestConvolutionsByImages compares 16-bit convolutions that take a few images at a time, fewer at the end, with
// float32 convolutions. The numbers are small integers, whose sums are exact.
func TestConvolutionsByImages(t *testing.T) {
	const size = 16
	for _, c := range []struct {
		in, out, groups, stride int
		bias, relu, pool        bool
	}{
		{3, 8, 1, 1, false, false, false}, {7, 12, 1, 1, true, true, false}, {7, 12, 1, 2, false, true, false}, {3, 5, 1, 1, true, false, false},
		{7, 12, 1, 1, true, true, true}, {3, 40, 1, 1, false, true, true}, {3, 5, 1, 1, true, false, true},
		{6, 12, 2, 1, true, true, false}, {5, 5, 5, 1, false, true, false},
	} {
		run := func(d ir.DType) []float64 {
			r, p := rand.New(rand.NewPCG(4, 8)), passProgram{t, ir.New(fmt.Sprintf("%+v of %v", c, d))}
			var inputs []reference.Value
			input := func(most int, shape ...int) ir.Value {
				values := make([]float64, ir.Shape(shape).Size())
				for i := range values {
					values[i] = float64(r.IntN(2*most+1) - most)
				}
				v, err := reference.New(d, shape, values...)
				require.NoError(t, err)
				inputs = append(inputs, v)
				return p.p.AddInput("", v.Type)
			}
			images := halfImageBytes / (4 * size * size * c.in) // at most
			ones := []int{1, 1}
			y := p.add(ir.Conv, ir.ConvAttrs{Strides: []int{c.stride, c.stride}, Dilation: ones, PadLow: ones, PadHigh: ones, Groups: c.groups},
				input(2, images*pool.Shared().Size()+1, size, size, c.in), input(1, 3, 3, c.in/c.groups, c.out))
			if c.bias {
				y = p.add(ir.Add, nil, y, p.add(ir.Broadcast, ir.BroadcastAttrs{Shape: p.p.Type(y).Shape, Axes: []int{3}}, input(9, c.out)))
			}
			if c.relu {
				y = p.add(ir.Relu, nil, y)
			}
			if c.pool {
				two, none := []int{2, 2}, []int{0, 0}
				y = p.add(ir.MaxPool, ir.PoolAttrs{Window: two, Strides: two, PadLow: none, PadHigh: none}, y)
			}
			p.p.AddOutput("y", y)
			return runOnce(t, p.p, inputs, d == ir.Float32)[0].F
		}
		want := run(ir.Float32)
		for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
			require.True(t, slices.Equal(want, run(d)), "%+v of %v", c, d)
		}
	}
}
