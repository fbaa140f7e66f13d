package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

const (
	chunkFlops = 1 << 20 // fewest operations of a chunk: about 10 µs of assembly
	wantChunks = 16      // most chunks that are made for balance alone
	fullRows   = 14      // rows of the best tile
	blockBytes = 256 << 10

	fetchColumns = 192 // channels from which on phases of a depthwise input gradient prefetch their rows, and windows with stride 2 are cut into parts
)

// correlation is the state of a running convolution or input gradient: y[j] = Σ_t x[j, t]·w[t] on three axes.
type correlation[T Float] struct {
	axes  [3]axis
	spans [3][]span
	outs  [3]int // sizes of y

	batch, groups     int
	in, inGroup       int // channels of x, and of one group
	out, outGroup     int // channels of y, and of one group
	depthwise, packed bool
	kept              bool // w was packed by package gemm, so all panels are whole
	pairs             bool
	slides            bool // see slide.go
	lanes             int  // of the vectors, see grouped.go; 0 if it does not use them
	apart             bool // the groups of x lie one after the other, see apart.go

	x, y, w, bias []T
	relu          bool
	moments       []float64 // of blocks of y; nil if they are not wanted
	gathers       bool      // moments are wanted, and several workers share a block

	wide    wideCorrelation[T]
	sliding sliding // if slides
	copies  slideCopies
	spread  spread
	local   []T    // scratch memory of the workers, for a spread or copies of rows
	runs    []span // of taps along the width that are added one after the other, see by_taps.go; empty if each span is computed as a whole

	frame frame // zeros around copies of the images, see frames.go

	joins           bool // several images may be computed together, see join.go
	images          int  // of a chunk
	corners         int  // if images is 1: images whose corner outputs are computed together
	rows, rowChunks int  // rows (positions on the height axis) of a chunk
	cols, colChunks int  // channels of y of a chunk
	block           int  // rows of a chunk that are computed together

	keeps         bool   // the geometry is remembered, and so is how it was cut last:
	wasCut        [2]int // for that many workers and images
	chunks, grain int
}

var (
	correlations32 pool.Recycler[correlation[float32]]
	correlations64 pool.Recycler[correlation[float64]]
)

func getCorrelation[T Float]() *correlation[T] {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return (*correlation[T])(unsafe.Pointer(correlations32.Get()))
	}
	return (*correlation[T])(unsafe.Pointer(correlations64.Get()))
}

func putCorrelation[T Float](c *correlation[T]) {
	c.x, c.y, c.w, c.bias, c.moments, c.local = nil, nil, nil, nil, nil, nil // let go of the caller's memory
	c.wide, c.joins, c.apart, c.gathers, c.kept = wideCorrelation[T]{}, false, false, false, false
	c.frame = frame{}
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		correlations32.Put((*correlation[float32])(unsafe.Pointer(c)))
		return
	}
	correlations64.Put((*correlation[float64])(unsafe.Pointer(c)))
}

// panels returns the number of weight panels of one group.
func (c *correlation[T]) panels() int { return ceil(c.outGroup, micro.PanelWidth[T]()) }

// run cuts the output into chunks and computes them.
func (c *correlation[T]) run(p *pool.Pool) {
	workers := p.Workers()
	if c.moments != nil { // blocks of moments depend on the shape alone
		workers = 1
	}
	if c.cutFor(workers); c.chunks > 0 {
		p.Parallel(c.chunks, c.grain, c)
	}
}

// cutFor is cut, unless the result is remembered.
func (c *correlation[T]) cutFor(workers int) {
	if now := [2]int{workers, c.batch}; !c.keeps || c.wasCut != now {
		c.chunks, c.grain = c.cut(workers)
		c.wasCut = now
	}
}

