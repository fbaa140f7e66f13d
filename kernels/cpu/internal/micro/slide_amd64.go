package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

const hasSlide = true

// maxSlide is the most pixels of a tile for which internal/asmgen/micro generates a function. For seven taps with AVX2
// it is smaller.
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
	segments, aSegment, bSegment int // bSegment is the step of the weights, even where these are the result
	last, tail                   int // offset of the last whole vector of channels, and of the half vector after it; 0 if there is none
	mask                         unsafe.Pointer
	flags                        int
	groups                       int
	pixels                       int
	bStep, cStep, cTile          int
	parts, aPart, bPart          int // the last two are the distances from the end of a part to the start of the next
}

const (
	slideLeft = 1 << iota
	slideRight
	slideReLU
)

// newLanes holds, at index 16−n, a mask of 32-bit lanes that leaves out the first n.
var newLanes = [32]int32{16: -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// channels sets what depends on the number of channels, and reports whether the functions are those of AVX-512.
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
		c.aSegment = 0 // there is no next row for the functions to prefetch
	}
	c.bStep, c.cStep = 4*s.BStep, 4*s.CStep
	c.parts, c.aPart, c.bPart = s.Parts, 4*s.APart-c.segments*c.aSegment, 4*s.BPart-c.segments*c.bSegment
	wide := c.channels(s.Channels)
	most := maxSlide
	if s.Taps == 7 && !wide {
		most = maxSlide7AVX2
	}
	runs := slideRuns(s.Pixels, most)
	if s.Stride == 2 || s.Taps == 2 {
		runs = skipRuns(s.Pixels, most)
	}
	perLine := 2 * s.Channels * s.Taps * s.Parts * s.Segments * s.Pixels
	for line := 0; line < s.Lines; line += c.lines {
		c.lines = min(max(maxCallFlops/perLine, 1), s.Lines-line)
		for _, run := range runs {
			if run.tiles == 0 {
				continue
			}
			first, end := run.first, run.first+run.tiles*run.pixels
			c.tiles, c.aTile, c.cTile = run.tiles, run.pixels*c.step, run.pixels*c.cStep
			c.flags = slideFlags(s.Left && first == 0, s.Right && end == s.Pixels, s.ReLU)
			at := first * max(s.Stride, 1)
			if s.Left && first > 0 {
				at -= s.Taps / 2
			}
			c.a, c.c = unsafe.Pointer(&s.A[line*s.ALine+at*s.Step]), unsafe.Pointer(&s.C[line*s.CLine+first*s.CStep])
			if s.Stride == 2 {
				callSkip(wide, s.Taps, run.pixels, &c)
			} else {
				callSlide(wide, s.Taps, run.pixels, &c)
			}
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

// slideRun is a run of tiles of the given number of pixels, from pixel first on.
type slideRun struct{ first, tiles, pixels int }

// slideRuns cuts a line into tiles whose numbers of pixels differ by at most one.
func slideRuns(count, most int) [2]slideRun {
	tiles := (count-1)/most + 1
	pixels, more := count/tiles, count%tiles
	return [2]slideRun{{0, more, pixels + 1}, {more * (pixels + 1), tiles - more, pixels}}
}

// skipRuns cuts a line with stride 2 or two taps into large tiles. Remaining pixels get a last tile, which may overlap
// the one before it: outputs that are computed twice get the same bits.
func skipRuns(count, most int) (runs [2]slideRun) {
	size := SlideSkip
	if large := 2 * SlideSkip; large <= most && count >= large {
		size = large
	}
	runs[0] = slideRun{0, count / size, size}
	if rest := count % size; rest > 0 {
		if rest <= SlideSkip {
			size = SlideSkip
		}
		runs[1] = slideRun{count - size, 1, size}
	}
	return runs
}

func callSlide(wide bool, taps, pixels int, c *slideCall) {
	switch {
	case taps == 2 && wide:
		callSlide2AVX512(pixels, c)
	case taps == 2:
		callSlide2AVX2(pixels, c)
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
	case taps == 2 && wide:
		callSlide2SkipAVX512(pixels, c)
	case taps == 2:
		callSlide2SkipAVX2(pixels, c)
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
