package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A depthwise convolution of few channels, as of blurred images, leaves most of a vector empty, and short rows do not
// fill it either. So this code puts images side by side: it transposes a group of abreastLanes images (a cache line of
// numbers) into one image with that many times the channels. Each of those uses the weights of its original channel.

const (
	abreastLanes   = 16      // images in a group
	abreastLeast   = 8       // images: fewer leave most lanes empty; programs of smaller batches may have other bits
	abreastMax     = 1 << 16 // elements of the copies that are in scratch memory at a time
	abreastLimit   = 1 << 18 // elements of the copies of one group of images
	abreastPlaces  = 8       // pixels of an image: the transposition works on whole blocks of them
	abreastRow     = 80      // outputs of a row: longer rows fill vectors well enough by themselves
	abreastFilters = 4       // most filters of a channel
	abreastTaps    = 6       // fewest taps of the window for which copying channels for several filters pays
)

// abreast reports whether an operation puts images side by side. Operations of float64 never do.
func abreast[T Float](s *Shape, o operation) bool { return single[T]() && s.abreast(o) }

func (s *Shape) abreast(o operation) bool {
	if s.Batch < abreastLeast || s.Part || s.Pairs || s.Turned || s.Stacked || s.without() || volume(s.Kernel) == 1 || micro.PadColumns[float32](1) == 1 {
		return false
	}
	if s.InChannels != s.Groups || s.OutChannels >= micro.NarrowChannels[float32]() || s.OutChannels > abreastFilters*s.InChannels {
		return false
	}
	if s.OutChannels > s.InChannels { // each channel is copied once for each filter
		if o == ofData && s.OutChannels*s.In[2] > abreastRow || o != ofData && volume(s.Kernel) < abreastTaps {
			return false
		}
	}
	if s.OutChannels*s.Out()[2] > abreastRow && (s.InChannels > 1 || s.Kernel[2] == 1) { // a single channel gains in long rows too: its sums are short
		return false
	}
	r := s.abreastShape(1, 1)
	x, y := r.sizeX(), r.sizeY()
	return min(x, y) >= abreastPlaces && (x+y)*abreastLanes <= abreastLimit && byAbreast.Taken()
}

// SameInParts reports whether an image of a float32 convolution gets the same bits in a batch as in a part of it.
func (s *Shape) SameInParts() bool {
	n := s.checked(ofForward)
	return !n.abreast(ofForward)
}

// abreastShape is the convolution of that many groups of images.
//
//go:noinline
func (s *Shape) abreastShape(groups, lanes int) Shape {
	r := *s
	r.Batch, r.InChannels, r.OutChannels, r.Groups = groups, s.OutChannels*lanes, s.OutChannels*lanes, s.OutChannels*lanes
	return r
}

// abreastPlan says how the groups of images are divided up.
type abreastPlan struct {
	groups, blocks int // of all images; a block is several groups
	together       int // groups in a block
	parts          int // partial results of the kernel gradient
	weights        int // elements of a group's kernel
	local          int // elements of scratch memory for each worker
}

//go:noinline
func abreastPlanOf(s *Shape, o operation) (p abreastPlan) {
	lanes := abreastLanes
	r := s.abreastShape(1, lanes)
	size := r.sizeX() + r.sizeY()
	p.groups = ceil(s.Batch, lanes)
	p.together = min(max(abreastMax/size, 1), p.groups)
	p.blocks, p.parts, p.weights = ceil(p.groups, p.together), 1, r.sizeKernel()
	for _, groups := range [...]int{p.together, p.groups - (p.blocks-1)*p.together} {
		r.Batch = groups
		switch o {
		case ofForward:
			p.local = max(p.local, ForwardScratch[float32](&r, 1))
		case ofData:
			p.local = max(p.local, TransposedScratch[float32](&r, 1, true))
		default:
			p.local = max(p.local, BackwardWeightsScratch[float32](&r, 1))
		}
	}
	p.local += p.together * size
	if o == ofWeights {
		p.parts = min(p.blocks, wantChunks)
		p.local += p.weights
	}
	return p
}

// shapes returns those of a block of groups, and of the last block.
func (p *abreastPlan) shapes(s *Shape) [2]Shape {
	return [2]Shape{s.abreastShape(p.together, abreastLanes), s.abreastShape(p.groups-(p.blocks-1)*p.together, abreastLanes)}
}

// abreastScratch returns the number of elements of scratch memory that an operation needs: the kernel of a group or the
// parts of its gradient, a bias, and the memory of the workers.
func abreastScratch(s *Shape, p *abreastPlan, workers int) int {
	return p.parts*p.weights + s.OutChannels*abreastLanes + max(workers, 1)*p.local
}

// abreastImages is such an operation while it runs: o says which of the three slices is the result.
type abreastImages struct {
	o       operation
	shape   Shape
	plan    abreastPlan
	parts   [2]Shape // of a block, and of the last one
	x, y    []float32
	weights []float32 // of a group, or the parts of their gradient
	bias    []float32 // of a group
	relu    bool
	local   []float32
}

var abreastTasks pool.Recycler[abreastImages]

