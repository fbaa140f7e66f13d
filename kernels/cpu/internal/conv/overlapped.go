package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// The input gradient of a convolution with few input channels and long strides has many phases, one for each residue of
// the position. Each has few taps and few outputs, which would leave tiles nearly empty. So it is computed as one
// matrix product, whose rows are windows of the input that the outputs contribute to:
//
//	z[o, t, c] = Σ_k dy[o, k] · kernel[t, c, k]      dx[i, c] = Σ_{o, t: o·stride − padLow + t·dilation = i} z[o, t, c]
//
// The windows are added one after the other. The gradient of a spectrogram is an example. Only float32 is computed this
// way.

const (
	overlapStride   = 4       // fewest pixels of a stride along the width, which leaves few taps for each phase,
	overlapChannels = 8       // and most input channels, which leave each phase few outputs,
	overlapWindow   = 32      // for windows of at least that many numbers along the width and
	overlapSums     = 8       // at least that many filters: adding a window costs as much as a few products
	overlapRows     = 6       // rows of a window that are added by one call
	overlapPays     = 60      // percentage of the phases' cost up to which windows pay,
	overlapJoined   = 66      // and of that of joined images,
	overlapPhases   = 4       // in images of at least that many phases;
	overlapImage    = 1140    // half cycles of overhead for an image,
	overlapProducts = 3       // for the product of a vector,
	overlapAdd      = 1060    // to add the rows of a window by one call,
	overlapRow      = 60      // for each of them,
	overlapAlone    = 180     // for a row that is added alone,
	overlapVector   = 15      // to add a vector,
	overlapClear    = 6       // and to clear one
	overlapMost     = 1 << 18 // numbers of the windows that are in memory at a time
)

// overlaps reports whether the input gradient is computed this way. It ignores the batch, whose size must not change
// bits.
func overlaps[T Float](s *Shape) bool {
	return single[T]() && s.Groups == 1 && !s.Pairs && s.Strides[2] >= overlapStride && s.Dilation[2] == 1 && s.InChannels <= overlapChannels &&
		s.Kernel[2]*s.InChannels >= overlapWindow && s.OutChannels >= overlapSums && s.sizeX() > 0 && s.sizeY() > 0 && byOverlaps.Taken()
}

// overlapsPhases reports whether windows cost much less than the phases, which are many and have few outputs if small
// images and volumes have strides. The batch decides whether phases of several images are joined, but it must not
// decide here, so windows have to be better either way. Nothing else may be better than phases. The estimates follow
// measurements of 116 shapes on Zen 4, with AVX-512 and AVX2, in batches of 1, 4 and 16.
func overlapsPhases[T Float](s *Shape) bool {
	if !single[T]() || !isa.Active().Has(isa.Vectors256) || s.Groups != 1 || s.Pairs || s.Dilation[2] != 1 || volume(s.Strides) < overlapPhases || s.In[1] == 1 || s.sizeX() == 0 || s.sizeY() == 0 {
		return false
	}
	if volume(s.Out()) == 1 { // the product of one image has a single row, which may be summed in another order than several
		return false
	}
	alone, joined, ok := phasesCost[T](s)
	mine := s.overlapCost()
	return ok && 100*mine < overlapPays*alone && 100*mine < overlapJoined*joined && byOverlaps.Taken()
}

// overlapCost estimates the half cycles for an image.
func (s *Shape) overlapCost() int {
	in, out, window := s.In, s.Out(), volume(s.Kernel)*s.InChannels
	if in[0] == 1 && s.Kernel[0] == 1 { // the height must not decide
		in[1], out[1] = in[2], out[2]
	}
	rows, run := s.Kernel[0]*s.Kernel[1], s.Kernel[2]*s.InChannels
	add := rows * overlapAlone
	if rows >= overlapRows && run >= micro.NarrowChannels[float32]() {
		add = overlapAdd + rows*overlapRow
	}
	return overlapImage + volume(out)*(overlapProducts*ceil(window, 16)*s.OutChannels+add+overlapVector*rows*ceil(run, 16)) + overlapClear*volume(in)*s.InChannels/16
}

// phasesCost estimates the half cycles for the phases of an image, with zeros around copies or without, and if enough
// images are joined. It returns false if the phases differ too much.
func phasesCost[T Float](s *Shape) (alone, joined int, ok bool) {
	c := getCorrelation[T]()
	defer putCorrelation(c)
	c.backward(s)
	c.outs, c.copies, c.spread = s.In, slideCopies{}, spread{}
	var f frame
	if !s.eachPhase(func(axes [3]axis, _ int) {
		c.axes = axes
		c.square()
		f.join(&c.axes)
	}) {
		return 0, 0, false
	}
	now, then := 0, 0
	s.eachPhase(func(axes [3]axis, count int) {
		c.axes = axes
		c.square()
		one := c.frameCosts(&f)
		now, then = now+one.now*count, then+(one.then+f.copyCost(c.in))*count
		if c.cutSpans(); one.joins {
			one.now = c.joinedCost()
		}
		joined += one.now * count
	})
	return min(now, then), joined, true
}

// joinedCost is [correlation.frameCost] for joined images: the rows of tiles are the same output of all of them.
func (c *correlation[T]) joinedCost() (sum int) {
	vectors := ceil(c.outGroup, 16)
	for d := range c.axes[0].out {
		first, end := c.axes[0].inside(d)
		for _, h := range c.spans[1] {
			for _, w := range c.spans[2] {
				lines, outputs := h.end-h.first, (h.end-h.first)*(w.end-w.first)
				segments := (end - first) * (h.tapEnd - h.tap)
				sum += lines*ceil(frameCall, fullRows) + outputs*(2*vectors*segments*(w.tapEnd-w.tap)*c.inGroup+ceil(segments*frameSegment+frameTile, fullRows))
			}
		}
	}
	return sum
}

