// Command firststep trains the tutorial's convolutional network on handwritten digits for one step and exits.
// BenchmarkFirstStep measures it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

func main() {
	digits, err := datasets.MNIST()
	check(err)
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Rescaling{Scale: []float64{1.0 / 255}},
		&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dense{Units: 64, Activation: "relu"},
		&layers.Dense{Units: 10},
	}, keras.InputShape(28, 28, 1))
	check(err)
	check(model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 1e-3},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
		Metrics:   []metrics.Metric{&metrics.SparseCategoricalAccuracy{}},
	}))
	_, err = model.Fit(context.Background(), digits.Train.Arrays(), keras.BatchSize(64), keras.StepsPerEpoch(1))
	check(err)
	fmt.Println("done")
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