// cut cuts the output into chunks for the given number of workers.
func (c *correlation[T]) cut(workers int) (chunks, grain int) {
	c.cutSpans()
	taps := c.axes[0].taps * c.axes[1].taps * c.axes[2].taps
	if c.sliding = c.axes[2].sliding(); c.sliding.first == c.sliding.end {
		c.slides = false
	}
	height := c.axes[1].out
	c.images = c.joined()
	c.corners = c.joinedCorners()
	images := ceil(c.batch, c.images) * c.axes[0].out
	if height == 0 || images == 0 || c.axes[2].out == 0 || c.out == 0 {
		return 0, 0
	}
	flopsPerRow := 2 * c.images * c.axes[2].out * c.out * max(taps*c.inGroup, 1)
	if c.depthwise || c.wide.on {
		flopsPerRow *= 4 // slower per operation
	}
	blocks := min(ceil(wantChunks, images), max(height*flopsPerRow/chunkFlops, 1), height, c.visits(taps))
	c.cutColumns(images*blocks, workers, images*height*flopsPerRow/chunkFlops)
	if workers > 1 {
		blocks = max(blocks, min(ceil(2*workers, images*c.colChunks), height*flopsPerRow/c.colChunks/chunkFlops, height))
	}
	c.rows = ceil(height, blocks)
	c.rowChunks = ceil(height, c.rows)
	c.block = c.blockRows(taps)
	return images * c.rowChunks * c.colChunks, max(chunkFlops/2/max(c.rows*flopsPerRow/c.colChunks, 1), 1)
}

// visits returns the most blocks of rows that an image is cut into. Each block reads all weights. If the weights fit in
// no near cache, an image is cut only if it does not fit either.
func (c *correlation[T]) visits(taps int) int {
	height := c.axes[1].out
	if c.gathers || c.weightBytes(taps) <= blockBytes {
		return height
	}
	return max(height*c.rowBytes()/(2*blockBytes), 1)
}

// weightBytes is the size of the weights; rowBytes is that of a row of the images of a chunk, in x and in y.
func (c *correlation[T]) weightBytes(taps int) int {
	var zero T
	return taps * c.inGroup * c.out * int(unsafe.Sizeof(zero))
}

func (c *correlation[T]) rowBytes() int {
	var zero T
	return c.images * (c.axes[1].inStep*c.axes[2].in*c.in + c.axes[2].out*c.out) * int(unsafe.Sizeof(zero))
}

// cutColumns cuts the panels of the weights so that each worker gets two chunks, if there are too few chunks otherwise,
// as in sequences, which are a single row. It makes at most the given number of chunks.
func (c *correlation[T]) cutColumns(chunks, workers, most int) {
	width := micro.PanelWidth[T]()
	c.cols, c.colChunks = c.out, 1
	if workers <= 1 || chunks >= 2*workers || c.groups > 1 || c.depthwise || c.wide.on || c.slides || c.lanes > 0 || c.spread.columns > 0 {
		return
	}
	if parts := min(ceil(2*workers, chunks), c.panels(), most/chunks); parts > 1 {
		c.cols = ceil(c.panels(), parts) * width
		c.colChunks = ceil(c.out, c.cols)
	}
}

// cutSpans cuts the outputs into spans, or the taps into runs.
func (c *correlation[T]) cutSpans() {
	for i := range c.axes {
		c.spans[i] = c.axes[i].spans(c.spans[i][:0])
	}
	c.setRuns()
}

// blockRows returns how many rows go through all panels of the weights before the next rows do: as many as stay in the
// second-level cache, unless the weights alone exceed it.
func (c *correlation[T]) blockRows(taps int) int {
	if c.weightBytes(taps) > blockBytes {
		return c.rows
	}
	return max(blockBytes/max(c.rowBytes(), 1), 1)
}

// Run computes chunks: channels of rows of one plane of one image, or of several images.
func (c *correlation[T]) Run(worker, lo, hi int) {
	for chunk := lo; chunk < hi; chunk++ {
		col, rest := chunk%c.colChunks*c.cols, chunk/c.colChunks
		block, image := rest%c.rowChunks, rest/c.rowChunks
		first := block * c.rows
		end := min(first+c.rows, c.axes[1].out)
		if c.moments != nil {
			c.gather(worker, chunk, image, first, end)
		} else {
			c.compute(worker, image, first, end, col)
		}
	}
}

// compute computes the rows [first, end) of a plane of one image, or of a chunk of images, for the channels of a chunk
// that starts at col.
func (c *correlation[T]) compute(worker, image, first, end, col int) {
	if c.wide.on {
		c.widePlane(worker, image/c.axes[0].out, image%c.axes[0].out, first, end)
		return
	}
	c.plane(worker, image/c.axes[0].out*c.images, image%c.axes[0].out, first, end, col)
}

