package layers

import "github.com/gokeras/gokeras/keras/ops"

// Flatten merges all axes of each example into one, in row-major order.
//
// Input shape: (batch, ...). Output shape: (batch, product of the other axes), with 1 for a vector of scalars. With
// DataFormat ChannelsFirst the channels are first moved from axis 1 to the end, so that the result is that of channels
// last. A mask does not pass through.
type Flatten struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *Flatten) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if x.Rank() == 0 {
		ops.Failf(c.Graph(), "expected an input with a batch axis, received a scalar")
	}
	if isChannelsFirst(c.Graph(), l.DataFormat) && x.Rank() > 1 {
		x = ops.MoveAxis(x, 1, -1)
	}
	return []*ops.Tensor{ops.Reshape(x, x.Dim(0), x.Shape()[1:].Size())}
}

func init() { Register[Flatten]() }
