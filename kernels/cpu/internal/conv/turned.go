package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// Matrix registers want what their sums run over side by side: for the gradient of a kernel, the pixels of a channel.
// So each row of the image is turned first, from pixels of all channels to channels of all pixels.

// turns reports whether the gradient of the kernel is computed so: of pairs whose neighbours meet neighbours, in rows
// that are worth a matrix register.
func (s *Shape) turns() bool {
	return s.Pairs && micro.Matrices() && s.Groups == 1 && s.Strides[2] == 1 && s.Out()[2] >= 4
}

// inOneRow returns the same convolution with all pixels of an image in one row, if its kernel is a single tap.
func (s Shape) inOneRow() Shape {
	one, zero := [3]int{1, 1, 1}, [3]int{}
	if s.Kernel == one && s.Strides == one && s.PadLow == zero && s.PadHigh == zero {
		s.In = [3]int{1, 1, volume(s.In)}
	}
	return s
}

// spansOfTaps appends a span for each tap: its own sums run over all outputs that it has a part in.
func (a *axis) spansOfTaps(s []span) []span {
	for tap := range a.taps {
		if first, end := a.outputs(tap); first < end {
			s = append(s, span{first, end, tap, tap + 1})
		}
	}
	return s
}

// turning turns rows.
type turning[T Float] struct {
	dst, src         []T
	pixels, channels int
}

// turn turns the rows of x into scratch memory, and returns them and what is left of it.
func (c *kernelGradient[T]) turn(p *pool.Pool, s *Shape, x, scratch []T) (turned, rest []T) {
	size := s.sizeX()
	c.turning = turning[T]{scratch[:size], x, s.In[2], s.InChannels}
	row := max(s.In[2]*s.InChannels, 1)
	p.Parallel(size/row, max(1<<14/row, 1), &c.turning)
	return scratch[:size], scratch[size:]
}

// Run turns the rows [lo, hi).
func (t *turning[T]) Run(_, lo, hi int) {
	size := t.pixels * t.channels
	for i := lo; i < hi; i++ {
		micro.Transpose(t.dst[i*size:(i+1)*size], t.src[i*size:(i+1)*size], t.pixels, t.channels, t.pixels, t.channels)
	}
}

// accumulateTurned is the end of accumulate, for one tap.
func (c *kernelGradient[T]) accumulateTurned(t *micro.Tile[T], dst []T, rowX int, w span) {
	s := &c.shape
	t.Rows, t.ARow, t.AK = s.InChannels, s.In[2], 1
	t.A = c.x[rowX*s.In[2]*s.InChannels+w.first-s.PadLow[2]+w.tap*s.Dilation[2]:]
	t.C = dst[w.tap*s.InChannels*s.OutChannels:]
	micro.Run(t)
}
