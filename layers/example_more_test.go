package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
)

func ExampleBatchNormalization() {
	train(&layers.BatchNormalization{}, in(ir.Shape{3, 1}))
	show(&layers.BatchNormalization{}, in(ir.Shape{3, 1})) // with the moving statistics, which start at 0 and 1
	// Output:
	// (3, 1) [-1.22 0 1.22]
	// (3, 1) [1 2 3]
}

func ExampleLayerNormalization() {
	show(&layers.LayerNormalization{}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [-1.22 0 1.22]
}

func ExampleGroupNormalization() {
	show(&layers.GroupNormalization{Groups: 2}, in(ir.Shape{1, 4}, 1, 3, 10, 20))
	// Output: (1, 4) [-1 1 -1 1]
}

func ExampleRMSNormalization() {
	show(&layers.RMSNormalization{}, in(ir.Shape{1, 2}, 3, 4))
	// Output: (1, 2) [0.85 1.13]
}

func ExampleUnitNormalization() {
	show(&layers.UnitNormalization{}, in(ir.Shape{1, 2}, 3, 4))
	// Output: (1, 2) [0.6 0.8]
}

func ExampleSpectralNormalization() {
	train(&layers.SpectralNormalization{Layer: &layers.Dense{Units: 2, KernelInitializer: &initializers.Identity{Gain: new(7.0)}}}, in(ir.Shape{1, 2}))
	// Output: (1, 2) [1 2]
}

func ExampleDropout() {
	train(&layers.Dropout{Rate: 0.5}, in(ir.Shape{1, 6}, 1, 1, 1, 1, 1, 1))
	show(&layers.Dropout{Rate: 0.5}, in(ir.Shape{1, 6}, 1, 1, 1, 1, 1, 1))
	// Output:
	// (1, 6) [0 0 2 0 2 2]
	// (1, 6) [1 1 1 1 1 1]
}

func ExampleAlphaDropout() {
	show(&layers.AlphaDropout{Rate: 0.5}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [1 2 3]
}

func ExampleSpatialDropout1D() {
	train(&layers.SpatialDropout1D{Rate: 0.5, Seed: new(2)}, in(ir.Shape{1, 2, 3}, 1, 1, 1, 1, 1, 1))
	// Output: (1, 2, 3) [2 2 0 2 2 0]
}

func ExampleSpatialDropout2D() {
	show(&layers.SpatialDropout2D{Rate: 0.5}, in(ir.Shape{1, 1, 2, 1}))
	// Output: (1, 1, 2, 1) [1 2]
}

func ExampleSpatialDropout3D() {
	show(&layers.SpatialDropout3D{Rate: 0.5}, in(ir.Shape{1, 1, 1, 2, 1}))
	// Output: (1, 1, 1, 2, 1) [1 2]
}

func ExampleGaussianNoise() {
	show(&layers.GaussianNoise{Stddev: 0.1}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [1 2 3]
}

func ExampleGaussianDropout() {
	show(&layers.GaussianDropout{Rate: 0.1}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [1 2 3]
}

func ExampleActivityRegularization() {
	show(&layers.ActivityRegularization{L2: 0.1}, in(ir.Shape{1, 3}))
	// Output: (1, 3) [1 2 3]
}

func ExampleFlatten() {
	show(&layers.Flatten{}, in(ir.Shape{1, 2, 3}))
	// Output: (1, 6) [1 2 3 4 5 6]
}

func ExampleReshape() {
	show(&layers.Reshape{TargetShape: []int{3, -1}}, in(ir.Shape{1, 2, 3}))
	// Output: (1, 3, 2) [1 2 3 4 5 6]
}

func ExamplePermute() {
	show(&layers.Permute{Dims: []int{2, 1}}, in(ir.Shape{1, 2, 3}))
	// Output: (1, 3, 2) [1 4 2 5 3 6]
}

func ExampleRepeatVector() {
	show(&layers.RepeatVector{N: 2}, in(ir.Shape{1, 3}))
	// Output: (1, 2, 3) [1 2 3 1 2 3]
}

func ExampleZeroPadding1D() {
	show(&layers.ZeroPadding1D{Padding: []int{1, 2}}, in(ir.Shape{1, 2, 1}))
	// Output: (1, 5, 1) [0 1 2 0 0]
}

func ExampleZeroPadding2D() {
	show(&layers.ZeroPadding2D{Padding: [][]int{{1, 0}, {0, 1}}}, in(ir.Shape{1, 1, 2, 1}))
	// Output: (1, 2, 3, 1) [0 0 0 1 2 0]
}

func ExampleZeroPadding3D() {
	show(&layers.ZeroPadding3D{Padding: [][]int{{0}, {0}, {1}}}, in(ir.Shape{1, 1, 1, 2, 1}))
	// Output: (1, 1, 1, 4, 1) [0 1 2 0]
}

func ExampleCropping1D() {
	show(&layers.Cropping1D{}, in(ir.Shape{1, 4, 1}))
	// Output: (1, 2, 1) [2 3]
}

func ExampleCropping2D() {
	show(&layers.Cropping2D{Cropping: [][]int{{0}, {1, 0}}}, in(ir.Shape{1, 1, 3, 1}))
	// Output: (1, 1, 2, 1) [2 3]
}

func ExampleCropping3D() {
	show(&layers.Cropping3D{Cropping: [][]int{{0}, {0}, {1}}}, in(ir.Shape{1, 1, 1, 3, 1}))
	// Output: (1, 1, 1, 1, 1) [2]
}

func ExampleUpSampling1D() {
	show(&layers.UpSampling1D{}, in(ir.Shape{1, 2, 1}))
	// Output: (1, 4, 1) [1 1 2 2]
}

func ExampleUpSampling2D() {
	show(&layers.UpSampling2D{Size: []int{1, 2}, Interpolation: "bilinear"}, in(ir.Shape{1, 1, 2, 1}))
	// Output: (1, 1, 4, 1) [1 1.25 1.75 2]
}

func ExampleUpSampling3D() {
	show(&layers.UpSampling3D{Size: []int{1, 1, 2}}, in(ir.Shape{1, 1, 1, 2, 1}))
	// Output: (1, 1, 1, 4, 1) [1 1 2 2]
}

func ExampleAdd() {
	show(&layers.Add{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 1, 2))
	// Output: (1, 2) [6 10]
}

func ExampleSubtract() {
	show(&layers.Subtract{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 1, 2))
	// Output: (1, 2) [4 6]
}

func ExampleMultiply() {
	show(&layers.Multiply{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 1, 2))
	// Output: (1, 2) [5 16]
}

func ExampleAverage() {
	show(&layers.Average{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 1, 2))
	// Output: (1, 2) [3 5]
}

func ExampleMaximum() {
	show(&layers.Maximum{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 6, 2))
	// Output: (1, 2) [6 8]
}

func ExampleMinimum() {
	show(&layers.Minimum{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 6, 2))
	// Output: (1, 2) [5 2]
}

func ExampleConcatenate() {
	show(&layers.Concatenate{}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 1}, 6))
	// Output: (1, 3) [5 8 6]
}

func ExampleDot() {
	show(&layers.Dot{Axes: []int{1}}, in(ir.Shape{1, 2}, 5, 8), in(ir.Shape{1, 2}, 1, 2))
	// Output: (1, 1) [21]
}

func ExampleRescaling() {
	show(&layers.Rescaling{Scale: []float64{1 / 127.5}, Offset: []float64{-1}}, in(ir.Shape{1, 3}, 0, 127.5, 255))
	// Output: (1, 3) [-1 0 1]
}

func ExampleNormalization() {
	l := &layers.Normalization{}
	data, _ := kernels.FromFloat64s(ir.Float32, ir.Shape{2, 2}, []float64{0, 10, 4, 30})
	if err := l.Adapt(data); err != nil {
		fmt.Println(err)
	}
	show(l, in(ir.Shape{1, 2}, 4, 20))
	// Output: (1, 2) [1 0]
}
