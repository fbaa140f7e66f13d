package layers

import "github.com/gokeras/gokeras/keras/ops"

// ZeroPadding1D adds zeros before and after a sequence.
//
// Input shape: (batch, steps, channels). Output shape: the same with n + before + after for each length n. With
// DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
type ZeroPadding1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Padding    []int      `keras:"padding,length=2,default=1"`        // before and after, or one number for both; nil is 1
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *ZeroPadding1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return padSpatial(x, l.DataFormat, firstAndLast(x, "Padding", l.Padding, 1))
}

// ZeroPadding2D adds zeros before and after the axes of an image.
//
// Input shape: (batch, height, width, channels). Output shape: the same with n + before + after for each length n. With
// DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
type ZeroPadding2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	// Padding has, for each axis, the amounts before and after, {{1, 2}, {0, 3}}, or one number for both, {{1}, {2}}; a
	// single entry stands for all axes. nil is {{1}}.
	Padding    [][]int    `keras:"padding,default=[[1,1],[1,1]]"`
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *ZeroPadding2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return padSpatial(x, l.DataFormat, axisPairs(x, "Padding", l.Padding, 2, 1))
}

// AmendConfig writes the amounts as pairs, the form that Keras reads in all versions.
func (l *ZeroPadding2D) AmendConfig(keys map[string]any) error {
	return amendPairs(keys, "padding", l.Padding, 2)
}

// ZeroPadding3D adds zeros before and after the axes of a volume.
//
// Input shape: (batch, depth, height, width, channels). Output shape: the same with n + before + after for each length
// n. With DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
type ZeroPadding3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	// Padding has, for each axis, the amounts before and after, {{1, 2}, {0, 3}}, or one number for both, {{1}, {2}}; a
	// single entry stands for all axes. nil is {{1}}.
	Padding    [][]int    `keras:"padding,default=[[1,1],[1,1],[1,1]]"`
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *ZeroPadding3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return padSpatial(x, l.DataFormat, axisPairs(x, "Padding", l.Padding, 3, 1))
}

// AmendConfig writes the amounts as pairs, the form that Keras reads in all versions.
func (l *ZeroPadding3D) AmendConfig(keys map[string]any) error {
	return amendPairs(keys, "padding", l.Padding, 3)
}

func init() {
	Register[ZeroPadding1D]()
	Register[ZeroPadding2D]()
	Register[ZeroPadding3D]()
}
