package layers

import "github.com/gokeras/gokeras/keras/ops"

// Identity returns its inputs as they are: y = x. Several inputs give several results.
//
// Input shape: any. Output shape: that of the input. A mask passes through.
type Identity struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained
}

// Forward returns the inputs.
func (l *Identity) Forward(_ *Context, in []*ops.Tensor) []*ops.Tensor {
	return append([]*ops.Tensor{}, in...)
}

// ComputeMask passes the mask of each input on.
func (l *Identity) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	return masksOf(inputs)
}

// masksOf returns the mask of each tensor, nil where there is none.
func masksOf(xs []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(xs))
	for i, x := range xs {
		masks[i] = x.Mask()
	}
	return masks
}

func init() { Register[Identity]() }
