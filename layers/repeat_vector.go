package layers

import "github.com/gokeras/gokeras/keras/ops"

// RepeatVector repeats the input N times as the steps of a sequence.
//
// Input shape: (batch, features). Output shape: (batch, N, features). A mask does not pass through.
type RepeatVector struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	N int `keras:"n"` // number of repetitions; required
}

// Forward computes the layer.
func (l *RepeatVector) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if l.N <= 0 {
		ops.Failf(c.Graph(), "N must be positive, received %d", l.N)
	}
	needRank(x, 2, "(batch, features)")
	return []*ops.Tensor{ops.Repeat(ops.ExpandDims(x, 1), l.N, 1)}
}

func init() { Register[RepeatVector]() }
