package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// Package micro slides over windows of 3, 5 or 7 taps. Windows of 2, 4, 6, 8, 9, ... taps along the width, dilated
// windows, and windows with stride 2 over many channels are cut into parts of 2, 3, 5 or 7 taps, which are added one
// after the other. Such strided windows gain because their memory is then read in order. No input may be missing for a
// part, so the inputs of the outputs at the ends of rows are copied with zeros around them; short rows are copied as a
// whole. An infinite weight of a tap that falls on padding turns the sum into NaN. So it does in XLA, which adds
// products with zeros too.

const (
	slideCopyNumbers = 48 << 10 // elements of the copies at a time: a part of the second-level cache
	slideSkipOutputs = 16       // fewest outputs of a row for which windows with stride 2 gain over few channels
	slideCopyPixels  = 4        // fewest outputs in the middle of a row for which only the inputs of the other outputs are copied
)

// slideCopies is the geometry of a correlation that slides over copies.
type slideCopies struct {
	unit        int // taps of a part; 0: the correlation does not slide over copies
	left, right int // outputs at both ends of a row, which read copies; the others read the input in place
	rows        int // rows of outputs whose copies are in memory at a time
	row         int // elements of a copied row
	local       int // scratch memory of a worker
}

// slideUnit returns the largest number of taps of a part that divides the window evenly, or 0 if there is none.
func slideUnit(taps int) int {
	for _, unit := range [...]int{7, 5, 3, 2} {
		if taps%unit == 0 {
			return unit
		}
	}
	return 0
}

// slideDilation is the largest dilation for which sliding is faster than computing tap by tap. With dilation d, a row
// becomes d rows of their own, each with a d-th of the outputs.
func slideDilation(unit int) int {
	if unit < 5 {
		return 4
	}
	return 8
}

// slidesCopies reports whether the convolution slides over copies, and, with stride 1 along the width, its input
// gradient.
func slidesCopies[T Float](s *Shape) bool {
	unit, out := slideUnit(s.Kernel[2]), s.Out()[2]
	if s.Strides[2] == 1 {
		out = min(out, s.In[2])
	}
	return s.depthwise() && !s.Pairs && s.Kernel[0] == 1 && (s.Strides[2] == 1 || s.Strides[2] == 2 && s.Dilation[2] == 1 && (s.OutChannels >= fetchColumns || s.skipsWell(unit, out) && byStridedCopies.Taken())) && unit > 0 && s.Dilation[2] <= slideDilation(unit) &&
		micro.HasSlide[T](unit, s.OutChannels) && out >= s.Dilation[2]*micro.SlideLeast(unit, s.Strides[2]) && !slides[T](s) && bySlideCopies.Taken()
}

// skipsWell reports whether windows with stride 2 gain whatever the channels: those of two taps, and without padding
// those of several parts of three, except with AVX2. Parts of two lose, because each part adds to the results once
// more.
func (s *Shape) skipsWell(unit, out int) bool {
	return out >= slideSkipOutputs && (s.Kernel[2] == 2 || unit == 3 && s.Kernel[2] > 3 && !usesAVX2() && s.PadLow[2] <= 0 && s.PadHigh[2] <= 0)
}

// setCopies sets the geometry for the axes of the correlation if on is set.
func (c *correlation[T]) setCopies(on bool) {
	if c.copies = (slideCopies{}); on && single[T]() {
		setCopies((*correlation[float32])(unsafe.Pointer(c)))
	}
}

func setCopies(c *correlation[float32]) {
	height, width := &c.axes[1], &c.axes[2]
	g := slideCopies{unit: slideUnit(width.taps)}
	least := micro.SlideLeast(g.unit, width.inStep) * width.tapStep
	if low := -width.inOffset; low > 0 {
		g.left = max(ceil(low, width.inStep), least)
	}
	if _, end := width.outputs(width.taps - 1); end < width.out {
		g.right = max(width.out-end, least)
	}
	if g.left+g.right > 0 && width.out-g.left-g.right < max(least, slideCopyPixels) {
		g.left, g.right = width.out, 0
	}
	if most := max(g.left, g.right); most > 0 {
		reach := max(height.taps-1, 0) * height.tapStep
		g.row = copiedPixels(width, most) * c.out
		g.rows = min(max((slideCopyNumbers/g.row-reach-1)/height.inStep+1, max(height.taps, 1)), max(height.out, 1))
		g.local = ((g.rows-1)*height.inStep + reach + 1) * g.row
	}
	c.copies = g
}

// copiedPixels returns how many pixels that many outputs of a row see.
func copiedPixels(width *axis, outputs int) int {
	return (outputs-1)*width.inStep + (width.taps-1)*width.tapStep + 1
}

// copiesScratch is the scratch memory of the workers for the copies of a forward convolution.
func copiesScratch[T Float](s *Shape, workers int) int {
	if !single[T]() || !slidesCopies[T](s) {
		return 0
	}
	c := getCorrelation[float32]()
	c.forward(s)
	size := c.copies.local
	putCorrelation(c)
	return size * max(workers, 1)
}

// copiesBackward is the scratch memory of a worker for the copies of an input gradient, in the phase that needs most.
func copiesBackward[T Float](s *Shape) int {
	if !single[T]() {
		return 0
	}
	return copiesOfPhases(s)
}

