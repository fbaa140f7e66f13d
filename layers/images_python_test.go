package layers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestRandomImagesLikeKeras has real Keras draw settings of image layers and images, and compares what comes out in inference. GOKERAS_PYTHON
// names the Python; GOKERAS_SEED another seed. Only numbers are compared: layers that do nothing hand integers on in Keras, and here give the
// compute type, which Keras announces, too.
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
		near := 2e-3
		if c.Class == "Resizing" && dtype.IsInteger() {
			near = 1 // integers come of sums that are rounded, some of which lie in the middle
		}
		assert.InDeltaSlice(t, c.Output.Data, elementsOf(y), near, about)
	}
}
