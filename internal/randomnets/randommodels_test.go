package randomnets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// modelCase is a random model and what Keras makes of it.
type modelCase struct {
	Kind                 string
	Number, Seed, Params int
	Summary              string
	Layers               []json.RawMessage // of a subclassed one
	Skips                []int
	Optimizer            struct {
		Rate, Momentum float64
		Nesterov       bool
	}
	X                 floats
	Y, Targets, After []floats
	Loss              float64
}

type floats struct {
	Shape []int
	Data  []float32
}

func (f floats) dense() data.Array {
	return data.Must(data.ArrayOf(slices.Clone(f.Data), f.Shape...))
}

// Chain is the subclassed model of randommodels.py.
type Chain struct {
	Blocks []layers.Layer
	skips  []int
}

// Call puts the layers one after the other.
func (m *Chain) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	for i, block := range m.Blocks {
		y := layers.Invoke(block, c, x)
		if slices.Contains(m.skips, i) {
			y = ops.Add(x, y)
		}
		x = y
	}
	return x
}

// TestFreshModels draws models, trains them one step here and in Keras, and has each open what the other wrote.
// RANDOM_MODELS_COUNT is how many, RANDOM_MODELS_SEED the first seed (always the same otherwise, so that a commit
// passes or fails for what is in it), and RANDOM_MODELS a folder of models that were drawn before.
func TestFreshModels(t *testing.T) {
	python := pythonOf(t)
	folder := draw(t, python, "randommodels.py", "RANDOM_MODELS", "12")
	text, err := os.ReadFile(filepath.Join(folder, "models.json"))
	require.NoError(t, err)
	var all struct{ Models []modelCase }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	kinds := map[string]int{}
	for _, c := range all.Models {
		kinds[c.Kind]++
		if err := c.compare(folder); err != nil {
			t.Errorf("model of seed %d (%s): %v", c.Seed, c.Kind, err)
		}
	}
	t.Logf("%d models: %v", len(all.Models), kinds)
	openedByKeras(t, python, "randommodels.py", folder)
}

func (c *modelCase) compare(folder string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m, err := c.open(folder)
	if err != nil {
		return err
	}
	if n := m.CountParams(); n != c.Params {
		return fmt.Errorf("%d parameters, Keras has %d", n, c.Params)
	}
	if c.Summary != "" {
		var b bytes.Buffer
		if err := m.Summary(keras.SummaryOutput(&b), keras.LineLength(120)); err != nil {
			return err
		}
		if got, want := trimmed(b.String()), trimmed(c.Summary); got != want {
			return fmt.Errorf("summary:\n%s\nKeras has\n%s", got, want)
		}
	}
	if err := c.predict(m, c.Y); err != nil {
		return fmt.Errorf("before training: %w", err)
	}
	var targets any = c.Targets[0].dense()
	if len(c.Targets) > 1 {
		list := make([]any, len(c.Targets))
		for i, y := range c.Targets {
			list[i] = y.dense()
		}
		targets = list
	}
	scores, err := m.TrainOnBatch(context.Background(), data.Arrays(c.X.dense(), targets))
	if err != nil {
		return err
	}
	if got := scores["loss"]; !(math.Abs(got-c.Loss) <= 1e-4*max(1, math.Abs(c.Loss))) {
		return fmt.Errorf("the loss is %g, Keras's %g", got, c.Loss)
	}
	if err := c.predict(m, c.After); err != nil {
		return fmt.Errorf("after a step: %w", err)
	}
	if c.Kind == "subclassed" {
		return m.SaveWeights(c.path(folder, "ours.weights.h5"))
	}
	return m.Save(c.path(folder, "ours.keras"))
}

func (c *modelCase) path(folder, ending string) string {
	return filepath.Join(folder, fmt.Sprintf("%d.%s", c.Number, ending))
}

func (c *modelCase) open(folder string) (*keras.Model, error) {
	if c.Kind != "subclassed" {
		return keras.LoadModel(c.path(folder, "keras"))
	}
	chain := &Chain{skips: c.Skips}
	for _, raw := range c.Layers {
		l, err := layers.FromObject(raw)
		if err != nil {
			return nil, err
		}
		chain.Blocks = append(chain.Blocks, l)
	}
	m, err := keras.NewModel(chain)
	if err != nil {
		return nil, err
	}
	o := &optimizers.SGD{LearningRate: c.Optimizer.Rate, Momentum: c.Optimizer.Momentum, Nesterov: c.Optimizer.Nesterov}
	if err := m.Compile(keras.CompileConfig{Optimizer: o, Loss: "mse"}); err != nil {
		return nil, err
	}
	if err := m.Build(append([]int{layers.Unknown}, c.X.Shape[1:]...)); err != nil {
		return nil, err
	}
	return m, m.LoadWeights(c.path(folder, "weights.h5"))
}

// predict compares predictions, as far as float32 computed in other orders agrees.
func (c *modelCase) predict(m *keras.Model, want []floats) error {
	got, err := m.PredictAll(context.Background(), data.Arrays(c.X.dense(), nil))
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, Keras has %d", len(got), len(want))
	}
	for i, w := range want {
		if !slices.Equal([]int(got[i].Shape()), w.Shape) {
			return fmt.Errorf("output %d has shape %v, Keras's %v", i, got[i].Shape(), w.Shape)
		}
		largest := 1.0
		for _, v := range w.Data {
			largest = max(largest, math.Abs(float64(v)))
		}
		values, ok := got[i].Elements().([]float32)
		if !ok {
			values = []float32{got[i].Elements().(float32)}
		}
		for k, v := range w.Data {
			if !(math.Abs(float64(values[k]-v)) <= 5e-4*largest) {
				return fmt.Errorf("output %d has %g at %d, Keras %g (largest %g)", i, values[k], k, v, largest)
			}
		}
	}
	return nil
}

// trimmed is a summary without blank lines, the ends of lines, and the bytes in which an optimizer counts its steps:
// Keras takes four with some of its backends, and eight with TensorFlow.
func trimmed(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, " \n")
		if strings.Contains(line, "Total params") || strings.Contains(line, "Optimizer params") {
			line, _, _ = strings.Cut(line, " (")
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
