package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestPoolingOfManyChannels pools with channels that fill whole vectors and with others. Windows overlap, have gaps,
// are cut off by the edges, and contain many equal elements.
func TestPoolingOfManyChannels(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for i, c := range []struct {
		shape                     ir.Shape
		window, stride, low, high []int
	}{
		{ir.Shape{2, 9, 11, 16}, []int{3, 3}, []int{2, 2}, []int{0, 1}, []int{1, 1}},
		{ir.Shape{2, 9, 11, 24}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}},
		{ir.Shape{2, 8, 9, 7}, []int{2, 3}, []int{2, 1}, []int{0, 2}, []int{0, 1}},
		{ir.Shape{1, 9, 9, 32}, []int{2, 2}, []int{3, 4}, []int{0, 0}, []int{0, 0}},
		{ir.Shape{2, 40, 33}, []int{5}, []int{2}, []int{2}, []int{3}},
		{ir.Shape{1, 5, 6, 7, 40}, []int{2, 3, 2}, []int{2, 2, 1}, []int{0, 1, 1}, []int{1, 1, 0}},
	} {
		comparePooling(t, r, fmt.Sprint("case ", i), c.shape, c.window, c.stride, c.low, c.high)
	}
}

// TestPoolingOfAnything draws shapes, windows, strides and padding.
func TestPoolingOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for try := range 150 {
		axes := 1 + r.IntN(3)
		if try%5 == 0 {
			two, none := []int{2, 2}, []int{0, 0}
			shape := ir.Shape{r.IntN(4), 2 + r.IntN(9), 2 + r.IntN(9), 1 + r.IntN(40)}
			comparePooling(t, r, fmt.Sprint("try ", try, ": ", shape), shape, two, two, none, none)
		}
		if try%3 == 0 { // every element belongs to one window
			shape, window, none := ir.Shape{r.IntN(3)}, []int{}, make([]int, axes)
			for range axes {
				window = append(window, 1+r.IntN(9/axes))
				shape = append(shape, window[len(window)-1]*(1+r.IntN(9/axes)))
			}
			shape = append(shape, r.IntN(20))
			comparePooling(t, r, fmt.Sprint("try ", try, ": ", shape, window), shape, window, window, none, none)
		}
		shape, list := ir.Shape{[]int{r.IntN(3), r.IntN(20)}[r.IntN(2)]}, [4][]int{}
		for range axes {
			window := 1 + r.IntN(5)
			low, high := r.IntN(window), r.IntN(window)
			n := max(window-low-high, 1) + r.IntN(12/axes)
			shape = append(shape, n)
			for i, v := range []int{window, 1 + r.IntN(4), low, high} {
				list[i] = append(list[i], v)
			}
		}
		shape = append(shape, 1+r.IntN([]int{40, 8}[r.IntN(2)]))
		comparePooling(t, r, fmt.Sprint("try ", try, ": ", shape, list), shape, list[0], list[1], list[2], list[3])
	}
}

// comparePooling compares both kinds of pooling and their gradients with the reference, with many equal elements. The
// gradient of the maximum is also tested with NaN; the first NaN of a window receives it.
func comparePooling(t *testing.T, r *rand.Rand, what string, shape ir.Shape, window, stride, low, high []int) {
	t.Helper()
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16} {
		p := &draft{Program: ir.New("pool"), t: t}
		input := func(shape ir.Shape) ir.Value {
			return p.input(d, shape, func() float64 { return float64(r.IntN(5)) - 2 })
		}
		broken := p.input(d, shape, func() float64 {
			if r.IntN(12) == 0 {
				return math.NaN()
			}
			return float64(r.IntN(5)) - 2
		})
		add := p.add
		a := ir.PoolAttrs{Window: window, Strides: stride, PadLow: low, PadHigh: high}
		x := input(shape)
		top, mean := add(ir.MaxPool, a, x), add(ir.AvgPool, a, x)
		dy := input(p.Type(top).Shape)
		p.AddOutput("maximum", top)
		p.AddOutput("mean", mean)
		p.AddOutput("gradient of the maximum", add(ir.MaxPoolGrad, a, x, top, dy))
		tops := add(ir.MaxPool, a, broken)
		p.AddOutput("maximum with NaN", tops)
		p.AddOutput("gradient of the maximum with NaN", add(ir.MaxPoolGrad, a, broken, tops, dy))
		p.AddOutput("gradient of the mean", add(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: a, Shape: shape}, dy))
		want, err := reference.Run(p.Program, p.inputs)
		require.NoError(t, err)
		for j, got := range runOnce(t, p.Program, p.inputs, false) {
			require.NoError(t, kernelstest.Compare(got, want[j], 64, true), fmt.Sprintf("%s, %v: %s", what, d, p.Outputs[j].Name))
		}
	}
}
