// Command quickstart is the program of the README: a convolutional network learns to read digits on two replicas.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1") // two replicas; omit the scope for one
	if err != nil {
		return err
	}
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Rescaling{Scale: []float64{1.0 / 255}},
		&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dense{Units: 64, Activation: "relu"},
		&layers.Dense{Units: 10},
	}, keras.InputShape(28, 28, 1), distribute.Scope(strategy))
	if err != nil {
		return err
	}
	err = model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 1e-3},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
		Metrics:   []string{"accuracy"},
	})
	if err != nil {
		return err
	}
	digits, err := datasets.MNIST() // the built-in subset, unless the full set is installed
	if err != nil {
		return err
	}
	if _, err := model.Fit(ctx, digits.Train.Arrays(), keras.Epochs(3), keras.BatchSize(64), keras.Verbose(1)); err != nil {
		return err
	}
	scores, err := model.Evaluate(ctx, digits.Test.Arrays())
	if err != nil {
		return err
	}
	fmt.Printf("accuracy on the test images: %.4f\n", scores["accuracy"])
	return nil
}
