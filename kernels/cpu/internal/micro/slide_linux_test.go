package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// existing calls f for every product of the lines with the indices of the input, of the output, of the line and of the
// kernel's element. Missing inputs have no products.
func existing(pixels, stride, taps, segments, lines, channels int, left, right bool, f func(l, s, t, p, q, c int)) {
	inputs := inputs(stride*(pixels-1)+1, taps, left, right)
	for l := range lines {
		for s := range segments {
			for p := range pixels {
				for t := range taps {
					q := stride*p + t
					if left {
						q -= taps / 2
					}
					if q < 0 || q >= inputs {
						continue
					}
					for c := range channels {
						f(l, s, t, p, q, c)
					}
				}
			}
		}
	}
}

// forSlides runs a test with each family that should have sliding kernels.
func forSlides(t *testing.T, test func(t *testing.T)) {
	ran := false
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		there := runtime.GOARCH == "amd64" && path.Has(isa.Vectors256)
		assert.Equal(t, there, HasSlide[float32](3, slideLanes) && HasSlide[float32](5, slideLanes) && HasSlide[float32](7, slideLanes) && HasSlideSums[float32](3, slideLanes), path)
		if there {
			ran = t.Run(path.String(), test) || ran
		}
		restore()
	}
	if !ran && !t.Failed() {
		t.Skip("sliding kernels need AVX2 or AVX-512, which this processor does not have")
	}
}

func TestSlideAgainstFloat64(t *testing.T) {
	forSlides(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		for i := range 900 {
			taps, channels := 3+2*(i%3), slideLanes+i/3%48
			least := map[int]int{3: 1, 5: 1, 7: minSlide7Pixels}[taps]
			s := Slide[float32]{Pixels: least + rng.IntN(21), Channels: channels, Step: channels + rng.IntN(3), Taps: taps, Segments: 1 + rng.IntN(4), Lines: 1 + rng.IntN(3),
				Left: rng.IntN(2) == 0, Right: rng.IntN(2) == 0, ReLU: rng.IntN(3) == 0, Stride: rng.IntN(3)}
			if s.Stride == 2 {
				s.Pixels, s.Left, s.Right = SlideSkip+rng.IntN(20), false, false
			}
			if s.inputs() <= 0 {
				continue
			}
			row := (s.inputs()-1)*s.Step + channels
			s.ASegment, s.BSegment = row+rng.IntN(5), taps*s.Step+rng.IntN(5)
			s.ALine, s.CLine = rng.IntN(2*s.ASegment), s.Pixels*s.Step+rng.IntN(5)
			s.A = guard.Copy(t, random[float32](rng, (s.Lines-1)*s.ALine+(s.Segments-1)*s.ASegment+row, 0), i%4 < 2)
			s.B = guard.Copy(t, random[float32](rng, (s.Segments-1)*s.BSegment+(taps-1)*s.Step+channels, 0), i%4 < 2)
			s.C = guard.Copy(t, random[float32](rng, (s.Lines-1)*s.CLine+(s.Pixels-1)*s.Step+channels, 0), i%4 < 2)
			if rng.IntN(2) == 0 {
				s.Bias = guard.Copy(t, random[float32](rng, channels, 0), i%4 < 2)
			}
			want, size, written := make([]float64, len(s.C)), make([]float64, len(s.C)), make([]bool, len(s.C))
			for l := range s.Lines {
				for p := range s.Pixels {
					for c := range channels {
						at := l*s.CLine + p*s.Step + c
						written[at] = true
						if s.Bias != nil {
							want[at], size[at] = float64(s.Bias[c]), math.Abs(float64(s.Bias[c]))
						}
					}
				}
			}
			existing(s.Pixels, max(s.Stride, 1), taps, s.Segments, s.Lines, channels, s.Left, s.Right, func(l, seg, tap, p, q, c int) {
				v := float64(s.A[l*s.ALine+seg*s.ASegment+q*s.Step+c]) * float64(s.B[seg*s.BSegment+tap*s.Step+c])
				want[l*s.CLine+p*s.Step+c] += v
				size[l*s.CLine+p*s.Step+c] += math.Abs(v)
			})
			before := append([]float32(nil), s.C...)
			RunSlide(&s)
			for at, v := range s.C {
				if !written[at] {
					require.Equal(t, before[at], v, "a number between the pixels of C changed")
					continue
				}
				if s.ReLU {
					want[at] = max(want[at], 0)
				}
				diff := math.Abs(float64(v) - want[at])
				require.True(t, diff <= 0x1p-23*30*size[at], "C[%d] is %v, want %v: %+v", at, v, want[at], geometry(s))
			}
		}
	})
}

func geometry[T Float](s Slide[T]) Slide[T] {
	s.A, s.B, s.C = nil, nil, nil
	return s
}