// plane computes the rows [first, end) at depth d of image n: a chunk's channels from firstCol on, or all channels.
func (c *correlation[T]) plane(worker, n, d, first, end, firstCol int) {
	groups, width, narrow := c.groups, micro.PanelWidth[T](), micro.NarrowChannels[T]()
	columns := c.outGroup
	if c.colChunks > 1 {
		columns = min(firstCol+c.cols, columns)
	}
	if c.depthwise {
		groups, columns, width = 1, c.out, 4*width
	}
	td, tdEnd := c.axes[0].inside(d)
	seen := td < tdEnd
	for ; first < end; first += c.block {
		blockEnd := min(first+c.block, end)
		if c.slides {
			for _, h := range c.spans[1] {
				if h.first, h.end = max(h.first, first), min(h.end, blockEnd); h.first < h.end {
					c.slideRows(n, d, h)
				}
			}
			continue
		}
		if c.copies.unit > 0 {
			copiedRows((*correlation[float32])(unsafe.Pointer(c)), worker, n, d, first, blockEnd)
			continue
		}
		if c.groups > 1 && !c.apart && (!c.depthwise || c.axes[2].outStep > 1 && columns >= fetchColumns) {
			c.fetchRows(n, d, first, blockEnd)
		}
		if c.lanes > 0 {
			c.groupedRows(n, d, first, blockEnd)
			continue
		}
		if c.spread.columns > 0 {
			spreadRows((*correlation[float32])(unsafe.Pointer(c)), worker, n, d, first, blockEnd)
			continue
		}
		for g := range groups {
			for col, cols := firstCol, 0; col < columns; col += cols {
				if cols = min(width, columns-col); c.depthwise && columns-col-cols < narrow {
					cols = columns - col // take the few remaining columns too: alone, they would fill no vector
				}
				for _, h := range c.spans[1] {
					h.first, h.end = max(h.first, first), min(h.end, blockEnd)
					if h.first >= h.end {
						continue
					}
					if len(c.runs) > 0 && h.tap < h.tapEnd && seen {
						c.byTaps(n, d, h, g, col, cols)
						continue
					}
					for _, w := range c.spans[2] {
						c.rectangle(n, d, h, w, g, col, cols, whole)
					}
				}
			}
		}
	}
}

// rectangle computes the outputs of two spans, for the columns [col, col+cols) of group g.
func (c *correlation[T]) rectangle(n, d int, h, w span, g, col, cols int, p part) {
	var t micro.Tile[T]
	images := c.together(h, w, p)
	if n%images != 0 {
		return // already computed together with an earlier image
	}
	td, tdEnd := c.axes[0].inside(d)
	t.Cols, t.Pairs, t.Accumulate = cols, c.pairs, p != whole
	if p != adds {
		if t.ReLU = c.relu; c.bias != nil {
			t.Bias = c.bias[g*c.outGroup+col:]
		}
	}
	ax := &c.axes
	planeX, rowX := c.planeX(), ax[2].in*c.in
	// Distances between neighbouring outputs, in x and in y.
	xw, xh := ax[2].inStep*c.in, ax[1].inStep*rowX
	yw, yh := ax[2].outStep*c.out, ax[1].outStep*c.outs[2]*c.out
	countW, countH := w.end-w.first, h.end-h.first
	rows, xr, yr := countW, xw, yw
	lines, xl, yl := countH, xh, yh
	switch {
	case xw*countW == xh && yw*countW == yh: // both axes see all taps: one long run of rows
		rows, lines = countW*countH, 1
	case fill(countH) > fill(countW):
		rows, xr, yr, lines, xl, yl = countH, xh, yh, countW, xw, yw
	}
	t.FetchC = c.moments != nil // in training, results are kept for the backward pass, each in memory of its own
	t.Rows, t.ARow, t.CRow = rows, xr, yr
	t.Lines, t.ALine, t.CLine = lines, xl, yl
	startX := (n*ax[0].in+d*ax[0].inStep+ax[0].inOffset+td*ax[0].tapStep)*planeX +
		(h.first*ax[1].inStep+ax[1].inOffset+h.tap*ax[1].tapStep)*rowX +
		(w.first*ax[2].inStep+ax[2].inOffset+w.tap*ax[2].tapStep)*c.in + g*c.groupX()
	startY := ((n*c.outs[0]+ax[0].outStart+d*ax[0].outStep)*c.outs[1]+ax[1].outStart+h.first*ax[1].outStep)*c.outs[2]*c.out +
		(ax[2].outStart+w.first*ax[2].outStep)*c.out + g*c.outGroup + col
	if c.depthwise {
		startX += col
	}
	empty := td == tdEnd || h.tap == h.tapEnd || w.tap == w.tapEnd
	if images > 1 {
		t.Rows = min(images, c.batch-n)
		t.Lines, t.ALine, t.CLine = countW, xw, yw
		c.rowsOfImages(&t, n, countH, startX, startY, xh, yh, empty, td, tdEnd, h, w, g, col)
		return
	}
	t.C = c.y[startY:]
	if empty {
		c.emptyTile(&t)
		return
	}
	c.tile(&t, startX, td, tdEnd, h, w, g, col)
}

