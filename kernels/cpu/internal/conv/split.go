package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// A few groups of other sizes are convolutions of their own: the channels of a group are copied out of some images and
// its results back, which costs little beside the products, and all ways of computing a convolution without groups are
// open to it.

const (
	splitMax     = 1 << 19 // elements of the copies of some images, after which come the next
	splitLimit   = 1 << 23 // elements of those of one image
	splitFlops   = 1 << 15 // operations of an image of a group, from which on what surrounds the products costs little
	splitTaps    = 20      // of the window, from which on the copies do
	splitFilters = 12      // of a group of one input, from which on it is better to copy results than inputs, once for each filter,
	splitSparse  = 4       // and with strides that leave out
	splitSkipped = 8       // as many pixels
	splitPlanes  = 6       // inputs of a group, from which on planes of one or two outputs cost more
	splitVolume  = 5       // outputs of a group from which on its volumes fill tiles better alone
)

// splits reports whether an operation may go so; the batch has no say.
func splits[T Float](s *Shape) bool {
	if s.Batch == 0 || s.Groups == 1 || s.Pairs || s.without() || s.sizeX() == 0 || s.sizeY() == 0 || s.FLOPs()/s.Batch/s.Groups < splitFlops {
		return false
	}
	return s.splitSize(1) <= splitLimit && groupedLanes[T](s) == 0 && !isWide[T](s, 10)
}

// splitsForward reports whether the convolution does.
func splitsForward[T Float](s *Shape) bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	return splits[T](s) && (s.manyFilters() || in == 1 && out >= splitSparse && volume(s.Strides) >= splitSkipped ||
		in > 1 && out >= splitVolume && volume(s.Kernel) >= splitTaps && (s.Kernel[0] > 1 || s.Dilation[2] > 1))
}

// splitsGradients reports whether the gradients do. Groups of a few inputs with one or two outputs are better in planes
// (planes.go), and large strides leave little of each group to its products.
func splitsGradients[T Float](s *Shape) bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	if in == 1 && out <= splitVolume || out <= planesFilters && in < splitPlanes || volume(s.Strides) > splitSkipped && !s.manyFilters() {
		return false
	}
	return splits[T](s) && (volume(s.Kernel) >= splitTaps || s.manyFilters())
}

// manyFilters reports whether groups of one input have many outputs.
func (s *Shape) manyFilters() bool {
	return s.InChannels == s.Groups && s.OutChannels/s.Groups >= splitFilters && volume(s.Kernel) > 2
}

// splitOne returns the convolution of a group of some images.
func (s *Shape) splitOne(images int) Shape {
	r := *s
	r.Batch, r.Groups, r.InChannels, r.OutChannels = images, 1, s.InChannels/s.Groups, s.OutChannels/s.Groups
	return r
}

// splitSize is the number of elements of the copies of the inputs and results of a group of some images.
func (s *Shape) splitSize(images int) int {
	r := s.splitOne(images)
	return r.sizeX() + r.sizeY()
}

// splitImages is how many images are copied at a time.
func (s *Shape) splitImages() int { return max(min(splitMax/max(s.splitSize(1), 1), s.Batch), 1) }

// operation is one of the three.
type operation int

const (
	ofForward operation = iota
	ofData
	ofDataWithBias
	ofWeights
)

// splitScratch returns the number of elements of scratch memory that an operation needs: copies of operands, of the
// kernel and of a part of its gradient, and what it needs for a group.
func splitScratch[T Float](s *Shape, workers int, o operation) int {
	images := s.splitImages()
	size := 0
	for _, n := range [...]int{images, s.Batch % images} {
		if r := s.splitOne(n); n > 0 {
			size = max(size, operationScratch[T](&r, workers, o))
		}
	}
	r := s.splitOne(1)
	return s.splitSize(images) + 2*r.sizeKernel() + size
}

func operationScratch[T Float](s *Shape, workers int, o operation) int {
	switch o {
	case ofForward:
		return ForwardScratch[T](s, workers)
	case ofWeights:
		return BackwardWeightsScratch[T](s, workers)
	}
	return TransposedScratch[T](s, workers, o == ofDataWithBias)
}

// splitParts returns the parts of the scratch memory.
func splitParts[T Float](s *Shape, scratch []T) (x, y, kernel, part, rest []T) {
	r := s.splitOne(s.splitImages())
	sizes, parts := [...]int{r.sizeX(), r.sizeY(), r.sizeKernel(), r.sizeKernel()}, [4][]T{}
	for i, n := range sizes {
		parts[i], scratch = scratch[:n], scratch[n:]
	}
	return parts[0], parts[1], parts[2], parts[3], scratch
}

// forwardSplit is [Forward] of a shape that is split.
func forwardSplit[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T) {
	xs, ys, weights, _, rest := splitParts(s, scratch)
	imageX, imageY := s.sizeX()/s.Batch, s.sizeY()/s.Batch
	images := s.splitImages()
	for g := range s.Groups {
		r := s.splitOne(images)
		copyColumns(p, weights, kernel, r.OutChannels, s.OutChannels, g*r.OutChannels, false)
		var biasOfGroup []T
		if bias != nil {
			biasOfGroup = bias[g*r.OutChannels : (g+1)*r.OutChannels]
		}
		for first := 0; first < s.Batch; first += images {
			r.Batch = min(images, s.Batch-first)
			from, to := xs[:r.sizeX()], ys[:r.sizeY()]
			copyColumns(p, from, x[first*imageX:], r.InChannels, s.InChannels, g*r.InChannels, false)
			Forward(p, &r, from, weights, biasOfGroup, relu, to, rest)
			copyColumns(p, to, y[first*imageY:], r.OutChannels, s.OutChannels, g*r.OutChannels, true)
		}
	}
}

