package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// ForwardScratch returns the number of elements of scratch memory that Forward, ForwardPacked and AddForward need.
func ForwardScratch[T Float](s *Shape, workers int) int {
	n := s.checked(ofForward)
	if n.pointwise() {
		a := pointwiseForward[T](&n, nil, nil, nil, false, nil)
		size := productScratch(a, workers)
		a.Accumulate = true
		return max(size, productScratch(a, workers))
	}
	if coversChannels[T](&n) {
		return 0
	}
	if abreast[T](&n, ofForward) {
		return abreastScratch(&n, workers, ofForward)
	}
	if splitsForward[T](&n) {
		return splitScratch(&n, workers, ofForward, false)
	}
	if n.unfolds() {
		return unfoldedScratch[T](&n, workers)
	}
	if g, ok := newTapRows[T](&n, ofForward); ok {
		return g.scratch(ofForward, workers)
	}
	if pads[T](&n) {
		return paddedScratch[T](&n, workers)
	}
	if isWideForward[T](&n) {
		w := forwardWide[T](&n)
		return w.size(volume(n.Kernel), workers)
	}
	if repeats[T](&n, ofForward) {
		r := n.repeated()
		return r.sizeX() + ForwardScratch[T](&r, workers)
	}
	if planes[T](&n) {
		most, last := n.planesShapes()
		return n.planesScratch() + max(ForwardScratch[T](&most, workers), ForwardScratch[T](&last, workers))
	}
	if apart[T](&n) {
		return apartScratch[T](&n, workers)
	}
	return panelsScratch[T](&n, workers)
}

// panelsScratch is the scratch memory for the kernel in panels, if it is packed, and for the workers.
func panelsScratch[T Float](s *Shape, workers int) int {
	if size := copiesScratch[T](s, workers); size > 0 {
		return size
	}
	local := spreadScratch[T](s, workers)
	if f := framesForward[T](s); f.on() {
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
	n := s.checked(ofForward)
	n.need("x", len(x), n.sizeX())
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("y", len(y), n.sizeY())
	n.need("scratch", len(scratch), ForwardScratch[T](&n, p.Size()))
	if bias != nil {
		n.need("bias", len(bias), n.OutChannels)
	}
	if n.without() {
		computeBias(y[:n.sizeY()], bias, relu)
		return
	}
	if n.pointwise() {
		a := pointwiseForward(&n, x, kernel, bias, relu, y)
		a.Packed = packed
		runProduct(p, a, scratch)
		return
	}
	if coversChannels[T](&n) {
		runCovered(p, &n, ofForward, x, kernel, bias, relu, y)
		return
	}
	if abreast[T](&n, ofForward) {
		runAbreast(p, &n, ofForward, floats(x), floats(kernel), floats(bias), relu, floats(y), floats(scratch))
		return
	}
	if splitsForward[T](&n) {
		splitUp(p, &n, ofForward, floats(x), floats(kernel), floats(bias), relu, floats(y), floats(scratch))
		return
	}
	if n.unfolds() {
		forwardUnfolded(p, &n, x, kernel, bias, relu, y, scratch, packed)
		return
	}
	if g, ok := newTapRows[T](&n, ofForward); ok {
		runTapRows(p, &g, ofForward, floats(x), floats(kernel), floats(bias), relu, floats(y), floats(scratch))
		return
	}
	if pads[T](&n) {
		forwardPadded(p, &n, x, kernel, bias, relu, y, scratch, packed)
		return
	}
	if repeats[T](&n, ofForward) {
		r := n.repeated()
		to := scratch[:r.sizeX()]
		runFilters(p, x[:n.sizeX()], to, false)
		forward(p, &r, to, kernel, bias, relu, y, scratch[len(to):], false)
		return
	}
	if planes[T](&n) {
		forwardPlanes(p, &n, x, kernel, bias, relu, y, scratch)
		return
	}
	if apart[T](&n) {
		forwardApart(p, &n, x, kernel, bias, relu, y, scratch)
		return
	}
	forwardTiles(p, &n, x, kernel, bias, relu, y, scratch, packed)
}

// forwardTiles is [Forward] in the general case.
func forwardTiles[T Float](p *pool.Pool, n *Shape, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	c := getCorrelation[T]()
	c.forward(n)
	c.x, c.y, c.w, c.bias, c.relu = x[:n.sizeX()], y[:n.sizeY()], kernel, bias, relu
	c.joins, c.local = true, scratch
	switch {
	case packed:
		c.packed, c.kept, c.spread = true, true, spread{}
	case isWideForward[T](n):
		c.wide = forwardWide[T](n)
		c.wide.prepare(kernel, bias, scratch, volume(n.Kernel))
	case c.copies.unit > 0:
		c.local = scratch
	case c.packed:
		c.w, c.local = packKernel(p, n, c.spread.columns, kernel, scratch)
	}
	c.frame = framesForward[T](n)
	runFramed(p, c, nil)
	putCorrelation(c)
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

// packKernel packs the kernel into panels and returns them and the rest of the scratch memory. columns are those of a
// spread, or 0.
func packKernel[T Float](p *pool.Pool, n *Shape, columns int, kernel, scratch []T) (panels, behind []T) {
	k := getPacking[T]()
	k.kernel, k.groups = kernel, n.Groups
	k.out, k.shape, k.flip, k.lanes = n.OutChannels, *n, false, groupedLanes[T](n)
	k.arrange(n.Kernel, n.InChannels/n.Groups, n.OutChannels/n.Groups, columns)
	size := k.size()
	k.dst = scratch[:size]
	k.run(p)
	putPacking(k)
	return scratch[:size], scratch[size:]
}
