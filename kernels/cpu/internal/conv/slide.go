package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Where package micro can slide over the pixels of a row (see [micro.Slide]), a depthwise convolution is computed row
// by row, for all channels together.

// slides reports whether the convolution and its input gradient slide.
func slides[T Float](s *Shape) bool {
	return s.rowByRow() && s.Kernel[2]%2 == 1 && micro.HasSlide[T](s.Kernel[2], s.OutChannels) && bySlides.Taken()
}

// slidesForward reports whether the convolution does, possibly with a stride along the width.
func slidesForward[T Float](s *Shape) bool {
	r := *s
	if r.Strides[2] == 2 {
		r.Strides[2] = 1
	}
	return slides[T](&r)
}

// slidesSums reports whether the kernel gradient does.
func slidesSums[T Float](s *Shape) bool {
	return s.rowByRow() && micro.HasSlideSums[T](s.Kernel[2], s.OutChannels) && bySlideSums.Taken()
}

// rowByRow reports whether strides and dilation along the width are 1.
func (s *Shape) rowByRow() bool {
	return s.depthwise() && s.Kernel[0] == 1 && s.Strides[2] == 1 && s.Dilation[2] == 1
}

// sliding is the part [first, end) of a row of outputs in which the first output misses at most the taps before the
// middle one, and the last output at most those after it.
type sliding struct {
	first, end  int
	left, right bool
}

// sliding returns that part of the axis; it is empty if the axis is too short.
func (a *axis) sliding() (s sliding) {
	if a.inStep == 2 {
		return a.slidingSkip()
	}
	half := a.taps / 2
	s.first, s.end = max(-a.inOffset, 0), a.out
	if s.left = s.first >= half; s.left {
		s.first -= half
	}
	over := max(a.out-1+a.inOffset+a.taps-a.in, 0) // inputs that the last output would see beyond the row
	if s.right = over >= half; s.right {
		over -= half
	}
	if s.end -= over; s.end-s.first < half {
		return sliding{}
	}
	return s
}

// slidingSkip is sliding with stride 2: outputs that see all taps, in a number that package micro can take.
func (a *axis) slidingSkip() (s sliding) {
	s.first = max(ceil(-a.inOffset, 2), 0)
	if room := a.in - a.inOffset - a.taps; room >= 0 {
		s.end = min(room/2+1, a.out)
	}
	if s.end = s.first + max(s.end-s.first, 0)/micro.SlideSkip*micro.SlideSkip; s.end == s.first {
		return sliding{}
	}
	return s
}

// inputAt returns the first input that the part sees.
func (s *sliding) inputAt(a *axis) int {
	if s.left {
		return s.first + a.inOffset + a.taps/2
	}
	return s.first*a.inStep + a.inOffset
}

// slideRows computes the rows of a span along the height, at depth d of image n.
func (c *correlation[T]) slideRows(n, d int, h span) {
	ax := &c.axes
	td, tdEnd := ax[0].inside(d)
	s := c.sliding
	if td == tdEnd || h.tap == h.tapEnd {
		s = sliding{}
	}
	for _, w := range c.spans[2] {
		before, behind := w, w
		before.end, behind.first = min(w.end, s.first), max(w.first, s.end)
		for _, rest := range [...]span{before, behind} {
			if rest.first < rest.end {
				c.rectangle(n, d, h, rest, 0, 0, c.out, whole)
			}
		}
	}
	if s.first == s.end {
		return
	}
	rowX, rowY := ax[2].in*c.in, c.outs[2]*c.out
	x := ((n*ax[0].in+d*ax[0].inStep+ax[0].inOffset)*ax[1].in + h.first*ax[1].inStep + ax[1].inOffset + h.tap*ax[1].tapStep) * rowX
	y := ((n*c.outs[0]+ax[0].outStart+d*ax[0].outStep)*c.outs[1] + ax[1].outStart + h.first*ax[1].outStep) * rowY
	micro.RunSlide(&micro.Slide[T]{A: c.x[x+s.inputAt(&ax[2])*c.in:], B: c.w[h.tap*ax[2].taps*c.out:], C: c.y[y+s.first*c.out:], Bias: c.bias,
		Pixels: s.end - s.first, Channels: c.out, Step: c.out, Stride: ax[2].inStep, Taps: ax[2].taps, Segments: h.tapEnd - h.tap, Lines: h.end - h.first,
		ALine: ax[1].inStep * rowX, CLine: ax[1].outStep * rowY, ASegment: ax[1].tapStep * rowX, BSegment: ax[2].taps * c.out,
		Left: s.left, Right: s.right, ReLU: c.relu})
}

// slideSpan adds the products of the rows of a span along the height, in one plane of outputs, to the sums dst of all
// taps. col is the first of the columns.
func (c *kernelGradient[T]) slideSpan(dst []T, planeX, planeY int, h span, col, cols int) {
	s, ax := &c.shape, &c.axes
	channels := s.OutChannels
	tapRow := ax[2].taps * channels
	rowX := planeX*s.In[1] + h.first*ax[1].inStep + ax[1].inOffset + h.tap*ax[1].tapStep
	rowY := planeY*c.out[1] + h.first
	slide := c.sliding
	if slide.end-slide.first < 2 {
		slide = sliding{}
	}
	for _, w := range c.spans {
		before, behind := w, w
		before.end, behind.first = min(w.end, slide.first), max(w.first, slide.end)
		for _, rest := range [...]span{before, behind} {
			for tap := h.tap; tap < h.tapEnd && rest.first < rest.end && rest.tap < rest.tapEnd; tap++ {
				c.accumulate(dst[tap*tapRow:], rowX+(tap-h.tap)*ax[1].tapStep, rowY, h.end-h.first, 1, rest, 0, col, cols)
			}
		}
	}
	if slide.first == slide.end {
		return
	}
	lineX, lineY := s.In[2]*channels, c.out[2]*channels
	micro.RunSlideSums(&micro.SlideSums[T]{A: c.x[rowX*lineX+slide.inputAt(&ax[2])*channels+col:], B: c.dy[rowY*lineY+slide.first*channels+col:],
		C: dst[h.tap*tapRow+col:], Pixels: slide.end - slide.first, Channels: cols, Step: channels, Segments: h.tapEnd - h.tap, Lines: h.end - h.first,
		ALine: ax[1].inStep * lineX, BLine: lineY, ASegment: ax[1].tapStep * lineX, CSegment: tapRow, Left: slide.left, Right: slide.right})
}
