package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Groups of several inputs and few outputs leave most lanes of a tile empty, as groups of one input do (see
// filters.go). They become a depthwise convolution over planes: plane i of an image has, for each output channel, the
// i-th input of that channel's group. The planes extend the depth of the image, and the inputs of a group become taps
// along the depth:
//
//	y[n, d, h, w, c] = Σ_t Σ_i planes[n, (d·stride + t)·inGroup + i, ..., c] · kernel[t, ..., i, c]

const (
	planesFilters  = 2       // most outputs of a group for which planes are faster than tiles
	planesTaps     = 8       // fewest taps of the window for which the copies cost little compared with the products
	planesInputs   = 9       // most inputs of a group, for the results of groups of one output
	planesPair     = 2       // inputs of a group, for results of two outputs and for input gradients,
	planesLong     = 12      // with at least that many taps
	planesChannels = 8       // outputs that fill a vector
	planesFull     = 16      // outputs that fill the longest vector
	planesMax      = 1 << 20 // elements of the planes that are in memory at a time
	planesLimit    = 1 << 23 // elements of the planes of one image
)

// planesForm reports whether a convolution may be computed with planes. It ignores the batch.
func planesForm[T Float](s *Shape) bool {
	in, out := s.InChannels/s.Groups, s.OutChannels/s.Groups
	return s.Batch > 0 && s.Groups > 1 && in > 1 && out > 0 && out <= planesFilters && !s.Pairs && volume(s.Kernel) >= planesTaps &&
		s.OutChannels >= planesChannels && (s.Kernel[0] == 1 || s.Dilation[0] == 1) && groupedLanes[T](s) == 0 && s.planesSize(1) <= planesLimit && byPlanes.Taken()
}

// planes reports whether its result is. Tiles compute sums of many inputs well enough without copies, and strides leave
// most of a copy unused.
func planes[T Float](s *Shape) bool {
	if !planesForm[T](s) || planesMostlyUnused[T](s) {
		return false
	}
	few := s.InChannels <= planesInputs*s.Groups
	return !single[T]() || planesPairs(s) || volume(s.Strides) == 1 && (s.OutChannels == s.Groups && few || planesEdges[T](s))
}

// planesEdges reports whether rows have padding and planes fill the longest vectors. Without planes, each output at an
// edge is a tile of a single row for each group, unless taps become columns (spread.go).
func planesEdges[T Float](s *Shape) bool {
	if s.PadLow[2]+s.PadHigh[2] <= 0 || s.OutChannels < planesFull || micro.PadColumns[T](1) == 1 {
		return false
	}
	return s.InChannels/s.Groups*ceil(s.OutChannels, planesFull)*planesFull <= planesInputs*s.OutChannels || !spreads[T](s)
}

// planesPairs reports whether groups of two inputs have long windows without strides.
func planesPairs(s *Shape) bool {
	return s.InChannels == planesPair*s.Groups && volume(s.Kernel) >= planesLong && volume(s.Strides) == 1
}

// planesWeights reports whether its kernel gradient is computed with planes.
func planesWeights[T Float](s *Shape) bool {
	return planesForm[T](s) && !few[T](s) && (manyTaps(s) || !planesMostlyUnused[T](s))
}

// planesData reports whether its input gradient is.
func planesData[T Float](s *Shape) bool {
	if single[T]() {
		return planesForm[T](s) && planesPairs(s)
	}
	return planesForm[T](s) && (!planesMostlyUnused[T](s) || manyTaps(s))
}

// planesSize is the number of elements of the planes of that many images.
//
//go:noinline
func (s *Shape) planesSize(images int) int {
	return images * volume(s.In) * (s.InChannels / s.Groups) * s.OutChannels
}

// planesImages is the number of images whose planes are made at a time.
//
//go:noinline
func (s *Shape) planesImages() int {
	return max(min(planesMax/max(s.planesSize(1), 1), s.Batch), 1)
}

// inPlanes returns the shape of the depthwise convolution of the planes of some images.
//
//go:noinline
func (s *Shape) inPlanes(images int) Shape {
	r := *s
	r.Batch, r.InChannels, r.Groups = images, s.OutChannels, s.OutChannels
	for _, length := range []*int{&r.In[0], &r.Kernel[0], &r.Strides[0], &r.PadLow[0], &r.PadHigh[0]} {
		*length *= s.InChannels / s.Groups
	}
	r.Dilation[0] = 1
	return r
}

// planesShapes returns the shapes of the planes for a full set of images and for the last set.
func (s *Shape) planesShapes() (most, last Shape) {
	images := s.planesImages()
	return s.inPlanes(images), s.inPlanes(s.Batch % images)
}

// planesScratch returns the number of elements of scratch memory that the three operations need, besides that of the
// depthwise convolution: for planes, and for kernels in the order of planes.
func (s *Shape) planesScratch() int { return s.planesSize(s.planesImages()) + 2*s.sizeKernel() }

// planesOrder copies between the kernel and the kernel for planes, in which the axis of a group's inputs is outside the
// taps along height and width.
func planesOrder[T Float](s *Shape, kernel, ofPlanes []T, back bool) {
	in, window, c := s.InChannels/s.Groups, s.Kernel[1]*s.Kernel[2], s.OutChannels
	for d := range s.Kernel[0] {
		for tap := range window {
			for i := range in {
				a := kernel[((d*window+tap)*in+i)*c:][:c]
				b := ofPlanes[((d*in+i)*window+tap)*c:][:c]
				if back {
					a, b = b, a
				}
				copy(b, a)
			}
		}
	}
}

// forwardPlanes is [Forward] with planes.
func forwardPlanes[T Float](p *pool.Pool, d *decisions, x, kernel, bias []T, relu bool, y, scratch []T) {
	s, images := &d.shape, d.parts[0].Batch
	size := s.planesSize(images)
	to, ordered, rest := scratch[:size], scratch[size:size+s.sizeKernel()], scratch[size+s.sizeKernel():]
	planesOrder(s, kernel, ordered, false)
	imageX, imageY := d.x/max(s.Batch, 1), d.y/max(s.Batch, 1)
	for first := 0; first < s.Batch; first += images {
		r := d.partOf(min(images, s.Batch-first))
		copyPlanes(p, s, x[first*imageX:][:r.Batch*imageX], to[:r.sizeX()], false)
		forward(p, r, to, ordered, bias, relu, y[first*imageY:], rest, false)
	}
}

// backwardDataPlanes is [BackwardData] with planes.
func backwardDataPlanes[T Float](p *pool.Pool, d *decisions, dy, kernel, dx, scratch []T) {
	s, images := &d.shape, d.parts[0].Batch
	size := s.planesSize(images)
	from, ordered, rest := scratch[:size], scratch[size:size+s.sizeKernel()], scratch[size+s.sizeKernel():]
	planesOrder(s, kernel, ordered, false)
	imageX, imageY := d.x/max(s.Batch, 1), d.y/max(s.Batch, 1)
	for first := 0; first < s.Batch; first += images {
		r := d.partOf(min(images, s.Batch-first))
		BackwardData(p, r, dy[first*imageY:], ordered, from, rest)
		copyPlanes(p, s, dx[first*imageX:][:r.Batch*imageX], from[:r.sizeX()], true)
	}
}

// backwardWeightsPlanes is [BackwardWeights] with planes.
func backwardWeightsPlanes[T Float](p *pool.Pool, d *decisions, x, dy, dkernel, scratch []T) {
	s, images := &d.shape, d.parts[0].Batch
	size, n := s.planesSize(images), d.kernel
	to, sum, part, rest := scratch[:size], scratch[size:size+n], scratch[size+n:size+2*n], scratch[size+2*n:]
	imageX, imageY := d.x/max(s.Batch, 1), d.y/max(s.Batch, 1)
	for first := 0; first < s.Batch; first += images {
		r := d.partOf(min(images, s.Batch-first))
		copyPlanes(p, s, x[first*imageX:][:r.Batch*imageX], to[:r.sizeX()], false)
		if first == 0 {
			BackwardWeights(p, r, to, dy, sum, rest)
			continue
		}
		BackwardWeights(p, r, to, dy[first*imageY:], part, rest)
		vec.Add(sum, sum, part)
	}
	planesOrder(s, dkernel, sum, true)
}

// planeCopies copies the channels of images to planes, or adds up the planes' numbers for each channel.
type planeCopies[T Float] struct {
	in, out, groups, pixels int // of a group, and the pixels of a plane
	images, planes          []T
	add                     bool
}

var (
	planeCopies32 pool.Recycler[planeCopies[float32]]
	planeCopies64 pool.Recycler[planeCopies[float64]]
)

func copyPlanes[T Float](p *pool.Pool, s *Shape, images, planes []T, add bool) {
	var zero T
	c := (*planeCopies[T])(nil)
	if unsafe.Sizeof(zero) == 4 {
		c = (*planeCopies[T])(unsafe.Pointer(planeCopies32.Get()))
	} else {
		c = (*planeCopies[T])(unsafe.Pointer(planeCopies64.Get()))
	}
	c.in, c.out, c.groups, c.pixels = s.InChannels/s.Groups, s.OutChannels/s.Groups, s.Groups, s.In[1]*s.In[2]
	c.images, c.planes, c.add = images, planes, add
	p.Parallel(len(images)/s.InChannels, max(1<<14/(c.in*s.OutChannels), 1), c)
	c.images, c.planes = nil, nil // let go of the caller's memory
	if unsafe.Sizeof(zero) == 4 {
		planeCopies32.Put((*planeCopies[float32])(unsafe.Pointer(c)))
		return
	}
	planeCopies64.Put((*planeCopies[float64])(unsafe.Pointer(c)))
}

// Run processes pixels.
func (c *planeCopies[T]) Run(_, lo, hi int) {
	channels := c.groups * c.out
	for at := lo; at < hi; at++ {
		plane, pixel := at/c.pixels*c.in, at%c.pixels
		image := c.images[at*c.in*c.groups:][:c.in*c.groups]
		for i := range c.in {
			row := c.planes[((plane+i)*c.pixels+pixel)*channels:][:channels]
			if c.add {
				addPlane(image[i:], row, c.in, c.out)
			} else {
				copyPlane(row, image[i:], c.in, c.out)
			}
		}
	}
}

// copyPlane stores every in-th number of x out times.
func copyPlane[T Float](row, x []T, in, out int) {
	switch out {
	case 1:
		for g := range row {
			row[g] = x[g*in]
		}
	case 2:
		for g := 0; 2*g+1 < len(row); g++ {
			v := x[g*in]
			row[2*g], row[2*g+1] = v, v
		}
	default:
		for g := 0; len(row) > 0; g++ {
			v := x[g*in]
			for o := range out {
				row[o] = v
			}
			row = row[out:]
		}
	}
}

// addPlane stores, in every in-th number of x, the sum of the next out numbers.
func addPlane[T Float](x, row []T, in, out int) {
	for g := 0; len(row) > 0; g++ {
		sum := row[0]
		for _, v := range row[1:out] {
			sum += v
		}
		x[g*in] = sum
		row = row[out:]
	}
}
