package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

const (
	sumBytes   = 192 << 10 // bytes of input and output gradient that one block of the sum reads: they stay in the second-level cache
	partialMax = 4 << 20   // most elements of partial results that are worth their memory
	insideMax  = 1 << 16   // elements of the kernel up to which partial results are cheap
	shortRun   = 8         // pixels of a row: in shorter rows, the inner loop goes over rows, because longer ones are prefetched as they are read
)

// mostPanels is the most panels of output channels that share a pass over a block of the input.
const mostPanels = 4

// panelsTogether returns how many of a group's panels share a pass over a block of the input. Where the input is much
// larger than the kernel, that saves reading it again for each panel; elsewhere it does not pay, because fewer blocks
// of columns mean more partial results.
func (s *Shape) panelsTogether(panels int) int {
	inGroup := s.InChannels / s.Groups
	if panels < 2 || volume(s.In)*inGroup*(panels-1) < 2*volume(s.Kernel)*inGroup*s.OutChannels/s.Groups {
		return 1
	}
	return even(panels, mostPanels)
}

// kernelGradient is the state of a running kernel gradient.
type kernelGradient[T Float] struct {
	shape          Shape
	out            [3]int
	axes           [3]axis
	spans, height  []span // of the width axis, and of the height axis if slides
	x, dy, dkernel []T
	partial        []T // parts x size of the kernel if parts > 1

	sizeX, sizeY, size int  // elements of the operands and of the kernel
	inside             bool // see tapsInside

	parts     int // blocks of images with a partial result each
	columns   int // blocks of output channels
	width     int // output channels in a block
	groupCols int // blocks of output channels in a group
	tapUnits  int // units along the height axis of the kernel: 1, or one for each tap
	summing   sumTask[T]

	wide   wide // if isWideGradient
	isWide bool

	slides  bool // see slide.go
	sliding sliding
	lanes   int // of the vectors, see grouped.go; 0 if the gradient does not use them
	local   []T // scratch memory of the workers, if lanes is not 0

	few bool // see few.go

	turned bool // the rows of x are stored channel by channel, see turned.go

	copies gradientCopies // see gradient_copies.go
	blocks gradientBlocks // see gradient_blocks.go
}

var (
	gradients32 pool.Recycler[kernelGradient[float32]]
	gradients64 pool.Recycler[kernelGradient[float64]]
)

func getGradient[T Float]() *kernelGradient[T] {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return (*kernelGradient[T])(unsafe.Pointer(gradients32.Get()))
	}
	return (*kernelGradient[T])(unsafe.Pointer(gradients64.Get()))
}

func putGradient[T Float](c *kernelGradient[T]) {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		gradients32.Put((*kernelGradient[float32])(unsafe.Pointer(c)))
		return
	}
	gradients64.Put((*kernelGradient[float64])(unsafe.Pointer(c)))
}

// columnBlocks returns the output channels in a block, the blocks in a group, and the blocks in all groups.
func columnBlocks[T Float](s *Shape) (width, perGroup, all int) {
	width = micro.PanelWidth[T]()
	if isWideGradient[T](s) {
		return s.OutChannels, 1, 1
	}
	if s.depthwise() {
		width *= 4
		all = ceil(s.OutChannels, width)
		if slidesSums[T](s) || s.OutChannels%width < micro.NarrowChannels[T]() {
			all = max(s.OutChannels/width, 1) // the last block takes the remainder too, which may be too narrow for a kernel
		}
		return width, all, all
	}
	if few[T](s) {
		return s.OutChannels / s.Groups, 1, s.Groups
	}
	if l := groupedSumsLanes[T](s); l > 0 {
		vectors := s.OutChannels / l
		vectors = ceil(vectors, ceil(wantChunks, max(s.Batch, 1))) // if there are many images, they give enough chunks
		return vectors * l, 1, ceil(s.OutChannels, vectors*l)
	}
	if b := gradientBlocksOf[T](s); b.planes > 0 { // panels are joined for the workers, see joinColumns
		perGroup = ceil(s.OutChannels, width)
		return width, perGroup, perGroup
	}
	width *= s.panelsTogether(ceil(s.OutChannels/s.Groups, width))
	perGroup = ceil(s.OutChannels/s.Groups, width)
	return width, perGroup, perGroup * s.Groups
}

