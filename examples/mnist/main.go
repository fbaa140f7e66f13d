// Command mnist trains a network to read handwritten digits, on several replicas, and shows what it learned.
//
//	go run ./examples/mnist                      the tutorial's convolutional network, two replicas
//	go run ./examples/mnist -model mlp -devices cpu:0
//	go run ./examples/mnist -model custom        the same network in a custom training loop
//	go run ./examples/mnist -data DIR -epochs 3  on the full data set, from a folder of IDX files
//
// Its last line is the accuracy on the test images.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

type flags struct {
	model, strategy, devices, data, out string
	epochs, batchSize                   int
	rate                                float64
	seed                                uint64
}

func main() {
	var f flags
	flag.StringVar(&f.model, "model", "cnn", "network: cnn (two convolutions), small (one, as in the distributed training tutorial), mlp, subclass (residual blocks), or custom (the cnn in a custom training loop)")
	flag.StringVar(&f.strategy, "strategy", "mirrored", "where replicas run: default, onedevice, mirrored")
	flag.StringVar(&f.devices, "devices", "cpu:0,cpu:1", "devices of the strategy, one replica each")
	flag.StringVar(&f.data, "data", "", "folder with the four IDX files; without it the cache or the built-in subset is used")
	flag.StringVar(&f.out, "out", "out", "folder for the training curves and the model")
	flag.IntVar(&f.epochs, "epochs", 4, "passes over the training images")
	flag.IntVar(&f.batchSize, "batch-size", 32, "images in a global batch")
	flag.Float64Var(&f.rate, "learning-rate", 2e-3, "learning rate of Adam in the beginning; it falls to nothing")
	flag.Uint64Var(&f.seed, "seed", 1, "seed of weights and shuffling; equal seeds give equal runs")
	flag.Parse()

	// Ctrl-C ends training after the current step; a second one ends the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, f, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mnist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags, w io.Writer) error {
	var source []datasets.Option
	if f.data != "" {
		source = append(source, datasets.Directory(f.data))
	}
	digits, err := datasets.MNIST(source...)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, digits)
	strategy, err := chooseStrategy(f)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%v: %d replicas\n", strategy, strategy.NumReplicasInSync())
	model, err := buildModel(f.model, distribute.Scope(strategy), keras.Seed(f.seed))
	if err != nil {
		return err
	}
	if err := model.Summary(keras.SummaryOutput(w)); err != nil {
		return err
	}
	train := trainWithFit
	if f.model == "custom" {
		train = trainWithLoop
	}
	history, accuracy, err := train(ctx, f, w, model, digits)
	if err != nil {
		return err
	}
	curves, saved, err := save(f.out, model, history)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "wrote %s and %s\n", curves, saved)
	if err := showPredictions(ctx, w, model, digits.Test, 4); err != nil {
		return err
	}
	fmt.Fprintf(w, "test accuracy: %.4f\n", accuracy)
	return nil
}

func chooseStrategy(f flags) (distribute.Strategy, error) {
	devices := strings.Split(f.devices, ",")
	switch f.strategy {
	case "default":
		return distribute.Default(), nil
	case "onedevice":
		return distribute.NewOneDeviceStrategy(devices[0])
	case "mirrored":
		return distribute.NewMirroredStrategy(devices...)
	}
	return nil, fmt.Errorf("unknown strategy %q; use default, onedevice or mirrored", f.strategy)
}

// trainWithFit is what most programs do.
func trainWithFit(ctx context.Context, f flags, w io.Writer, model *keras.Model, digits *datasets.Images) (*keras.History, float64, error) {
	err := model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: learningRate(f, digits)},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
		Metrics:   []metrics.Metric{&metrics.SparseCategoricalAccuracy{Name: "accuracy"}},
	})
	if err != nil {
		return nil, 0, err
	}
	history, err := model.Fit(ctx, digits.Train.Arrays(), keras.Epochs(f.epochs), keras.BatchSize(f.batchSize),
		keras.ValidationData(digits.Test.Arrays()), keras.Verbose(1), keras.ProgressOutput(w))
	if errors.Is(err, context.Canceled) && history != nil && len(history.Epoch) > 0 {
		fmt.Fprintf(w, "\ninterrupted; going on with the weights of the last step\n")
		ctx, err = context.WithoutCancel(ctx), nil
	}
	if err != nil {
		return nil, 0, err
	}
	scores, err := model.Evaluate(ctx, digits.Test.Arrays(), keras.BatchSize(256))
	return history, scores["accuracy"], err
}

// learningRate falls from the given rate to 0 along half a cosine.
func learningRate(f flags, digits *datasets.Images) schedules.Schedule {
	steps := (digits.Train.Len() + f.batchSize - 1) / f.batchSize
	return &schedules.CosineDecay{InitialLearningRate: f.rate, DecaySteps: float64(steps * f.epochs)}
}

// buildModel returns one of the example's networks; each gives one logit for each digit.
func buildModel(name string, options ...keras.Option) (*keras.Model, error) {
	options = append(options, keras.InputShape(28, 28, 1))
	switch name {
	case "cnn", "custom":
		return keras.NewSequential([]layers.Layer{
			&layers.Rescaling{Scale: []float64{1.0 / 255}},
			&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
			&layers.MaxPooling2D{},
			&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Activation: "relu"},
			&layers.MaxPooling2D{},
			&layers.Flatten{},
			&layers.Dropout{Rate: 0.25},
			&layers.Dense{Units: 10},
		}, options...)
	case "small":
		return keras.NewSequential([]layers.Layer{
			&layers.Rescaling{Scale: []float64{1.0 / 255}},
			&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
			&layers.MaxPooling2D{},
			&layers.Flatten{},
			&layers.Dense{Units: 64, Activation: "relu"},
			&layers.Dense{Units: 10},
		}, options...)
	case "mlp":
		return keras.NewSequential([]layers.Layer{
			&layers.Rescaling{Scale: []float64{1.0 / 255}},
			&layers.Flatten{},
			&layers.Dense{Units: 128, Activation: "relu"},
			&layers.Dropout{Rate: 0.2},
			&layers.Dense{Units: 10},
		}, options...)
	case "subclass":
		model, err := keras.NewModel(newResidualNetwork(), options...)
		if err != nil {
			return nil, err
		}
		return model, model.Build([]int{layers.Unknown, 28, 28, 1})
	}
	return nil, fmt.Errorf("unknown model %q; use cnn, small, mlp, subclass or custom", name)
}
