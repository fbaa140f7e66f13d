package layers

import "github.com/gokeras/gokeras/keras/ops"

// ELU is the exponential linear unit:
//
//	y = x where x > 0, Alpha · (e^x - 1) elsewhere
//
// Input shape: any. Output shape: that of the input. A mask passes through. Source: Clevert et al., "Fast and Accurate
// Deep Network Learning by Exponential Linear Units", 2015.
type ELU struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Alpha *float64 `keras:"alpha,default=1.0"` // nil is 1
}

// Forward computes the layer.
func (l *ELU) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Elu(one(c, in), number(l.Alpha, 1))}
}

// SupportsMasking reports that a mask passes through.
func (l *ELU) SupportsMasking() bool { return true }

func init() { Register[ELU]() }
