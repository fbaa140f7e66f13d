package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
)

// epoch trains the convolutional network on all images of MNIST in a directory, once, and writes the seconds of
// training and the accuracy on the test images.
func epoch(w io.Writer, directory string) error {
	ctx := context.Background()
	mnist, err := datasets.MNIST(datasets.Directory(directory))
	if err != nil {
		return err
	}
	train, test := scaled(mnist.Train), scaled(mnist.Test)
	m, err := convolutional(distribute.Default())
	if err != nil {
		return err
	}
	sgd, err := optimizer("sgd")
	if err != nil {
		return err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: sgd, Loss: classes(), Metrics: []any{"accuracy"}}); err != nil {
		return err
	}
	begin := time.Now()
	if _, err := m.Fit(ctx, train, keras.BatchSize(64), keras.Epochs(1), keras.Verbose(0)); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	seconds := time.Since(begin).Seconds()
	logs, err := m.Evaluate(ctx, test, keras.BatchSize(256), keras.Verbose(0))
	if err != nil {
		return fmt.Errorf("evaluation: %w", err)
	}
	return json.NewEncoder(w).Encode(map[string]float64{"seconds": seconds, "accuracy": logs["accuracy"]})
}

// scaled returns the images as floats in [0, 1], as the other frameworks get them.
func scaled(s datasets.Split) *data.ArraySource {
	pixels := s.Images.Elements().([]uint8)
	x := make([]float32, len(pixels))
	for i, p := range pixels {
		x[i] = float32(p) / 255
	}
	return data.Arrays(data.Must(data.ArrayOf(x, s.Images.Shape()...)), s.Labels)
}
