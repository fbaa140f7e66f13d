package layers

import "github.com/gokeras/gokeras/keras/ops"

// AdaptiveAveragePooling1D takes the mean of windows that cover a sequence so that the result has a given size. Window
// i of m over an axis of length n goes from floor(i·n/m) to ceil((i+1)·n/m) - 1.
//
// Input shape: (batch, steps, channels), or with DataFormat ChannelsFirst (batch, channels, steps). Output shape: the
// same with the lengths of OutputSize.
type AdaptiveAveragePooling1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	OutputSize []int      `keras:"output_size,length=1"`              // lengths of the result; required, one number stands for all axes
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *AdaptiveAveragePooling1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return averageAdaptively(one(c, in), 1, l.OutputSize, l.DataFormat)
}

// AdaptiveAveragePooling2D takes the mean of windows that cover an image so that the result has a given size. Window i
// of m over an axis of length n goes from floor(i·n/m) to ceil((i+1)·n/m) - 1.
//
// Input shape: (batch, height, width, channels), or with DataFormat ChannelsFirst (batch, channels, height, width).
// Output shape: the same with the lengths of OutputSize.
type AdaptiveAveragePooling2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	OutputSize []int      `keras:"output_size,length=2"`              // lengths of the result; required, one number stands for all axes
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *AdaptiveAveragePooling2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return averageAdaptively(one(c, in), 2, l.OutputSize, l.DataFormat)
}

// AdaptiveAveragePooling3D takes the mean of windows that cover a volume so that the result has a given size. Window i
// of m over an axis of length n goes from floor(i·n/m) to ceil((i+1)·n/m) - 1.
//
// Input shape: (batch, depth, height, width, channels), or with DataFormat ChannelsFirst (batch, channels, depth,
// height, width). Output shape: the same with the lengths of OutputSize.
type AdaptiveAveragePooling3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	OutputSize []int      `keras:"output_size,length=3"`              // lengths of the result; required, one number stands for all axes
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *AdaptiveAveragePooling3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return averageAdaptively(one(c, in), 3, l.OutputSize, l.DataFormat)
}

func init() {
	Register[AdaptiveAveragePooling1D]()
	Register[AdaptiveAveragePooling2D]()
	Register[AdaptiveAveragePooling3D]()
}
