package layers

import "github.com/gokeras/gokeras/keras/ops"

// Add adds its inputs: y = x₁ + x₂ + …
//
// Input shapes: one or more that broadcast to each other, with equal batch sizes; missing axes are inserted after the
// batch. Output shape: the shape that they broadcast to. If all inputs have a mask, the result's mask is true where any
// of them is.
type Add struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward computes the layer.
func (l *Add) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{fold(c, in, ops.Add)}
}

// ComputeMask returns the steps that count in any input, or no mask if an input has none.
func (l *Add) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor { return anyMask(inputs) }

// Multiply multiplies its inputs: y = x₁ · x₂ · …
//
// Input shapes: one or more that broadcast to each other, with equal batch sizes; missing axes are inserted after the
// batch. Output shape: the shape that they broadcast to. Masked steps of an input count as 1. Where all inputs are
// masked, the result is 0. If all inputs have a mask, the result's mask is true where any of them is.
type Multiply struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward computes the layer.
func (l *Multiply) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{multiplyMasked(c, in)}
}

// ComputeMask returns the steps that count in any input, or no mask if an input has none.
func (l *Multiply) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	return anyMask(inputs)
}

// Average takes the mean of its inputs: y = (x₁ + x₂ + …) / n.
//
// Input shapes: one or more that broadcast to each other, with equal batch sizes; missing axes are inserted after the
// batch. Output shape: the shape that they broadcast to. If all inputs have a mask, the result's mask is true where any
// of them is.
type Average struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward computes the layer.
func (l *Average) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.DivideScalar(fold(c, in, ops.Add), float64(len(in)))}
}

// ComputeMask returns the steps that count in any input, or no mask if an input has none.
func (l *Average) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	return anyMask(inputs)
}

// Maximum takes the largest of its inputs element by element: y = max(x₁, x₂, …).
//
// Input shapes: one or more that broadcast to each other, with equal batch sizes; missing axes are inserted after the
// batch. Output shape: the shape that they broadcast to. Masked steps of an input leave the other inputs' values. If
// all inputs have a mask, the result's mask is true where any of them is.
type Maximum struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward computes the layer.
func (l *Maximum) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{foldMasked(c, in, ops.Maximum)}
}

// ComputeMask returns the steps that count in any input, or no mask if an input has none.
func (l *Maximum) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	return anyMask(inputs)
}

// Minimum takes the smallest of its inputs element by element: y = min(x₁, x₂, …).
//
// Input shapes: one or more that broadcast to each other, with equal batch sizes; missing axes are inserted after the
// batch. Output shape: the shape that they broadcast to. Masked steps of an input leave the other inputs' values. If
// all inputs have a mask, the result's mask is true where any of them is.
type Minimum struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward computes the layer.
func (l *Minimum) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{foldMasked(c, in, ops.Minimum)}
}

// ComputeMask returns the steps that count in any input, or no mask if an input has none.
func (l *Minimum) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	return anyMask(inputs)
}

// Subtract subtracts its second input from the first: y = x₁ - x₂.
//
// Input shapes: two that broadcast to each other, with equal batch sizes. Output shape: the shape that they broadcast
// to. If both inputs have a mask, the result's mask is true where either of them is.
type Subtract struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward computes the layer.
func (l *Subtract) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	if len(in) != 2 {
		ops.Failf(c.Graph(), "takes two inputs, received %d", len(in))
	}
	return []*ops.Tensor{fold(c, in, ops.Subtract)}
}

// ComputeMask returns the steps that count in any input, or no mask if an input has none.
func (l *Subtract) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	return anyMask(inputs)
}

// multiplyMasked multiplies the inputs; masked steps count as 1, and are 0 in the result where all inputs are masked.
func multiplyMasked(c *Context, in []*ops.Tensor) *ops.Tensor {
	in = mergeInputs(c, in)
	var y, any *ops.Tensor
	all := true
	for i, x := range in {
		mask := featureMask(x)
		if mask != nil {
			x = ops.Where(mask, x, ops.Scalar(x, 1))
		}
		switch {
		case mask == nil:
			all = false
		case any == nil:
			any = mask
		default:
			any = ops.LogicalOr(any, mask)
		}
		if i == 0 {
			y = x
		} else {
			y = ops.Multiply(y, x)
		}
	}
	if all {
		y = ops.Where(any, y, ops.Scalar(y, 0))
	}
	return y
}

func init() {
	Register[Add]()
	Register[Subtract]()
	Register[Multiply]()
	Register[Average]()
	Register[Maximum]()
	Register[Minimum]()
}
