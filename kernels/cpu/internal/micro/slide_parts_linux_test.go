package micro

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestSlideParts compares windows in parts, and operands with different distances between pixels, with sums in float64.
func TestSlideParts(t *testing.T) {
	forSlides(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(67, 68))
		for i := range 600 {
			taps, channels := []int{2, 3, 5, 7}[i%4], slideLanes+i/4%48
			s := Slide[float32]{Channels: channels, Step: channels + rng.IntN(3), BStep: channels + rng.IntN(3), CStep: channels + rng.IntN(3), Taps: taps, Segments: 1 + rng.IntN(3),
				Lines: 1 + rng.IntN(3), Parts: 1 + rng.IntN(4), Stride: 1 + rng.IntN(2), ReLU: rng.IntN(3) == 0}
			s.Pixels = SlideLeast(taps, s.Stride) + rng.IntN(21)
			part, row := taps*s.Step, (s.inputs()-1)*s.Step+channels
			s.APart, s.ASegment = part, (s.Parts-1)*part+row+rng.IntN(5)
			s.BPart = taps*s.BStep + rng.IntN(5)
			s.BSegment, s.ALine, s.CLine = s.Parts*s.BPart+rng.IntN(5), rng.IntN(2*s.ASegment), s.Pixels*s.CStep+rng.IntN(5)
			s.A = guard.Copy(t, random[float32](rng, (s.Lines-1)*s.ALine+(s.Segments-1)*s.ASegment+(s.Parts-1)*part+row, 0), i%8 < 4)
			s.B = guard.Copy(t, random[float32](rng, (s.Segments-1)*s.BSegment+(s.Parts-1)*s.BPart+(taps-1)*s.BStep+channels, 0), i%8 < 4)
			s.C = guard.Copy(t, random[float32](rng, (s.Lines-1)*s.CLine+(s.Pixels-1)*s.CStep+channels, 0), i%8 < 4)
			if rng.IntN(2) == 0 {
				s.Bias = guard.Copy(t, random[float32](rng, channels, 0), i%8 < 4)
			}
			before := append([]float32(nil), s.C...)
			RunSlide(&s)
			checkParts(t, &s, before)
		}
	})
}

// checkParts compares the result with sums in float64, and checks that nothing between its pixels changed.
func checkParts(t *testing.T, s *Slide[float32], before []float32) {
	for l := range s.Lines {
		for p := range s.Pixels {
			for c := range s.Channels {
				sum, size := 0.0, 0.0
				if s.Bias != nil {
					sum = float64(s.Bias[c])
				}
				for at := range s.Parts * s.Segments * s.Taps {
					tap, segment, part := at%s.Taps, at/s.Taps%s.Segments, at/s.Taps/s.Segments
					v := float64(s.A[l*s.ALine+part*s.APart+segment*s.ASegment+(p*s.Stride+tap)*s.Step+c]) * float64(s.B[part*s.BPart+segment*s.BSegment+tap*s.BStep+c])
					sum, size = sum+v, size+math.Abs(v)
				}
				if s.ReLU {
					sum = max(sum, 0)
				}
				at := l*s.CLine + p*s.CStep + c
				require.InDelta(t, sum, s.C[at], 0x1p-23*60*(size+1), "line %d, pixel %d, channel %d: %+v", l, p, c, geometry(*s))
				before[at] = s.C[at]
			}
		}
	}
	require.Equal(t, before, s.C, "a number between the pixels changed")
}
