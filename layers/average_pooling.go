package layers

import "github.com/gokeras/gokeras/keras/ops"

// AveragePooling1D takes the mean of the elements inside the input of each window of a sequence, channel by channel.
//
// Input shape: (batch, steps, channels). Output shape: (batch, steps', channels), where a length n becomes floor((n -
// window) / stride) + 1 with Padding Valid and ceil(n / stride) with Same. Cells that Same adds do not count. With
// DataFormat ChannelsFirst the channels come after the batch.
type AveragePooling1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	PoolSize   []int      `keras:"pool_size,length=1"`                // length of the window; required, one number stands for all axes
	Strides    []int      `keras:"strides,null,length=1"`             // steps between windows; nil is PoolSize
	Padding    Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *AveragePooling1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return poolWindows(one(c, in), 1, poolFields{l.PoolSize, l.Strides, l.Padding, l.DataFormat}, ops.AveragePool)
}

// AveragePooling2D takes the mean of the elements inside the input of each window of an image, channel by channel.
//
// Input shape: (batch, height, width, channels). Output shape: (batch, height', width', channels), where a length n
// becomes floor((n - window) / stride) + 1 with Padding Valid and ceil(n / stride) with Same. Cells that Same adds do
// not count. With DataFormat ChannelsFirst the channels come after the batch.
type AveragePooling2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	PoolSize   []int      `keras:"pool_size,length=2"`                // length of the window; required, one number stands for all axes
	Strides    []int      `keras:"strides,null,length=2"`             // steps between windows; nil is PoolSize
	Padding    Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *AveragePooling2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return poolWindows(one(c, in), 2, poolFields{l.PoolSize, l.Strides, l.Padding, l.DataFormat}, ops.AveragePool)
}

// AveragePooling3D takes the mean of the elements inside the input of each window of a volume, channel by channel.
//
// Input shape: (batch, depth, height, width, channels). Output shape: (batch, depth', height', width', channels), where
// a length n becomes floor((n - window) / stride) + 1 with Padding Valid and ceil(n / stride) with Same. Cells that
// Same adds do not count. With DataFormat ChannelsFirst the channels come after the batch.
type AveragePooling3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	PoolSize   []int      `keras:"pool_size,length=3"`                // length of the window; required, one number stands for all axes
	Strides    []int      `keras:"strides,null,length=3"`             // steps between windows; nil is PoolSize
	Padding    Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *AveragePooling3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return poolWindows(one(c, in), 3, poolFields{l.PoolSize, l.Strides, l.Padding, l.DataFormat}, ops.AveragePool)
}

func init() {
	Register[AveragePooling1D]()
	Register[AveragePooling2D]()
	Register[AveragePooling3D]()
}
