package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Concatenate joins its inputs along an axis.
//
// Input shapes: one or more that agree on all axes but Axis. Output shape: the same with the sum of the lengths on
// Axis. Masks are joined too; an input without a mask counts as unmasked. If no input has a mask, the result has none.
type Concatenate struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axis *int `keras:"axis,default=-1"` // nil is -1, the last
}

func (l *Concatenate) axis() int {
	if l.Axis == nil {
		return -1
	}
	return *l.Axis
}

// Forward computes the layer.
func (l *Concatenate) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	axis := in[0].Axis(l.axis())
	for _, x := range in {
		if x.Rank() != in[0].Rank() || !dim.ShapesMayEqual(x.Shape().WithOnes(axis), in[0].Shape().WithOnes(axis)) {
			ops.Failf(c.Graph(), "expected inputs whose shapes agree on all axes but axis %d, received %v", axis, shapesOf(in))
		}
	}
	return []*ops.Tensor{ops.Concatenate(axis, in...)}
}

// ComputeMask joins the masks.
func (l *Concatenate) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	found := false
	masks := make([]*ops.Tensor, len(inputs))
	for i, x := range inputs {
		mask := x.Mask()
		switch {
		case mask == nil:
			masks[i] = ops.Full(x, ir.Bool, 1, x.Shape()...)
		case mask.Rank() < x.Rank():
			masks[i] = featureMask(x)
		default:
			masks[i] = mask
		}
		found = found || mask != nil
	}
	if !found {
		return []*ops.Tensor{nil}
	}
	return []*ops.Tensor{ops.Any(ops.Concatenate(l.axis(), masks...), -1)}
}

func init() { Register[Concatenate]() }
