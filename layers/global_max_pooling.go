package layers

import "github.com/gokeras/gokeras/keras/ops"

// GlobalMaxPooling1D takes the largest element over all steps of a sequence, channel by channel.
//
// Input shape: (batch, steps, channels), or with DataFormat ChannelsFirst (batch, channels, steps). Output shape:
// (batch, channels), or with KeepDims (batch, 1, channels).
type GlobalMaxPooling1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	KeepDims   bool       `keras:"keepdims"`                          // keep the axes, with length 1
}

// Forward computes the layer.
func (l *GlobalMaxPooling1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return poolAll(x, spatialAxes(x, 1, l.DataFormat), l.KeepDims, extreme(ops.Max))
}

// GlobalMaxPooling2D takes the largest element over a whole image, channel by channel.
//
// Input shape: (batch, height, width, channels), or with DataFormat ChannelsFirst (batch, channels, height, width).
// Output shape: (batch, channels), or with KeepDims (batch, 1, 1, channels).
type GlobalMaxPooling2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	KeepDims   bool       `keras:"keepdims"`                          // keep the axes, with length 1
}

// Forward computes the layer.
func (l *GlobalMaxPooling2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return poolAll(x, spatialAxes(x, 2, l.DataFormat), l.KeepDims, extreme(ops.Max))
}

// GlobalMaxPooling3D takes the largest element over a whole volume, channel by channel.
//
// Input shape: (batch, depth, height, width, channels), or with DataFormat ChannelsFirst (batch, channels, depth,
// height, width). Output shape: (batch, channels), or with KeepDims (batch, 1, 1, 1, channels).
type GlobalMaxPooling3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	KeepDims   bool       `keras:"keepdims"`                          // keep the axes, with length 1
}

// Forward computes the layer.
func (l *GlobalMaxPooling3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return poolAll(x, spatialAxes(x, 3, l.DataFormat), l.KeepDims, extreme(ops.Max))
}

func init() {
	Register[GlobalMaxPooling1D]()
	Register[GlobalMaxPooling2D]()
	Register[GlobalMaxPooling3D]()
}
