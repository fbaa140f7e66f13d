package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestPoolingAxisByAxis compares pooling axis by axis with the reference: many channels, and few in long rows; windows
// that are cut off by the edges, lie outside the image, go down by more than one line or are several pixels apart.
func TestPoolingAxisByAxis(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	for i, c := range []struct {
		shape                     ir.Shape
		window, stride, low, high []int
	}{
		{ir.Shape{2, 12, 90, 3}, []int{7, 7}, []int{1, 1}, []int{0, 0}, []int{0, 0}},
		{ir.Shape{9, 12, 90, 3}, []int{7, 7}, []int{1, 1}, []int{3, 3}, []int{3, 3}},
		{ir.Shape{3, 9, 11, 24}, []int{4, 6}, []int{1, 1}, []int{1, 2}, []int{2, 3}},
		{ir.Shape{3, 9, 60, 2}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}},
		{ir.Shape{2, 9, 10, 8}, []int{5, 5}, []int{1, 1}, []int{0, 4}, []int{3, 2}},
		{ir.Shape{2, 6, 7, 8, 9}, []int{2, 3, 4}, []int{1, 2, 1}, []int{1, 0, 1}, []int{0, 1, 2}},
		{ir.Shape{2, 14, 37, 12}, []int{9, 9}, []int{3, 2}, []int{0, 0}, []int{0, 0}},
		{ir.Shape{3, 9, 16, 8}, []int{6, 8}, []int{2, 2}, []int{2, 5}, []int{4, 3}},
		{ir.Shape{2, 7, 8, 13, 19}, []int{4, 3, 7}, []int{2, 1, 3}, []int{1, 0, 3}, []int{0, 1, 3}},
	} {
		p := geometry.NewPooling(c.shape, pooled(c.shape, c.window, c.stride, c.low, c.high), ir.PoolAttrs{Window: c.window, Strides: c.stride, PadLow: c.low, PadHigh: c.high})
		require.NotNil(t, newAxisMaxima[float32](p), i)
		require.NotNil(t, newAxisSums[float32](p, p.ForwardAxes()), i)
		require.Equal(t, c.stride[len(c.stride)-1] == 1, newAxisSums[float32](p, p.BackwardAxes()) != nil, i)
		comparePooling(t, r, fmt.Sprint("case ", i), c.shape, c.window, c.stride, c.low, c.high)
	}
}

// pooled returns the shape of the result of pooling.
func pooled(x ir.Shape, window, stride, low, high []int) ir.Shape {
	y := append(ir.Shape{}, x...)
	for i := range window {
		y[1+i] = (x[1+i]+low[i]+high[i]-window[i])/stride[i] + 1
	}
	return y
}

// TestPoolingOfOneImage: an image has the same mean and the same gradient alone as in a batch, also where images of
// few channels lie side by side.
func TestPoolingOfOneImage(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	for _, shape := range []ir.Shape{{9, 10, 90, 3}, {9, 10, 20, 3}, {9, 10, 12, 16}, {9, 10, 33, 7}} {
		a := ir.PoolAttrs{Window: []int{5, 5}, Strides: []int{1, 1}, PadLow: []int{2, 2}, PadHigh: []int{2, 2}}
		n := shape.Size() / shape[0]
		values := make([]float64, 2*shape.Size())
		for i := range values {
			values[i] = r.NormFloat64()
		}
		run := func(first, batch int) [][]float64 {
			s := append(ir.Shape{batch}, shape[1:]...)
			p := &draft{Program: ir.New("pool"), t: t}
			next := func(at int) ir.Value {
				return p.input(ir.Float32, s, func() float64 { at++; return values[at-1] })
			}
			x, dy := next(first*n), next(shape.Size()+first*n)
			p.AddOutput("mean", p.add(ir.AvgPool, a, x))
			p.AddOutput("gradient", p.add(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: a, Shape: s}, dy))
			var out [][]float64
			for _, got := range runOnce(t, p.Program, p.inputs, false) {
				out = append(out, got.F)
			}
			return out
		}
		all, one := run(0, shape[0]), run(4, 1)
		for i := range all {
			require.Equal(t, one[i], all[i][4*n:5*n], "%v, output %d", shape, i)
		}
	}
}
