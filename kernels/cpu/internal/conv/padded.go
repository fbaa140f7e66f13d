package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// The first and last outputs of a padded row see fewer taps than the others, each a different subset. So each is a tile
// of one row, which takes as long as a tile of several. Where these outputs are a large part of the row, the rows of a
// sequence are copied with their padding. Then all outputs see all taps.

const (
	paddedMax   = 1 << 20 // elements of the copies that are in memory at a time
	paddedCopy  = 4       // half cycles to copy a vector
	paddedTiles = 400     // half cycles of overhead for each tile of a row
)

// pads reports whether rows are copied. It ignores the batch, whose size must not change bits. With one tap there is
// nothing to sum at the edges.
func pads[T Float](s *Shape) bool {
	if s.In[0] != 1 || s.In[1] != 1 || s.Kernel[0] != 1 || s.Kernel[1] != 1 || s.Kernel[2] == 1 || s.Groups != 1 || s.Pairs || s.without() || isWideForward[T](s) {
		return false
	}
	low, high, out := s.PadLow, s.PadHigh, s.Out()
	if out != [3]int{1, 1, out[2]} || low[0] != 0 || low[1] != 0 || low[2] < 0 || high[2] < 0 || low[2]+high[2] == 0 || s.paddedRow() > paddedMax {
		return false
	}
	edges := min(ceil(low[2], s.Strides[2]), out[2]) + min(ceil(high[2], s.Strides[2]), out[2])
	return out[2]-edges > joinRows && 10*s.paddedCost(out[2]) < 9*min(s.edgesCost(out[2]-edges, edges), s.tapsCost(out[2])) && byPads.Taken()
}

// rowsCost estimates the half cycles for one panel of the kernel and rows outputs that see that many taps.
func (s *Shape) rowsCost(rows, taps int) int {
	return min(ceil(s.OutChannels, 16), 2)*rows*taps*s.InChannels + paddedTiles*ceil(rows, fullRows)
}

// paddedCost estimates the half cycles for a row that is copied.
func (s *Shape) paddedCost(rows int) int {
	return s.rowsCost(rows, s.Kernel[2]) + paddedCopy*s.paddedRow()/(16*ceil(s.OutChannels, 32))
}

// edgesCost estimates them for a row whose edges are computed output by output; these see about three quarters of the
// taps.
func (s *Shape) edgesCost(inside, edges int) int {
	return s.rowsCost(inside, s.Kernel[2]) + edges*(6*s.Kernel[2]*s.InChannels+paddedTiles)
}

// tapsCost estimates them for a row that is computed by taps.
func (s *Shape) tapsCost(rows int) int {
	return s.Kernel[2] * (s.rowsCost(rows, 1) + tapStore*2*rows)
}

// paddedRow is the number of elements of a row with its padding.
func (s *Shape) paddedRow() int { return (s.PadLow[2] + s.In[2] + s.PadHigh[2]) * s.InChannels }

// padded is the convolution of the copies of the given number of images.
func (s *Shape) padded(images int) Shape {
	r := *s
	r.Batch, r.In[2], r.PadLow[2], r.PadHigh[2] = images, s.PadLow[2]+s.In[2]+s.PadHigh[2], 0, 0
	return r
}

// paddedImages is the number of images copied at a time.
func (s *Shape) paddedImages() int { return max(min(paddedMax/s.paddedRow(), s.Batch), 1) }

// paddedCopies copies rows with their padding.
type paddedCopies[T Float] struct {
	low, row, total int // elements in front of a row, of the row, and of the copied row
	dst, x          []T
}

var (
	paddedCopies32 pool.Recycler[paddedCopies[float32]]
	paddedCopies64 pool.Recycler[paddedCopies[float64]]
)

func getPaddedCopies[T Float]() *paddedCopies[T] {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return (*paddedCopies[T])(unsafe.Pointer(paddedCopies32.Get()))
	}
	return (*paddedCopies[T])(unsafe.Pointer(paddedCopies64.Get()))
}

func putPaddedCopies[T Float](c *paddedCopies[T]) {
	c.dst, c.x = nil, nil // let go of the caller's memory
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		paddedCopies32.Put((*paddedCopies[float32])(unsafe.Pointer(c)))
		return
	}
	paddedCopies64.Put((*paddedCopies[float64])(unsafe.Pointer(c)))
}

// forwardPadded is [Forward] for shapes that are padded.
func forwardPadded[T Float](p *pool.Pool, d *decisions, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	s, images := &d.shape, d.parts[0].Batch
	row, result := s.In[2]*s.InChannels, d.y/max(s.Batch, 1)
	for first := 0; first < s.Batch; first += images {
		n := min(images, s.Batch-first)
		to, rest := scratch[:n*s.paddedRow()], scratch[images*s.paddedRow():]
		c := getPaddedCopies[T]()
		c.low, c.row, c.total, c.dst, c.x = s.PadLow[2]*s.InChannels, row, s.paddedRow(), to, x[first*row:]
		p.Parallel(n, max(1<<14/max(row, 1), 1), c)
		putPaddedCopies(c)
		forward(p, d.partOf(n), to, kernel, bias, relu, y[first*result:][:n*result], rest, packed)
	}
}

// Run copies the rows [lo, hi).
func (c *paddedCopies[T]) Run(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		to := c.dst[i*c.total : (i+1)*c.total]
		clear(to[:c.low])
		copy(to[c.low:], c.x[i*c.row:(i+1)*c.row])
		clear(to[c.low+c.row:])
	}
}
