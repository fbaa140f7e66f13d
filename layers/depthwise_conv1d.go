package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// DepthwiseConv1D slides windows over a sequence, each channel by itself:
//
//	y[b, p, c·M + m] = activation(Σ x[b, p·stride + i·dilation, c] · kernel[i, c, m] + bias[c·M + m])
//
// summed over the window's cells (i), with M = DepthMultiplier results for each channel.
//
// Input shape: (batch, steps, channels). Output shape: (batch, steps', channels·M) with the lengths of [Conv1D].
// Weights: kernel (window..., channels, M), bias (channels·M). Behaviour and defaults are those of
// keras.layers.DepthwiseConv1D.
type DepthwiseConv1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	KernelSize      []int      `keras:"kernel_size,length=1"`              // length of the window; required, one number stands for all axes
	Strides         []int      `keras:"strides,length=1,default=1"`        // steps between windows; nil is 1
	Padding         Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DepthMultiplier int        `keras:"depth_multiplier,default=1"`        // results for each channel; 0 is 1
	DataFormat      DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	DilationRate    []int      `keras:"dilation_rate,length=1,default=1"`  // distance between the window's cells; nil is 1
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
func (l *DepthwiseConv1D) Build(b *Builder, in []ir.Shape) {
	l.read(b, 1, convFields{KernelSize: l.KernelSize, Strides: l.Strides, DilationRate: l.DilationRate, Padding: l.Padding, DataFormat: l.DataFormat}, in[0])
	filters := l.buildDepthwise(b, "kernel", in[0], l.DepthMultiplier, WeightOptions{Initializer: l.DepthwiseInitializer, Regularizer: l.DepthwiseRegularizer, Constraint: l.DepthwiseConstraint})
	l.buildBias(b, filters, l.NoBias, WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// Forward computes the layer.
func (l *DepthwiseConv1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return l.leave(c, l.depthwise(c, one(c, in), l.bias(c)), l.Activation)
}

func init() { Register[DepthwiseConv1D]() }
