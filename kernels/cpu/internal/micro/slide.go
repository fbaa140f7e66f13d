package micro

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Slide is a depthwise convolution over lines of neighbouring pixels. It computes, for l in [0, Lines), p in [0,
// Pixels) and c in [0, Channels),
//
//	C[l·CLine + p·CStep + c] = relu?( Σ_i Σ_s Σ_t A[l·ALine + i·APart + s·ASegment + (p·Stride+t)·Step + c] · B[i·BPart + s·BSegment + t·BStep + c] + bias?[c] )
//
// with i in [0, Parts), s in [0, Segments), t in [0, Taps). An input is loaded once for all taps of a part that meet
// it. With Left, the Taps/2 inputs before the middle tap of the first output are missing, and their products are left
// out; A then begins with the first input that exists. With Right, the same holds for the inputs after the middle tap
// of the last output. If Stride is 2, Taps is even or Parts is above 1, none may be missing. Pixels is at least
// [SlideLeast].
type Slide[T Float] struct {
	A, B, C []T
	Bias    []T // nil, or Channels numbers

	Pixels, Channels, Step           int
	BStep, CStep                     int // 0: Step
	Stride                           int // 1 or 2; 0 means 1
	Parts, APart, BPart              int // 0 parts mean 1
	Taps, Segments, Lines            int
	ALine, CLine, ASegment, BSegment int
	Left, Right, ReLU                bool
}

// SlideSums is the gradient of [Slide] with respect to B, for three taps: for the same l, p, c, s and t,
//
//	C[s·CSegment + t·Step + c] += Σ_l Σ_p A[l·ALine + s·ASegment + (p+t)·Step + c] · B[l·BLine + p·Step + c]
//
// The products of lines of about slideGroup pixels in all are added up first. Pixels is at least 2.
type SlideSums[T Float] struct {
	A, B, C []T

	Pixels, Channels, Step           int
	Segments, Lines                  int
	ALine, BLine, ASegment, CSegment int
	Left, Right                      bool
}

const (
	slideTaps  = 3  // of SlideSums
	slideLanes = 8  // fewest channels that have a kernel
	slideGroup = 32 // fewest pixels, if there are as many, whose products SlideSums adds up before it adds them to memory
	slideRows  = 3  // rows of the kernel that SlideSums computes together

	minSlide7Pixels = 3 // fewest pixels of a line with seven taps

	// SlideSkip is how many pixels of a line are computed together with stride 2 or two taps.
	SlideSkip = 4
)

// SlideLeast returns the fewest pixels that a line may have.
func SlideLeast(taps, stride int) int {
	switch {
	case stride == 2 || taps == 2:
		return SlideSkip
	case taps == 7:
		return minSlide7Pixels
	}
	return 1
}

// HasSlide reports whether [RunSlide] has kernels for that many taps and channels under the active level.
func HasSlide[T Float](taps, channels int) bool {
	return hasSlide && isa.Active().Has(isa.Vectors256) && PanelWidth[T]() == 32 && (taps == 2 || taps == 3 || taps == 5 || taps == 7) && channels >= slideLanes
}

// HasSlideSums is [HasSlide] for [RunSlideSums].
func HasSlideSums[T Float](taps, channels int) bool {
	return taps == slideTaps && HasSlide[T](taps, channels)
}

// RunSlide computes the lines. It panics if there is no kernel for them or an operand is too short. It sets the fields
// whose 0 means another value to that value.
func RunSlide[T Float](s *Slide[T]) {
	if s.Lines <= 0 || s.Pixels <= 0 {
		return
	}
	s.Stride, s.Parts = max(s.Stride, 1), max(s.Parts, 1)
	if s.BStep == 0 {
		s.BStep = s.Step
	}
	if s.CStep == 0 {
		s.CStep = s.Step
	}
	edges := s.Stride == 1 && s.Parts == 1 && s.Taps%2 == 1
	if !HasSlide[T](s.Taps, s.Channels) || s.Pixels < SlideLeast(s.Taps, s.Stride) || s.Stride > 2 || (s.Left || s.Right) && !edges || s.Segments <= 0 || min(s.Step, s.BStep, s.CStep) < s.Channels || s.ALine|s.CLine|s.ASegment|s.BSegment|s.APart|s.BPart < 0 {
		panic(fmt.Sprintf("micro: no kernel for %d taps, %d pixels, %d channels of %d, %d segments", s.Taps, s.Pixels, s.Channels, s.Step, s.Segments))
	}
	extent("A", len(s.A), s.Channels, s.Lines, s.ALine, s.Parts, s.APart, s.Segments, s.ASegment, s.inputs(), s.Step)
	extent("B", len(s.B), s.Channels, s.Parts, s.BPart, s.Segments, s.BSegment, s.Taps, s.BStep)
	extent("C", len(s.C), s.Channels, s.Lines, s.CLine, s.Pixels, s.CStep)
	if s.Bias != nil {
		extent("bias", len(s.Bias), s.Channels)
	}
	runSlide(s)
}

// RunSlideSums adds the sums. It panics if there is no kernel for them or an operand is too short.
func RunSlideSums[T Float](s *SlideSums[T]) {
	if s.Lines <= 0 || s.Segments <= 0 {
		return
	}
	if !HasSlideSums[T](slideTaps, s.Channels) || s.Pixels < 2 || s.Step < s.Channels || s.ALine|s.BLine|s.ASegment|s.CSegment < 0 {
		panic(fmt.Sprintf("micro: no kernel for sums over %d pixels of %d channels of %d", s.Pixels, s.Channels, s.Step))
	}
	extent("A", len(s.A), s.Channels, s.Lines, s.ALine, s.Segments, s.ASegment, inputs(s.Pixels, slideTaps, s.Left, s.Right), s.Step)
	extent("B", len(s.B), s.Channels, s.Lines, s.BLine, s.Pixels, s.Step)
	extent("C", len(s.C), s.Channels, s.Segments, s.CSegment, slideTaps, s.Step)
	runSlideSums(s)
}

// inputs is the number of inputs of a line.
func (s *Slide[T]) inputs() int {
	if s.Stride == 2 {
		return 2*(s.Pixels-1) + s.Taps
	}
	return inputs(s.Pixels, s.Taps, s.Left, s.Right)
}

func inputs(pixels, taps int, left, right bool) int {
	n := pixels + taps - 1
	if left {
		n -= taps / 2
	}
	if right {
		n -= taps / 2
	}
	return n
}

// extent panics unless an operand has all numbers of runs of length run. The runs are placed by pairs of a count and a
// step.
func extent(name string, have, run int, steps ...int) {
	for i := 0; i < len(steps); i += 2 {
		run += (steps[i] - 1) * steps[i+1]
	}
	if have < run {
		panic(fmt.Sprintf("micro: %s has %d elements, the lines need %d", name, have, run))
	}
}