func copiesOfPhases(s *Shape) (size int) {
	if !slidesCopies[float32](s) || s.Strides[2] > 1 {
		return 0
	}
	c, out := getCorrelation[float32](), s.Out()
	c.backward(s)
	for h := range s.phases(1) {
		for i, at := range [3]int{0, h, 0} {
			p := s.backwardPhase(i, at, out)
			c.axes[i] = p.axis
		}
		c.setCopies(true)
		size = max(size, c.copies.local)
	}
	putCorrelation(c)
	return size
}

// copiedRows computes the rows [first, end) at depth d of image n.
func copiedRows(c *correlation[float32], worker, n, d, first, end int) {
	g, out := &c.copies, c.axes[2].out
	local := c.local[worker*g.local:][:g.local]
	if g.left < out {
		slideBlock(c, &copiedBlock{n: n, d: d, first: first, end: end, at: g.left, outputs: out - g.left - g.right}, nil)
	}
	for rows := first; g.local > 0 && rows < end; rows += g.rows {
		b := copiedBlock{n: n, d: d, first: rows, end: min(rows+g.rows, end), outputs: g.left}
		if g.left > 0 {
			slideBlock(c, &b, local)
		}
		if b.at, b.outputs = out-g.right, g.right; g.right > 0 {
			slideBlock(c, &b, local)
		}
	}
}

// copiedBlock is a part of the rows [first, end) of outputs.
type copiedBlock struct {
	n, d, first, end int
	at, outputs      int
}

// copyBlock copies the inputs of the outputs of a block.
func copyBlock(c *correlation[float32], b *copiedBlock, to []float32) {
	ax := &c.axes
	from, pixels := b.at*ax[2].inStep+ax[2].inOffset, copiedPixels(&ax[2], b.outputs)
	before := min(max(-from, 0), pixels)
	behind := max(min(ax[2].in-from, pixels), before)
	plane := c.x[(b.n*ax[0].in+b.d*ax[0].inStep+ax[0].inOffset)*c.planeX():]
	low := b.first*ax[1].inStep + ax[1].inOffset
	high := min((b.end-1)*ax[1].inStep+ax[1].inOffset+(ax[1].taps-1)*ax[1].tapStep+1, ax[1].in)
	for r := max(low, 0); r < high; r++ {
		row := to[(r-low)*c.copies.row:][:pixels*c.in]
		clear(row[:before*c.in])
		clear(row[behind*c.in:])
		if before < behind {
			copy(row[before*c.in:behind*c.in], plane[(r*ax[2].in+from+before)*c.in:])
		}
	}
}

// slideBlock computes a block from copies, or in place if copies is empty.
func slideBlock(c *correlation[float32], b *copiedBlock, copies []float32) {
	td, tdEnd := c.axes[0].inside(b.d)
	if td < tdEnd && copies != nil {
		copyBlock(c, b, copies)
	}
	for _, h := range c.spans[1] {
		switch h.first, h.end = max(h.first, b.first), min(h.end, b.end); {
		case h.first >= h.end:
		case td == tdEnd || h.tap == h.tapEnd:
			c.rectangle(b.n, b.d, h, span{b.at, b.at + b.outputs, 0, 0}, 0, 0, c.out, whole)
		default:
			slidePart(c, b, copies, h)
		}
	}
}

// slidePart computes the rows of a block that are in a span.
func slidePart(c *correlation[float32], b *copiedBlock, copies []float32, h span) {
	g, ax := &c.copies, &c.axes
	x, row := copies, g.row
	input := h.first*ax[1].inStep + ax[1].inOffset + h.tap*ax[1].tapStep
	if copies == nil {
		row = ax[2].in * c.in
		x = c.x[(b.n*ax[0].in+b.d*ax[0].inStep+ax[0].inOffset)*c.planeX()+input*row+(b.at*ax[2].inStep+ax[2].inOffset)*c.in:]
	} else {
		x = x[(input-b.first*ax[1].inStep-ax[1].inOffset)*row:]
	}
	y := c.y[((b.n*c.outs[0]+ax[0].outStart+b.d*ax[0].outStep)*c.outs[1]+ax[1].outStart+h.first*ax[1].outStep)*c.outs[2]*c.out+(ax[2].outStart+b.at*ax[2].outStep)*c.out:]
	s := micro.Slide[float32]{B: c.w[h.tap*ax[2].taps*c.out:], Bias: c.bias, Channels: c.out, Step: ax[2].tapStep * c.in, BStep: c.out, CStep: ax[2].tapStep * ax[2].outStep * c.out,
		Stride: ax[2].inStep, Taps: g.unit, Parts: ax[2].taps / g.unit, APart: g.unit * ax[2].tapStep * c.in, BPart: g.unit * c.out,
		Segments: h.tapEnd - h.tap, ASegment: ax[1].tapStep * row, BSegment: ax[2].taps * c.out,
		Lines: h.end - h.first, ALine: ax[1].inStep * row, CLine: ax[1].outStep * c.outs[2] * c.out, ReLU: c.relu}
	for residue := range ax[2].tapStep { // outputs that are a dilation apart see inputs that are a dilation apart
		s.A, s.C, s.Pixels = x[residue*c.in:], y[residue*ax[2].outStep*c.out:], ceil(b.outputs-residue, ax[2].tapStep)
		micro.RunSlide(&s)
	}
}
