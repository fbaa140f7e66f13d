package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Reshape gives each example another shape with the same elements in row-major order.
//
// Input shape: (batch, ...). Output shape: (batch, TargetShape...), where one entry may be -1 and is computed. A mask
// does not pass through.
type Reshape struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	TargetShape []int `keras:"target_shape,default=[]"` // without the batch axis; nil makes scalars
}

// Forward computes the layer.
func (l *Reshape) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if x.Rank() == 0 {
		ops.Failf(c.Graph(), "expected an input with a batch axis, received a scalar")
	}
	size, known, open := x.Shape()[1:].Size(), 1, -1
	shape := []int{x.Dim(0)}
	for i, n := range l.TargetShape {
		switch {
		case n == -1 && open < 0:
			open = i + 1
		case n < 0:
			ops.Failf(c.Graph(), "TargetShape %v must have lengths of at least 0, and at most one -1", l.TargetShape)
		default:
			known *= n //dim:known TargetShape is given
		}
		shape = append(shape, n)
	}
	if open >= 0 && known > 0 && dim.MayEqual(dim.Mod(size, known), 0) { //dim:known TargetShape is given
		shape[open] = dim.FloorDiv(size, known)
		known = size
	}
	if !dim.MayEqual(known, size) || open >= 0 && shape[open] == -1 {
		ops.Failf(c.Graph(), "TargetShape %v does not hold the %s elements of an example of shape %v; change it so that the products agree", l.TargetShape, dim.String(size), x.Shape()[1:])
	}
	return []*ops.Tensor{ops.Reshape(x, shape...)}
}

func init() { Register[Reshape]() }