// tapsInside reports whether a unit covers all taps of the height axis, so that dy is read once for all of them.
func (s *Shape) tapsInside() bool { return s.sizeKernel() <= insideMax }

// imageParts returns the number of blocks that the images are cut into to get enough chunks. It depends on the shape
// alone.
func imageParts[T Float](s *Shape) int {
	_, _, columns := columnBlocks[T](s)
	units := max(s.Kernel[0]*columns, 1)
	if !s.tapsInside() {
		units *= s.Kernel[1]
	}
	parts := min(ceil(wantChunks, units), s.Batch, max(s.FLOPs()/(units*chunkFlops), 1))
	for parts > 1 && parts*s.sizeKernel() > partialMax {
		parts--
	}
	return max(parts, 1)
}

// BackwardWeightsScratch returns the number of elements of scratch memory that BackwardWeights needs.
func BackwardWeightsScratch[T Float](s *Shape, workers int) int {
	var local decisions
	return scratchOf[T](decisionsOf[T](s, ofWeights, &local), ofWeights, workers, false)
}

// weightsScratch is the same for what was decided.
func weightsScratch[T Float](d *decisions, workers int) int {
	n := &d.shape
	switch d.way {
	case wayEmpty, wayCovered:
		return 0
	case wayStacked:
		return stackedScratch(n)
	case wayProduct:
		a := pointwiseGradient[T](n, nil, nil, nil)
		return gemm.ScratchSize(&a, workers)
	case wayAbreast:
		return abreastScratch(n, &d.abreast, workers)
	case waySplit:
		return splitScratch(d, ofWeights, workers, false)
	case wayRepeat:
		return d.parts[0].sizeX() + scratchOfParts[T](d, ofWeights, workers, false)
	case wayPlanes:
		return n.planesScratch() + scratchOfParts[T](d, ofWeights, workers, false)
	case wayWinograd:
		return winogradWeightsScratch(n, workers)
	}
	return byTapsScratch[T](n, workers)
}

// byTapsScratch returns the number of elements of scratch memory that backwardWeightsByTaps needs.
func byTapsScratch[T Float](n *Shape, workers int) int {
	copies, blocks := gradientCopiesOf[T](n), gradientBlocksOf[T](n)
	size := max(workers, 1) * max(copies.local(), blocks.local())
	if few[T](n) {
		size = max(workers, 1) * n.fewLocal()
	}
	if parts := imageParts[T](n); parts > 1 {
		size += parts * n.sizeKernel()
	}
	if isWideGradient[T](n) {
		c := kernelGradient[T]{shape: *n}
		c.setAxes()
		w := c.wideGeometry()
		size += max(workers, 1) * c.wideLocal(&w)
	}
	return size
}

// setAxes computes the axes from the shape.
func (c *kernelGradient[T]) setAxes() {
	c.out = c.shape.Out()
	for i := range c.axes {
		c.axes[i] = c.shape.forwardAxis(i, c.out)
	}
}

