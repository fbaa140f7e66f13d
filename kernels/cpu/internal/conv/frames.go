package conv

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// Small padded images under large windows are mostly edges, and so are the input gradients of small images, padded or
// not. An image of 8x8 pixels under a window of 5x5 falls into 25 rectangles whose outputs see the same taps; most are
// one pixel wide and fill little of a tile. Where that costs more than the products with zeros would, the images are
// copied with zeros around them, so that all outputs see all taps. No sum changes, since an added zero changes nothing.
// An infinite weight times such a zero is NaN, as in XLA.

const (
	frameMax     = 1 << 16 // elements of the copies that are in memory at a time for each worker, and at least one image
	frameImage   = 1 << 18 // most elements of the copy of an image
	frameStride  = 8       // most phases along an axis,
	framePhases  = 4       // and most that differ
	frameCall    = 900     // half cycles of overhead for outputs that see the same taps,
	frameTile    = 90      // for a tile of them,
	frameSegment = 5       // and for each run of weights that follow each other
	frameRow     = 130     // half cycles of overhead to copy a row,
	frameCopy    = 10      // and to copy a vector
)

// frame is the geometry of images that are copied with zeros around them; the zero value stands for no copies.
type frame struct {
	low, in, size [3]int // zeros in front of an axis, and its lengths without and with zeros
}

func (f frame) on() bool { return f.size[2] > 0 }

// join makes the frame large enough for the axes of a correlation.
func (f *frame) join(axes *[3]axis) {
	for i := range axes {
		a := &axes[i]
		if f.size[i] == 0 {
			f.in[i], f.size[i] = a.in, a.in
		}
		if a.taps == 0 || a.out == 0 {
			continue
		}
		high := max((a.out-1)*a.inStep+a.inOffset+(a.taps-1)*a.tapStep+1, a.in, f.size[i]-f.low[i])
		f.low[i] = max(f.low[i], -a.inOffset)
		f.size[i] = f.low[i] + high
	}
}

// inside returns the axes of a correlation over the copies.
func (f *frame) inside(axes [3]axis) [3]axis {
	for i := range axes {
		axes[i].in, axes[i].inOffset = f.size[i], axes[i].inOffset+f.low[i]
	}
	return axes
}

// images is the number of images that are copied at a time.
func (f *frame) images(batch, channels, workers int) int {
	return max(min(frameMax*max(workers, 1)/(volume(f.size)*channels), batch), 1)
}

// scratch is the number of elements of these copies.
func (f *frame) scratch(batch, channels, workers int) int {
	return f.images(batch, channels, workers) * volume(f.size) * channels
}

// copyCost estimates the half cycles to copy an image.
func (f *frame) copyCost(channels int) int {
	return f.size[0]*f.size[1]*frameRow + frameCopy*volume(f.size)*channels/16
}

// mayFrame reports whether the general way computes the correlation, so that copies may help. Sequences have copies of
// their own (padded.go).
func (c *correlation[T]) mayFrame(s *Shape) bool {
	return single[T]() && micro.PadColumns[T](1) > 1 && !c.depthwise && !c.wide.on && !c.slides && c.lanes == 0 && !c.pairs && c.copies.unit == 0 && c.spread.columns == 0 &&
		(s.Kernel[0] > 1 || s.Kernel[1] > 1) && !s.without() && s.sizeX() > 0 && s.sizeY() > 0
}

// joinsBatch reports whether images are joined for sure: their outputs fill tiles without copies.
func (c *correlation[T]) joinsBatch(s *Shape) bool {
	if c.batch < joinLeast && !s.Part {
		return false
	}
	c.cutSpans()
	return c.joinsShort()
}

// framesForward returns the frame of the images of a convolution that the general way computes.
func framesForward[T Float](s *Shape) (f frame) {
	c := getCorrelation[T]()
	defer putCorrelation(c)
	c.forward(s)
	if isWideForward[T](s) || !c.mayFrame(s) {
		return frame{}
	}
	if c.square(); c.joinsBatch(s) {
		return frame{}
	}
	f.join(&c.axes)
	cost := c.frameCosts(&f)
	cost.then += f.copyCost(c.in)
	if !f.gains(s, &cost, c.in) {
		return frame{}
	}
	f = frame{}
	for i := range c.axes {
		c.axes[i] = s.forwardAxis(i, c.outs)
	}
	f.join(&c.axes)
	return f
}

