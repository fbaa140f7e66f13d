package layers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestMelSpectrogramLengths compares pieces of various lengths, which are computed by products or by transforms, with
// the formula.
func TestMelSpectrogramLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 15))
	for _, fft := range []int{2, 3, 4, 5, 7, 8, 16, 31, 32, 35, 46, 60, 64, 65, 81, 100, 127, 128, 254, 257} {
		for _, window := range []string{"hann", "hamming"} {
			length, stride := []int{1, 1 + r.IntN(fft), fft}[r.IntN(3)], 1+r.IntN(fft)
			const bins, rate = 3, 100
			sound := make([]float64, fft/2+1+r.IntN(3*fft))
			for i := range sound {
				sound[i] = r.NormFloat64()
			}
			l := &layers.MelSpectrogram{DType: "float64", FFTLength: fft, SequenceLength: length, SequenceStride: stride, Window: window, NumMelBins: bins, SamplingRate: rate, MinFreq: new(1.0), NoPowerToDB: true}
			y, err := evaluateAs(l, false, ir.Float64, []tensor{in(ir.Shape{1, len(sound)}, sound...)})
			require.NoError(t, err)
			want := melOf(sound, fft, length, stride, bins, rate, map[string]float64{"hann": 0.5, "hamming": 0.54}[window])
			name := fmt.Sprintf("pieces of %d under %d of %s, %d apart", fft, length, window, stride)
			require.Equal(t, ir.Shape{1, bins, len(want[0])}, y.Type.Shape, name)
			for i := range bins * len(want[0]) {
				w := want[i/len(want[0])][i%len(want[0])]
				require.InDelta(t, w, y.At(i), 1e-9*max(1, w), name)
			}
		}
	}
}

// melOf computes the powers in bands, from frequency 1 to half of the rate, by the formula: bands of times.
func melOf(sound []float64, fft, length, stride, bins int, rate, share float64) [][]float64 {
	half, n := fft/2, len(sound)
	mirrored := func(i int) float64 {
		if i = max(i-half, half-i); i >= n {
			i = 2*(n-1) - i
		}
		return sound[i]
	}
	mel := func(hertz float64) float64 { return 1127 * math.Log1p(hertz/700) }
	low, high := mel(1), mel(rate/2)
	step := (high - low) / float64(bins+1)
	out := make([][]float64, bins)
	for first := 0; first+fft <= n+2*half; first += stride {
		sums := make([]float64, bins)
		for f := 1; f <= half; f++ {
			re, im := 0.0, 0.0
			for k := range length {
				weight, at := 1.0, (fft-length)/2+k
				if length > 1 {
					weight = share - (1-share)*math.Cos(2*math.Pi*float64(k)/float64(length))
				}
				sin, cos := math.Sincos(2 * math.Pi * float64(f*at%fft) / float64(fft))
				re, im = re+weight*cos*mirrored(first+at), im+weight*sin*mirrored(first+at)
			}
			m := mel(rate / 2 * float64(f) / float64(half))
			for b := range sums {
				center := low + step*float64(b+1)
				sums[b] += max(0, 1-math.Abs(m-center)/step) * (re*re + im*im)
			}
		}
		for b, s := range sums {
			out[b] = append(out[b], s)
		}
	}
	return out
}
