package layers

import "github.com/gokeras/gokeras/keras/ops"

// Activation applies an activation function:
//
//	y = activation(x)
//
// Input shape: any. Output shape: that of the input. A mask passes through.
type Activation struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Activation any `keras:"activation,required,default=linear"` // name or function; see package activations
}

// Forward computes the layer.
func (l *Activation) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{activate(c, l.Activation, one(c, in))}
}

// SupportsMasking reports that a mask passes through.
func (l *Activation) SupportsMasking() bool { return true }

func init() { Register[Activation]() }
