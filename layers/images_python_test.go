package layers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestRandomImagesLikeKeras lets real Keras draw settings of image layers and images, and compares the results in
// inference. GOKERAS_PYTHON names the Python, GOKERAS_SEED another seed. Only numbers are compared: in Keras layers
// that do nothing pass on integers, while here they convert them to the compute type, as Keras announces too.
func TestRandomImagesLikeKeras(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	seed := "1"
	if s := os.Getenv("GOKERAS_SEED"); s != "" {
		seed = s
	}
	const count = 60
	text, err := exec.CommandContext(t.Context(), python, "testdata/random_images.py", seed, fmt.Sprint(count)).Output()
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Class         string
			Config        json.RawMessage
			Input, Output struct {
				Shape []int
				DType string
				Data  []float64
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.Len(t, file.Cases, count)
	for i, c := range file.Cases {
		about := fmt.Sprintf("case %d: %s %s on %v %s", i, c.Class, c.Config, c.Input.Shape, c.Input.DType)
		l, err := layers.New(c.Class)
		require.NoError(t, err, about)
		require.NoError(t, config.Decode(c.Config, l), about)
		dtype, err := ir.ParseDType(c.Input.DType)
		require.NoError(t, err)
		y, err := evaluateAs(l, false, dtype, []tensor{in(ir.Shape(c.Input.Shape), c.Input.Data...)})
		if !assert.NoError(t, err, about) || !assert.Equal(t, c.Output.Shape, []int(y.Type.Shape), about) {
			continue
		}
		if c.Class == "Resizing" && dtype.IsInteger() {
			equalButForTies(t, c.Config, c.Input.Shape, c.Input.Data, c.Output.Data, elementsOf(y), about)
			continue
		}
		assert.InDeltaSlice(t, c.Output.Data, elementsOf(y), 2e-3, about)
	}
}

// equalButForTies compares integers to which Resizing rounds its means. If they differ, by 1, the float64 mean must be
// halfway between them, within the error of float32 means of numbers up to 255: 2^-24 of 255 for each of about 40 terms
// on two axes.
func equalButForTies(t *testing.T, settings json.RawMessage, shape []int, input, want, got []float64, about string) {
	t.Helper()
	l, err := layers.New("Resizing")
	require.NoError(t, err)
	require.NoError(t, config.Decode(settings, l))
	l.(*layers.Resizing).DType = "float64"
	exact, err := evaluateAs(l, false, ir.Float64, []tensor{in(ir.Shape(shape), input...)})
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i, mean := range elementsOf(exact) {
		if got[i] != want[i] {
			assert.InDelta(t, want[i], got[i], 1, about)
			assert.InDelta(t, 0.5, mean-math.Floor(mean), 2*40*255*math.Ldexp(1, -24), "%s: element %d is %v, Keras's %v", about, i, got[i], want[i])
		}
	}
}
