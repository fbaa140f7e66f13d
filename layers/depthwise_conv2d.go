package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// DepthwiseConv2D slides windows over an image, each channel by itself:
//
//	y[b, p, q, c·M + m] = activation(Σ x[b, p·stride + i·dilation, q·stride + j·dilation, c] · kernel[i, j, c, m] + bias[c·M + m])
//
// summed over the window's cells (i, j), with M = DepthMultiplier results for each channel.
//
// Input shape: (batch, height, width, channels). Output shape: (batch, height', width', channels·M) with the lengths of
// [Conv2D]. Weights: kernel (window..., channels, M), bias (channels·M). Behaviour and defaults are those of
// keras.layers.DepthwiseConv2D.
type DepthwiseConv2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	KernelSize      []int      `keras:"kernel_size,length=2"`              // length of the window; required, one number stands for all axes
	Strides         []int      `keras:"strides,length=2,default=1"`        // steps between windows; nil is 1
	Padding         Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DepthMultiplier int        `keras:"depth_multiplier,default=1"`        // results for each channel; 0 is 1
	DataFormat      DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	DilationRate    []int      `keras:"dilation_rate,length=2,default=1"`  // distance between the window's cells; nil is 1
	Activation      any        `keras:"activation,default=linear"`         // name or function; nil is linear
	NoBias          bool       `keras:"use_bias,not"`                      // no bias

	DepthwiseInitializer any `keras:"depthwise_initializer,default=GlorotUniform"`
	BiasInitializer      any `keras:"bias_initializer,default=Zeros"`
	DepthwiseRegularizer any `keras:"depthwise_regularizer"`
	BiasRegularizer      any `keras:"bias_regularizer"`
	ActivityRegularizer  any `keras:"activity_regularizer"`
	DepthwiseConstraint  any `keras:"depthwise_constraint"`
	BiasConstraint       any `keras:"bias_constraint"`

	convolution
}

// Build creates the kernel and bias.
func (l *DepthwiseConv2D) Build(b *Builder, in []ir.Shape) {
	l.read(b, 2, convFields{KernelSize: l.KernelSize, Strides: l.Strides, DilationRate: l.DilationRate, Padding: l.Padding, DataFormat: l.DataFormat}, in[0])
	filters := l.buildDepthwise(b, "kernel", in[0], l.DepthMultiplier, WeightOptions{Initializer: l.DepthwiseInitializer, Regularizer: l.DepthwiseRegularizer, Constraint: l.DepthwiseConstraint})
	l.buildBias(b, filters, l.NoBias, WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// Forward computes the layer.
func (l *DepthwiseConv2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return l.leave(c, l.depthwise(c, one(c, in), l.bias(c)), l.Activation)
}

func init() { Register[DepthwiseConv2D]() }