// runAbreast runs an operation for which [abreast] is true.
func runAbreast(p *pool.Pool, d *decisions, o operation, x, kernel, bias []float32, relu bool, y, scratch []float32) {
	c, s, lanes := abreastTasks.Get(), &d.shape, abreastLanes
	c.o, c.shape, c.plan, c.parts, c.relu = o, *s, d.abreast, d.parts, relu
	c.x, c.y, c.bias = x[:d.x], y[:d.y], nil
	size, channels := c.plan.parts*c.plan.weights, s.OutChannels*lanes
	c.weights, c.local = scratch[:size], scratch[size+channels:]
	if bias != nil {
		c.bias = scratch[size : size+channels]
		repeatNumbers(c.bias, bias, lanes)
	}
	if o == ofWeights {
		p.Parallel(c.plan.parts, 1, c)
		for part := 1; part < c.plan.parts; part++ {
			vec.Add(c.weights[:c.plan.weights], c.weights[:c.plan.weights], c.weights[part*c.plan.weights:][:c.plan.weights])
		}
		addNumbers(kernel[:d.kernel], c.weights, lanes)
	} else {
		repeatNumbers(c.weights, kernel[:d.kernel], lanes)
		p.Parallel(c.plan.blocks, 1, c)
	}
	c.x, c.y, c.weights, c.bias, c.local = nil, nil, nil, nil, nil // let go of the caller's memory
	abreastTasks.Put(c)
}

// Run computes blocks of groups, or parts of the gradient.
func (c *abreastImages) Run(worker, lo, hi int) {
	local := c.local[worker*c.plan.local:][:c.plan.local]
	if c.o != ofWeights {
		for block := lo; block < hi; block++ {
			c.block(block, local)
		}
		return
	}
	one, local := local[:c.plan.weights], local[c.plan.weights:]
	for part := lo; part < hi; part++ {
		sum := c.weights[part*c.plan.weights:][:c.plan.weights]
		first := part * c.plan.blocks / c.plan.parts
		for block := first; block < (part+1)*c.plan.blocks/c.plan.parts; block++ {
			if block == first {
				c.gradient(block, sum, local)
				continue
			}
			c.gradient(block, one, local)
			vec.Add(sum, sum, one)
		}
	}
}

// operands returns the shape of a block, its copies of x and y, and the rest of the memory.
func (c *abreastImages) operands(block int, local []float32) (r *Shape, x, y, rest []float32) {
	if r = &c.parts[0]; block == c.plan.blocks-1 {
		r = &c.parts[1]
	}
	x, local = local[:r.sizeX()], local[r.sizeX():]
	return r, x, local[:r.sizeY()], local[r.sizeY():]
}

// block computes the results of a block of groups.
func (c *abreastImages) block(block int, local []float32) {
	r, x, y, rest := c.operands(block, local)
	first, filters := block*c.plan.together, c.shape.OutChannels/c.shape.InChannels
	if c.o == ofForward {
		c.turn(c.x, x, first, r.Batch, filters, false)
		forward(nil, r, x, c.weights, c.bias, c.relu, y, rest, false)
		c.turn(c.y, y, first, r.Batch, 1, true)
		return
	}
	c.turn(c.y, y, first, r.Batch, 1, false)
	Transposed(nil, r, y, c.weights, c.bias, c.relu, x, rest)
	c.turn(c.x, x, first, r.Batch, filters, true)
}

// gradient computes the gradient of the kernel of a block of groups.
func (c *abreastImages) gradient(block int, dkernel, local []float32) {
	r, x, y, rest := c.operands(block, local)
	first := block * c.plan.together
	c.turn(c.x, x, first, r.Batch, c.shape.OutChannels/c.shape.InChannels, false)
	c.turn(c.y, y, first, r.Batch, 1, false)
	BackwardWeights(nil, r, x, y, dkernel, rest)
}

// turn copies images into groups, repeating each number once for each filter of its channel. If back is set, it copies
// groups into images and adds the numbers of a channel's filters. Lanes without an image are zeros.
func (c *abreastImages) turn(images, groups []float32, first, count, filters int, back bool) {
	lanes := abreastLanes
	image, group := len(images)/c.shape.Batch, len(groups)/count
	for g := range count {
		n := (first + g) * lanes
		some := min(lanes, c.shape.Batch-n)
		single, several := images[n*image:(n+some)*image], groups[g*group:(g+1)*group]
		if back {
			if filters > 1 {
				addLines(several, lanes, filters)
			}
			micro.Transpose(single, several, image, some, image, lanes)
			continue
		}
		lines := several[group-image*lanes:]
		if some < lanes {
			clear(lines)
		}
		micro.Transpose(lines, single, some, image, lanes, image)
		if filters > 1 {
			repeatLines(several, lanes, filters)
		}
	}
}

// repeatLines fills x with copies of the lines at its end, each repeated the given number of times.
func repeatLines(x []float32, lanes, times int) {
	from := len(x) - len(x)/times
	for to := 0; to < len(x); from += lanes {
		line := x[from:]
		for range times {
			copy(x[to:to+lanes], line)
			to += lanes
		}
	}
}

// addLines adds up each run of count lines of x and stores the sums at its beginning.
func addLines(x []float32, lanes, count int) {
	for at := 0; at*count < len(x); at += lanes {
		sum, lines := x[at:at+lanes], x[at*count:]
		if at > 0 {
			copy(sum, lines[:lanes])
		}
		for i := 1; i < count; i++ {
			vec.Add(sum, sum, lines[i*lanes:][:lanes])
		}
	}
}

// repeatNumbers stores each number of x the given number of times.
func repeatNumbers(dst, x []float32, times int) {
	for _, v := range x {
		for i := range dst[:times] {
			dst[i] = v
		}
		dst = dst[times:]
	}
}

// addNumbers adds up each run of count numbers of x.
func addNumbers(dst, x []float32, count int) {
	for i := range dst {
		sum := float32(0)
		for _, v := range x[i*count:][:count] {
			sum += v
		}
		dst[i] = sum
	}
}
