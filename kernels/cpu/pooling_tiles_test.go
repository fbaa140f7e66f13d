package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestImagesSideBySide checks that pooling gives the same bits for many images of a few channels, which are pooled side
// by side, as for each image alone. Some images have several bands, and some batches are not a whole number of tiles.
func TestImagesSideBySide(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	for try := range 40 {
		axes, batch := 1+r.IntN(3), 8+r.IntN(30)
		halves := try%4 == 3 // windows of 2x2, for which there are special kernels where rows are long
		if halves {
			axes = 2
		}
		shape, a := ir.Shape{batch}, ir.PoolAttrs{}
		for range axes {
			window := 1 + r.IntN(6)
			low, high := r.IntN(window), r.IntN(window)
			length, stride := max(window-low-high, 1)+r.IntN([]int{400, 40, 10}[axes-1]), 1+r.IntN(window)
			if try%4 == 1 || halves { // windows that do not overlap
				if window = 2; !halves {
					window += r.IntN(2)
				}
				low, high, stride, length = 0, 0, window, window*(1+r.IntN([]int{100, 10, 3}[axes-1]))
			}
			shape = append(shape, length)
			a.Window, a.Strides = append(a.Window, window), append(a.Strides, stride)
			a.PadLow, a.PadHigh = append(a.PadLow, low), append(a.PadHigh, high)
		}
		if try%8 == 0 && axes > 1 { // no tile holds an image
			shape[0], shape[1] = 8, 30000/shape[2]
		}
		shape = append(shape, 1+r.IntN(9))
		if try == 3 { // windows that overlap in as many channels as a vector has numbers
			shape, a = ir.Shape{9, 16, 8}, ir.PoolAttrs{Window: []int{5}, Strides: []int{1}, PadLow: []int{0}, PadHigh: []int{0}}
		}
		many := &draft{Program: ir.New("many"), t: t}
		number := func() float64 { return float64(r.IntN(40)) / 7 }
		if try%3 == 0 {
			number = r.NormFloat64
		}
		poolEverything(many, shape, a, number, number)
		what := fmt.Sprint("try ", try, ": ", shape, a)
		got := runOnce(t, many.Program, many.inputs, false)
		for image := range shape[0] {
			x, dy := exampleOf(t, many.inputs[0], image), exampleOf(t, many.inputs[1], image)
			one := &draft{Program: ir.New("one"), t: t}
			poolEverything(one, x.Type.Shape, a, nextOf(x), nextOf(dy))
			for j, want := range runOnce(t, one.Program, one.inputs, false) {
				require.Equal(t, want.Bytes(), exampleOf(t, got[j], image).Bytes(), "%s: %s of image %d", what, one.Outputs[j].Name, image)
			}
		}
	}
}

// poolEverything adds both kinds of pooling and their gradients.
func poolEverything(p *draft, shape ir.Shape, a ir.PoolAttrs, x, dy func() float64) {
	in := p.input(ir.Float32, shape, x)
	top, mean := p.add(ir.MaxPool, a, in), p.add(ir.AvgPool, a, in)
	grad := p.input(ir.Float32, p.Type(top).Shape, dy)
	p.AddOutput("maximum", top)
	p.AddOutput("mean", mean)
	p.AddOutput("gradient of the maximum", p.add(ir.MaxPoolGrad, a, in, top, grad))
	p.AddOutput("gradient of the mean", p.add(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: a, Shape: shape}, grad))
}

// exampleOf is one example of a batch, as a batch of its own.
func exampleOf(t *testing.T, v reference.Value, i int) reference.Value {
	t.Helper()
	one := v.Type
	one.Shape = append(ir.Shape{1}, v.Type.Shape[1:]...)
	e, err := reference.FromBytes(one, v.Bytes()[i*one.Bytes():(i+1)*one.Bytes()])
	require.NoError(t, err)
	return e
}

// nextOf returns a function that returns the elements of a value in order.
func nextOf(v reference.Value) func() float64 {
	i := -1
	return func() float64 { i++; return v.At(i) }
}
