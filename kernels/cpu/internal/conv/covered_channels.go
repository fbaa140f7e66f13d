package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// In a depthwise convolution whose window covers the image, each pixel meets one tap. The last layer of a face network
// is one; planes of groups (planes.go) are another. All three operations then multiply rows of channels elementwise.
// Other windows need one call for each tap or output.

const (
	coveredImages = 4       // images whose products are added to the kernel gradient at a time
	coveredTaps   = 4 << 10 // elements of the kernel gradient at a time: a part of the first-level cache
)

// coversChannels reports whether this applies. Fewer channels than fill a vector go along the width instead (wide.go).
func coversChannels[T Float](s *Shape) bool {
	return s.depthwise() && s.covers() && volume(s.In) > 1 && s.Batch > 0 && !s.Pairs && s.OutChannels >= micro.NarrowChannels[T]() && byCoveredChannels.Taken()
}

// coveredRows is the state of such an operation: o says which of the three slices is the result.
type coveredRows[T Float] struct {
	o              operation
	images         int
	taps, channels int
	x, kernel, y   []T
	bias           []T
	relu           bool
}

var (
	coveredRows32 pool.Recycler[coveredRows[float32]]
	coveredRows64 pool.Recycler[coveredRows[float64]]
)

// runCovered runs an operation for which [coversChannels] is true.
func runCovered[T Float](p *pool.Pool, s *Shape, o operation, x, kernel, bias []T, relu bool, y []T) {
	var zero T
	c := (*coveredRows[T])(nil)
	if unsafe.Sizeof(zero) == 4 {
		c = (*coveredRows[T])(unsafe.Pointer(coveredRows32.Get()))
	} else {
		c = (*coveredRows[T])(unsafe.Pointer(coveredRows64.Get()))
	}
	c.o, c.images, c.taps, c.channels = o, s.Batch, volume(s.Kernel), s.OutChannels
	c.x, c.kernel, c.y, c.bias, c.relu = x[:s.sizeX()], kernel[:s.sizeKernel()], y[:s.sizeY()], bias, relu
	if o == ofWeights {
		p.Parallel(ceil(c.taps, c.block()), max(1<<15/(c.images*c.block()*c.channels), 1), c)
	} else {
		p.Parallel(c.images, max(1<<15/(c.taps*c.channels), 1), c)
	}
	c.x, c.kernel, c.y, c.bias = nil, nil, nil, nil // let go of the caller's memory
	if unsafe.Sizeof(zero) == 4 {
		coveredRows32.Put((*coveredRows[float32])(unsafe.Pointer(c)))
		return
	}
	coveredRows64.Put((*coveredRows[float64])(unsafe.Pointer(c)))
}

// block is the number of taps whose gradient is computed at a time.
func (c *coveredRows[T]) block() int { return min(max(coveredTaps/c.channels, 1), c.taps) }

// Run computes images, or blocks of taps.
func (c *coveredRows[T]) Run(_, lo, hi int) {
	n, image := c.channels, c.taps*c.channels
	t := micro.Tile[T]{Cols: n, Segments: 1, Outer: 1, Bias: c.bias, ReLU: c.relu}
	switch c.o {
	case ofForward:
		t.A, t.ARow, t.AK, t.B, t.BK, t.C, t.CRow = c.x[lo*image:], image, n, c.kernel, n, c.y[lo*n:], n
		t.Rows, t.K = hi-lo, c.taps
		micro.RunChannels(&t)
	case ofData:
		t.A, t.ARow, t.CRow, t.Rows, t.K = c.kernel, n, n, c.taps, 1
		for i := lo; i < hi; i++ {
			t.B, t.C = c.y[i*n:], c.x[i*image:]
			micro.RunChannels(&t)
		}
	default:
		t.ARow, t.AK, t.BK, t.CRow = n, image, n, n
		for at := lo * c.block(); at < min(hi*c.block(), c.taps); at += c.block() {
			t.Rows, t.C = min(c.block(), c.taps-at), c.kernel[at*n:]
			for i := 0; i < c.images; i += coveredImages {
				t.A, t.B, t.K, t.Accumulate = c.x[i*image+at*n:], c.y[i*n:], min(coveredImages, c.images-i), i > 0
				micro.RunChannels(&t)
			}
		}
	}
}