// BackwardWeights computes the gradient with respect to the kernel from the convolution's input and the gradient dy
// with respect to its output:
//
//	dkernel[t, i, c] = Σ_n Σ_o x[n, o·stride − padLow + t·dilation, g·inGroup + i] · dy[n, o, c]
func BackwardWeights[T Float](p *pool.Pool, s *Shape, x, dy, dkernel, scratch []T) {
	var local decisions
	d := decisionsOf[T](s, ofWeights, &local)
	n := &d.shape
	n.need("x", len(x), d.x)
	n.need("dkernel", len(dkernel), d.kernel)
	n.need("dy", len(dy), d.y)
	n.need("scratch", len(scratch), scratchOf[T](d, ofWeights, p.Size(), false))
	switch d.way {
	case wayEmpty: // the kernel has no elements
	case wayStacked:
		backwardWeightsStacked(p, n, floats(x), floats(dy), floats(dkernel), floats(scratch))
	case wayProduct:
		runProduct(p, pointwiseGradient(n, x, dy, dkernel), scratch)
	case wayCovered:
		runCovered(p, n, ofWeights, x, dkernel, nil, false, dy)
	case wayAbreast:
		runAbreast(p, d, ofWeights, floats(x), floats(dkernel), nil, false, floats(dy), floats(scratch))
	case waySplit:
		splitUp(p, d, ofWeights, floats(x), floats(dkernel), nil, false, floats(dy), floats(scratch))
	case wayRepeat:
		r := &d.parts[0]
		to := scratch[:r.sizeX()]
		runFilters(p, x[:d.x], to, false)
		BackwardWeights(p, r, to, dy, dkernel, scratch[len(to):])
	case wayPlanes:
		backwardWeightsPlanes(p, d, x, dy, dkernel, scratch)
	case wayWinograd:
		backwardWeightsWinograd(p, n, floats(x), floats(dy), floats(dkernel), floats(scratch))
	default:
		if d.gradient.take() {
			gradientOf[T](d.gradient).run(p, x, dy, dkernel, scratch)
			d.gradient.busy.Store(false)
			return
		}
		backwardWeightsByTaps(p, *n, x, dy, dkernel, scratch)
	}
}

// backwardWeightsByTaps is BackwardWeights for a checked shape, tap by tap.
func backwardWeightsByTaps[T Float](p *pool.Pool, n Shape, x, dy, dkernel, scratch []T) {
	c := getGradient[T]()
	c.set(n)
	c.run(p, x, dy, dkernel, scratch)
	putGradient(c)
}

// set sets up the kernel gradient of the shape, except for its memory.
func (c *kernelGradient[T]) set(n Shape) {
	c.sizeX, c.sizeY, c.size = n.sizeX(), n.sizeY(), n.sizeKernel()
	if c.turned = n.Turned; c.turned {
		n = n.inOneRow()
	}
	c.shape = n
	c.setAxes()
	if c.spans = c.spans[:0]; c.turned {
		c.spans = c.axes[2].spansOfTaps(c.spans)
	} else {
		c.spans = inPieces(c.axes[2].spans(c.spans))
	}
	c.parts = imageParts[T](&n)
	c.width, c.groupCols, c.columns = columnBlocks[T](&n)
	c.few, c.copies, c.blocks = few[T](&n), gradientCopiesOf[T](&n), gradientBlocksOf[T](&n)
	if c.isWide = isWideGradient[T](&n); c.isWide {
		c.wide = c.wideGeometry()
	}
	if c.slides = slidesSums[T](&n); c.slides {
		c.height, c.sliding = c.axes[1].spans(c.height[:0]), c.axes[2].sliding()
	}
	if c.lanes = groupedSumsLanes[T](&n); c.lanes > 0 {
		c.sliding = c.axes[2].sliding()
	}
	c.inside = n.tapsInside()
}

// run computes the gradient.
func (c *kernelGradient[T]) run(p *pool.Pool, x, dy, dkernel, scratch []T) {
	// dy keeps its capacity: tiles may read past the last column where memory exists.
	c.x, c.dy, c.dkernel = x[:c.sizeX], dy[:c.sizeY], dkernel[:c.size]
	c.partial = c.dkernel
	if c.parts > 1 {
		c.partial, scratch = scratch[:c.parts*c.size], scratch[c.parts*c.size:]
	}
	c.local, c.tapUnits = scratch, c.shape.Kernel[1]
	if c.inside && !c.dividesTaps(p.Workers()) {
		c.tapUnits = 1
	}
	if c.blocks.planes > 0 {
		c.joinColumns(p.Workers())
	}
	p.Parallel(c.parts*c.shape.Kernel[0]*c.tapUnits*c.columns, 1, c)
	if c.parts > 1 {
		c.summing = sumTask[T]{c.dkernel, c.partial, c.parts}
		c.summing.run(p)
	}
	c.x, c.dy, c.dkernel, c.partial, c.local, c.summing = nil, nil, nil, nil, nil, sumTask[T]{} // let go of the caller's memory
}