// framesBackward is framesForward for the input gradient. All phases share the frame.
func framesBackward[T Float](s *Shape) (f frame) {
	if isWideData[T](s) || spreadBackward[T](s) > 0 || slidesCopies[T](s) {
		return frame{}
	}
	c := getCorrelation[T]()
	defer putCorrelation(c)
	c.backward(s)
	c.outs = s.In
	c.copies, c.spread = slideCopies{}, spread{}
	if !c.mayFrame(s) {
		return frame{}
	}
	var square frame
	joins := false
	if !s.eachPhase(func(axes [3]axis, _ int) {
		if joins {
			return
		}
		c.axes = axes
		f.join(&c.axes)
		c.square()
		square.join(&c.axes)
		joins = c.joinsBatch(s)
	}) || joins || volume(f.size)*c.in > frameImage {
		return frame{}
	}
	var all frameCosts
	copies := 0
	s.eachPhase(func(axes [3]axis, count int) {
		c.axes = axes
		c.square()
		one := c.frameCosts(&square)
		all.now, all.then, copies = all.now+one.now*count, all.then+one.then*count, copies+count
		all.joins, all.reorders = all.joins || one.joins, all.reorders || one.reorders
	})
	if s.together() {
		copies = 1
	}
	all.then += copies * square.copyCost(c.in)
	if !f.gains(s, &all, c.in) {
		return frame{}
	}
	return f
}

// eachPhase calls f with the axes of the phases of the input gradient that have taps and outputs, and with the number
// of those that differ only in where outputs are stored. It returns false if they differ too much.
func (s *Shape) eachPhase(f func(axes [3]axis, count int)) bool {
	var list [3][framePhases]axis
	var counts [3][framePhases]int
	var n [3]int
	out := s.Out()
	for i := range list {
		if s.phases(i) > frameStride {
			return false
		}
		for r := range s.phases(i) {
			a := s.backwardPhase(i, r, out).axis
			if a.outStart = 0; a.taps == 0 || a.out == 0 {
				continue
			}
			at := slices.Index(list[i][:n[i]], a)
			if at < 0 {
				if at = n[i]; at == framePhases {
					return false
				}
				list[i][at] = a
				n[i]++
			}
			counts[i][at]++
		}
	}
	for d, ad := range list[0][:n[0]] {
		for h, ah := range list[1][:n[1]] {
			for w, aw := range list[2][:n[2]] {
				f([3]axis{ad, ah, aw}, counts[0][d]*counts[1][h]*counts[2][w])
			}
		}
	}
	return true
}

// frameCosts are estimates of the half cycles for an image, without copies and with them, and what else decides.
type frameCosts struct {
	now, then int
	joins     bool // without copies, images of a large batch are joined
	reorders  bool // without copies, sums may be in another order
}

// gains reports whether copies gain. Joined images fill tiles already, so there the batch decides; that must not change
// bits.
func (f *frame) gains(s *Shape, c *frameCosts, channels int) bool {
	return 10*c.then < 9*c.now && volume(f.size)*channels <= frameImage && (!c.joins || s.Batch < joinLeast && !s.Part && !c.reorders) && byFrames.Taken()
}

// square takes images to be square, because the height must not decide: images may come in bands of rows.
func (c *correlation[T]) square() {
	if c.axes[0].out != 1 || c.axes[0].taps != 1 {
		return
	}
	h, w := &c.axes[1], &c.axes[2]
	h.in, h.out, h.inOffset = w.in, w.out, min(w.inOffset, 0)
	if w.taps != h.taps || w.tapStep != h.tapStep {
		if h.inOffset < 0 {
			h.inOffset = -(h.taps - 1) * h.tapStep / 2
		}
	}
}

// frameCosts returns the estimates for an image, without the cost of the copies themselves.
func (c *correlation[T]) frameCosts(f *frame) (cost frameCosts) {
	axes := c.axes
	c.cutSpans()
	cost.now, cost.joins = c.frameCost(), c.joinsShort()
	cost.reorders = len(c.runs) > 0 || axes[0].taps > 1 && (axes[2].tapStep > 1 || c.in > c.inGroup)
	c.axes = f.inside(axes)
	c.cutSpans()
	cost.then = c.frameCost()
	c.axes = axes
	return cost
}

