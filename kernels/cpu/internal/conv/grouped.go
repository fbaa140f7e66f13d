package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Small groups with as many inputs as outputs leave most lanes of a tile empty. Package micro has kernels whose vectors
// hold several groups (see [micro.Grouped]). For each such vector, the kernel is packed as [height, inputs of a group,
// width, lanes].

// groupedLanes returns the lanes of such vectors, or 0 if the convolution uses tiles.
func groupedLanes[T Float](s *Shape) int {
	if s.Groups == 1 || s.InChannels != s.OutChannels || s.Kernel[0] != 1 || !byGroupLanes.Taken() {
		return 0
	}
	return micro.GroupedLanes[T](s.InChannels/s.Groups, s.InChannels)
}

// groupedSumsLanes returns the lanes of the vectors for the kernel gradient, or 0 if it uses tiles.
func groupedSumsLanes[T Float](s *Shape) int {
	if groupedLanes[T](s) == 0 {
		return 0
	}
	return micro.GroupedSumsLanes[T](s.InChannels/s.Groups, s.InChannels)
}

// vector packs the kernel for vector v.
func (k *packing[T]) vector(v int) {
	s := &k.shape
	size := s.InChannels / s.Groups
	dst, first := k.dst[v*k.rows*k.lanes:], v*k.lanes
	if !k.flip {
		for h := range s.Kernel[1] {
			for i := range size {
				for w := range s.Kernel[2] {
					row := k.kernel[((h*s.Kernel[2]+w)*size+i)*s.OutChannels+first:]
					dst = dst[copy(dst[:k.lanes], row):]
				}
			}
		}
		return
	}
	// In each group, the inputs are the outputs of the convolution, and vice versa.
	taps := k.phases[2].axis.taps
	for h := range k.phases[1].axis.taps {
		for w := range taps {
			tap := k.kernel[(k.tap(1, h)*s.Kernel[2]+k.tap(2, w))*size*s.OutChannels+first:]
			to := dst[(h*size*taps+w)*k.lanes:]
			for lane := range k.lanes {
				at := lane
				for _, weight := range tap[lane%size*s.OutChannels+lane/size*size:][:size] {
					to[at] = weight
					at += taps * k.lanes
				}
			}
		}
	}
}

// groupedRows computes the rows [first, end) at depth d of image n with such vectors.
func (c *correlation[T]) groupedRows(n, d, first, end int) {
	td, tdEnd := c.axes[0].inside(d)
	for _, h := range c.spans[1] {
		if h.first, h.end = max(h.first, first), min(h.end, end); h.first >= h.end {
			continue
		}
		for _, w := range c.spans[2] {
			if td == tdEnd {
				w.tapEnd = w.tap
			}
			c.groupedRectangle(n, d, h, w)
		}
	}
}

// fetchRows prefetches what the outputs of the rows [first, end) see of the input, and the memory that they are written
// to, because these kernels move through memory in large steps.
func (c *correlation[T]) fetchRows(n, d, first, end int) {
	ax := &c.axes
	rowX, rowY := ax[2].in*c.in, c.outs[2]*c.out
	low := max(first*ax[1].inStep+ax[1].inOffset, 0)
	high := min((end-1)*ax[1].inStep+ax[1].inOffset+(ax[1].taps-1)*ax[1].tapStep+1, ax[1].in)
	if first > 0 {
		low = max(low, min((first-1)*ax[1].inStep+ax[1].inOffset+(ax[1].taps-1)*ax[1].tapStep+1, ax[1].in))
	}
	plane := n*ax[0].in + d*ax[0].inStep + ax[0].inOffset
	if plane >= 0 && plane < n*ax[0].in+ax[0].in && low < high {
		vec.Fetch(c.x[(plane*ax[1].in+low)*rowX:], 1, (high-low)*rowX, 0)
	}
	y := c.y[((n*c.outs[0]+ax[0].outStart+d*ax[0].outStep)*c.outs[1]+ax[1].outStart+first*ax[1].outStep)*rowY:]
	vec.Fetch(y, end-first, rowY, ax[1].outStep*rowY)
}

