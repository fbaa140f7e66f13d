package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// ForwardScratch returns the number of elements of scratch memory that Forward, ForwardPacked and AddForward need.
func ForwardScratch[T Float](s *Shape, workers int) int {
	var local decisions
	return scratchOf[T](decisionsOf[T](s, ofForward, &local), ofForward, workers, false)
}

// forwardScratch is the same for what was decided.
func forwardScratch[T Float](d *decisions, workers int) int {
	n := &d.shape
	switch d.way {
	case wayEmpty, wayCovered:
		return 0
	case wayProduct:
		a := pointwiseForward[T](n, nil, nil, nil, false, nil)
		size := productScratch(a, workers)
		a.Accumulate = true
		return max(size, productScratch(a, workers))
	case wayAbreast:
		return abreastScratch(n, &d.abreast, workers)
	case waySplit:
		return splitScratch(d, ofForward, workers, false)
	case wayUnfold:
		return unfoldedScratch[T](n, workers)
	case wayTapRows:
		return d.rows.scratch(ofForward, workers)
	case wayPad:
		return n.paddedImages()*n.paddedRow() + scratchOfParts[T](d, ofForward, workers, false)
	case wayRepeat:
		return d.parts[0].sizeX() + scratchOfParts[T](d, ofForward, workers, false)
	case wayPlanes:
		return n.planesScratch() + scratchOfParts[T](d, ofForward, workers, false)
	case wayApart:
		return apartScratch[T](n, workers)
	}
	if isWideForward[T](n) {
		w := forwardWide[T](n)
		return w.size(volume(n.Kernel), workers)
	}
	return panelsScratch[T](n, &d.frame, workers)
}

// panelsScratch is the scratch memory for the kernel in panels, if it is packed, and for the workers.
func panelsScratch[T Float](s *Shape, f *frame, workers int) int {
	if size := copiesScratch[T](s, workers); size > 0 {
		return size
	}
	local := spreadScratch[T](s, workers)
	if f.on() {
		local += f.scratch(s.Batch, s.InChannels, workers)
	}
	if local == 0 && !packForward[T](s) {
		return 0
	}
	return volume(s.Kernel)*s.InChannels*packedColumns[T](s, s.OutChannels/s.Groups) + local
}

// forwardWide returns the geometry of a convolution along the width.
func forwardWide[T Float](s *Shape) wideCorrelation[T] {
	out := s.Out()
	height, width := s.forwardAxis(1, out), s.forwardAxis(2, out)
	return wideCorrelation[T]{wide: newWide[T](s.Kernel[0], &height, &width, s.OutChannels, s.OutChannels/s.InChannels), on: true}
}

// packForward reports whether the kernel is packed into panels. If not, it is read in place, in rows of OutChannels
// numbers.
func packForward[T Float](s *Shape) bool {
	width := micro.PanelWidth[T]()
	return !s.depthwise() && (s.Groups > 1 || s.Pairs || s.OutChannels%width != 0 || s.OutChannels > 2*width)
}

// Forward computes y from x, the kernel and an optional bias (nil, or one number per output channel), and applies
// max(·, 0) if relu is set.
func Forward[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T) {
	forward(p, s, x, kernel, bias, relu, y, scratch, false)
}

// ForwardPacked is [Forward] with the kernel in the panels of package gemm, as the matrix that [KernelMatrix] names.
func ForwardPacked[T Float](p *pool.Pool, s *Shape, x, panels, bias []T, relu bool, y, scratch []T) {
	forward(p, s, x, panels, bias, relu, y, scratch, true)
}

// KernelMatrix returns the rows and columns of the kernel as a matrix, and whether [ForwardPacked] gains from having it
// in panels.
func KernelMatrix[T Float](s *Shape) (rows, columns int, packs bool) {
	n := s.checked(ofForward)
	_, taps := newTapRows[T](&n, ofForward)
	packs = n.Groups == 1 && !taps && !abreast[T](&n, ofForward) && !isWideForward[T](&n) && (n.pointwise() || n.unfolds() || packForward[T](&n) && !spreads[T](&n))
	return volume(n.Kernel) * n.InChannels, n.OutChannels, packs
}

