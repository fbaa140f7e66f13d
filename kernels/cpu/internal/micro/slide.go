package micro

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// Slide is a depthwise convolution of lines of pixels that lie next to each other. It computes, for l in [0, Lines), p
// in [0, Pixels) and c in [0, Channels),
//
//	C[l·CLine + p·Step + c] = relu?( Σ_s Σ_t A[l·ALine + s·ASegment + (p·Stride+t)·Step + c] · B[s·BSegment + t·Step + c] + bias?[c] )
//
// with s in [0, Segments), t in [0, Taps), in the order of [RunChannels]. An input is loaded once for all taps that
// meet it. With Left, the Taps/2 inputs in front of the middle tap of the first output are missing and their products
// left out; A then begins with the first input that exists. With Right, so are those after the middle tap of the last
// output. Where Stride is 2, none may be missing, and Pixels is a multiple of [SlideSkip].
type Slide[T Float] struct {
	A, B, C []T
	Bias    []T // nil, or Channels numbers

	Pixels, Channels, Step           int
	Stride                           int // 1 or 2; 0 means 1
	Taps, Segments, Lines            int
	ALine, CLine, ASegment, BSegment int
	Left, Right, ReLU                bool
}

// SlideSums is the gradient of [Slide] with respect to B, for three taps: for the same l, p, c, s and t,
//
//	C[s·CSegment + t·Step + c] += Σ_l Σ_p A[l·ALine + s·ASegment + (p+t)·Step + c] · B[l·BLine + p·Step + c]
//
// The products of lines of about slidePixels pixels are added up first. Pixels is at least 2.
type SlideSums[T Float] struct {
	A, B, C []T

	Pixels, Channels, Step           int
	Segments, Lines                  int
	ALine, BLine, ASegment, CSegment int
	Left, Right                      bool
}

const (
	slideTaps  = 3  // of SlideSums
	slideLanes = 8  // channels below which there is no kernel
	slideGroup = 32 // pixels whose products SlideSums adds up at least, if there are so many, before it adds them to memory
	slideRows  = 3  // rows of the kernel that SlideSums computes together
	slideLeast = 3  // pixels of a line with seven taps

	// SlideSkip is what the pixels of a line with stride 2 must be a multiple of.
	SlideSkip = 4
)

// HasSlide reports whether [RunSlide] has kernels for the given number of taps and channels under the active level.
func HasSlide[T Float](taps, channels int) bool {
	return hasSlide && isa.Active().Has(isa.Vectors256) && PanelWidth[T]() == 32 && (taps == 3 || taps == 5 || taps == 7) && channels >= slideLanes
}

// HasSlideSums is [HasSlide] for [RunSlideSums].
func HasSlideSums[T Float](taps, channels int) bool {
	return taps == slideTaps && HasSlide[T](taps, channels)
}

// RunSlide computes the lines. It panics if there is no kernel for them or an operand is too short.
func RunSlide[T Float](s *Slide[T]) {
	if s.Lines <= 0 || s.Pixels <= 0 {
		return
	}
	if !HasSlide[T](s.Taps, s.Channels) || s.Taps == 7 && s.Pixels < slideLeast || s.Stride < 0 || s.Stride > 2 || s.Stride == 2 && (s.Left || s.Right || s.Pixels%SlideSkip != 0) || s.Segments <= 0 || s.Step < s.Channels || s.ALine|s.CLine|s.ASegment|s.BSegment < 0 {
		panic(fmt.Sprintf("micro: no kernel for %d taps, %d pixels, %d channels of %d, %d segments", s.Taps, s.Pixels, s.Channels, s.Step, s.Segments))
	}
	extent("A", len(s.A), s.Channels, s.Lines, s.ALine, s.Segments, s.ASegment, s.inputs(), s.Step)
	extent("B", len(s.B), s.Channels, s.Segments, s.BSegment, s.Taps, s.Step)
	extent("C", len(s.C), s.Channels, s.Lines, s.CLine, s.Pixels, s.Step)
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

// extent panics unless an operand has the numbers of runs of a length that are placed by pairs of a count and a step.
func extent(name string, have, run int, steps ...int) {
	for i := 0; i < len(steps); i += 2 {
		run += (steps[i] - 1) * steps[i+1]
	}
	if have < run {
		panic(fmt.Sprintf("micro: %s has %d elements, the lines need %d", name, have, run))
	}
}
