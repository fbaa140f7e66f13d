package recipes

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
)

// few are the networks of a short run.
const few = "siamese_images rotary_decoder points gated_variable_selection"

// TestRecipes reads each network that recipes.py writes, predicts with it, and predicts again after three steps.
// RECIPES names some of them.
func TestRecipes(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("GOKERAS_PYTHON names no Python with keras and jax: make test-python runs this test")
	}
	folder := t.TempDir()
	arguments := []string{"recipes.py", "--record", folder}
	if names := os.Getenv("RECIPES"); names != "" {
		arguments = append(arguments, strings.Fields(names)...)
	} else if testing.Short() {
		arguments = append(arguments, strings.Fields(few)...)
	}
	deadline, stop := context.WithTimeout(context.Background(), 13*time.Minute)
	defer stop()
	text, err := exec.CommandContext(deadline, python, arguments...).Output()
	if failed, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w (%v): %s", err, deadline.Err(), failed.Stderr)
	}
	require.NoError(t, err)
	for _, path := range strings.Fields(string(text)) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".keras"), func(t *testing.T) { check(t, path) })
	}
}

func check(t *testing.T, path string) {
	m, err := keras.LoadModel(path)
	require.NoError(t, err)
	recorded, err := data.LoadNPZ(strings.TrimSuffix(path, "keras") + "npz")
	require.NoError(t, err)
	var inputs []string
	for _, in := range m.Inputs() {
		inputs = append(inputs, in.Name())
	}
	batch := data.Arrays(named(recorded, "x", inputs, examples), named(recorded, "y", m.OutputNames(), examples))
	// Normalizations multiply the errors of sums, and ReLU may let through what it did not before; where the networks
	// were compared, the largest were 3e-6 and 6e-5 of the largest result, and Keras's backends differ as much.
	compare(t, "before", m, batch, recorded, 1e-5)
	for range 3 {
		_, err := m.TrainOnBatch(context.Background(), batch)
		require.NoError(t, err)
	}
	compare(t, "after", m, batch, recorded, 2e-4)
	share(t, path, recorded, inputs)
}

// share trains and predicts with a single example, of which the second of two replicas gets nothing.
func share(t *testing.T, path string, recorded data.Tensors, inputs []string) {
	t.Helper()
	two, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	var results [2][]data.Array
	for i, options := range [][]keras.LoadModelOption{nil, {distribute.Scope(two)}} {
		m, err := keras.LoadModel(path, options...)
		require.NoError(t, err)
		first := data.Arrays(named(recorded, "x", inputs, 1), named(recorded, "y", m.OutputNames(), 1))
		_, err = m.TrainOnBatch(context.Background(), first)
		require.NoError(t, err)
		results[i], err = m.PredictAll(context.Background(), first)
		require.NoError(t, err)
	}
	for i, want := range results[0] {
		require.LessOrEqual(t, differs(results[1][i], want), 1e-4, "two replicas of one example, output %d: of the largest number, the difference", i)
	}
}

// examples are those of a recorded batch.
const examples = 4

// named returns the first n examples of the recorded arrays of a kind, which are in the order of the names.
func named(recorded data.Tensors, kind string, names []string, n int) data.Tensors {
	set := data.Tensors{Names: names}
	for i, name := range recorded.Names {
		if digits, ok := strings.CutPrefix(name, kind); ok && digits == fmt.Sprint(len(set.Arrays)) {
			set.Arrays = append(set.Arrays, recorded.Arrays[i].Slice(0, n))
		}
	}
	return set
}

// compare predicts, and requires what was recorded to within a part of the largest number of each output.
func compare(t *testing.T, when string, m *keras.Model, batch *data.ArraySource, recorded data.Tensors, part float64) {
	t.Helper()
	got, err := m.PredictAll(context.Background(), batch)
	require.NoError(t, err)
	all := named(recorded, when, nil, examples).Arrays
	require.Len(t, got, len(all))
	for i, y := range got {
		require.Equal(t, all[i].Shape(), y.Shape())
		require.LessOrEqual(t, differs(y, all[i]), part, "%s the steps, output %d: of the largest number, the difference", when, i)
	}
}

// differs returns the largest difference as a part of the largest number, or NaN.
func differs(got, want data.Array) float64 {
	numbers, largest, worst := want.Float64s(), 1e-6, 0.0
	for k, v := range got.Float64s() {
		largest = max(largest, math.Abs(numbers[k]))
		if d := math.Abs(v - numbers[k]); !(d <= worst) {
			worst = d
		}
	}
	return worst / largest
}
