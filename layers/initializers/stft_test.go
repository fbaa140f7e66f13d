package initializers

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestSTFT compares with keras.initializers.STFT of Keras 3.15.1, for shape (5, 1, 3) and density scaling: kernels are
// windows times cosines of 0, 1/4 and 1/2 turn per step, or sines of the first of these frequencies whose sine is not 0
// everywhere.
func TestSTFT(t *testing.T) {
	kernel := func(s STFT) []float64 {
		a := kernels.NewArray(ir.Type{DType: ir.Float64, Shape: ir.Shape{5, 1, 3}})
		require.NoError(t, s.Initialize(a, 0))
		return a.Float64s()
	}
	for window, want := range map[string]struct {
		real           [3]float64 // at steps 0, 1 and 2, bin 0
		imag, periodic [2]float64 // at steps 1 and 3, bin 1
	}{
		"hann":           {[3]float64{0, 0.4082483, 0.8164966}, [2]float64{-0.4082483, 0.4082483}, [2]float64{-0.2523113, 0.6605597}},
		"":               {[3]float64{0, 0.4082483, 0.8164966}, [2]float64{-0.4082483, 0.4082483}, [2]float64{-0.2523113, 0.6605597}},
		"hanning":        {[3]float64{0, 0.4082483, 0.8164966}, [2]float64{-0.4082483, 0.4082483}, [2]float64{-0.2523113, 0.6605597}}, // not in Keras; SciPy once had it
		"hamming":        {[3]float64{0.06332476, 0.4274422, 0.7915595}, [2]float64{-0.4274422, 0.4274422}, [2]float64{-0.2822428, 0.6470924}},
		"blackman":       {[3]float64{0, 0.3064183, 0.9012302}, [2]float64{-0.3064183, 0.3064183}, [2]float64{-0.1626856, 0.6881377}},
		"boxcar":         {[3]float64{0.4472136, 0.4472136, 0.4472136}, [2]float64{-0.4472136, 0.4472136}, [2]float64{-0.4472136, 0.4472136}},
		"nuttall":        {[3]float64{0.0003454388, 0.2161206, 0.9521468}, [2]float64{-0.2161206, 0.2161206}, [2]float64{-0.09697083, 0.700426}},
		"blackmanharris": {[3]float64{5.734905e-05, 0.2078616, 0.9558175}, [2]float64{-0.2078616, 0.2078616}, [2]float64{-0.09099451, 0.7012275}},
		"flattop":        {[3]float64{-0.000419795, -0.05457357, 0.9970171}, [2]float64{0.05457357, -0.05457357}, [2]float64{0.07841174, 0.7027457}},
	} {
		re, im, periodic := kernel(STFT{Window: window}), kernel(STFT{Window: window, Side: "imag"}), kernel(STFT{Window: window, Side: "imag", Periodic: true})
		a, b, c := want.real[0], want.real[1], want.real[2]
		require.InDeltaSlice(t, []float64{a, a, a, b, 0, -b, c, -c, c, b, 0, -b, a, a, a}, re, 1e-6, "%s", window)
		require.InDeltaSlice(t, []float64{0, 0, 0, 0, want.imag[0], 0, 0, 0, 0, 0, want.imag[1], 0, 0, 0, 0}, im, 1e-6, "%s", window)
		require.InDeltaSlice(t, []float64{0, 0, 0, 0, want.periodic[0], 0, 0, 0, 0, 0, want.periodic[1], 0, 0, 0, 0}, periodic, 1e-6, "%s", window)
	}
	require.InDeltaSlice(t, []float64{0, 0, 0, 0.25, 0, -0.25, 0.5, -0.5, 0.5, 0.25, 0, -0.25, 0, 0, 0}, kernel(STFT{Window: "hann", Scaling: "spectrum"}), 1e-7)
	for _, window := range []string{"boxcar", "ones", "rectangular"} {
		require.Equal(t, []float64{1, 1, 1, 1, 0, -1, 1, -1, 1, 1, 0, -1, 1, 1, 1}, rounded(kernel(STFT{Window: window, Scaling: "none"})), window)
	}
}

func rounded(values []float64) []float64 {
	for i := range values {
		values[i] = math.Round(values[i]*1e9)/1e9 + 0 // no -0
	}
	return values
}
