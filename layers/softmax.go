package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Softmax turns scores into probabilities:
//
//	y = exp(x) / Σ exp(x)
//
// summed along Axis, or along several axes together. If the input has a mask (of a shape that broadcasts to the
// input's), masked elements are excluded and their results are 0. A row that is completely masked gives zeros.
//
// Input shape: any. Output shape: that of the input. The mask passes through.
type Softmax struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axis []int `keras:"axis,scalar,default=-1"` // nil is {-1}
}

// Forward computes the layer.
func (l *Softmax) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if !x.DType().IsFloat() {
		x = ops.Cast(x, c.ComputeDType())
	}
	mask := x.Mask()
	if mask != nil {
		if s, err := ir.BroadcastShapes(mask.Shape(), x.Shape()); err != nil || !s.Equal(x.Shape()) {
			ops.Failf(c.Graph(), "the mask has shape %v, which does not broadcast to the input's %v; leave the mask out or give one of the input's shape", mask.Shape(), x.Shape())
		}
		// Keras's number, and the largest one in half precision.
		excluded := -1e9
		if x.DType() == ir.Float16 {
			excluded = -3e4
		}
		x = ops.Where(mask, x, ops.Scalar(x, excluded))
	}
	y := softmaxOver(x, fieldAxes(x, l.Axis))
	if mask != nil {
		y = ops.Where(mask, y, ops.Scalar(y, 0))
	}
	return []*ops.Tensor{y}
}

func softmaxOver(x *ops.Tensor, axes []int) *ops.Tensor {
	if len(axes) == 1 {
		return ops.Softmax(x, axes[0])
	}
	return ops.Exp(ops.Subtract(x, ops.KeepDims(ops.Logsumexp(x, axes...), x, axes...)))
}

// SupportsMasking reports that a mask passes through.
func (l *Softmax) SupportsMasking() bool { return true }

func init() { Register[Softmax]() }
