package main

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/keras"
)

const (
	curvesFile  = "mnist.png"
	weightsFile = "mnist.weights.npz"
)

// save writes the training curves and the weights.
func save(dir string, model *keras.Model, history *keras.History) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := plotCurves(filepath.Join(dir, curvesFile), history); err != nil {
		return err
	}
	return model.SaveWeights(filepath.Join(dir, weightsFile))
}

// plotCurves draws each recorded value over the epochs.
func plotCurves(path string, history *keras.History) error {
	p := plot.New()
	p.Title.Text = "Training curves"
	p.X.Label.Text = "epoch"
	p.Y.Min = 0
	p.X.Tick.Marker = plot.ConstantTicks(epochTicks(history.Epoch))
	p.Y.Max = 1
	p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs = true, -vg.Inch/4, -vg.Inch // between losses and accuracies, away from both
	p.Add(plotter.NewGrid())
	colors := []color.Color{
		color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}, color.RGBA{R: 0xd6, G: 0x27, B: 0x28, A: 0xff},
		color.RGBA{R: 0x2c, G: 0xa0, B: 0x2c, A: 0xff}, color.RGBA{R: 0xff, G: 0x7f, B: 0x0e, A: 0xff},
	}
	for i, name := range history.Names() {
		points := make(plotter.XYs, len(history.Logs[name]))
		for j, v := range history.Logs[name] {
			points[j] = plotter.XY{X: float64(j + 1), Y: v}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = colors[i%len(colors)], vg.Points(1.5)
		dots.Color = line.Color
		p.Add(line, dots)
		p.Legend.Add(strings.ReplaceAll(name, "_", " "), line, dots)
	}
	return p.Save(7*vg.Inch, 4.5*vg.Inch, path)
}

func epochTicks(epochs []int) []plot.Tick {
	ticks := make([]plot.Tick, len(epochs))
	for i := range epochs {
		ticks[i] = plot.Tick{Value: float64(i + 1), Label: fmt.Sprint(epochs[i] + 1)}
	}
	return ticks
}

// showPredictions draws the first n test images side by side with what the model reads.
func showPredictions(ctx context.Context, w io.Writer, model *keras.Model, test datasets.Split, n int) error {
	logits, err := model.Predict(context.WithoutCancel(ctx), test.Arrays().Slice(0, n))
	if err != nil {
		return err
	}
	scores := logits.Data().([]float32)
	pixels, labels := test.Images.Data().([]uint8), test.Labels.Data().([]uint8)
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
