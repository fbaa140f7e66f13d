package boundingboxes_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/reference"
)

func show(g *ops.Graph, y *ops.Tensor) {
	g.Program().AddOutput("y", y.Value())
	out, err := reference.Run(g.Program(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4g\n", out[0].F)
}

func ExampleFormat() {
	g := ops.NewGraph("boxes")
	show(g, boundingboxes.ConvertFormat(boxes(g, 10, 20, 30, 50), boundingboxes.XYXY, boundingboxes.CenterXYWH, boundingboxes.Size{}))
	fmt.Println(boundingboxes.RelXYWH.Relative(), boundingboxes.Format("corners").Known())
	// Output:
	// [20 35 20 30]
	// true false
}

func ExampleSize() {
	g := ops.NewGraph("boxes")
	image := boundingboxes.Size{Height: 100, Width: 200}
	show(g, boundingboxes.ConvertFormat(boxes(g, 10, 20, 30, 50), boundingboxes.XYXY, boundingboxes.RelXYXY, image))
	// Output: [0.05 0.2 0.15 0.5]
}

// A turn by a right angle around the middle of the image.
func ExampleAffine() {
	g := ops.NewGraph("boxes")
	b := ops.ExpandDims(boxes(g, 0, 0, 4, 2), 0)
	turned := boundingboxes.AffineTransform(b, boundingboxes.Affine{Angle: ops.Full(g, b.DType(), 90, 1)}, boundingboxes.Size{Height: 11, Width: 11})
	show(g, ops.RoundTo(turned, 6))
	// Output: [0 6 2 10]
}

func ExampleOverlap() {
	g := ops.NewGraph("boxes")
	show(g, boundingboxes.ComputeIoU(boxes(g, 0, 0, 2, 2), boxes(g, 1, 0, 3, 2, 5, 5, 6, 6), boundingboxes.XYXY, boundingboxes.Overlap{}))
	// Output: [0.3333 0]
}

func ExampleDeltas() {
	g := ops.NewGraph("boxes")
	d := boundingboxes.Deltas{AnchorFormat: boundingboxes.XYXY, BoxFormat: boundingboxes.XYXY, Encoding: boundingboxes.CenterXYWH}
	show(g, boundingboxes.EncodeBoxToDeltas(boxes(g, 0, 0, 4, 4), boxes(g, 1, 0, 5, 8), d))
	// Output: [0.25 0.5 0 0.6931]
}
