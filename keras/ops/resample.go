package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Resample replaces the cells of an axis of floats by weighted sums of a few of them: y[.. i ..] = Σ_t
// weights[i·taps+t]·x[.. cells[i·taps+t] ..] with len(cells)/taps cells in the result. Resizing is such a sum along
// each spatial axis.
func Resample(x *Tensor, axis, taps int, cells []int, weights []float64) *Tensor {
	x = float(x)
	return apply1(ir.Resample, ir.ResampleAttrs{Axis: x.Axis(axis), Taps: taps, Cells: cells, Weights: weights}, x)
}

func init() {
	rules[ir.Resample] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.ResampleAttrs)
		t, dy := a.Transposed(c.in(0).Dim(a.Axis)), c.dy(0)
		if slices.Contains(t.Cells, a.Length()) {
			after := make([]int, dy.Rank())
			after[a.Axis] = 1
			dy = Pad(dy, make([]int, dy.Rank()), after, 0)
		}
		return []*Tensor{apply1(ir.Resample, t, dy)}
	}
}