// overlapPixels is the number of windows in memory at a time: those of some images, or of a part of one.
func (s *Shape) overlapPixels() int {
	pixels := volume(s.Out())
	most := max(overlapMost/(volume(s.Kernel)*s.InChannels), 1)
	if most >= pixels {
		return min(most/pixels, s.Batch) * pixels
	}
	return most
}

// overlapScratch is the scratch memory of [backwardOverlapped].
func (s *Shape) overlapScratch(workers int) int {
	size, each := 0, s.overlapPixels()
	for _, n := range [...]int{each, volume(s.Out()) % each, s.Batch * volume(s.Out()) % each} {
		a := s.overlapProduct(n, nil, nil, nil)
		size = max(size, gemm.ScratchSize(&a, workers))
	}
	return size + each*volume(s.Kernel)*s.InChannels
}

func (s *Shape) overlapProduct(pixels int, dy, kernel, z []float32) gemm.Args[float32] {
	return gemm.Args[float32]{M: pixels, N: volume(s.Kernel) * s.InChannels, K: s.OutChannels, A: dy, B: kernel, TransB: true, C: z}
}

// overlapping adds windows.
type overlapping struct {
	shape  Shape
	out    [3]int
	pixels int // windows of an image that are in memory, from pixel first on
	first  int
	z, dx  []float32
	ones   []float32 // as many as a row of a window has numbers
}

var overlappings pool.Recycler[overlapping]

// backwardOverlapped is [BackwardData] of a shape that overlaps.
func backwardOverlapped(p *pool.Pool, s *Shape, dy, kernel, dx, scratch []float32) {
	o := overlappings.Get()
	o.shape, o.out = *s, s.Out()
	for len(o.ones) < s.Kernel[2]*s.InChannels {
		o.ones = append(o.ones, 1)
	}
	each, window, pixels := s.overlapPixels(), volume(s.Kernel)*s.InChannels, volume(o.out)
	all, sizeX := s.Batch*pixels, volume(s.In)*s.InChannels
	for at := 0; at < all; {
		n := min(each, all-at)
		image := at / pixels
		if o.first = at % pixels; each < pixels {
			n = min(n, pixels-o.first)
		}
		a := s.overlapProduct(n, dy[at*s.OutChannels:], kernel, scratch[:n*window])
		runProduct(p, a, scratch[each*window:])
		images := max(n/pixels, 1)
		o.pixels, o.z, o.dx = n/images, scratch[:n*window], dx[image*sizeX:(image+images)*sizeX]
		p.Parallel(images, max(1<<14/(o.pixels*window), 1), o)
		at += n
	}
	o.z, o.dx = nil, nil // let go of the caller's memory
	overlappings.Put(o)
}

// Run adds the windows of images [lo, hi).
func (o *overlapping) Run(_, lo, hi int) {
	size, window := volume(o.shape.In)*o.shape.InChannels, volume(o.shape.Kernel)*o.shape.InChannels
	for n := lo; n < hi; n++ {
		dx := o.dx[n*size : (n+1)*size]
		if o.first == 0 {
			clear(dx)
		}
		for i := range o.pixels {
			o.add(dx, o.z[(n*o.pixels+i)*window:][:window], o.first+i)
		}
	}
}

// add adds the window of a pixel to an image.
func (o *overlapping) add(dx, z []float32, pixel int) {
	s, c := &o.shape, o.shape.InChannels
	at := [3]int{pixel / o.out[2] / o.out[1], pixel / o.out[2] % o.out[1], pixel % o.out[2]}
	var taps [3]span // inside the image
	for i := range at {
		a := axis{in: s.In[i], taps: s.Kernel[i], inOffset: at[i]*s.Strides[i] - s.PadLow[i], tapStep: s.Dilation[i]}
		taps[i].tap, taps[i].tapEnd = a.inside(0)
		at[i] = a.inOffset + taps[i].tap*a.tapStep
	}
	planes, lines, run := taps[0].tapEnd-taps[0].tap, taps[1].tapEnd-taps[1].tap, (taps[2].tapEnd-taps[2].tap)*c
	if min(planes, lines, run) == 0 {
		return
	}
	row, rowX := s.Kernel[2]*c, s.In[2]*c
	z, dx = z[(taps[0].tap*s.Kernel[1]+taps[1].tap)*row+taps[2].tap*c:], dx[(at[0]*s.In[1]+at[1])*rowX+at[2]*c:]
	if planes*lines >= overlapRows && run >= micro.NarrowChannels[float32]() { // products with ones: one call for all rows
		micro.RunChannels(&micro.Tile[float32]{A: z, ARow: row, ALine: s.Kernel[1] * row, B: o.ones, C: dx, CRow: s.Dilation[1] * rowX, CLine: s.Dilation[0] * s.In[1] * rowX,
			Rows: lines, Lines: planes, Cols: run, K: 1, Segments: 1, Outer: 1, Accumulate: true})
		return
	}
	for d := range planes {
		for h := range lines {
			to := dx[(d*s.Dilation[0]*s.In[1]+h*s.Dilation[1])*rowX:][:run]
			vec.Add(to, to, z[(d*s.Kernel[1]+h)*row:][:run])
		}
	}
}
