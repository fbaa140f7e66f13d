package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// ActivityRegularization returns its input and adds a penalty on it to the loss:
//
//	(L1 · Σ|x| + L2 · Σx²) / batch
//
// Input shape: any. Output shape: that of the input. A mask passes through.
type ActivityRegularization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	L1 float64 `keras:"l1,null"` // at least 0
	L2 float64 `keras:"l2,null"` // at least 0
}

// Build sets the penalty.
func (l *ActivityRegularization) Build(b *Builder, _ []ir.Shape) {
	b.SetActivityRegularizer(regularizers.L1L2{L1: l.L1, L2: l.L2})
}

// Forward returns the input.
func (l *ActivityRegularization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{one(c, in)}
}

// SupportsMasking reports that a mask passes through.
func (l *ActivityRegularization) SupportsMasking() bool { return true }

func init() { Register[ActivityRegularization]() }
