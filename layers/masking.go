package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Masking marks the steps of a sequence that are padding: a step whose features all equal MaskValue is masked, and its
// features are set to 0. Later layers that support masks skip masked steps.
//
// Input shape: (batch, steps, features), or any with a last axis. Output shape: that of the input; the mask has all
// axes but the last and is true where a step counts.
type Masking struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	MaskValue float64 `keras:"mask_value"`
}

// Forward computes the layer.
func (l *Masking) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if x.Rank() < 2 {
		ops.Failf(c.Graph(), "expected an input (batch, steps, features), received shape %v", x.Shape())
	}
	mask := ops.Any(ops.CompareScalar(ir.Ne, x, l.MaskValue), -1)
	if x.DType() == ir.Bool { // which count, as in Keras
		x = ops.Cast(x, ir.Int32)
	}
	y := ops.Where(ops.ExpandDims(mask, -1), x, ops.Scalar(x, 0))
	return []*ops.Tensor{y.WithMask(mask)}
}

// ComputeMask keeps the mask that Forward made.
func (l *Masking) ComputeMask(_ *Context, _, outputs []*ops.Tensor) []*ops.Tensor {
	return masksOf(outputs)
}

func init() { Register[Masking]() }
