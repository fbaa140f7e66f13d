package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// SeparableConv1D is a convolution in two parts: one that convolves each channel by itself, as in [DepthwiseConv1D],
// and one with window 1 that mixes the channels:
//
//	z[b, p, c·M + m] = Σ x[b, p·stride + i·dilation, c] · depthwise_kernel[i, c, m]
//	y[b, p, f] = activation(Σ z[b, p, k] · pointwise_kernel[0, k, f] + bias[f])
//
// with M = DepthMultiplier. Strides, padding and dilation belong to the first part.
//
// Input shape: (batch, steps, channels). Output shape: (batch, steps', filters) with the lengths of [Conv1D]. Weights:
// depthwise_kernel (window..., channels, M), pointwise_kernel (1, channels·M, filters), bias (filters). Behaviour and
// defaults are those of keras.layers.SeparableConv1D.
type SeparableConv1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Filters         int        `keras:"filters"`                           // number of output channels; required
	KernelSize      []int      `keras:"kernel_size,length=1"`              // length of the window; required, one number stands for all axes
	Strides         []int      `keras:"strides,length=1,default=1"`        // steps between windows; nil is 1
	Padding         Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DepthMultiplier int        `keras:"depth_multiplier,default=1"`        // results of the first part for each channel; 0 is 1
	DataFormat      DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	DilationRate    []int      `keras:"dilation_rate,length=1,default=1"`  // distance between the window's cells; nil is 1
	Activation      any        `keras:"activation,default=linear"`         // name or function; nil is linear
	NoBias          bool       `keras:"use_bias,not"`                      // no bias

	DepthwiseInitializer any `keras:"depthwise_initializer,default=GlorotUniform"`
	PointwiseInitializer any `keras:"pointwise_initializer,default=GlorotUniform"`
	BiasInitializer      any `keras:"bias_initializer,default=Zeros"`
	DepthwiseRegularizer any `keras:"depthwise_regularizer"`
	PointwiseRegularizer any `keras:"pointwise_regularizer"`
	BiasRegularizer      any `keras:"bias_regularizer"`
	ActivityRegularizer  any `keras:"activity_regularizer"`
	DepthwiseConstraint  any `keras:"depthwise_constraint"`
	PointwiseConstraint  any `keras:"pointwise_constraint"`
	BiasConstraint       any `keras:"bias_constraint"`

	convolution
}

// Build creates both kernels and the bias.
func (l *SeparableConv1D) Build(b *Builder, in []ir.Shape) {
	l.read(b, 1, convFields{KernelSize: l.KernelSize, Strides: l.Strides, DilationRate: l.DilationRate, Padding: l.Padding, DataFormat: l.DataFormat}, in[0])
	channels := l.buildDepthwise(b, "depthwise_kernel", in[0], l.DepthMultiplier, WeightOptions{Initializer: l.DepthwiseInitializer, Regularizer: l.DepthwiseRegularizer, Constraint: l.DepthwiseConstraint})
	l.buildPointwise(b, channels, l.Filters, WeightOptions{Initializer: l.PointwiseInitializer, Regularizer: l.PointwiseRegularizer, Constraint: l.PointwiseConstraint})
	l.buildBias(b, l.Filters, l.NoBias, WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// Forward computes the layer.
func (l *SeparableConv1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return l.leave(c, l.mix(c, l.depthwise(c, one(c, in), nil)), l.Activation)
}

func init() { Register[SeparableConv1D]() }