func TestSlideSumsAgainstFloat64(t *testing.T) {
	forSlides(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(63, 64))
		for i := range 600 {
			channels := slideLanes + i%48
			s := SlideSums[float32]{Pixels: 2 + rng.IntN(40), Channels: channels, Step: channels + rng.IntN(3), Segments: 1 + rng.IntN(5), Lines: 1 + rng.IntN(9),
				Left: rng.IntN(2) == 0, Right: rng.IntN(2) == 0}
			row := (inputs(s.Pixels, 3, s.Left, s.Right)-1)*s.Step + channels
			s.ASegment, s.CSegment = row+rng.IntN(5), 3*s.Step+rng.IntN(5)
			s.ALine, s.BLine = rng.IntN(2*s.ASegment), s.Pixels*s.Step+rng.IntN(5)
			s.A = guard.Copy(t, random[float32](rng, (s.Lines-1)*s.ALine+(s.Segments-1)*s.ASegment+row, 0), i%4 < 2)
			s.B = guard.Copy(t, random[float32](rng, (s.Lines-1)*s.BLine+(s.Pixels-1)*s.Step+channels, 0), i%4 < 2)
			s.C = guard.Copy(t, random[float32](rng, (s.Segments-1)*s.CSegment+2*s.Step+channels, 0), i%4 < 2)
			want, size := make([]float64, len(s.C)), make([]float64, len(s.C))
			for at, v := range s.C {
				want[at], size[at] = float64(v), math.Abs(float64(v))
			}
			existing(s.Pixels, 1, 3, s.Segments, s.Lines, channels, s.Left, s.Right, func(l, seg, tap, p, q, c int) {
				v := float64(s.A[l*s.ALine+seg*s.ASegment+q*s.Step+c]) * float64(s.B[l*s.BLine+p*s.Step+c])
				want[seg*s.CSegment+tap*s.Step+c] += v
				size[seg*s.CSegment+tap*s.Step+c] += math.Abs(v)
			})
			RunSlideSums(&s)
			for at, v := range s.C {
				diff := math.Abs(float64(v) - want[at])
				require.True(t, diff <= 0x1p-23*float64(s.Pixels+s.Lines)*size[at], "C[%d] is %v, want %v", at, v, want[at])
			}
		}
	})
}

// TestSlideIsChannels: the bits are those of the kernels that compute pixel by pixel.
func TestSlideIsChannels(t *testing.T) {
	forSlides(t, func(t *testing.T) {
		const pixels, channels = 21, 40
		rng := rand.New(rand.NewPCG(65, 66))
		for _, taps := range []int{3, 5, 7} {
			row := (pixels + taps - 1) * channels
			a, b := random[float32](rng, taps*row, 0), random[float32](rng, taps*taps*channels, 0)
			got, expected := make([]float32, pixels*channels), make([]float32, pixels*channels)
			RunSlide(&Slide[float32]{A: a, B: b, C: got, Pixels: pixels, Channels: channels, Step: channels, Taps: taps, Segments: taps, Lines: 1,
				ASegment: row, BSegment: taps * channels})
			RunChannels(&Tile[float32]{A: a, B: b, C: expected, Rows: pixels, Cols: channels, K: taps, Segments: taps, Outer: 1,
				ARow: channels, AK: channels, ASegment: row, BK: channels, BSegment: taps * channels, CRow: channels})
			require.Equal(t, expected, got)
		}
	})
}

func TestSlideMistakesPanic(t *testing.T) {
	forSlides(t, testSlideMistakes)
}

func testSlideMistakes(t *testing.T) {
	full := make([]float32, 1000)
	for text, run := range map[string]func(){
		"A has 79 elements": func() {
			RunSlide(&Slide[float32]{A: full[:79], B: full, C: full, Pixels: 8, Channels: 8, Step: 8, Taps: 3, Segments: 1, Lines: 1})
		},
		"B has 23": func() {
			RunSlide(&Slide[float32]{A: full, B: full[:23], C: full, Pixels: 8, Channels: 8, Step: 8, Taps: 3, Segments: 1, Lines: 1})
		},
		"C has 63": func() {
			RunSlide(&Slide[float32]{A: full, B: full, C: full[:63], Pixels: 8, Channels: 8, Step: 8, Taps: 3, Segments: 1, Lines: 1})
		},
		"no kernel for 4": func() {
			RunSlide(&Slide[float32]{A: full, B: full, C: full, Pixels: 8, Channels: 8, Step: 8, Taps: 4, Segments: 1, Lines: 1})
		},
		"no kernel for 7 taps, 2 pixels": func() {
			RunSlide(&Slide[float32]{A: full, B: full, C: full, Pixels: 2, Channels: 8, Step: 8, Taps: 7, Segments: 1, Lines: 1})
		},
		"no kernel for sums": func() {
			RunSlideSums(&SlideSums[float32]{A: full, B: full, C: full, Pixels: 1, Channels: 8, Step: 8, Segments: 1, Lines: 1})
		},
		"B has 63 elements, th": func() {
			RunSlideSums(&SlideSums[float32]{A: full, B: full[:63], C: full, Pixels: 8, Channels: 8, Step: 8, Segments: 1, Lines: 1})
		},
	} {
		func() {
			defer func() { assert.Contains(t, fmt.Sprint(recover()), text) }()
			run()
		}()
	}
}
