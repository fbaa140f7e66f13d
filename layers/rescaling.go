package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Rescaling maps numbers to another range:
//
//	y = x · Scale + Offset
//
// Scale {1.0/255} maps images of bytes to [0, 1]; Scale {1/127.5} and Offset {-1} map them to [-1, 1].
//
// Input shape: any, also integers. Output shape: that of the input, in the layer's compute type. A mask passes through.
type Rescaling struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Scale  []float64 `keras:"scale,required,scalar"`     // one factor, or one for each channel (last axis); required
	Offset []float64 `keras:"offset,scalar,default=0.0"` // nil is 0
}

// Forward computes the layer.
func (l *Rescaling) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := ops.Cast(one(c, in), c.ComputeDType())
	if len(l.Scale) == 0 {
		ops.Failf(c.Graph(), "Scale is missing; set it, for example to []float64{1.0 / 255}")
	}
	y := ops.Multiply(x, perChannel(x, "Scale", l.Scale))
	if len(l.Offset) > 0 {
		y = ops.Add(y, perChannel(x, "Offset", l.Offset))
	}
	return []*ops.Tensor{y}
}

// perChannel returns a field of one number, or of one for each channel, as a tensor.
func perChannel(x *ops.Tensor, name string, values []float64) *ops.Tensor {
	if len(values) == 1 {
		return ops.Scalar(x, values[0])
	}
	if x.Rank() == 0 || !dim.MayEqual(x.Dim(-1), len(values)) && x.Dim(-1) != 1 {
		ops.Failf(x.Graph(), "%s must have one entry, or one for each channel (last axis) of the input %v, received %d", name, x.Shape(), len(values))
	}
	return ops.Constant(x, x.DType(), ir.Shape{len(values)}, values)
}

// SupportsMasking reports that a mask passes through.
func (l *Rescaling) SupportsMasking() bool { return true }

func init() { Register[Rescaling]() }
