package ops_test

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A signal of four samples, cut into frames of two, and put together again.
func ExampleSTFTOptions() {
	g := ops.NewGraph("frames")
	x := g.Input("x", ir.Float64, 4)
	o := ops.STFTOptions{SequenceLength: 2, SequenceStride: 1, FFTLength: 2, Window: "hamming"}
	re, im := ops.STFT(x, o)
	y := ops.RoundTo(ops.ISTFT(re, im, 4, o), 9)
	print(g, []*ops.Tensor{y}, value(ir.Shape{4}, 3, 1, 4, 1))
	// Output: [3 1 4 1]
}

func ExampleUniqueResult() {
	g := ops.NewGraph("unique")
	x := g.Input("x", ir.Float64, 6)
	u := ops.Unique(x, 4, -1)
	print(g, []*ops.Tensor{u.Values, ops.Cast(u.Counts, ir.Float64), ops.Cast(u.Inverse, ir.Float64)}, value(ir.Shape{6}, 7, 2, 7, 9, 2, 7))
	// Output:
	// [2 7 9 -1]
	// [2 3 1 0]
	// [1 0 1 2 0 1]
}

// The border is half a cell to the left of the first cell.
func ExampleImageSampling() {
	g := ops.NewGraph("sampling")
	x := g.Input("x", ir.Float64, 3)
	at := ops.Constant(g, ir.Float64, ir.Shape{1, 3}, []float64{0.5, 1.75, -2})
	y := ops.MapCoordinates(x, at, ops.ImageSampling{FillMode: "constant", FillValue: 9})
	print(g, []*ops.Tensor{y}, value(ir.Shape{3}, 0, 2, 6))
	// Output: [1 5 9]
}

func ExampleSSIMOptions() {
	g := ops.NewGraph("ssim")
	x := g.Input("x", ir.Float64, 3, 3, 1)
	y := ops.SSIM(x, x, ops.SSIMOptions{FilterSize: 3, MaxVal: 9})
	print(g, []*ops.Tensor{y}, value(ir.Shape{3, 3, 1}, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	// Output: [1]
}