// groupedRectangle computes the outputs of two spans.
func (c *correlation[T]) groupedRectangle(n, d int, h, w span) {
	ax := &c.axes
	rowX, rowY := ax[2].in*c.in, c.outs[2]*c.out
	y := c.y[((n*c.outs[0]+ax[0].outStart+d*ax[0].outStep)*c.outs[1]+ax[1].outStart+h.first*ax[1].outStep)*rowY+(ax[2].outStart+w.first*ax[2].outStep)*c.out:]
	taps := ax[2].taps * c.lanes
	g := micro.Grouped[T]{Size: c.inGroup, Lanes: c.lanes, Vectors: c.out / c.lanes, C: y, Bias: c.bias, ReLU: c.relu,
		Rows: w.end - w.first, ARow: ax[2].inStep * c.in, CRow: ax[2].outStep * c.out,
		Lines: h.end - h.first, ALine: ax[1].inStep * rowX, CLine: ax[1].outStep * rowY,
		BK: taps, BOuter: c.inGroup * taps, BVector: ax[1].taps * c.inGroup * taps, AOuter: ax[1].tapStep * rowX, Outer: h.tapEnd - h.tap}
	if w.tap == w.tapEnd || h.tap == h.tapEnd {
		c.groupedWithoutInput(&g)
		return
	}
	x := ((n*ax[0].in+d*ax[0].inStep+ax[0].inOffset)*ax[1].in+h.first*ax[1].inStep+ax[1].inOffset+h.tap*ax[1].tapStep)*rowX +
		(w.first*ax[2].inStep+ax[2].inOffset+w.tap*ax[2].tapStep)*c.in
	g.A, g.B = c.x[x:], c.w[h.tap*c.inGroup*taps+w.tap*c.lanes:]
	if w.tapEnd-w.tap == 3 && ax[2].inStep == 1 && ax[2].tapStep == 1 {
		g.Taps, g.Segments = 3, 1
	} else {
		g.Taps = 1
		g.Segments, g.ASegment, g.BSegment = w.tapEnd-w.tap, ax[2].tapStep*c.in, c.lanes
		if fill(g.Lines) > fill(g.Rows) {
			g.Rows, g.ARow, g.CRow, g.Lines, g.ALine, g.CLine = g.Lines, g.ALine, g.CLine, g.Rows, g.ARow, g.CRow
		}
	}
	micro.RunGrouped(&g)
}

// groupedWithoutInput computes outputs that see nothing of the input.
func (c *correlation[T]) groupedWithoutInput(g *micro.Grouped[T]) {
	for col := 0; col < c.out; col += c.lanes {
		t := micro.Tile[T]{Rows: g.Rows, Cols: c.lanes, Lines: g.Lines, C: g.C[col:], CRow: g.CRow, CLine: g.CLine, ReLU: g.ReLU}
		if g.Bias != nil {
			t.Bias = g.Bias[col:]
		}
		c.emptyTile(&t)
	}
}

