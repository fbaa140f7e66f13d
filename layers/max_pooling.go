package layers

import "github.com/gokeras/gokeras/keras/ops"

// MaxPooling1D takes the largest element of each window of a sequence, channel by channel.
//
// Input shape: (batch, steps, channels). Output shape: (batch, steps', channels), where a length n becomes floor((n -
// window) / stride) + 1 with Padding Valid and ceil(n / stride) with Same. Cells that Same adds do not count. With
// DataFormat ChannelsFirst the channels come after the batch.
type MaxPooling1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	PoolSize   []int      `keras:"pool_size,length=1,default=2"`      // length of the window; nil is 2, one number stands for all axes
	Strides    []int      `keras:"strides,null,length=1"`             // steps between windows; nil is PoolSize
	Padding    Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *MaxPooling1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return poolWindows(one(c, in), 1, poolFields{orTwo(l.PoolSize), l.Strides, l.Padding, l.DataFormat}, maxPool)
}

// MaxPooling2D takes the largest element of each window of an image, channel by channel.
//
// Input shape: (batch, height, width, channels). Output shape: (batch, height', width', channels), where a length n
// becomes floor((n - window) / stride) + 1 with Padding Valid and ceil(n / stride) with Same. Cells that Same adds do
// not count. With DataFormat ChannelsFirst the channels come after the batch.
type MaxPooling2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	PoolSize   []int      `keras:"pool_size,length=2,default=2"`      // length of the window; nil is 2, one number stands for all axes
	Strides    []int      `keras:"strides,null,length=2"`             // steps between windows; nil is PoolSize
	Padding    Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *MaxPooling2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return poolWindows(one(c, in), 2, poolFields{orTwo(l.PoolSize), l.Strides, l.Padding, l.DataFormat}, maxPool)
}

// MaxPooling3D takes the largest element of each window of a volume, channel by channel.
//
// Input shape: (batch, depth, height, width, channels). Output shape: (batch, depth', height', width', channels), where
// a length n becomes floor((n - window) / stride) + 1 with Padding Valid and ceil(n / stride) with Same. Cells that
// Same adds do not count. With DataFormat ChannelsFirst the channels come after the batch.
type MaxPooling3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	PoolSize   []int      `keras:"pool_size,length=3,default=2"`      // length of the window; nil is 2, one number stands for all axes
	Strides    []int      `keras:"strides,null,length=3"`             // steps between windows; nil is PoolSize
	Padding    Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *MaxPooling3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return poolWindows(one(c, in), 3, poolFields{orTwo(l.PoolSize), l.Strides, l.Padding, l.DataFormat}, maxPool)
}

// orTwo returns the size of the window, or 2 if it is not given.
func orTwo(size []int) []int {
	if len(size) == 0 {
		return []int{2}
	}
	return size
}

func init() {
	Register[MaxPooling1D]()
	Register[MaxPooling2D]()
	Register[MaxPooling3D]()
}
