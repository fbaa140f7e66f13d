package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Dot multiplies two inputs example by example and sums over one axis of each:
//
//	y[b, i..., j...] = Σ x₁[b, ..k..] · x₂[b, ..k..]
//
// with k running along Axes[0] of the first and Axes[1] of the second input. Normalize first divides the vectors along
// these axes by their lengths: then y is the cosine of the angle between them.
//
// Input shapes: two with equal batch sizes and equal lengths on the two axes. Output shape: the batch, then the other
// axes of the first, then those of the second input; (batch, 1) if no other axes are left. The result has no mask.
type Dot struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axes      []int `keras:"axes,scalar"` // one axis for both or one for each, not the batch; required
	Normalize bool  `keras:"normalize"`
}

// Forward computes the layer.
func (l *Dot) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	if len(in) != 2 {
		ops.Failf(c.Graph(), "takes two inputs, received %d", len(in))
	}
	if len(l.Axes) != 1 && len(l.Axes) != 2 {
		ops.Failf(c.Graph(), "Axes must have one entry for both inputs or one for each, received %v", l.Axes)
	}
	x, y := in[0], in[1]
	i, j := x.Axis(l.Axes[0]), y.Axis(l.Axes[len(l.Axes)-1])
	if i == 0 || j == 0 || !dim.MayEqual(x.Dim(0), y.Dim(0)) || dim.Known(x.Dim(i)) != dim.Known(y.Dim(j)) || !dim.MayEqual(x.Dim(i), y.Dim(j)) {
		ops.Failf(c.Graph(), "cannot sum over axes %v of inputs %v; expected equal batch sizes, and axes other than the batch that have equal lengths", l.Axes, shapesOf(in))
	}
	if l.Normalize {
		x, y = unitLength(x, []int{i}, 1e-7), unitLength(y, []int{j}, 1e-7)
	}
	promoted := ops.Promote(x.DType(), y.DType())
	if promoted == ir.Int8 { // whose sums do not fit
		promoted = ir.Int32
		x, y = ops.Cast(x, promoted), ops.Cast(y, promoted)
	}
	z := ops.Dot(x, y, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{i}, RhsContract: []int{j}})
	z = ops.Cast(z, promoted) // bools stay bools
	if z.Rank() == 1 {
		z = ops.ExpandDims(z, 1)
	}
	return []*ops.Tensor{z}
}

func init() { Register[Dot]() }
