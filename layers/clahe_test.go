package layers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// TestCLAHELikeKeras compares results and configurations of random settings with those of real Keras.
func TestCLAHELikeKeras(t *testing.T) {
	file := recorded.JSON[struct {
		Cases []struct {
			Config        json.RawMessage
			Input, Output struct {
				Shape []int
				DType string
				Data  []float64
			}
		}
	}](t, "testdata/clahe.json.gz")
	require.Len(t, file.Cases, 24)
	for i, c := range file.Cases {
		l := &layers.ContrastLimitedAdaptiveHistogramEqualization{}
		require.NoError(t, config.Decode(c.Config, l))
		o, err := layers.ToObject(l)
		require.NoError(t, err)
		text, err := json.Marshal(o["config"])
		require.NoError(t, err)
		var want, got map[string]any
		require.NoError(t, json.Unmarshal(c.Config, &want))
		require.NoError(t, json.Unmarshal(text, &got))
		delete(want, "dtype")
		delete(got, "dtype")
		require.Equal(t, want, got)
		for _, training := range []bool{false, true} {
			dtype, err := ir.ParseDType(c.Input.DType)
			require.NoError(t, err)
			y, err := evaluateAs(l, training, dtype, []tensor{in(ir.Shape(c.Input.Shape), c.Input.Data...)})
			require.NoError(t, err)
			require.Equal(t, c.Output.Shape, []int(y.Type.Shape), "case %d", i)
			require.Equal(t, c.Output.DType, y.Type.DType.String(), "case %d", i)
			require.InDeltaSlice(t, c.Output.Data, elementsOf(y), 2e-4, "case %d: %s", i, c.Config)
		}
	}
}

func elementsOf(y reference.Value) []float64 {
	out := make([]float64, y.Type.Shape.Size())
	for i := range out {
		out[i] = y.At(i)
	}
	return out
}

func ExampleContrastLimitedAdaptiveHistogramEqualization() {
	show(&layers.ContrastLimitedAdaptiveHistogramEqualization{TileGridSize: []int{1, 1}, ClipLimit: 100}, in(ir.Shape{1, 1, 4, 1}, 100, 101, 102, 103))
	// Output: (1, 1, 4, 1) [63.75 127.5 191.25 255]
}
