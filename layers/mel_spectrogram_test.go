package layers_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestMelSpectrogramLikeKeras compares results and configurations with those of real Keras.
func TestMelSpectrogramLikeKeras(t *testing.T) {
	raw, err := os.ReadFile("testdata/mel_spectrogram.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Config json.RawMessage
			Shape  []int
			Y      []float64
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Len(t, file.Cases, 3)
	const n = 400
	sound := make([]float64, 2*n)
	for k := range n {
		i := float64(k)
		sound[k] = math.Sin(i*0.37)*math.Cos(i*0.011) + 0.1*math.Sin(i*i*0.001)
		sound[2*n-1-k] = sound[k] / 2
	}
	for _, c := range file.Cases {
		l := &layers.MelSpectrogram{}
		require.NoError(t, config.Decode(c.Config, l))
		y, err := evaluate(l, false, []tensor{in(ir.Shape{2, n}, sound...)})
		require.NoError(t, err)
		require.Equal(t, c.Shape, []int(y.Type.Shape))
		for i, want := range c.Y {
			if d := math.Abs(y.At(i) - want); !(d <= 1e-4*max(1, math.Abs(want))) {
				t.Errorf("%s: element %d is %v, want %v", c.Config, i, y.At(i), want)
				break
			}
		}
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

func TestMelSpectrogramMistakes(t *testing.T) {
	sound := in(ir.Shape{1, 100}, make([]float64, 100)...)
	for want, l := range map[string]*layers.MelSpectrogram{
		"too short to be mirrored": {},
		"FFTLength is 20000":       {FFTLength: 20000},
		`unknown Window "kaiser"`:  {FFTLength: 32, Window: "kaiser"},
		"a least frequency below":  {FFTLength: 32, MaxFreq: 10},
	} {
		_, err := evaluate(l, false, []tensor{sound})
		assert.ErrorContains(t, err, want)
	}
}

func ExampleMelSpectrogram() {
	tone := make([]float64, 64)
	for i := range tone {
		tone[i] = math.Sin(2 * math.Pi * 250 * float64(i) / 1000) // 250 Hz
	}
	show(&layers.MelSpectrogram{FFTLength: 32, SequenceStride: 32, SamplingRate: 1000, NumMelBins: 4, TopDB: new(30.0)}, in(ir.Shape{64}, tone...))
	// Output: (4, 3) [6.74 -11.72 -11.72 14.85 14.5 14.5 16.58 18.28 18.28 10.43 -3.17 -3.17]
}