func (c *correlation[T]) planeX() int { return c.axes[1].in * c.axes[2].in * c.in }

// fill says how full tiles are if that many rows are cut into as few tiles as possible.
func fill(rows int) int { return rows * 16 / ceil(rows, fullRows) }

// emptyTile computes outputs that see nothing of the input.
func (c *correlation[T]) emptyTile(t *micro.Tile[T]) {
	if t.Bias == nil {
		for line := range max(t.Lines, 1) {
			for r := range t.Rows {
				clear(t.C[line*t.CLine+r*t.CRow:][:t.Cols])
			}
		}
		return
	}
	t.K, t.Segments, t.Outer, t.Accumulate = 0, 0, 0, false
	if c.depthwise {
		micro.RunChannels(t)
		return
	}
	micro.Run(t)
}

// tile computes the lines of rows whose first tap inside the input is at x[startX].
func (c *correlation[T]) tile(t *micro.Tile[T], startX, td, tdEnd int, h, w span, g, col int) {
	ax := &c.axes
	planeX, rowX := ax[0].tapStep*c.planeX(), ax[1].tapStep*ax[2].in*c.in
	weights, step := c.weights(g, col)
	tap := c.inGroup * step // distance between the weights of neighbouring taps
	tapRow := ax[2].taps * tap
	tapPlane := ax[1].taps * tapRow
	weights = weights[td*tapPlane+h.tap*tapRow+w.tap*tap:]
	t.A, t.B = c.x[startX:], weights
	t.BK = step
	switch {
	case c.depthwise:
		t.K, t.AK = w.tapEnd-w.tap, ax[2].tapStep*c.in
		t.Segments, t.ASegment, t.BSegment = h.tapEnd-h.tap, rowX, tapRow
		t.Outer, t.AOuter, t.BOuter = tdEnd-td, planeX, tapPlane
		micro.RunChannels(t)
	case ax[2].tapStep == 1 && c.in == c.inGroup || w.tapEnd-w.tap == 1: // what lies under a kernel row is contiguous
		t.K, t.AK = (w.tapEnd-w.tap)*c.inGroup, 1
		t.Segments, t.ASegment, t.BSegment = h.tapEnd-h.tap, rowX, tapRow
		t.Outer, t.AOuter, t.BOuter = tdEnd-td, planeX, tapPlane
		micro.Run(t)
	default:
		t.K, t.AK = c.inGroup, 1
		t.Segments, t.ASegment, t.BSegment = w.tapEnd-w.tap, ax[2].tapStep*c.in, tap
		t.Outer, t.AOuter, t.BOuter = h.tapEnd-h.tap, rowX, tapRow
		bias, relu := t.Bias, t.ReLU
		for ; td < tdEnd; td++ { // the micro-kernel has one loop less than this needs
			last := td == tdEnd-1
			t.ReLU, t.Bias = relu && last, nil
			if last {
				t.Bias = bias
			}
			micro.Run(t)
			t.Accumulate = true
			if !last {
				t.A, t.B = t.A[planeX:], t.B[tapPlane:]
			}
		}
	}
}

// weights returns the weights of the panel at column col of group g, and the step between its rows.
func (c *correlation[T]) weights(g, col int) ([]T, int) {
	if !c.packed {
		return c.w[g*c.outGroup+col:], c.out
	}
	width, columns, sums := micro.PanelWidth[T](), micro.PadColumns[T](c.outGroup), c.axes[0].taps*c.axes[1].taps*c.axes[2].taps*c.inGroup
	if c.kept || c.pairs {
		columns = c.panels() * width
	}
	return c.w[(g*columns+col)*sums:], min(columns-col, width)
}