// manyWorkers is the number of workers from which on reading dy again costs less than waiting for others.
const manyWorkers = 4

// dividesTaps reports whether each tap of the height axis becomes a unit of its own, because there would be too few
// units for the workers otherwise. The sums are the same.
func (c *kernelGradient[T]) dividesTaps(workers int) bool {
	return workers >= manyWorkers && c.parts*c.shape.Kernel[0]*c.columns < 2*workers && !c.few && !c.isWide && c.lanes == 0
}

// longRun is the longest run of pixels that is not cut. Neighbouring tiles read the same lines of the input, and these
// would leave the first-level cache in a longer row.
const longRun = 256

// inPieces cuts long spans into pieces of between longRun/2 and longRun outputs.
func inPieces(spans []span) []span {
	for i := 0; i < len(spans); i++ {
		w := spans[i]
		if n := w.end - w.first; n > longRun {
			half := w.first + even(n, longRun)
			spans[i].end = half
			spans = append(spans, span{half, w.end, w.tap, w.tapEnd})
		}
	}
	return spans
}

// sumTask adds up the partial results in order.
type sumTask[T Float] struct {
	dkernel, partial []T
	parts            int
}

func (t *sumTask[T]) run(p *pool.Pool) { p.Parallel(len(t.dkernel), max(1<<15/t.parts, 1<<9), t) }

func (t *sumTask[T]) Run(_, lo, hi int) {
	size := len(t.dkernel)
	dst := t.dkernel[lo:hi]
	copy(dst, t.partial[lo:hi])
	for part := 1; part < t.parts; part++ {
		vec.Add(dst, dst, t.partial[part*size+lo:part*size+hi])
	}
}

// Run computes units: one block of images, one tap of the depth axis, one or all of the height axis, one block of
// output channels.
func (c *kernelGradient[T]) Run(worker, lo, hi int) {
	s := &c.shape
	for unit := lo; unit < hi; unit++ {
		column, rest := unit%c.columns, unit/c.columns
		h, rest := rest%c.tapUnits, rest/c.tapUnits
		d, part := rest%s.Kernel[0], rest/s.Kernel[0]
		end := h + 1
		if c.tapUnits == 1 {
			end = s.Kernel[1]
		}
		switch {
		case c.isWide:
			c.wideUnit(worker, part, d, h, end)
		case c.lanes > 0:
			c.groupedUnit(part, h, end, column)
		case c.few:
			fewUnit((*kernelGradient[float32])(unsafe.Pointer(c)), worker, part, d, h, end, column)
		default:
			c.unit(worker, part, d, h, end, column)
		}
	}
}

