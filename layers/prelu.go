package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// PReLU is a rectifier whose slope for negative numbers is learned:
//
//	y = max(x, 0) - alpha · max(-x, 0)
//
// Input shape: (batch, ...). Output shape: that of the input. Weights: alpha (...), of the shape of one example, with
// length 1 on the shared axes. A mask passes through. Source: He et al., "Delving Deep into Rectifiers", ICCV 2015.
type PReLU struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	SharedAxes       []int `keras:"shared_axes,null"` // axes with one slope for all positions, counted with the batch as axis 0
	AlphaInitializer any   `keras:"alpha_initializer,default=Zeros"`
	AlphaRegularizer any   `keras:"alpha_regularizer"`
	AlphaConstraint  any   `keras:"alpha_constraint"`

	alpha *distribute.Variable
}

// Build creates alpha.
func (l *PReLU) Build(b *Builder, in []ir.Shape) {
	shape := in[0][min(1, len(in[0])):].Clone() // a scalar has no batch axis
	for _, axis := range l.SharedAxes {
		if axis < 1 || axis > len(shape) {
			b.Fail("SharedAxes must be between 1 and %d for inputs of shape %v, received %v", len(shape), in[0], l.SharedAxes)
		}
		shape[axis-1] = 1
	}
	l.alpha = b.AddWeight("alpha", shape, WeightOptions{Initializer: orDefault(l.AlphaInitializer, "zeros"), Regularizer: l.AlphaRegularizer, Constraint: l.AlphaConstraint})
}

// Forward computes the layer.
func (l *PReLU) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	negative := ops.Multiply(c.Weight(l.alpha), ops.Relu(ops.Negative(x)))
	return []*ops.Tensor{ops.Subtract(ops.Relu(x), negative)}
}

// SupportsMasking reports that a mask passes through.
func (l *PReLU) SupportsMasking() bool { return true }

func init() { Register[PReLU]() }
