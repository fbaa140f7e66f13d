package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// GlobalAveragePooling1D takes the mean over all steps of a sequence, channel by channel.
//
// Input shape: (batch, steps, channels), or with DataFormat ChannelsFirst (batch, channels, steps). Output shape:
// (batch, channels), or with KeepDims (batch, 1, channels). A mask (batch, steps) excludes steps; a sequence whose
// steps are all masked gives NaN. The mask is not passed on.
type GlobalAveragePooling1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	KeepDims   bool       `keras:"keepdims"`                          // keep the axes, with length 1
}

// Forward computes the layer.
func (l *GlobalAveragePooling1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	axes := spatialAxes(x, 1, l.DataFormat)
	mask := x.Mask()
	if mask == nil {
		return poolAll(x, axes, l.KeepDims, ops.Mean)
	}
	if mask.Rank() != 2 {
		ops.Failf(c.Graph(), "expected a mask (batch, steps), received shape %v", mask.Shape())
	}
	// The mask lacks the axis of the channels, which is 1 or 2.
	kept := ops.Cast(ops.ExpandDims(mask, 3-axes[0]), ir.Bool)
	sums := ops.Sum(ops.Where(kept, x, ops.Scalar(x, 0)), axes...)
	y := ops.Divide(sums, ops.Sum(ops.Cast(kept, x.DType()), axes...))
	if l.KeepDims {
		y = ops.KeepDims(y, x, axes...)
	}
	return []*ops.Tensor{y}
}

// GlobalAveragePooling2D takes the mean over a whole image, channel by channel.
//
// Input shape: (batch, height, width, channels), or with DataFormat ChannelsFirst (batch, channels, height, width).
// Output shape: (batch, channels), or with KeepDims (batch, 1, 1, channels).
type GlobalAveragePooling2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	KeepDims   bool       `keras:"keepdims"`                          // keep the axes, with length 1
}

// Forward computes the layer.
func (l *GlobalAveragePooling2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return poolAll(x, spatialAxes(x, 2, l.DataFormat), l.KeepDims, ops.Mean)
}

// GlobalAveragePooling3D takes the mean over a whole volume, channel by channel.
//
// Input shape: (batch, depth, height, width, channels), or with DataFormat ChannelsFirst (batch, channels, depth,
// height, width). Output shape: (batch, channels), or with KeepDims (batch, 1, 1, 1, channels).
type GlobalAveragePooling3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	KeepDims   bool       `keras:"keepdims"`                          // keep the axes, with length 1
}

// Forward computes the layer.
func (l *GlobalAveragePooling3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return poolAll(x, spatialAxes(x, 3, l.DataFormat), l.KeepDims, ops.Mean)
}

func init() {
	Register[GlobalAveragePooling1D]()
	Register[GlobalAveragePooling2D]()
	Register[GlobalAveragePooling3D]()
}