// frameCost estimates the half cycles for an image, where vectors of 16 numbers are computed by halves.
func (c *correlation[T]) frameCost() (sum int) {
	widths, adds := c.spans[2], false
	if len(c.runs) > 0 {
		widths, adds = c.runs, true
	}
	panels := ceil(c.outGroup, 32)
	halves := 2 * ceil(ceil(c.outGroup, 16), panels)
	contiguous := c.axes[2].tapStep == 1 && c.in == c.inGroup
	for d := range c.axes[0].out {
		first, end := c.axes[0].inside(d)
		for _, h := range c.spans[1] {
			for _, w := range widths {
				rows, lines := w.end-w.first, h.end-h.first
				if fill(lines) > fill(rows) {
					rows, lines = lines, rows
				}
				segments := (end - first) * (h.tapEnd - h.tap)
				sum += frameCall
				k := segments * (w.tapEnd - w.tap) * c.inGroup
				if !contiguous {
					segments *= w.tapEnd - w.tap
				}
				for ; rows > 0; rows -= fullRows {
					r := min(rows, fullRows)
					one := max(r*halves, 8)*k + segments*frameSegment + frameTile
					if adds {
						one += tapStore * r * halves / 2
					}
					sum += lines * one
				}
			}
		}
	}
	return sum * panels * c.groups
}

// frameCopies copies images with zeros around them.
type frameCopies struct {
	frame    frame
	channels int
	x, dst   []float32
}

var frameCopies32 pool.Recycler[frameCopies]

// runFramed runs a correlation, or the phases of a list if it is not nil, from copies of some images at a time if the
// correlation has a frame.
func runFramed[T Float](p *pool.Pool, c *correlation[T], list *phases[T]) {
	if !c.frame.on() {
		if list != nil {
			list.run(p)
		} else {
			c.run(p)
		}
		return
	}
	runCopies((*correlation[float32])(unsafe.Pointer(c)), (*phases[float32])(unsafe.Pointer(list)), p)
}

func runCopies(c *correlation[float32], list *phases[float32], p *pool.Pool) {
	f, batch, x, y := c.frame, c.batch, c.x, c.y
	images := f.images(batch, c.in, p.Size())
	sizeX, sizeY := volume(f.in)*c.in, volume(c.outs)*c.out
	for first := 0; first < batch; first += images {
		n := min(images, batch-first)
		copied := c.local[:n*volume(f.size)*c.in]
		f.copy(p, copied, x[first*sizeX:(first+n)*sizeX], c.in)
		if result := y[first*sizeY : (first+n)*sizeY]; list == nil {
			c.x, c.y, c.batch = copied, result, n
			c.run(p)
		} else {
			for i := range list.list {
				one := &list.list[i]
				one.x, one.y, one.batch = copied, result, n
			}
			list.run(p)
		}
	}
	c.x, c.y, c.batch = x, y, batch
}

// copy copies images.
func (f *frame) copy(p *pool.Pool, dst, x []float32, channels int) {
	r := frameCopies32.Get()
	r.frame, r.channels, r.dst, r.x = *f, channels, dst, x
	row := f.size[2] * channels
	p.Parallel(len(dst)/row, max(1<<14/row, 1), r)
	r.dst, r.x = nil, nil // let go of the caller's memory
	frameCopies32.Put(r)
}

// Run copies the rows [lo, hi).
func (r *frameCopies) Run(_, lo, hi int) {
	f := &r.frame
	total, low, row := f.size[2]*r.channels, f.low[2]*r.channels, f.in[2]*r.channels
	for i := lo; i < hi; i++ {
		h, rest := i%f.size[1]-f.low[1], i/f.size[1]
		d, n := rest%f.size[0]-f.low[0], rest/f.size[0]
		to := r.dst[i*total : (i+1)*total]
		if h < 0 || h >= f.in[1] || d < 0 || d >= f.in[0] {
			clear(to)
			continue
		}
		clear(to[:low])
		copy(to[low:low+row], r.x[((n*f.in[0]+d)*f.in[1]+h)*row:])
		clear(to[low+row:])
	}
}
