package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// Volumes of few pixels are mostly edges. Too few outputs see the same taps to fill tiles, and each such set of outputs
// reads all weights. So a convolution to small volumes is unfolded, as im2col does: the inputs of each output are
// copied, with zeros outside the volume, and the rest is one matrix product.

const (
	unfoldWidth    = 7       // most outputs of a row: up to that many leave tiles half empty at best
	unfoldChannels = 64      // fewest outputs of a pixel for which copies cost little compared with the products
	unfoldMax      = 1 << 22 // elements of the copies that are in memory at a time
)

// unfolds reports whether the convolution is unfolded. It ignores the batch, whose size must not change bits. With AVX2
// only tiny volumes would be, which lose more in batches than single ones gain.
func (s *Shape) unfolds() bool {
	if s.Kernel[0] == 1 || s.Groups > 1 || s.Pairs || s.OutChannels < unfoldChannels || s.InChannels == 0 {
		return false
	}
	out, size := s.Out(), s.unfoldedSize(1)
	return out[2] > 1 && out[2] <= unfoldWidth && size > 0 && size <= unfoldMax && s.unfoldedCost() < s.foldedCost() && !usesAVX2() && byUnfolds.Taken()
}

// unfoldedCost estimates the half cycles for an unfolded image: the copies and all products, even those with zeros.
func (s *Shape) unfoldedCost() int {
	vectors := ceil(s.OutChannels, 16)
	return s.unfoldedSize(1) * (4*vectors + 1) / 4
}

// foldedCost estimates the half cycles for the necessary products alone, in the better of the two ways to cut rows.
func (s *Shape) foldedCost() int {
	c := getCorrelation[float32]()
	c.forward(s)
	panels, sum := ceil(c.outGroup, 32), 0
	c.cutSpans()
	taps := c.axes[0].taps
	for d := range c.outs[0] {
		first, end := c.axes[0].inside(d)
		c.axes[0].taps = end - first
		if len(c.runs) > 0 {
			sum += panels * c.cost(c.runs, true)
		} else {
			sum += panels * c.cost(c.spans[2], false)
		}
	}
	c.axes[0].taps = taps
	putCorrelation(c)
	return sum
}

func (s *Shape) unfoldedSize(images int) int {
	return images * volume(s.Out()) * volume(s.Kernel) * s.InChannels
}

// unfoldedImages is the number of images unfolded at a time.
func (s *Shape) unfoldedImages() int {
	return max(min(unfoldMax/s.unfoldedSize(1), s.Batch), 1)
}

// unfoldedScratch returns the number of elements of scratch memory that forwardUnfolded needs.
func unfoldedScratch[T Float](s *Shape, workers int) int {
	size, images := 0, s.unfoldedImages()
	for _, n := range [...]int{images, s.Batch % images} {
		a := unfoldedProduct[T](s, n, nil, nil, nil, false, nil)
		size = max(size, s.unfoldedSize(n)+productScratch(a, workers))
	}
	return size
}

// unfoldedProduct is the matrix product of the unfolded inputs, one row for each output, and the kernel.
func unfoldedProduct[T Float](s *Shape, images int, unfolded, kernel, bias []T, relu bool, y []T) gemm.Args[T] {
	return gemm.Args[T]{M: images * volume(s.Out()), N: s.OutChannels, K: volume(s.Kernel) * s.InChannels,
		A: unfolded, B: kernel, C: y, Bias: bias, ReLU: relu}
}

// unfolding copies the inputs that outputs see.
type unfolding[T Float] struct {
	shape  Shape
	out    [3]int
	axes   [3]axis
	dst, x []T
}

var (
	unfoldings32 pool.Recycler[unfolding[float32]]
	unfoldings64 pool.Recycler[unfolding[float64]]
)

func getUnfolding[T Float]() *unfolding[T] {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return (*unfolding[T])(unsafe.Pointer(unfoldings32.Get()))
	}
	return (*unfolding[T])(unsafe.Pointer(unfoldings64.Get()))
}

func putUnfolding[T Float](u *unfolding[T]) {
	u.dst, u.x = nil, nil // let go of the caller's memory
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		unfoldings32.Put((*unfolding[float32])(unsafe.Pointer(u)))
		return
	}
	unfoldings64.Put((*unfolding[float64])(unsafe.Pointer(u)))
}

// forwardUnfolded is [Forward] for shapes that are unfolded.
func forwardUnfolded[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	u := getUnfolding[T]()
	u.shape, u.out = *s, s.Out()
	for i := range u.axes {
		u.axes[i] = s.forwardAxis(i, u.out)
	}
	images, sizeX, sizeY := s.unfoldedImages(), s.sizeX()/max(s.Batch, 1), volume(u.out)*s.OutChannels
	for first := 0; first < s.Batch; first += images {
		n := min(images, s.Batch-first)
		size := s.unfoldedSize(n)
		u.dst, u.x = scratch[:size], x[first*sizeX:]
		p.Parallel(n*volume(u.out), max(1<<14/(volume(s.Kernel)*s.InChannels), 1), u)
		a := unfoldedProduct(s, n, u.dst, kernel, bias, relu, y[first*sizeY:])
		a.Packed = packed
		runProduct(p, a, scratch[size:])
	}
	putUnfolding(u)
}

// Run copies the inputs of the outputs [lo, hi).
func (u *unfolding[T]) Run(_, lo, hi int) {
	s, ax, c := &u.shape, &u.axes, u.shape.InChannels
	run := s.Kernel[2] * c
	dst := u.dst[lo*volume(s.Kernel)*c:]
	for at := lo; at < hi; at++ {
		w, rest := at%u.out[2], at/u.out[2]
		h, rest := rest%u.out[1], rest/u.out[1]
		d, n := rest%u.out[0], rest/u.out[0]
		tap, end := ax[2].inside(w)
		for td := range s.Kernel[0] {
			for th := range s.Kernel[1] {
				row := dst[:run]
				dst = dst[run:]
				id := d*ax[0].inStep + ax[0].inOffset + td*ax[0].tapStep
				ih := h*ax[1].inStep + ax[1].inOffset + th*ax[1].tapStep
				if id < 0 || id >= s.In[0] || ih < 0 || ih >= s.In[1] {
					clear(row)
					continue
				}
				clear(row[:tap*c])
				line := u.x[((n*s.In[0]+id)*s.In[1]+ih)*s.In[2]*c:]
				for t := tap; t < end; t++ {
					from := (w*ax[2].inStep + ax[2].inOffset + t*ax[2].tapStep) * c
					copy(row[t*c:(t+1)*c], line[from:])
				}
				clear(row[end*c:])
			}
		}
	}
}