// groupedUnit computes dkernel[0, firstTap:endTap, all, all, block] over one block of images with such vectors.
func (c *kernelGradient[T]) groupedUnit(part, firstTap, endTap, column int) {
	s, ax := &c.shape, &c.axes
	inGroup, channels := s.InChannels/s.Groups, s.OutChannels
	col := column * c.width
	cols := min(c.width, channels-col)
	tapSize := ax[2].taps * inGroup * channels
	dst := c.partial[part*len(c.dkernel):]
	for r := firstTap * ax[2].taps * inGroup; r < endTap*ax[2].taps*inGroup; r++ {
		clear(dst[r*channels+col : r*channels+col+cols])
	}
	if len(c.x) == 0 || len(c.dy) == 0 {
		return
	}
	rowX, rowY := s.In[2]*channels, c.out[2]*channels
	block := max(sumBytes/4/max((s.In[2]*ax[1].inStep+c.out[2])*cols, 1), 1)
	firstD, endD := ax[0].outputs(0)
	for n := part * s.Batch / c.parts; n < (part+1)*s.Batch/c.parts; n++ {
		for od := firstD; od < endD; od++ {
			x := c.x[(n*s.In[0]+od*ax[0].inStep+ax[0].inOffset)*s.In[1]*rowX:]
			dy := c.dy[(n*c.out[0]+od)*c.out[1]*rowY:]
			for first := 0; first < c.out[1]; first += block {
				last := min(first+block, c.out[1])
				c.fetchRows(x, dy, first, last, col, cols)
				for h := firstTap; h < endTap; h++ {
					oh, end := ax[1].outputs(h)
					if oh, end = max(oh, first), min(end, last); oh < end {
						c.groupedSpans(dst[h*tapSize+col:], x[(oh*ax[1].inStep+ax[1].inOffset+h*ax[1].tapStep)*rowX+col:], dy[oh*rowY+col:], end-oh, cols)
					}
				}
			}
		}
	}
}

// fetchRows prefetches what the rows [first, end) of outputs of an image see, and their gradients, because these
// kernels move through memory in large steps.
func (c *kernelGradient[T]) fetchRows(x, dy []T, first, end, col, cols int) {
	s, height := &c.shape, &c.axes[1]
	low := max(first*height.inStep+height.inOffset, 0)
	high := min((end-1)*height.inStep+height.inOffset+(height.taps-1)*height.tapStep+1, height.in)
	if low < high {
		vec.Fetch(x[low*s.In[2]*s.InChannels+col:], (high-low)*s.In[2], cols, s.InChannels)
	}
	vec.Fetch(dy[first*c.out[2]*s.OutChannels+col:], (end-first)*c.out[2], cols, s.OutChannels)
}

// groupedSpans adds to the sums dst of cols channels the products of lines of outputs. dy is their gradients; they see
// rows of the input from x on.
func (c *kernelGradient[T]) groupedSpans(dst, x, dy []T, lines, cols int) {
	s, ax := &c.shape, &c.axes
	channels := s.OutChannels
	g := micro.GroupedSums[T]{Size: s.InChannels / s.Groups, Lanes: c.lanes, Vectors: cols / c.lanes, Lines: lines, APixel: ax[2].inStep * channels, BPixel: channels,
		ALine: ax[1].inStep * s.In[2] * channels, BLine: c.out[2] * channels, CInput: channels}
	g.CTap = g.Size * channels
	slide := c.sliding
	if ax[2].taps != 3 || ax[2].inStep != 1 || ax[2].tapStep != 1 || slide.end-slide.first < 2 {
		slide = sliding{}
	}
	for _, w := range c.spans {
		before, behind := w, w
		before.end, behind.first = min(w.end, slide.first), max(w.first, slide.end)
		for _, rest := range [...]span{before, behind} {
			g.Taps, g.Pixels, g.Left, g.Right = 1, rest.end-rest.first, false, false
			for tap := rest.tap; tap < rest.tapEnd && g.Pixels > 0; tap++ {
				g.A, g.B, g.C = x[(rest.first*ax[2].inStep+ax[2].inOffset+tap*ax[2].tapStep)*channels:], dy[rest.first*channels:], dst[tap*g.CTap:]
				micro.RunGroupedSums(&g)
			}
		}
	}
	if slide.first == slide.end {
		return
	}
	g.Taps, g.Pixels, g.Left, g.Right = 3, slide.end-slide.first, slide.left, slide.right
	g.A, g.B, g.C = x[slide.inputAt(&ax[2])*channels:], dy[slide.first*channels:], dst
	micro.RunGroupedSums(&g)
}
