package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

const hasSlide = true

// maxSlide is the largest number of pixels of a tile for which internal/asmgen/micro makes a function; that with seven
// taps for AVX2 is smaller. With seven taps the smallest is slideLeast.
const (
	maxSlide      = 8
	maxSlide7AVX2 = 6
)

// slideCall is the argument block of the assembly; internal/asmgen/micro knows its layout. Strides count bytes.
type slideCall struct {
	a, b, c, bias                unsafe.Pointer
	step                         int
	tiles, aTile                 int
	lines                        int // in a group
	aLine, bLine, cLine          int
	segments, aSegment, bSegment int // bSegment is that of the weights, also where they are the result
	last, tail                   int // the last whole vector of channels, and the half after it; 0: there is none
	mask                         unsafe.Pointer
	flags                        int
	groups                       int
	pixels                       int
}

const (
	slideLeft = 1 << iota
	slideRight
	slideReLU
)

// newLanes holds, at index 16−n, the mask of all lanes of 32 bits but the first n.
var newLanes = [32]int32{16: -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// channels sets what the number of channels asks for, and reports whether the functions are those of AVX-512.
func (c *slideCall) channels(n int) (wide bool) {
	const half, whole = 8, 16
	if wide = isa.Active().Has(isa.Vectors512) && n >= whole; !wide {
		c.last, c.mask = 4*(n-half), unsafe.Pointer(&newLanes[16-(half-n%half)%half])
		return false
	}
	switch rest := n % whole; {
	case rest > 0 && rest <= half:
		c.last, c.tail, c.mask = 4*(n-rest-whole), 4*(n-half), unsafe.Pointer(&newLanes[16-(half-rest)])
	default:
		c.last, c.mask = 4*(n-whole), unsafe.Pointer(&newLanes[16-(whole-rest)%whole])
	}
	return true
}

func slideFlags(left, right, relu bool) (flags int) {
	if left {
		flags |= slideLeft
	}
	if right {
		flags |= slideRight
	}
	if relu {
		flags |= slideReLU
	}
	return flags
}

func runSlide[T Float](s *Slide[T]) {
	c := slideCall{b: unsafe.Pointer(&s.B[0]), step: 4 * s.Step, aLine: 4 * s.ALine, cLine: 4 * s.CLine, segments: s.Segments,
		aSegment: 4 * s.ASegment, bSegment: 4 * s.BSegment}
	if s.Bias != nil {
		c.bias = unsafe.Pointer(&s.Bias[0])
	}
	if s.Lines == 1 && s.Segments == 1 {
		c.aSegment = 0 // there is no further row, which the functions would fetch
	}
	wide := c.channels(s.Channels)
	// All tiles get the same number of pixels or one more.
	most := maxSlide
	if s.Taps == 7 && !wide {
		most = maxSlide7AVX2
	}
	tiles := (s.Pixels-1)/most + 1
	pixels, more := s.Pixels/tiles, s.Pixels%tiles
	parts := [2]slidePart{{more, pixels + 1}, {tiles - more, pixels}}
	if s.Stride == 2 {
		parts = skipParts(s.Pixels, most)
	}
	perLine := 2 * s.Channels * s.Taps * s.Segments * s.Pixels
	for line := 0; line < s.Lines; line += c.lines {
		c.lines = min(max(maxCallFlops/perLine, 1), s.Lines-line)
		first := 0
		for _, part := range parts {
			if part.tiles == 0 {
				continue
			}
			end := first + part.tiles*part.pixels
			c.tiles, c.aTile = part.tiles, part.pixels*c.step
			c.flags = slideFlags(s.Left && first == 0, s.Right && end == s.Pixels, s.ReLU)
			at := first * max(s.Stride, 1)
			if s.Left && first > 0 {
				at -= s.Taps / 2
			}
			c.a, c.c = unsafe.Pointer(&s.A[line*s.ALine+at*s.Step]), unsafe.Pointer(&s.C[line*s.CLine+first*s.Step])
			if s.Stride == 2 {
				callSkip(wide, s.Taps, part.pixels, &c)
			} else {
				callSlide(wide, s.Taps, part.pixels, &c)
			}
			first = end
		}
	}
	runtime.KeepAlive(s)
}

func runSlideSums[T Float](s *SlideSums[T]) {
	c := slideCall{step: 4 * s.Step, aLine: 4 * s.ALine, bLine: 4 * s.BLine, aSegment: 4 * s.ASegment, bSegment: 4 * s.CSegment,
		pixels: s.Pixels, flags: slideFlags(s.Left, s.Right, false)}
	wide := c.channels(s.Channels)
	group := min(max((slideGroup+s.Pixels/2)/s.Pixels, 1), s.Lines) // lines
	for segment := 0; segment < s.Segments; segment += slideRows {
		rows := min(slideRows, s.Segments-segment)
		perCall := max(maxCallFlops/(2*s.Channels*slideTaps*rows*s.Pixels*group), 1) // groups
		for line := 0; line < s.Lines; line += c.lines * c.groups {
			c.lines = min(group, s.Lines-line)
			c.groups = min((s.Lines-line)/c.lines, perCall)
			c.a, c.b = unsafe.Pointer(&s.A[line*s.ALine+segment*s.ASegment]), unsafe.Pointer(&s.B[line*s.BLine])
			c.c = unsafe.Pointer(&s.C[segment*s.CSegment])
			if wide {
				callSlideSumsAVX512(rows, &c)
			} else {
				callSlideSumsAVX2(rows, &c)
			}
		}
	}
	runtime.KeepAlive(s)
}

// slidePart is a run of tiles of so many pixels.
type slidePart struct{ tiles, pixels int }

// skipParts cuts a line with stride 2 into large tiles and perhaps a small one.
func skipParts(pixels, most int) [2]slidePart {
	large := most / (2 * SlideSkip) * 2 * SlideSkip
	if large == 0 {
		return [2]slidePart{{pixels / SlideSkip, SlideSkip}}
	}
	return [2]slidePart{{pixels / large, large}, {pixels % large / SlideSkip, SlideSkip}}
}

func callSlide(wide bool, taps, pixels int, c *slideCall) {
	switch {
	case taps == 3 && wide:
		callSlide3AVX512(pixels, c)
	case taps == 3:
		callSlide3AVX2(pixels, c)
	case taps == 5 && wide:
		callSlide5AVX512(pixels, c)
	case taps == 5:
		callSlide5AVX2(pixels, c)
	case wide:
		callSlide7AVX512(pixels, c)
	default:
		callSlide7AVX2(pixels, c)
	}
}

// callSkip is callSlide for stride 2.
func callSkip(wide bool, taps, pixels int, c *slideCall) {
	switch {
	case taps == 3 && wide:
		callSlide3SkipAVX512(pixels, c)
	case taps == 3:
		callSlide3SkipAVX2(pixels, c)
	case taps == 5 && wide:
		callSlide5SkipAVX512(pixels, c)
	case taps == 5:
		callSlide5SkipAVX2(pixels, c)
	case wide:
		callSlide7SkipAVX512(pixels, c)
	default:
		callSlide7SkipAVX2(pixels, c)
	}
}
