package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// The gradient of a kernel sums over images and pixels. If there are enough images, matrix registers sum over images,
// which are stored side by side, and the pixels follow one after the other. Strides, dilation and short rows then cost
// nothing, and the rows under a row of the kernel, of all its taps and channels, fill tiles together. To this end the
// caller passes x stacked: for each channel of each pixel, the pairs of images lie side by side.

// StackedImages is the number of images that fill a matrix register: each word holds two.
const StackedImages = 2 * MatrixRows

const (
	stackedLeast = 4  // pairs of images: fewer do not pay for a matrix register
	stackedGap   = 16 // numbers between two images of dy: without the gap, their lines would compete for the same sets of the caches
	stackedRows  = 64 // kernel rows, one for each tap and input channel, that are computed together
)

// Stacks reports whether BackwardWeights should get x and dy stacked (Stacked): if images fill matrix registers as well
// as rows of pixels do, or if rows of pixels cannot use them.
func (s *Shape) Stacks() bool {
	n := s.normal()
	if !n.Pairs || !micro.Matrices() || n.Groups != 1 || n.In[0] != 1 || n.Kernel[0] != 1 || n.Out()[0] != 1 || n.Batch < stackedLeast {
		return false
	}
	one := n.inOneRow()
	row := one.Out()[2]
	return !n.Turns() || even(n.Batch, MatrixRows) >= min(even(row, MatrixRows), MatrixRows-3)
}

// StackedGradient is the distance between the pairs of images of a stacked dy.
func (s *Shape) StackedGradient() int { return volume(s.Out())*s.OutChannels + stackedGap }

// sizeDY returns the number of elements of the dy of BackwardWeights.
func (s *Shape) sizeDY() int {
	if s.Stacked {
		return s.Batch*s.StackedGradient() - stackedGap
	}
	return s.sizeY()
}

// Lines returns the convolution for the output rows [first, end), and the first row of x that these see.
func (s *Shape) Lines(first, end int) (Shape, int) {
	n := s.normal()
	low := first*n.Strides[1] - n.PadLow[1]
	high := (end-1)*n.Strides[1] - n.PadLow[1] + (n.Kernel[1]-1)*n.Dilation[1] + 1
	from, to := min(max(low, 0), n.In[1]), max(min(high, n.In[1]), 0)
	to = max(from, to)
	n.PadLow[1], n.PadHigh[1], n.In[1] = from-low, high-to, to-from
	return n, from
}

// stackedGradient is the state of a running kernel gradient of stacked images.
type stackedGradient struct {
	shape          Shape
	out            [3]int
	height, width  axis
	spans          []span // of the width
	x, dy, dkernel []float32
	partial        []float32 // parts x size of the kernel if parts > 1

	parts   int // blocks of rows of outputs with a partial result each
	blocks  int // of what lies under a row of the kernel
	columns int // panels of output channels
	summing sumTask[float32]
}

var stackedGradients pool.Recycler[stackedGradient]

// cut decides how the gradient is cut into units, which depends on the shape alone.
func (c *stackedGradient) cut(s *Shape) {
	c.shape, c.out = *s, s.Out()
	c.blocks = ceil(s.Kernel[2]*s.InChannels, stackedRows)
	c.columns = ceil(s.OutChannels, micro.PanelWidth[float32]())
	units := max(s.Kernel[1]*c.blocks*c.columns, 1)
	c.parts = max(min(ceil(wantChunks, units), c.out[1], 2*s.FLOPs()/(units*chunkFlops), insideMax/max(s.sizeKernel(), 1)), 1)
}

// stackedScratch is the scratch memory that BackwardWeights needs for stacked images.
func stackedScratch(s *Shape) int {
	var c stackedGradient
	if c.cut(s); c.parts == 1 {
		return 0
	}
	return c.parts * s.sizeKernel()
}

// backwardWeightsStacked is BackwardWeights for stacked images.
func backwardWeightsStacked(p *pool.Pool, s *Shape, x, dy, dkernel, scratch []float32) {
	c := stackedGradients.Get()
	c.cut(s)
	c.height, c.width = s.forwardAxis(1, c.out), s.forwardAxis(2, c.out)
	c.spans = c.width.spans(c.spans[:0])
	c.x, c.dy, c.dkernel = x, dy, dkernel[:s.sizeKernel()]
	if c.partial = c.dkernel; c.parts > 1 {
		c.partial = scratch[:c.parts*s.sizeKernel()]
	}
	p.Parallel(c.parts*s.Kernel[1]*c.blocks*c.columns, 1, c)
	if c.parts > 1 {
		c.summing = sumTask[float32]{c.dkernel, c.partial, c.parts}
		c.summing.run(p)
	}
	c.x, c.dy, c.dkernel, c.partial, c.summing = nil, nil, nil, nil, sumTask[float32]{}
	stackedGradients.Put(c)
}

// Run computes units: a block of output rows, a row of the kernel, a block of what lies under it, and a panel of output
// channels.
func (c *stackedGradient) Run(_, lo, hi int) {
	for unit := lo; unit < hi; unit++ {
		column, rest := unit%c.columns, unit/c.columns
		block, rest := rest%c.blocks, rest/c.blocks
		h, part := rest%c.shape.Kernel[1], rest/c.shape.Kernel[1]
		c.unit(part, h, block*stackedRows, column*micro.PanelWidth[float32]())
	}
}

// unit computes the block of the gradient that starts at a given row under row h of the kernel and at column col.
func (c *stackedGradient) unit(part, h, row, col int) {
	s := &c.shape
	under := s.Kernel[2] * s.InChannels
	end, cols := min(row+stackedRows, under), min(micro.PanelWidth[float32](), s.OutChannels-col)
	dst := c.partial[part*len(c.dkernel)+h*under*s.OutChannels+col:]
	for r := row; r < end; r++ {
		clear(dst[r*s.OutChannels:][:cols])
	}
	first, last := c.height.outputs(h)
	first, last = max(first, part*c.out[1]/c.parts), min(last, (part+1)*c.out[1]/c.parts)
	if first >= last {
		return
	}
	pixel, line := s.InChannels*s.Batch, s.In[2]*s.InChannels*s.Batch
	t := micro.Tile[float32]{Cols: cols, K: s.Batch, AK: 1, ARow: s.Batch, ASegment: s.Strides[2] * pixel, AOuter: s.Strides[1] * line, Outer: last - first,
		BK: s.StackedGradient(), BSegment: s.OutChannels, BOuter: c.out[2] * s.OutChannels, CRow: s.OutChannels, Accumulate: true, Pairs: true}
	startX := (first*s.Strides[1] - s.PadLow[1] + h*s.Dilation[1]) * line
	for _, w := range c.spans {
		t.Segments, t.B = w.end-w.first, c.dy[(first*c.out[2]+w.first)*s.OutChannels+col:]
		for from, to := max(row, w.tap*s.InChannels), min(end, w.tapEnd*s.InChannels); from < to; from += t.Rows {
			tap, channel := from/s.InChannels, from%s.InChannels
			if t.Rows = to - from; s.Dilation[2] > 1 { // only the channels of one tap are contiguous
				t.Rows = min(t.Rows, s.InChannels-channel)
			}
			t.A = c.x[startX+(w.first*s.Strides[2]-s.PadLow[2]+tap*s.Dilation[2])*pixel+channel*s.Batch:]
			t.C = dst[from*s.OutChannels:]
			micro.Run(&t)
		}
	}
}
