package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Matrix registers need the numbers that a sum runs over side by side. For a kernel gradient, these are the pixels of a
// channel. So rows of images are passed turned: transposed from all channels of each pixel to all pixels of each
// channel.

// Turns reports whether BackwardWeights should get x turned (Turned): for pairs, if neighbouring outputs see
// neighbouring pixels and rows are long enough for a matrix register.
func (s *Shape) Turns() bool {
	n := s.normal()
	return n.Pairs && micro.Matrices() && n.Groups == 1 && n.Strides[2] == 1 && n.Out()[2] >= 4
}

// TurnedPixels is the number of pixels of a turned row: a row of the image, or all its pixels if the kernel is a single
// tap.
func (s *Shape) TurnedPixels() int {
	n := s.normal().inOneRow()
	return n.In[2]
}

// inOneRow returns the same convolution with all pixels of an image in one row, if its kernel is a single tap.
func (s Shape) inOneRow() Shape {
	one, zero := [3]int{1, 1, 1}, [3]int{}
	if s.Kernel == one && s.Strides == one && s.PadLow == zero && s.PadHigh == zero {
		s.In = [3]int{1, 1, volume(s.In)}
	}
	return s
}

// spansOfTaps appends one span for each tap. A tap's sums run over all outputs that see it.
func (a *axis) spansOfTaps(s []span) []span {
	for tap := range a.taps {
		if first, end := a.outputs(tap); first < end {
			s = append(s, span{first, end, tap, tap + 1})
		}
	}
	return s
}

// accumulateTurned is the last part of accumulate, for one tap.
func (c *kernelGradient[T]) accumulateTurned(t *micro.Tile[T], dst []T, rowX int, w span) {
	s := &c.shape
	t.Rows, t.ARow, t.AK = s.InChannels, s.In[2], 1
	t.A = c.x[rowX*s.In[2]*s.InChannels+w.first-s.PadLow[2]+w.tap*s.Dilation[2]:]
	t.C = dst[w.tap*s.InChannels*s.OutChannels:]
	micro.Run(t)
}