func forward[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	var local decisions
	d := decisionsOf[T](s, ofForward, &local)
	n := &d.shape
	n.need("x", len(x), d.x)
	n.need("kernel", len(kernel), d.kernel)
	n.need("y", len(y), d.y)
	n.need("scratch", len(scratch), scratchOf[T](d, ofForward, p.Size(), false))
	if bias != nil {
		n.need("bias", len(bias), n.OutChannels)
	}
	switch d.way {
	case wayEmpty:
		computeBias(y[:d.y], bias, relu)
	case wayProduct:
		a := pointwiseForward(n, x, kernel, bias, relu, y)
		a.Packed = packed
		runProduct(p, a, scratch)
	case wayCovered:
		runCovered(p, n, ofForward, x, kernel, bias, relu, y)
	case wayAbreast:
		runAbreast(p, d, ofForward, floats(x), floats(kernel), floats(bias), relu, floats(y), floats(scratch))
	case waySplit:
		splitUp(p, d, ofForward, floats(x), floats(kernel), floats(bias), relu, floats(y), floats(scratch))
	case wayUnfold:
		forwardUnfolded(p, n, x, kernel, bias, relu, y, scratch, packed)
	case wayTapRows:
		runTapRows(p, &d.rows, ofForward, floats(x), floats(kernel), floats(bias), relu, floats(y), floats(scratch))
	case wayPad:
		forwardPadded(p, d, x, kernel, bias, relu, y, scratch, packed)
	case wayRepeat:
		r := &d.parts[0]
		to := scratch[:r.sizeX()]
		runFilters(p, x[:d.x], to, false)
		forward(p, r, to, kernel, bias, relu, y, scratch[len(to):], false)
	case wayPlanes:
		forwardPlanes(p, d, x, kernel, bias, relu, y, scratch)
	case wayApart:
		forwardApart(p, n, x, kernel, bias, relu, y, scratch)
	default:
		forwardTiles(p, d, x, kernel, bias, relu, y, scratch, packed)
	}
}

// forwardTiles is [Forward] in the general case.
func forwardTiles[T Float](p *pool.Pool, d *decisions, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	remembered := d.tiles.take()
	var c *correlation[T]
	if remembered {
		c = correlationOf[T](d.tiles, 0)
	} else {
		c = getCorrelation[T]()
		setForward(c, d)
	}
	if packed {
		was := c.packed
		c.packed, c.kept = true, true
		runForward(p, d, c, x, kernel, bias, relu, y, scratch)
		c.packed, c.kept = was, false
	} else {
		runForward(p, d, c, x, kernel, bias, relu, y, scratch)
	}
	if remembered {
		d.tiles.release()
		return
	}
	putCorrelation(c)
}

// runForward runs the correlation of a convolution.
func runForward[T Float](p *pool.Pool, d *decisions, c *correlation[T], x, kernel, bias []T, relu bool, y, scratch []T) {
	c.x, c.y, c.w, c.bias, c.relu, c.local = x[:d.x], y[:d.y], kernel, bias, relu, scratch
	switch {
	case c.kept:
	case c.wide.on:
		c.wide.prepare(kernel, bias, scratch, volume(d.shape.Kernel))
	case c.copies.unit == 0 && c.packed:
		c.w, c.local = packKernel(p, &d.shape, c.lanes, c.spread.columns, kernel, scratch)
	}
	runFramed(p, c, nil)
}

// setForward sets up a correlation for what was decided about a convolution, except for its memory.
func setForward[T Float](c *correlation[T], d *decisions) {
	n := &d.shape
	c.forward(n)
	if c.joins = true; isWideForward[T](n) {
		c.wide = forwardWide[T](n)
	}
	if c.frame = d.frame; c.frame.on() {
		c.axes = c.frame.inside(c.axes)
	}
}

// forward sets up the convolution of the shape, except for its memory.
func (c *correlation[T]) forward(n *Shape) {
	c.outs = n.Out()
	for i := range c.axes {
		c.axes[i] = n.forwardAxis(i, c.outs)
	}
	c.batch, c.groups, c.depthwise, c.pairs = n.Batch, n.Groups, n.depthwise(), n.Pairs
	c.in, c.inGroup = n.InChannels, n.InChannels/n.Groups
	c.out, c.outGroup = n.OutChannels, n.OutChannels/n.Groups
	c.packed, c.slides, c.lanes = packForward[T](n), slidesForward[T](n), groupedLanes[T](n)
	copies := slidesCopies[T](n)
	c.slides = c.slides && !copies
	c.setCopies(copies)
	if c.spread = (spread{}); !isWideForward[T](n) {
		c.setSpread()
		c.packed = c.packed || c.spread.columns > 0
	}
}

// packKernel packs the kernel into panels, or into vectors of that many lanes, and returns them and the rest of the
// scratch memory. columns are those of a spread, or 0.
func packKernel[T Float](p *pool.Pool, n *Shape, lanes, columns int, kernel, scratch []T) (panels, behind []T) {
	k := getPacking[T]()
	k.kernel, k.groups = kernel, n.Groups
	k.out, k.shape, k.flip, k.lanes = n.OutChannels, *n, false, lanes
	k.arrange(n.Kernel, n.InChannels/n.Groups, n.OutChannels/n.Groups, columns)
	size := k.size()
	k.dst = scratch[:size]
	k.run(p)
	putPacking(k)
	return scratch[:size], scratch[size:]
}
