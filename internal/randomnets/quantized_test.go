package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// TestFreshQuantized draws networks that Keras quantizes, opens its files and compares predictions, and has Keras open
// what is written here. RANDOM_QUANTIZED_COUNT is how many, RANDOM_QUANTIZED_SEED the first seed.
func TestFreshQuantized(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs GOKERAS_PYTHON, a Python with Keras")
	}
	folder, count, seed := t.TempDir(), "8", "1000000"
	if s := os.Getenv("RANDOM_QUANTIZED_COUNT"); s != "" {
		count = s
	}
	if s := os.Getenv("RANDOM_QUANTIZED_SEED"); s != "" {
		seed = s
	}
	t.Logf("%s networks from seed %s on", count, seed)
	out, err := exec.Command(python, "quantized.py", "--count", count, "--seed", seed, "--out", folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(filepath.Join(folder, "quantized.json"))
	require.NoError(t, err)
	var all struct{ Models []modelCase }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	for _, c := range all.Models {
		if err := c.compareQuantized(folder); err != nil {
			t.Errorf("network of seed %d (%s): %v", c.Seed, c.Kind, err)
		}
	}
	out, err = exec.Command(python, "quantized.py", "--check", folder).Output()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "network of seed") {
			t.Error("Keras, with our file: ", line)
		}
	}
}

func (c *modelCase) compareQuantized(folder string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m, err := keras.LoadModel(c.path(folder, "keras"))
	if err != nil {
		return err
	}
	got, err := m.PredictOnBatch(context.Background(), data.Arrays(c.X.dense(), nil))
	if err != nil {
		return err
	}
	want := c.Y[0]
	if !slices.Equal([]int(got.Shape()), want.Shape) {
		return fmt.Errorf("shape %v, Keras's %v", got.Shape(), want.Shape)
	}
	largest, off, far := 1e-3, 0.0, 0
	for _, v := range want.Data {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i, v := range got.Float64s() {
		distance := math.Abs(v-float64(want.Data[i])) / largest
		if off = max(off, distance); !(distance <= 1e-5) {
			far++
		}
	}
	// Activations that are quantized are rounded, and the last digit of one decides about a whole step now and then.
	steps := c.Kind == "int8" || c.Kind == "float8"
	if far > 0 && !(steps && off < 0.03) {
		return fmt.Errorf("%d of %d predictions are off, by up to %g of the largest", far, len(want.Data), off)
	}
	return m.Save(c.path(folder, "ours.keras"))
}
