package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/pool"

// Groups that are copied out (split.go) may be unfolded along the width on the way: what each output of a row sees
// under the taps is copied side by side, with zeros outside, as more channels. Sums are then as long as rows of the
// kernel, whatever strides and distances these have, outputs at the ends of rows see as many taps as others, and what
// is left is a convolution without taps along the width. The kernel is the same numbers in the same order. An infinite
// weight times such a zero is NaN, as it is in XLA.

const (
	unfoldInputs = 4 // of a group, up to which gradients of kernels with distances gain: these are calls for each tap
	unfoldMany   = 6 // inputs of a group, up to which gradients of inputs gain whatever a row has
)

// unfoldsRows reports whether an operation of groups that are copied out goes so: where random shapes were faster with
// few exceptions. The copies have the inputs of a group once for each tap of a row, which has to be little beside the
// products. Neither the batch nor the height has a say.
func (s *Shape) unfoldsRows(o operation) bool {
	in, out, row := s.InChannels/s.Groups, s.OutChannels/s.Groups, s.Out()[2]
	distant, short, volume := s.Dilation[2] > 1, row <= unfoldWidth, s.Kernel[0] > 1
	padded := s.PadLow[2]+s.PadHigh[2] > 0
	fits := s.In[2] > (s.Kernel[2]-1)*s.Dilation[2] // others see zeros for the most part
	switch {
	case o == ofForward: // padding cuts the rows of volumes into pieces
		return padded && volume && s.Strides[2] == 1 && (distant || short)
	case !fits, s.covers(), s.Strides[1] > s.Strides[2]: // whole rows, which the other way is good at
		return false
	case o == ofWeights:
		return distant && in <= unfoldInputs
	case s.Kernel[1] == 1:
		return false
	case in > unfoldMany && (row > 2*unfoldWidth || row == 1 && volume):
		return false
	case padded: // else most inputs are seen by a part of the taps, in pieces of rows
		return out >= 2*in && (volume || short)
	}
	return out >= in
}

// rowsOf returns the convolution of a group of some images whose rows are unfolded, if they are.
//
//go:noinline
func (s *Shape) rowsOf(images int, unfolds bool) Shape {
	r := s.splitOne(images)
	if unfolds {
		r.In[2], r.InChannels = s.Out()[2], r.InChannels*s.Kernel[2]
		r.Kernel[2], r.Strides[2], r.Dilation[2], r.PadLow[2], r.PadHigh[2] = 1, 1, 1, 0, 0
	}
	return r
}

// rowCopies copies what the outputs of rows see of a group, or adds it up.
type rowCopies struct {
	width          axis
	in, channels   int       // of the group, and of all
	rows, unfolded []float32 // from the first channel of the group on, and the copies
	back           bool
}

var rowCopiesFree pool.Recycler[rowCopies]

// copyUnfolded copies what the outputs of images see of a group, whose first input is given, or adds it up in these.
func copyUnfolded(p *pool.Pool, s *Shape, unfolded, images []float32, first, count int, back bool) {
	c := rowCopiesFree.Get()
	c.width, c.in, c.channels = s.forwardAxis(2, s.Out()), s.InChannels/s.Groups, s.InChannels
	c.rows, c.unfolded, c.back = images[first:], unfolded, back
	p.Parallel(count*s.In[0]*s.In[1], max(1<<14/max(c.width.out*c.width.taps*c.in, 1), 1), c)
	c.rows, c.unfolded = nil, nil // let go of the caller's memory
	rowCopiesFree.Put(c)
}

// Run copies rows.
func (c *rowCopies) Run(_, lo, hi int) {
	w, pixel := &c.width, c.width.taps*c.in
	for row := lo; row < hi; row++ {
		from, to := c.rows[row*w.in*c.channels:], c.unfolded[row*w.out*pixel:(row+1)*w.out*pixel]
		if c.back {
			for i := range w.in {
				clear(from[i*c.channels:][:c.in])
			}
		} else {
			clear(to)
		}
		for tap := range w.taps {
			first, end := w.outputs(tap)
			if first >= end {
				continue
			}
			step := w.inStep * c.channels
			x, z := from[(first*w.inStep+w.inOffset+tap*w.tapStep)*c.channels:], to[first*pixel+tap*c.in:]
			if c.back {
				addArrays(x, z, c.in, end-first, step, pixel)
			} else {
				copyColumnsOf(z, x, c.in, end-first, pixel, step)
			}
		}
	}
}

// addArrays adds count arrays of so many numbers that are as far apart as the steps say.
func addArrays(to, from []float32, columns, count, toStep, fromStep int) {
	for i := range count {
		t, f := to[i*toStep:][:columns], from[i*fromStep:][:columns]
		for k, v := range f {
			t[k] += v
		}
	}
}
