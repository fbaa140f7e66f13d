package applications_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// Transfer learning: a network without its top computes features, and a new head learns from them. With Weights:
// applications.ImageNet the features are those that were learnt from ImageNet.
func Example() {
	base, err := applications.NewMobileNetV2(applications.MobileNetV2Options{Alpha: 0.35, Options: applications.Options{
		NoTop: true, Pooling: "avg", InputShape: []int{32, 32, 3}}})
	if err != nil {
		log.Fatal(err)
	}
	layers.SetTrainable(base, false) // and its batch normalizations use the statistics that they have

	image := keras.Input(keras.Shape(32, 32, 3))
	features := layers.Apply(base, applications.MobileNetV2.PreprocessTensor(image))
	scores := layers.Apply(&layers.Dense{Units: 2, Name: "head"}, layers.Apply(&layers.Dropout{Rate: 0.2}, features))
	model, err := keras.NewFunctional(keras.Inputs(image), keras.Outputs(scores))
	if err != nil {
		log.Fatal(err)
	}
	err = model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 1e-2},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
	})
	if err != nil {
		log.Fatal(err)
	}

	images, labels := stripes(16)
	history, err := model.Fit(context.Background(), data.Arrays(images, labels), keras.Epochs(5), keras.BatchSize(8))
	if err != nil {
		log.Fatal(err)
	}
	loss := history.Logs["loss"]
	fmt.Println("trained:", model.TrainableVariables())
	fmt.Println("the loss fell:", loss[4] < loss[0])
	// Output:
	// trained: [head/kernel float32[1280 2] head/bias float32[2]]
	// the loss fell: true
}

// stripes returns images with horizontal (0) and vertical (1) stripes.
func stripes(n int) (images data.Array, labels []int32) {
	pixels := make([]uint8, 0, n*32*32*3)
	for i := range n {
		labels = append(labels, int32(i%2))
		for y := range 32 {
			for x := range 32 {
				at := y
				if i%2 == 1 {
					at = x
				}
				v := uint8(255 * ((at + i/2) / 4 % 2))
				pixels = append(pixels, v, v, v)
			}
		}
	}
	return data.Must(data.ArrayOf(pixels, n, 32, 32, 3)), labels
}

func ExampleMode() {
	pixel := data.Must(data.ArrayOf([]uint8{255, 0, 51}, 1, 1, 3)) // red, green, blue
	for _, mode := range []applications.Mode{applications.TF, applications.Torch, applications.Caffe} {
		x, err := applications.PreprocessInput(pixel, applications.PreprocessOptions{Mode: mode})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %.3f\n", mode, x.Elements())
	}
	// Output:
	// tf [1.000 -1.000 -0.600]
	// torch [2.249 -2.036 -0.916]
	// caffe [-52.939 -116.779 131.320]
}

func ExampleFamily() {
	fmt.Println(applications.ResNet, applications.ResNet.Mode())
	fmt.Println(applications.EfficientNet, applications.EfficientNet.Mode())
	// Output:
	// resnet caffe
	// efficientnet as_is
}

func ExampleNewResNet50() {
	model, err := applications.NewResNet50(applications.Options{Classes: 10, InputShape: []int{64, 64, 3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Name(), model.CountParams())
	// Output: resnet50 23608202
}
