package reference

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

func (c *call) constant() error {
	v := FromLiteral(c.node.Attrs.(ir.ConstantAttrs).Literal)
	copy(c.out[0].F, v.F)
	copy(c.out[0].I, v.I)
	return nil
}

func (c *call) iota() error {
	axis := c.node.Attrs.(ir.IotaAttrs).Axis
	d := c.out[0].Type.DType
	for i, at := range indices(c.out[0].Type.Shape) {
		if d.IsFloat() {
			c.out[0].F[i] = float64(at[axis])
		} else {
			c.out[0].I[i] = wrap(d, int64(at[axis]))
		}
	}
	return nil
}

// reshape serves Identity too: the elements keep their order.
func (c *call) reshape() error {
	copy(c.out[0].F, c.in[0].F)
	copy(c.out[0].I, c.in[0].I)
	return nil
}

// bitCast writes the operand's elements and reads the bytes as the other type.
func (c *call) bitCast() error {
	v, err := FromBytes(c.out[0].Type, c.in[0].Bytes())
	if err != nil {
		return err
	}
	copy(c.out[0].F, v.F)
	copy(c.out[0].I, v.I)
	return nil
}

// pick fills the result: its element at an index is the operand's element at the index that from gives.
func (c *call) pick(from func(at, operand []int)) error {
	x := c.in[0]
	operand := make([]int, len(x.Type.Shape))
	for i, at := range indices(c.out[0].Type.Shape) {
		from(at, operand)
		c.out[0].set(i, x, position(x.Type.Shape, operand))
	}
	return nil
}

func (c *call) transpose() error {
	perm := c.node.Attrs.(ir.TransposeAttrs).Perm
	return c.pick(func(at, operand []int) {
		for i, p := range perm {
			operand[p] = at[i]
		}
	})
}

func (c *call) broadcast() error {
	axes := c.node.Attrs.(ir.BroadcastAttrs).Axes
	return c.pick(func(at, operand []int) {
		for i, axis := range axes {
			operand[i] = min(at[axis], c.in[0].Type.Shape[i]-1)
		}
	})
}

func (c *call) slice() error {
	a := c.node.Attrs.(ir.SliceAttrs)
	return c.pick(func(at, operand []int) {
		for i := range at {
			operand[i] = a.Start[i] + at[i]*a.Stride[i]
		}
	})
}

func (c *call) reverse() error {
	axes := c.node.Attrs.(ir.AxesAttrs).Axes
	return c.pick(func(at, operand []int) {
		copy(operand, at)
		for _, axis := range axes {
			operand[axis] = c.in[0].Type.Shape[axis] - 1 - at[axis]
		}
	})
}

func (c *call) pad() error {
	a := c.node.Attrs.(ir.PadAttrs)
	x, fill, y := c.in[0], c.in[1], c.out[0]
	for i := range y.Type.Shape.Size() {
		y.set(i, fill, 0)
	}
	to := make([]int, len(x.Type.Shape))
	for i, at := range indices(x.Type.Shape) {
		inside := true
		for k := range at {
			to[k] = a.Low[k] + at[k]*(a.Interior[k]+1)
			inside = inside && to[k] >= 0 && to[k] < y.Type.Shape[k]
		}
		if inside {
			y.set(position(y.Type.Shape, to), x, i)
		}
	}
	return nil
}

func (c *call) concat() error {
	axis := c.node.Attrs.(ir.AxisAttrs).Axis
	y := c.out[0]
	before := 0
	for _, x := range c.in {
		for i, at := range indices(x.Type.Shape) {
			at[axis] += before
			y.set(position(y.Type.Shape, at), x, i)
			at[axis] -= before
		}
		before += x.Type.Shape[axis]
	}
	return nil
}

// clampedStarts reads the starts of a dynamic slice so that size elements from each fit into the shape.
func clampedStarts(starts []Value, shape, size ir.Shape) []int {
	at := make([]int, len(shape))
	for i, s := range starts {
		at[i] = min(max(int(s.I[0]), 0), shape[i]-size[i])
	}
	return at
}

func (c *call) dynamicSlice() error {
	starts := clampedStarts(c.in[1:], c.in[0].Type.Shape, c.out[0].Type.Shape)
	return c.pick(func(at, operand []int) {
		for i := range at {
			operand[i] = starts[i] + at[i]
		}
	})
}

func (c *call) dynamicUpdateSlice() error {
	x, update, y := c.in[0], c.in[1], c.out[0]
	copy(y.F, x.F)
	copy(y.I, x.I)
	starts := clampedStarts(c.in[2:], x.Type.Shape, update.Type.Shape)
	to := make([]int, len(starts))
	for i, at := range indices(update.Type.Shape) {
		for k := range at {
			to[k] = starts[k] + at[k]
		}
		y.set(position(y.Type.Shape, to), update, i)
	}
	return nil
}
