package randomnets

import (
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
)

// TestFreshQuantized draws networks that Keras quantizes, opens its files and compares predictions, and has Keras open
// what is written here. RANDOM_QUANTIZED and its relatives say which: see draw.
func TestFreshQuantized(t *testing.T) {
	python := pythonOf(t)
	folder := draw(t, python, "quantized.py", "RANDOM_QUANTIZED", "8")
	text, err := os.ReadFile(filepath.Join(folder, "quantized.json"))
	require.NoError(t, err)
	var all struct{ Models []modelCase }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	for _, c := range all.Models {
		if err := c.compareQuantized(folder); err != nil {
			t.Errorf("model of seed %d (%s): %v", c.Seed, c.Kind, err)
		}
	}
	openedByKeras(t, python, "quantized.py", folder)
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
	// Keras rounds after each operation in 16 bits, which float8 doubles, to its own three bits, now and then.
	mode, halves := strings.CutSuffix(c.Kind, ", of 16 bits")
	steps := mode == "int8" || mode == "float8"
	most := 1e-5
	switch {
	case halves && mode == "float8":
		most = 0.35
	case steps || halves:
		most = 0.03
	}
	if far > 0 && !(off < most) {
		return fmt.Errorf("%d of %d predictions are off, by up to %g of the largest", far, len(want.Data), off)
	}
	return m.Save(c.path(folder, "ours.keras"))
}
