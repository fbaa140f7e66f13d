package layers_test

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func ExampleRandomGrayscale() {
	train(&layers.RandomGrayscale{Factor: new(1.0)}, in(ir.Shape{1, 1, 1, 3}, 255, 0, 0))
	// Output: (1, 1, 1, 3) [76.22 76.22 76.22]
}

func ExampleRandomInvert() {
	train(&layers.RandomInvert{Factor: []float64{1, 1}}, in(ir.Shape{1, 1, 2, 1}, 0, 200))
	// Output: (1, 1, 2, 1) [255 55]
}

func ExampleRandomSaturation() {
	train(&layers.RandomSaturation{Factor: []float64{0, 0}}, in(ir.Shape{1, 1, 1, 3}, 200, 100, 0))
	// Output: (1, 1, 1, 3) [200 200 200]
}

func ExampleRandomHue() {
	train(&layers.RandomHue{Factor: []float64{1, 1}}, in(ir.Shape{1, 1, 1, 3}, 255, 0, 0)) // half a turn of the hue circle
	// Output: (1, 1, 1, 3) [0 255 255]
}

func ExampleRandomSharpness() {
	train(&layers.RandomSharpness{Factor: []float64{1, 1}}, in(ir.Shape{1, 1, 3, 1}, 0, 130, 0))
	// Output: (1, 1, 3, 1) [0 210 0]
}

func ExampleRandomShear() {
	train(&layers.RandomShear{XFactor: []float64{1, 1}, FillMode: "wrap"}, in(ir.Shape{1, 2, 2, 1}))
	// Output: (1, 2, 2, 1) [1 2 4 3]
}

func ExampleRandomColorDegeneration() {
	train(&layers.RandomColorDegeneration{Factor: []float64{1, 1}}, in(ir.Shape{1, 1, 1, 3}, 255, 0, 0))
	// Output: (1, 1, 1, 3) [76.22 76.22 76.22]
}

func ExampleSolarization() {
	train(&layers.Solarization{}, in(ir.Shape{1, 1, 2, 1}, 55, 255)) // nothing is below the threshold 0
	// Output: (1, 1, 2, 1) [200 0]
}

func ExampleRandomPosterization() {
	train(&layers.RandomPosterization{Factor: []int{2, 2}}, in(ir.Shape{1, 1, 3, 1}, 63, 64, 255))
	// Output: (1, 1, 3, 1) [0 64 192]
}

func ExampleRandomErasing() {
	train(&layers.RandomErasing{Factor: []float64{1, 1}, Scale: []float64{0.25, 0.25}, FillValue: []float64{0}}, in(ir.Shape{1, 2, 4, 1}))
	// Output: (1, 2, 4, 1) [1 2 3 4 5 6 0 0]
}

func ExampleRandomGaussianBlur() {
	train(&layers.RandomGaussianBlur{Factor: []float64{1, 1}, Sigma: []float64{1, 1}}, in(ir.Shape{1, 3, 3, 1}, 0, 0, 0, 0, 100, 0, 0, 0, 0))
	// Output: (1, 3, 3, 1) [7.51 12.38 7.51 12.38 20.42 12.38 7.51 12.38 7.51]
}

func ExampleRandomColorJitter() {
	train(&layers.RandomColorJitter{BrightnessFactor: []float64{0.1, 0.1}, ContrastFactor: []float64{0, 0}}, in(ir.Shape{1, 1, 2, 1}, 0, 100))
	// Output: (1, 1, 2, 1) [25.5 125.5]
}

func ExampleEqualization() {
	train(&layers.Equalization{}, in(ir.Shape{1, 1, 4, 1}, 100, 101, 102, 103))
	// Output: (1, 1, 4, 1) [0 85 170 255]
}

func ExampleAutoContrast() {
	show(&layers.AutoContrast{}, in(ir.Shape{1, 1, 3, 1}, 100, 101, 102))
	// Output: (1, 1, 3, 1) [0 127.5 255]
}
