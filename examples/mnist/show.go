package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/plot"
)

const (
	curvesFile  = "mnist.png"
	modelFile   = "mnist.keras"
	weightsFile = "mnist.weights.h5"
)

// save writes the training curves and the model, and returns the names of the files. A model of a Go type has no
// configuration that Keras could read, so only its weights are written.
func save(dir string, model *keras.Model, history *keras.History) (curves, saved string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	curves = filepath.Join(dir, curvesFile)
	if err := plot.History(history, curves); err != nil {
		return "", "", err
	}
	if class := model.ClassName(); class != "Sequential" && class != "Functional" {
		saved = filepath.Join(dir, weightsFile)
		return curves, saved, model.SaveWeights(saved)
	}
	saved = filepath.Join(dir, modelFile)
	return curves, saved, model.Save(saved)
}

// showPredictions draws the first n test images side by side with the model's predictions.
func showPredictions(ctx context.Context, w io.Writer, model *keras.Model, test datasets.Split, n int) error {
	logits, err := model.Predict(context.WithoutCancel(ctx), test.Arrays().Slice(0, n))
	if err != nil {
		return err
	}
	scores := logits.Elements().([]float32)
	pixels, labels := test.Images.Elements().([]uint8), test.Labels.Elements().([]uint8)
	for row := 0; row < 28; row += 2 {
		for i := range n {
			for column := range 28 {
				top := pixels[(i*28+row)*28+column]
				bottom := pixels[(i*28+row+1)*28+column]
				fmt.Fprint(w, block(top > 96, bottom > 96))
			}
			fmt.Fprint(w, "  ")
		}
		fmt.Fprintln(w)
	}
	for i := range n {
		row := scores[i*10 : (i+1)*10]
		read := slices.Index(row, slices.Max(row))
		fmt.Fprintf(w, "%-30s", fmt.Sprintf("predicted %d, is %d", read, labels[i]))
	}
	fmt.Fprintln(w)
	return nil
}

// block shows two pixels, one above the other, in one character.
func block(top, bottom bool) string {
	switch {
	case top && bottom:
		return "█"
	case top:
		return "▀"
	case bottom:
		return "▄"
	}
	return " "
}
