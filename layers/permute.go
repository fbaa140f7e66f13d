package layers

import "github.com/gokeras/gokeras/keras/ops"

// Permute reorders the axes of each example: axis i of the result is axis Dims[i-1] of the input, counted from 1
// because the batch, axis 0, stays.
//
// Input shape: (batch, ...). Output shape: the same lengths in the new order. A mask does not pass through.
type Permute struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Dims []int `keras:"dims"` // each number from 1 to the number of axes once; required
}

// Forward computes the layer.
func (l *Permute) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	seen := make([]bool, x.Rank())
	ok := len(l.Dims) == x.Rank()-1
	for _, d := range l.Dims {
		if ok = ok && d >= 1 && d < x.Rank() && !seen[d]; ok {
			seen[d] = true
		}
	}
	if !ok {
		ops.Failf(c.Graph(), "Dims must have each number from 1 to %d once for an input of shape %v, received %v", x.Rank()-1, x.Shape(), l.Dims)
	}
	return []*ops.Tensor{ops.Transpose(x, append([]int{0}, l.Dims...)...)}
}

func init() { Register[Permute]() }
