package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/pool"

// Groups that are copied out (split.go) may be unfolded along the width on the way: the inputs of each output of a row
// are copied side by side, with zeros outside, and become channels. Sums are then as long as the kernel's rows,
// whatever the stride and dilation, and outputs at the ends of rows see all taps. What remains is a convolution without
// taps along the width. The kernel's numbers and their order do not change. An infinite weight times such a zero is
// NaN, as in XLA.

const (
	unfoldInputs = 4 // most inputs of a group for which gradients of dilated kernels gain: without copies, they make one call for each tap
	unfoldMany   = 6 // most inputs of a group for which input gradients gain whatever the length of a row
)

// unfoldsRows reports whether an operation on groups that are copied out unfolds rows. The rules follow measurements of
// random shapes; nearly all shapes that they select were faster. The copies hold the inputs of a group once for each
// tap of a row, which has to cost little compared with the products. The batch and the height are ignored.
func (s *Shape) unfoldsRows(o operation) bool { return s.gainsUnfolded(o) && byUnfoldedRows.Taken() }

func (s *Shape) gainsUnfolded(o operation) bool {
	in, out, row := s.InChannels/s.Groups, s.OutChannels/s.Groups, s.Out()[2]
	distant, short, volume := s.Dilation[2] > 1, row <= unfoldWidth, s.Kernel[0] > 1
	padded := s.PadLow[2]+s.PadHigh[2] > 0
	fits := s.In[2] > (s.Kernel[2]-1)*s.Dilation[2] // other windows see mostly zeros
	switch {
	case o == ofForward: // without copies, padding cuts the rows of volumes into pieces
		return padded && volume && s.Strides[2] == 1 && (distant || short)
	case !fits, s.covers(), s.Strides[1] > s.Strides[2]: // rows that the other way computes well as a whole
		return false
	case o == ofWeights:
		return distant && in <= unfoldInputs
	case s.Kernel[1] == 1:
		return false
	case in > unfoldMany && (row > 2*unfoldWidth || row == 1 && volume):
		return false
	case padded: // without copies, most inputs see only a part of the taps, in pieces of rows
		return out >= 2*in && (volume || short)
	}
	return out >= in
}

// rowsOf returns the convolution of one group of some images, with unfolded rows if unfolds is set.
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

// rowCopies copies the inputs of a group that outputs see, or adds the copies up.
type rowCopies struct {
	width          axis
	in, channels   int       // of the group, and of all
	rows, unfolded []float32 // starting at the first channel of the group; and the copies
	back           bool
}

var rowCopiesFree pool.Recycler[rowCopies]

// copyUnfolded copies what the outputs of images see of a group whose first input is given, or adds it to the images.
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

// addArrays adds count arrays of columns numbers to others. The steps are the distances between arrays.
func addArrays(to, from []float32, columns, count, toStep, fromStep int) {
	for i := range count {
		t, f := to[i*toStep:][:columns], from[i*fromStep:][:columns]
		for k, v := range f {
			t[k] += v
		}
	}
}
