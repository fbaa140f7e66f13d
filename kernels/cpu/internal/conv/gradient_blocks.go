package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// In kernel gradients with strides and many channels, the numbers that a tile reads lie kilobytes apart, and every
// block of output channels reads the input again from afar. So both operands are copied in blocks. All columns of dy of
// some pixels become panels. A few channels of the inputs that these pixels meet under one row of the kernel become
// panels too, one for each residue of their column modulo the stride: there, neighbouring pixels are neighbours in
// memory for every tap. A block spans rows and images, so that the kernel is read and written less often. Copies have
// zeros around the rows; for an infinite dy, the same holds as in gradient_copies.go.

const (
	blockPixels   = 192 // pixels of a block: a panel of dy fills a large part of a first-level cache
	blockColumns  = 8   // most panels of dy in a block
	blockChannels = 192 // fewest channels of the input for which copying pays,
	blockReuse    = 192 // and fewest products of an element of a copy of the input,
	blockTaps     = 3   // and the least width of windows with fewer than
	blockMany     = 256 // that many channels
	blockDouble   = 320 // the same in float64, with vectors of 512 bits
)

// gradientBlocks is the geometry of a block.
type gradientBlocks struct {
	planes, rows, pixels int // of the outputs: whole planes, or rows of one, or pixels of one row; 0: nothing is copied
	channels             int // of the input
	phases, step         int // of taps along the width: tap and tap+phases read the same copy, that many pixels apart
	panel, input         int // elements of a panel of dy, and of the copy of the input
	panels               int // of dy
}

// gradientBlocksOf returns the geometry for a kernel gradient.
func gradientBlocksOf[T Float](s *Shape) gradientBlocks {
	out := s.Out()
	width := micro.PanelWidth[T]()
	panels := min(ceil(s.OutChannels, width), blockColumns)
	switch {
	case s.Groups > 1 || s.Pairs || s.Turned || s.Stacked || s.Strides[1]*s.Strides[2] == 1 || volume(out) < copiedLeast,
		s.InChannels < blockChannels || s.InChannels < blockMany && s.Kernel[2] < blockTaps,
		min(s.OutChannels, panels*width)*s.Kernel[2] < blockReuse*s.Strides[2],
		!single[T]() && !s.blocksOfDoubles(), isWideGradient[T](s) || !byGradientBlocks.Taken():
		return gradientBlocks{}
	}
	g := gradientBlocks{planes: 1, rows: 1, pixels: even(out[2], blockPixels), channels: even(s.InChannels, width-width/8), panels: panels}
	if g.pixels == out[2] {
		g.rows = even(out[1], max(blockPixels/g.pixels, 1))
	}
	if g.rows == out[1] && g.pixels == out[2] {
		g.planes = min(max(blockPixels/(g.rows*g.pixels), 1), s.Batch*out[0])
	}
	g.phases = s.Strides[2] / gcd(s.Strides[2], s.Dilation[2])
	g.step = g.phases * s.Dilation[2] / s.Strides[2]
	g.panel = g.planes * g.rows * g.pixels * width
	g.input = g.planes * g.rows * g.line(g.pixels, s.Kernel[2], 0) * width
	return g
}

// blocksOfDoubles reports whether copying pays in float64: not for volumes.
func (s *Shape) blocksOfDoubles() bool {
	return s.Kernel[0] == 1 && (s.InChannels >= blockDouble || s.InChannels >= blockMany && usesAVX2())
}

// line returns the number of pixels of a copied row of the input for the taps from one on that share a copy.
func (g *gradientBlocks) line(pixels, taps, tap int) int {
	return pixels + (ceil(taps-tap, g.phases)-1)*g.step
}

// local is the number of elements of scratch memory of a worker.
func (g *gradientBlocks) local() int { return g.panel*g.panels + g.input }

// joinColumns makes blocks of as many panels as leave two units for each worker. The sums are the same.
func (c *kernelGradient[T]) joinColumns(workers int) {
	width := micro.PanelWidth[T]()
	panels, together := ceil(c.shape.OutChannels, width), c.blocks.panels
	for together > 1 && c.parts*c.shape.Kernel[0]*c.tapUnits*ceil(panels, together) < 2*workers && workers > 1 {
		together--
	}
	c.width = even(panels, together) * width
	c.groupCols = ceil(c.shape.OutChannels, c.width)
	c.columns = c.groupCols
}

// blockSum is a block of a running kernel gradient, and what it is added to.
type blockSum[T Float] struct {
	c                  *kernelGradient[T]
	dst, panels, input []T
	image, tap         int // the first image of the unit, and the tap along the depth
	firstD, depth      int // outputs along the depth that see the tap
	plane, planes      int // planes of outputs of the block, counted over these outputs, then over images
	first, end         int // rows
	at, pixels         int
	col, cols          int
}

