package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Conv1DTranspose is the transpose of a convolution, used to enlarge a sequence: each input cell adds its value times
// the kernel to a window of the result,
//
//	y[b, p·stride + i·dilation, f] += x[b, p, c] · kernel[i, f, c]
//
// to which bias and activation are applied.
//
// Input shape: (batch, steps, channels). Output shape: (batch, steps', filters), where a length n becomes (n-1)·stride
// + max(window, stride) with Padding Valid and n·stride with Same. OutputPadding replaces what these add: Valid gives
// (n-1)·stride + window + OutputPadding and Same (n-1)·stride + window mod 2 + OutputPadding. (A dilated window counts
// with its full span.) With DataFormat ChannelsFirst the channels come after the batch.
//
// Weights: kernel (window..., filters, channels), bias (filters). Behaviour and defaults are those of
// keras.layers.Conv1DTranspose.
type Conv1DTranspose struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Filters       int        `keras:"filters"`                           // number of output channels; required
	KernelSize    []int      `keras:"kernel_size,length=1"`              // length of the window; required, one number stands for all axes
	Strides       []int      `keras:"strides,length=1,default=1"`        // steps between windows; nil is 1
	Padding       Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	OutputPadding []int      `keras:"output_padding,null,length=1"`      // cells added at the end of the result, fewer than the stride; nil: worked out
	DataFormat    DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	DilationRate  []int      `keras:"dilation_rate,length=1,default=1"`  // distance between the window's cells; nil is 1
	Activation    any        `keras:"activation,default=linear"`         // name or function; nil is linear
	NoBias        bool       `keras:"use_bias,not"`                      // no bias

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer"`
	KernelConstraint    any `keras:"kernel_constraint"`
	BiasConstraint      any `keras:"bias_constraint"`

	convolution
}

// Build creates the kernel and bias.
func (l *Conv1DTranspose) Build(b *Builder, in []ir.Shape) {
	l.read(b, 1, convFields{KernelSize: l.KernelSize, Strides: l.Strides, DilationRate: l.DilationRate, OutputPadding: l.OutputPadding, Padding: l.Padding, DataFormat: l.DataFormat}, in[0])
	l.buildTransposed(b, in[0], l.Filters, WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint})
	l.buildBias(b, l.Filters, l.NoBias, WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// Forward computes the layer.
func (l *Conv1DTranspose) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return l.leave(c, l.transposed(c, one(c, in)), l.Activation)
}

func init() { Register[Conv1DTranspose]() }
