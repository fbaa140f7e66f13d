package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// lengthsEach is how many different lengths a model with open axes sees; Python's lengths.py draws the same number.
const lengthsEach = 100

// printLengths prints a line for each file: its name, and the microseconds of a prediction of one example, and of a
// training step on 16, for batches of one length; for lengths that were not seen before; and for the same lengths in
// random order.
func printLengths(w io.Writer, files []string, rounds int) error {
	for _, path := range files {
		fmt.Fprint(w, strings.TrimSuffix(filepath.Base(path), ".keras"))
		for _, trains := range []bool{false, true} {
			times, err := timeLengths(path, trains, rounds)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for _, t := range times {
				fmt.Fprintf(w, " %.1f", t)
			}
		}
		fmt.Fprintln(w)
	}
	return nil
}

// timeLengths returns the times of printLengths for predictions or training steps.
func timeLengths(path string, trains bool, rounds int) (times []float64, err error) {
	m, err := keras.LoadModel(path, keras.WithoutCompile())
	if err != nil {
		return nil, err
	}
	n, run := 1, func(b drawnBatch) error { return m.PredictOnBatchInto(runs, b.source, b.y...) }
	if trains {
		n, run = 16, func(b drawnBatch) error { _, err := m.TrainOnBatch(runs, b.source); return err }
		opt, err := optimizer("sgd")
		if err != nil {
			return nil, err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: opt, Loss: &losses.MeanSquaredError{}}); err != nil {
			return nil, err
		}
	}
	other, err := keras.LoadModel(path, keras.WithoutCompile()) // so that m has seen nothing yet
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(17, 17))
	var drawn []drawnBatch
	for i := range lengthsEach + 1 {
		length := func() int { return shortest + r.IntN(longest-shortest) }
		if i == lengthsEach { // for all calls of one length
			length = func() int { return (shortest + longest) / 2 }
		}
		b, err := batchOf(other, n, length)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, b)
	}
	known, drawn := drawn[lengthsEach], drawn[:lengthsEach]
	all := func(list ...drawnBatch) (float64, error) {
		from := time.Now()
		for _, b := range list {
			if err := run(b); err != nil {
				return 0, err
			}
		}
		return float64(time.Since(from).Nanoseconds()) / 1e3 / float64(len(list)), nil
	}
	if _, err := all(slices.Repeat([]drawnBatch{known}, 20)...); err != nil {
		return nil, err
	}
	fresh, err := all(drawn...)
	if err != nil {
		return nil, err
	}
	once, random := 1e12, 1e12
	for range rounds {
		t, err := all(slices.Repeat([]drawnBatch{known}, lengthsEach)...)
		if err != nil {
			return nil, err
		}
		once = min(once, t)
		r.Shuffle(lengthsEach, func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
		if t, err = all(drawn...); err != nil {
			return nil, err
		}
		random = min(random, t)
	}
	return []float64{once, fresh, random}, nil
}

// Open axes are that long.
const shortest, longest = 16, 128

// drawnBatch is a batch with targets, which are also the memory of results.
type drawnBatch struct {
	source *data.ArraySource
	y      []data.Array
}

// batchOf returns a batch of n examples whose open axes have drawn lengths.
func batchOf(m *keras.Model, n int, length func() int) (b drawnBatch, err error) {
	var open []int
	for _, in := range m.Inputs() {
		for _, axis := range in.Shape()[1:] {
			if axis == layers.Unknown {
				open = append(open, length())
			}
		}
	}
	x, err := inputsWith(m, n, func(int) int {
		axis := open[0]
		open = append(open[1:], axis)
		return axis
	})
	if err != nil {
		return b, err
	}
	b.y, err = m.PredictAll(runs, data.Arrays(x, nil), keras.BatchSize(n))
	b.source = data.Arrays(x, b.y)
	return b, err
}
