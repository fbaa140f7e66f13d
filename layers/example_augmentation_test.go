package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

func ExampleMixUp() {
	// Two images of one cell; each becomes the mean of both.
	train(&layers.MixUp{Alpha: new(1e6), Seed: new(3)}, in(ir.Shape{2, 1, 1, 1}))
	// Output: (2, 1, 1, 1) [1.5 1.5]
}

// Labels are mixed like the images.
func ExampleMixUp_labels() {
	images, labels := keras.Input(keras.Shape(28, 28, 1)), keras.Input(keras.Shape(10))
	for _, y := range layers.ApplyAll(&layers.MixUp{}, images, labels) {
		fmt.Println(y)
	}
	// Output:
	// (None, 28, 28, 1) float32
	// (None, 10) float32
}

// A picture of three cells by four with a box around two of them, which is cut out of its middle.
func ExampleLabelledImages() {
	r := distribute.NewReplica("example", 1, 1, 1)
	e := layers.LabelledImages{
		Images:    r.Graph().Input("images", ir.Float32, 1, 3, 4, 1),
		Boxes:     r.Graph().Input("boxes", ir.Float32, 1, 2, 4),
		BoxLabels: r.Graph().Input("labels", ir.Int32, 1, 2),
	}
	e = e.Through(&layers.CenterCrop{Height: 1, Width: 2, BoundingBoxFormat: "xyxy"}, r.Inference())
	for _, y := range []*ops.Tensor{e.Boxes, e.BoxLabels} {
		r.Graph().Program().AddOutput("y", y.Value())
	}
	var given []reference.Value
	for i, v := range []tensor{in(ir.Shape{1, 3, 4, 1}), in(ir.Shape{1, 2, 4}, 0, 1, 2, 3, 0, 0, 1, 1), in(ir.Shape{1, 2}, 7, 8)} {
		x, err := reference.New([]ir.DType{ir.Float32, ir.Float32, ir.Int32}[i], v.shape, v.values...)
		if err != nil {
			fmt.Println(err)
			return
		}
		given = append(given, x)
	}
	out, err := reference.Run(r.Graph().Program(), given)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out[0].F)
	fmt.Println(out[1].At(0), out[1].At(1))
	// Output:
	// [0 0 1 1 0 0 0 0]
	// 7 -1
}

// Boxes that are missing are padded.
func ExampleMaxNumBoundingBoxes() {
	images, boxes, labels := keras.Input(keras.Shape(28, 28, 1)), keras.Input(keras.Shape(2, 4)), keras.Input(keras.Shape(2), keras.DType("int32"))
	for _, y := range layers.ApplyAll(&layers.MaxNumBoundingBoxes{MaxNumber: 10, BoundingBoxFormat: "xyxy"}, images, boxes, labels) {
		fmt.Println(y)
	}
	// Output:
	// (None, 28, 28, 1) float32
	// (None, 10, 4) float32
	// (None, 10) int32
}

// Each image gets a rectangle of the other one.
func ExampleCutMix() {
	train(&layers.CutMix{Factor: []float64{1, 1}, Seed: new(2)}, in(ir.Shape{2, 3, 3, 1}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2))
	// Output: (2, 3, 3, 1) [1 1 1 1 2 2 1 2 2 2 2 2 2 1 1 2 1 1]
}

func ExampleRandAugment() {
	// The step drawn here is Solarization.
	train(&layers.RandAugment{NumOps: 1}, in(ir.Shape{1, 1, 4, 1}, 0, 50, 100, 200))
	// Output: (1, 1, 4, 1) [105.65 99.35 49.35 0]
}

func ExampleAugMix() {
	train(&layers.AugMix{Factor: []float64{0.1}}, in(ir.Shape{1, 1, 4, 1}, 0, 50, 100, 200))
	// Output: (1, 1, 4, 1) [1.2 51.11 101.63 202.12]
}

func ExampleRandomPerspective() {
	train(&layers.RandomPerspective{Factor: []float64{1, 1}}, in(ir.Shape{1, 3, 3, 1}))
	// Output: (1, 3, 3, 1) [1 2.03 3 4.66 5.54 6.36 4.3 5.58 6.92]
}

func ExampleRandomElasticTransform() {
	train(&layers.RandomElasticTransform{Factor: []float64{1, 1}, Scale: []float64{1, 1}}, in(ir.Shape{1, 3, 4, 1}, 0, 80, 0, 80, 80, 0, 80, 0, 0, 80, 0, 80))
	// Output: (1, 3, 4, 1) [7.26 77.65 0.26 77.47 72.05 11.4 78.41 8.02 0 72.73 0.74 76.36]
}

// The layer that looks numbers up turns vectors into scores for them.
func ExampleReversibleEmbedding() {
	table := &layers.ReversibleEmbedding{InputDim: 1000, OutputDim: 16}
	tokens := keras.Input(keras.Shape(8), keras.DType("int32"))
	vectors := layers.Apply(&layers.Dense{Units: 16, Activation: "gelu"}, layers.Apply(table, tokens))
	scores := table.ApplyReverse(vectors)
	fmt.Println(vectors, scores)
	fmt.Println(layers.Weights(table))
	// Output:
	// (None, 8, 16) float32 (None, 8, 1000) float32
	// [reversible_embedding/embeddings float32[1000 16]]
}

// Inside a trace, as in a model of a user-defined Go type.
func ExampleReversibleEmbedding_Reverse() {
	table := &layers.ReversibleEmbedding{InputDim: 5, OutputDim: 2}
	c := distribute.NewReplica("example", 1, 3, 3).Inference()
	fmt.Println(table.Reverse(c, ops.Ones(c, ir.Float32, 3, 2)).Type())
	// Output: float32[3 5]
}

// Whether a call is one in reverse is said by each call, not by the layer.
func ExampleIsCallArgument() {
	fmt.Println(layers.IsCallArgument(&layers.ReversibleEmbedding{}, "reverse"), layers.IsCallArgument(&layers.MultiHeadAttention{}, "use_causal_mask"))
	// Output: true false
}
