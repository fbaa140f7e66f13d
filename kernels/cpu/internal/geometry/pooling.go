package geometry

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// Pooling is the geometry of a pooling op over three spatial axes. If there are fewer, the missing leading ones have
// length 1.
type Pooling struct {
	Batch, Channels              int
	In, Out, Window, Stride, pad [3]int
}

// Spatial puts a list of one to three numbers at the end of a triple filled with a default.
func Spatial(list []int, fill int) [3]int {
	t := [3]int{fill, fill, fill}
	copy(t[3-len(list):], list)
	return t
}

// NewPooling returns nil if there are more than three spatial axes.
func NewPooling(x, y ir.Shape, a ir.PoolAttrs) *Pooling {
	n := len(x) - 2
	if n > 3 {
		return nil
	}
	return &Pooling{Batch: x[0], Channels: x[n+1], In: Spatial(x[1:n+1], 1), Out: Spatial(y[1:n+1], 1),
		Window: Spatial(a.Window, 1), Stride: Spatial(a.Strides, 1), pad: Spatial(a.PadLow, 0)}
}

// Sizes returns the numbers of elements of one image of the input and of the output.
func (p *Pooling) Sizes() (in, out int) {
	return p.In[0] * p.In[1] * p.In[2] * p.Channels, p.Out[0] * p.Out[1] * p.Out[2] * p.Channels
}

// Cells returns the number of cells of a window.
func (p *Pooling) Cells() int { return p.Window[0] * p.Window[1] * p.Window[2] }

// Halves2x2 reports whether the windows are 2x2 with stride 2 and no padding, for which there are special kernels.
func (p *Pooling) Halves2x2() bool {
	return p.In[0] == 1 && p.Window == [3]int{1, 2, 2} && p.Stride[1] == 2 && p.Stride[2] == 2 && p.pad == [3]int{} &&
		p.Out == [3]int{1, p.In[1] / 2, p.In[2] / 2} && p.Out[1]*p.Out[2]*p.Channels > 0
}

// Tiles reports whether every element of the input belongs to one window.
func (p *Pooling) Tiles() bool {
	for i, n := range p.Out {
		if p.Stride[i] != p.Window[i] || p.pad[i] != 0 || n*p.Window[i] != p.In[i] {
			return false
		}
	}
	return true
}

// Interval returns the part of a window that lies inside the input along one axis.
func (p *Pooling) Interval(axis, at int) (lo, hi int) {
	lo = at*p.Stride[axis] - p.pad[axis]
	return max(lo, 0), min(lo+p.Window[axis], p.In[axis])
}

// outputs returns the range [lo, hi) of outputs along one axis for which the given cell of the window lies inside the
// input.
func (p *Pooling) outputs(axis, cell int) (lo, hi int) {
	first := cell - p.pad[axis] // input position of the cell at output 0
	if first < 0 {
		lo = (-first + p.Stride[axis] - 1) / p.Stride[axis]
	}
	if last := p.In[axis] - 1 - first; last >= 0 {
		hi = min(last/p.Stride[axis]+1, p.Out[axis])
	}
	return min(lo, hi), hi
}

// RowOf returns the offset of output row (d, h) in an image.
func (p *Pooling) RowOf(d, h int) int { return (d*p.Out[1] + h) * p.Out[2] * p.Channels }

// EachCell calls f for each cell, in row-major order, of the windows of output row (d, h) that lies inside the input.
// [lo, hi) are the windows of the row for which it does, and x is the element of the image where the first of them has
// the cell.
func (p *Pooling) EachCell(d, h int, f func(x, lo, hi int)) {
	d0, d1 := p.Interval(0, d)
	h0, h1 := p.Interval(1, h)
	for i := d0; i < d1; i++ {
		for j := h0; j < h1; j++ {
			for k := range p.Window[2] {
				if lo, hi := p.outputs(2, k); lo < hi {
					f(((i*p.In[1]+j)*p.In[2]+lo*p.Stride[2]+k-p.pad[2])*p.Channels, lo, hi)
				}
			}
		}
	}
}