// blocksUnit adds the contribution of the images [image, end) to the rows [firstTap, endTap) of the kernel.
func (c *kernelGradient[T]) blocksUnit(scratch, dst []T, image, end, tap, firstTap, endTap, col, cols int) {
	g := &c.blocks
	firstD, endD := c.axes[0].outputs(tap)
	b := blockSum[T]{c: c, dst: dst, panels: scratch[:g.panel*g.panels], input: scratch[g.panel*g.panels:][:g.input],
		image: image, tap: tap, firstD: firstD, depth: endD - firstD, col: col, cols: cols}
	for all := (end - image) * b.depth; b.plane < all; b.plane += b.planes {
		b.planes = min(g.planes, all-b.plane)
		for b.first = 0; b.first < c.out[1]; b.first = b.end {
			b.end = min(b.first+g.rows, c.out[1])
			for b.at = 0; b.at < c.out[2]; b.at += b.pixels {
				b.pixels = min(g.pixels, c.out[2]-b.at)
				b.pack()
				for h := firstTap; h < endTap; h++ {
					b.add(h)
				}
			}
		}
	}
}

// planeOf returns the image and the output along the depth of a plane of the block.
func (b *blockSum[T]) planeOf(i int) (image, out int) {
	i += b.plane
	return b.image + i/b.depth, b.firstD + i%b.depth
}

// pack copies the columns of dy.
func (b *blockSum[T]) pack() {
	c, width := b.c, micro.PanelWidth[T]()
	count := (b.end - b.first) * b.pixels
	for i := range b.planes {
		image, out := b.planeOf(i)
		from := c.dy[(((image*c.out[0]+out)*c.out[1]+b.first)*c.out[2]+b.at)*c.shape.OutChannels+b.col:]
		for column := 0; column < b.cols; column += width {
			to := b.panels[column/width*c.blocks.panel+i*count*width:]
			micro.PackPanel(to, from[column:], count, min(width, b.cols-column), c.shape.OutChannels, 1)
		}
	}
}

// add adds the products with the inputs under a row of the kernel.
func (b *blockSum[T]) add(h int) {
	c, g := b.c, &b.c.blocks
	s := &c.shape
	from, until := c.axes[1].outputs(h)
	if from, until = max(from, b.first), min(until, b.end); from >= until {
		return
	}
	for channel := 0; channel < s.InChannels; channel += g.channels {
		for tap := range min(g.phases, s.Kernel[2]) {
			b.addPhase(h, tap, from, until, channel)
		}
	}
}

// addPhase adds those of the outputs in rows [from, until) with some channels, for a tap and others of its phase.
func (b *blockSum[T]) addPhase(h, tap, from, until, channel int) {
	c, g, width := b.c, &b.c.blocks, micro.PanelWidth[T]()
	s := &c.shape
	channels, rows := min(g.channels, s.InChannels-channel), until-from
	line := g.line(b.pixels, s.Kernel[2], tap) * width
	for i := range b.planes {
		image, out := b.planeOf(i)
		row := (image*s.In[0]+out*s.Strides[0]-s.PadLow[0]+b.tap*s.Dilation[0])*s.In[1] + from*s.Strides[1] - s.PadLow[1] + h*s.Dilation[1]
		for o := range rows {
			b.copyLine(b.input[(i*rows+o)*line:][:line], row+o*s.Strides[1], b.at*s.Strides[2]-s.PadLow[2]+tap*s.Dilation[2], channel, channels)
		}
	}
	t := micro.Tile[T]{Rows: channels, ARow: 1, CRow: s.OutChannels, Accumulate: true, FetchC: true,
		Outer: b.planes, AOuter: rows * line, BOuter: (b.end - b.first) * b.pixels * width,
		Segments: rows, ASegment: line, BSegment: b.pixels * width, K: b.pixels, AK: width, BK: width,
		Lines: ceil(s.Kernel[2]-tap, g.phases), ALine: g.step * width, CLine: g.phases * s.InChannels * s.OutChannels}
	longestInside(&t)
	dst := b.dst[((h*s.Kernel[2]+tap)*s.InChannels+channel)*s.OutChannels+b.col:]
	for column := 0; column < b.cols; column += width {
		t.Cols = min(width, b.cols-column)
		t.A, t.B, t.C = b.input, b.panels[column/width*g.panel+(from-b.first)*b.pixels*width:], dst[column:]
		micro.Run(&t)
	}
}

// copyLine copies channels of every pixel of a row of the input that is a multiple of the stride away from pixel left,
// with the zeros around the row.
func (b *blockSum[T]) copyLine(to []T, row, left, channel, channels int) {
	s, width := &b.c.shape, micro.PanelWidth[T]()
	count, stride := len(to)/width, s.Strides[2]
	before := min(ceil(max(-left, 0), stride), count)
	end := max(min(ceil(max(s.In[2]-left, 0), stride), count), before)
	clear(to[:before*width])
	clear(to[end*width:])
	if before < end {
		x := b.c.x[(row*s.In[2]+left+before*stride)*s.InChannels+channel:]
		micro.PackColumns(to[before*width:], x, end-before, channels, stride*s.InChannels)
	}
}
