package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// channelNoise returns the noise shape with one draw for each example and channel of an input with n spatial axes.
func channelNoise(x *ops.Tensor, n int, format DataFormat) ir.Shape {
	return x.Shape().WithOnes(spatialAxes(x, n, format)...)
}

// SpatialDropout1D is a [Dropout] that drops whole channels: all steps of a sequence share one draw for each channel,
// because neighbours resemble each other too much to stand in for one another.
//
// Input shape: (batch, steps, channels). Output shape: that of the input. A mask passes through. Source: Tompson et
// al., "Efficient Object Localization Using Convolutional Networks", CVPR 2015.
type SpatialDropout1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype,plain"`             // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not,omitempty"` // not trained

	Rate float64 `keras:"rate,required"` // from 0 to 1
	Seed *int    `keras:"seed"`          // different seeds draw different numbers
}

// Forward computes the layer.
func (l *SpatialDropout1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return []*ops.Tensor{dropout(c, x, l.Rate, l.Seed, channelNoise(x, 1, ""))}
}

// SupportsMasking reports that a mask passes through.
func (l *SpatialDropout1D) SupportsMasking() bool { return true }

// SpatialDropout2D is a [Dropout] that drops whole channels: all cells of an image share one draw for each channel,
// because neighbours resemble each other too much to stand in for one another.
//
// Input shape: (batch, height, width, channels). Output shape: that of the input. With DataFormat ChannelsFirst the
// channels come after the batch. A mask passes through. Source: Tompson et al., "Efficient Object Localization Using
// Convolutional Networks", CVPR 2015.
type SpatialDropout2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype,plain"`             // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not,omitempty"` // not trained

	Rate       float64    `keras:"rate,required"`                     // from 0 to 1
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	Seed       *int       `keras:"seed"`                              // different seeds draw different numbers
}

// Forward computes the layer.
func (l *SpatialDropout2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return []*ops.Tensor{dropout(c, x, l.Rate, l.Seed, channelNoise(x, 2, l.DataFormat))}
}

// SupportsMasking reports that a mask passes through.
func (l *SpatialDropout2D) SupportsMasking() bool { return true }

// SpatialDropout3D is a [Dropout] that drops whole channels: all cells of a volume share one draw for each channel,
// because neighbours resemble each other too much to stand in for one another.
//
// Input shape: (batch, depth, height, width, channels). Output shape: that of the input. With DataFormat ChannelsFirst
// the channels come after the batch. A mask passes through. Source: Tompson et al., "Efficient Object Localization
// Using Convolutional Networks", CVPR 2015.
type SpatialDropout3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype,plain"`             // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not,omitempty"` // not trained

	Rate       float64    `keras:"rate,required"`                     // from 0 to 1
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	Seed       *int       `keras:"seed"`                              // different seeds draw different numbers
}

// Forward computes the layer.
func (l *SpatialDropout3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return []*ops.Tensor{dropout(c, x, l.Rate, l.Seed, channelNoise(x, 3, l.DataFormat))}
}

// SupportsMasking reports that a mask passes through.
func (l *SpatialDropout3D) SupportsMasking() bool { return true }

func init() {
	Register[SpatialDropout1D]()
	Register[SpatialDropout2D]()
	Register[SpatialDropout3D]()
}
