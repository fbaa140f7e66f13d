package layers

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/keras/ops"
)

// TimeDistributed applies a layer to every step of a sequence, with the same weights.
//
// Input shape: (batch, steps, ...). Output shape: (batch, steps, ...) with what the layer makes of each (batch, ...). Behaviour
// is that of keras.layers.TimeDistributed.
type TimeDistributed struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Layer Layer `keras:"layer"` // required
}

// Build makes the variables of the inner layer.
func (l *TimeDistributed) Build(b *Builder, in []ir.Shape) {
	if l.Layer == nil {
		b.Fail("Layer is nil; set layers.TimeDistributed{Layer: &layers.Dense{Units: n}}")
	}
	if len(in[0]) < 3 {
		b.Fail("needs an input (batch, steps, ...) of at least 3 axes, received shape %v", in[0])
	}
	b.BuildMember(l.Layer, slices.Concat(in[0][:1], in[0][2:]))
}

// Forward joins batch and steps into one axis and splits them again.
func (l *TimeDistributed) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if x.Rank() < 3 {
		ops.Failf(c.Graph(), "expected an input (batch, steps, ...) of at least 3 axes, received shape %v", x.Shape())
	}
	s := x.Shape()
	joined := ops.Reshape(x, slices.Concat(ir.Shape{s[0] * s[1]}, s[2:])...)
	y := Invoke(l.Layer, c, joined)
	return []*ops.Tensor{ops.Reshape(y, slices.Concat(s[:2], y.Shape()[1:])...)}
}

// SupportsMasking reports that the mask of the steps passes through.
func (l *TimeDistributed) SupportsMasking() bool { return true }

// Call applies the layer inside a trace.
func (l *TimeDistributed) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

func init() { Register[TimeDistributed]() }