// unit computes dkernel[d, firstTap:endTap, all, all, block] over one block of images.
func (c *kernelGradient[T]) unit(worker, part, d, firstTap, endTap, column int) {
	s := &c.shape
	inGroup, outGroup := s.InChannels/s.Groups, s.OutChannels/s.Groups
	g, col := 0, column*c.width
	if s.depthwise() {
		outGroup = s.OutChannels
	} else {
		g, col = column/c.groupCols, column%c.groupCols*c.width
	}
	cols := min(c.width, outGroup-col)
	if s.depthwise() && column == c.columns-1 {
		cols = outGroup - col
	}
	col += g * outGroup
	tapSize := s.Kernel[2] * inGroup * s.OutChannels
	dst := c.partial[part*len(c.dkernel)+d*s.Kernel[1]*tapSize:]
	for r := firstTap * s.Kernel[2] * inGroup; r < endTap*s.Kernel[2]*inGroup; r++ {
		clear(dst[r*s.OutChannels+col : r*s.OutChannels+col+cols])
	}
	if size := c.blocks.local(); size > 0 {
		c.blocksUnit(c.local[worker*size:(worker+1)*size], dst, part*s.Batch/c.parts, (part+1)*s.Batch/c.parts, d, firstTap, endTap, col, cols)
		return
	}
	firstD, endD := c.axes[0].outputs(d)
	rowBytes := (s.In[2]*inGroup*s.Strides[1] + c.out[2]*cols) * int(unsafe.Sizeof(dst[0]))
	block, images := max(sumBytes/max(rowBytes, 1), 1), 0
	for n, end := part*s.Batch/c.parts, (part+1)*s.Batch/c.parts; n < end; n += images {
		images = c.imagesTogether(block, cols, n, end)
		for od := firstD; od < endD; od++ {
			planeX := n*s.In[0] + od*s.Strides[0] - s.PadLow[0] + d*s.Dilation[0]
			planeY := n*c.out[0] + od
			if size := c.copies.local(); size > 0 {
				c.copiedPlane(c.local[worker*size:(worker+1)*size], dst, planeX, planeY, firstTap, endTap, col, cols)
				continue
			}
			if c.slides {
				for _, h := range c.height {
					if h.tap, h.tapEnd = max(h.tap, firstTap), min(h.tapEnd, endTap); h.tap < h.tapEnd {
						c.slideSpan(dst, planeX, planeY, h, col, cols)
					}
				}
				continue
			}
			for first := 0; first < c.out[1]; first += block {
				for h := firstTap; h < endTap; h++ {
					oh, end := c.axes[1].outputs(h)
					oh, end = max(oh, first), min(end, first+block)
					if oh >= end {
						continue
					}
					rowX := planeX*s.In[1] + oh*s.Strides[1] - s.PadLow[1] + h*s.Dilation[1]
					for _, w := range c.spans {
						if w.tap < w.tapEnd {
							c.accumulate(dst[h*tapSize:], rowX, planeY*c.out[1]+oh, end-oh, images, w, g, col, cols)
						}
					}
				}
			}
		}
	}
}

// accumulate adds the products of the outputs in span w to the row dst of the kernel. It takes the given number of
// output rows of images; these start at row rowY of dy and meet row rowX of x.
func (c *kernelGradient[T]) accumulate(dst []T, rowX, rowY, rows, images int, w span, g, col, cols int) {
	s := &c.shape
	if width := micro.PanelWidth[T](); cols > width && !s.depthwise() {
		for at := 0; at < cols; at += width {
			c.accumulate(dst, rowX, rowY, rows, images, w, g, col+at, min(width, cols-at))
		}
		return
	}
	inGroup := s.InChannels / s.Groups
	t := micro.Tile[T]{Cols: cols, CRow: s.OutChannels, Accumulate: true, Pairs: s.Pairs}
	t.K, t.AK, t.BK = w.end-w.first, s.Strides[2]*s.InChannels, s.OutChannels
	t.Segments, t.ASegment, t.BSegment = rows, s.Strides[1]*s.In[2]*s.InChannels, c.out[2]*s.OutChannels
	t.Outer, t.AOuter, t.BOuter = images, volume(s.In)*s.InChannels, volume(c.out)*s.OutChannels
	t.B = c.dy[(rowY*c.out[2]+w.first)*s.OutChannels+col:]
	if c.turned {
		c.accumulateTurned(&t, dst[col:], rowX, w)
		return
	}
	longestInside(&t)
	startX := (rowX*s.In[2]+w.first*s.Strides[2]-s.PadLow[2]+w.tap*s.Dilation[2])*s.InChannels + g*inGroup
	switch {
	case s.depthwise():
		t.A, t.Rows, t.ARow = c.x[startX+col:], w.tapEnd-w.tap, s.Dilation[2]*s.InChannels
		t.C = dst[w.tap*s.OutChannels+col:]
		micro.RunChannels(&t)
	case s.Dilation[2] == 1 && s.Groups == 1: // what lies under a kernel row is contiguous
		t.A, t.Rows, t.ARow = c.x[startX:], (w.tapEnd-w.tap)*inGroup, 1
		t.C = dst[w.tap*inGroup*s.OutChannels+col:]
		micro.Run(&t)
	default:
		for tap := w.tap; tap < w.tapEnd; tap++ {
			t.A, t.Rows, t.ARow = c.x[startX+(tap-w.tap)*s.Dilation[2]*s.InChannels:], inGroup, 1
			t.C = dst[tap*inGroup*s.OutChannels+col:]
			micro.Run(&t)
		}
	}
}
