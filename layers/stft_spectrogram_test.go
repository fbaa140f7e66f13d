package layers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestSTFTSpectrogramLikeKeras compares results and configurations of random settings with those of real Keras.
func TestSTFTSpectrogramLikeKeras(t *testing.T) {
	file := recorded.JSON[struct {
		Cases []struct {
			Config        json.RawMessage
			Input, Output struct {
				Shape []int
				Data  []float64
			}
			Weights []int
		}
	}](t, "testdata/stft_spectrogram.json.gz")
	require.Len(t, file.Cases, 10)
	for _, c := range file.Cases {
		l := &layers.STFTSpectrogram{}
		require.NoError(t, config.Decode(c.Config, l))
		y, err := evaluate(l, false, []tensor{in(c.Input.Shape, c.Input.Data...)})
		require.NoError(t, err, "%s", c.Config)
		require.Equal(t, c.Output.Shape, []int(y.Type.Shape), "%s", c.Config)
		for i, want := range c.Output.Data {
			d := math.Abs(y.At(i) - want)
			if l.Mode == "angle" { // π and -π are the same angle
				d = min(d, math.Abs(2*math.Pi-d))
			}
			if !(d <= 3e-5*max(1, math.Abs(want))) { // Keras computes the kernels in float32
				t.Errorf("%s: element %d is %v, want %v", c.Config, i, y.At(i), want)
				break
			}
		}
		require.Len(t, layers.Weights(l), len(c.Weights))
		written, err := config.Encode(l)
		require.NoError(t, err)
		text, err := json.Marshal(written)
		require.NoError(t, err)
		var got, want map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		require.NoError(t, json.Unmarshal(c.Config, &want))
		for key, v := range want {
			assert.Equal(t, v, got[key], key)
		}
	}
}

func TestSTFTSpectrogramMistakes(t *testing.T) {
	sound := in(ir.Shape{1, 100, 1}, make([]float64, 100)...)
	for want, l := range map[string]*layers.STFTSpectrogram{
		"FrameLength is 8, the step 9": {FrameLength: 8, FrameStep: new(9)},
		`unknown Mode "power"`:         {FrameLength: 8, Mode: "power"},
		`unknown window "kaiser"`:      {FrameLength: 8, Window: "kaiser"},
		`unknown scaling "half"`:       {FrameLength: 8, Scaling: "half"},
	} {
		_, err := evaluate(l, false, []tensor{sound})
		assert.ErrorContains(t, err, want)
	}
}

func ExampleSTFTSpectrogram() {
	l := &layers.STFTSpectrogram{Mode: "magnitude", FrameLength: 4, Window: "none", Scaling: "none"}
	y, err := evaluate(l, false, []tensor{in(ir.Shape{1, 4, 1}, 1, 1, 1, 1)})
	fmt.Println(y.Type, math.Round(y.At(0)), err)
	// Output: float32[1 1 3] 4 <nil>
}