// backwardDataSplit is [Transposed] of a shape that is split.
func backwardDataSplit[T Float](p *pool.Pool, s *Shape, dy, kernel, bias []T, relu bool, dx, scratch []T) {
	xs, ys, weights, _, rest := splitParts(s, scratch)
	imageX, imageY := s.sizeX()/s.Batch, s.sizeY()/s.Batch
	images := s.splitImages()
	for g := range s.Groups {
		r := s.splitOne(images)
		copyColumns(p, weights, kernel, r.OutChannels, s.OutChannels, g*r.OutChannels, false)
		var biasOfGroup []T
		if bias != nil {
			biasOfGroup = bias[g*r.InChannels : (g+1)*r.InChannels]
		}
		for first := 0; first < s.Batch; first += images {
			r.Batch = min(images, s.Batch-first)
			to, from := xs[:r.sizeX()], ys[:r.sizeY()]
			copyColumns(p, from, dy[first*imageY:], r.OutChannels, s.OutChannels, g*r.OutChannels, false)
			Transposed(p, &r, from, weights, biasOfGroup, relu, to, rest)
			copyColumns(p, to, dx[first*imageX:], r.InChannels, s.InChannels, g*r.InChannels, true)
		}
	}
}

// backwardWeightsSplit is [BackwardWeights] of a shape that is split.
func backwardWeightsSplit[T Float](p *pool.Pool, s *Shape, x, dy, dkernel, scratch []T) {
	xs, ys, sum, part, rest := splitParts(s, scratch)
	imageX, imageY := s.sizeX()/s.Batch, s.sizeY()/s.Batch
	images := s.splitImages()
	for g := range s.Groups {
		r := s.splitOne(images)
		for first := 0; first < s.Batch; first += images {
			r.Batch = min(images, s.Batch-first)
			a, b := xs[:r.sizeX()], ys[:r.sizeY()]
			copyColumns(p, a, x[first*imageX:], r.InChannels, s.InChannels, g*r.InChannels, false)
			copyColumns(p, b, dy[first*imageY:], r.OutChannels, s.OutChannels, g*r.OutChannels, false)
			if first == 0 {
				BackwardWeights(p, &r, a, b, sum, rest)
				continue
			}
			BackwardWeights(p, &r, a, b, part, rest)
			vec.Add(sum, sum, part)
		}
		copyColumns(p, sum, dkernel, r.OutChannels, s.OutChannels, g*r.OutChannels, true)
	}
}

// columnCopies copies some channels of pixels out of all, or back.
type columnCopies[T Float] struct {
	some, all []T
	columns   int // of some
	channels  int // of all
	back      bool
}

var (
	columnCopies32 pool.Recycler[columnCopies[float32]]
	columnCopies64 pool.Recycler[columnCopies[float64]]
)

// copyColumns copies, for each pixel of some, the columns from the given one on.
func copyColumns[T Float](p *pool.Pool, some, all []T, columns, channels, first int, back bool) {
	var zero T
	c := (*columnCopies[T])(nil)
	if unsafe.Sizeof(zero) == 4 {
		c = (*columnCopies[T])(unsafe.Pointer(columnCopies32.Get()))
	} else {
		c = (*columnCopies[T])(unsafe.Pointer(columnCopies64.Get()))
	}
	pixels := len(some) / columns
	c.some, c.all, c.columns, c.channels, c.back = some, all[first:][:max((pixels-1)*channels+columns, 0)], columns, channels, back
	p.Parallel(pixels, max(1<<14/columns, 1), c)
	c.some, c.all = nil, nil // let go of the caller's memory
	if unsafe.Sizeof(zero) == 4 {
		columnCopies32.Put((*columnCopies[float32])(unsafe.Pointer(c)))
		return
	}
	columnCopies64.Put((*columnCopies[float64])(unsafe.Pointer(c)))
}

// Run copies pixels.
func (c *columnCopies[T]) Run(_, lo, hi int) {
	some, all := c.some[lo*c.columns:hi*c.columns], c.all[lo*c.channels:][:(hi-lo-1)*c.channels+c.columns]
	to, from, toStep, fromStep := some, all, c.columns, c.channels
	if c.back {
		to, from, toStep, fromStep = all, some, c.channels, c.columns
	}
	switch c.columns {
	case 1:
		copyArrays[[1]T](to, from, hi-lo, toStep, fromStep)
	case 2:
		copyArrays[[2]T](to, from, hi-lo, toStep, fromStep)
	case 3:
		copyArrays[[3]T](to, from, hi-lo, toStep, fromStep)
	case 4:
		copyArrays[[4]T](to, from, hi-lo, toStep, fromStep)
	case 8:
		copyArrays[[8]T](to, from, hi-lo, toStep, fromStep)
	default:
		for i := range hi - lo {
			copy(to[i*toStep:][:c.columns], from[i*fromStep:])
		}
	}
}

// copyArrays copies count arrays that are as far apart as the steps say; the slices are that long.
func copyArrays[P any, T Float](to, from []T, count, toStep, fromStep int) {
	size := unsafe.Sizeof(to[0])
	dst, src := unsafe.Pointer(&to[0]), unsafe.Pointer(&from[0])
	for i := range uintptr(count) {
		*(*P)(unsafe.Add(dst, i*uintptr(toStep)*size)) = *(*P)(unsafe.Add(src, i*uintptr(fromStep)*size))
	}
}
