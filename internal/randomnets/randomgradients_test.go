package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// gradientCase is a random model of words and what one step of plain gradient descent makes of its weights.
type gradientCase struct {
	Number, Seed int
	X            []numbersOf
	Y            numbersOf
	Sample       []float32
	Loss         float64
	Layers       []string
	Weights      []struct {
		Path  string
		Shape []int
		After []float64 // in float64
		// Off is how far Keras's own numbers in float32 are from After at most, Largest the largest change.
		Off, Largest float64
	}
}

type numbersOf struct {
	Shape   []int
	Data    []float64
	Integer bool
}

func (n numbersOf) array(t *testing.T) kernels.Array {
	dtype := ir.Float32
	if n.Integer {
		dtype = ir.Int32
	}
	a, err := kernels.FromFloat64s(dtype, n.Shape, n.Data)
	require.NoError(t, err)
	return a
}

// TestFreshGradients draws models of words with masks, attention, states that are handed on and regularizers, and
// compares each element of each weight after a step of learning rate 1, which is its gradient, with Keras's in float64.
// RANDOM_GRADIENTS_COUNT is how many, RANDOM_GRADIENTS_SEED the first seed, and RANDOM_GRADIENTS a folder of models
// that were drawn before.
func TestFreshGradients(t *testing.T) {
	folder := draw(t, pythonOf(t), "randomgradients.py", "RANDOM_GRADIENTS", "8")
	text, err := os.ReadFile(filepath.Join(folder, "gradients.json"))
	require.NoError(t, err)
	var all struct{ Models []gradientCase }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	for _, c := range all.Models {
		t.Run(fmt.Sprint(c.Seed), func(t *testing.T) { c.compare(t, folder) })
	}
}

func (c *gradientCase) compare(t *testing.T, folder string) {
	m, err := keras.LoadModel(filepath.Join(folder, fmt.Sprintf("%d.keras", c.Number)))
	require.NoError(t, err, "%v", c.Layers)
	var x data.Tensors
	for _, in := range c.X {
		x.Arrays = append(x.Arrays, in.array(t))
	}
	var options []data.ArrayOption
	if c.Sample != nil {
		options = append(options, data.SampleWeight(data.Must(data.ArrayOf(slices.Clone(c.Sample), len(c.Sample)))))
	}
	scores, err := m.TrainOnBatch(context.Background(), data.Arrays(x, c.Y.array(t), options...))
	require.NoError(t, err, "%v", c.Layers)
	if got := scores["loss"]; !(math.Abs(got-c.Loss) <= 1e-5*max(1, math.Abs(c.Loss))) {
		t.Errorf("the loss is %v, Keras's %v: %v", got, c.Loss, c.Layers)
	}
	got, err := m.GetWeights()
	require.NoError(t, err)
	require.Len(t, got, len(c.Weights))
	for i, w := range c.Weights {
		require.Equal(t, w.Shape, append([]int{}, got[i].Shape()...), w.Path)
		values := got[i].Float64s()
		worst, at := 0.0, 0
		for e, v := range values {
			if off := math.Abs(v - w.After[e]); !(off <= worst) {
				worst, at = off, e
			}
		}
		size := 0.0
		for _, v := range w.After {
			size = max(size, math.Abs(v))
		}
		if allowed := 8*w.Off + 2e-6*(w.Largest+size) + 1e-7; !(worst <= allowed) {
			t.Errorf("%s %v: element %d is %v, Keras's %v in float64, from which its float32 is %.3g away at most; the largest change is %.3g: %v",
				w.Path, w.Shape, at, values[at], w.After[at], w.Off, w.Largest, c.Layers)
		}
	}
}
