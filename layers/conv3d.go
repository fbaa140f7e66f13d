package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Conv3D slides windows over a volume:
//
//	y[b, p, q, r, f] = activation(Σ x[b, p·stride + i·dilation, q·stride + j·dilation, r·stride + k·dilation, c] · kernel[i, j, k, c, f] + bias[f])
//
// summed over the window's cells (i, j, k) and the input channels c (of the group that f belongs to). The kernel is not
// flipped.
//
// Input shape: (batch, depth, height, width, channels). Output shape: (batch, depth', height', width', filters), where
// a length n becomes floor((n - dilation·(window-1) - 1) / stride) + 1 with Padding Valid and ceil(n / stride) with
// Same; if the number of zeros is odd, Same puts the extra one at the end. With DataFormat ChannelsFirst the channels
// come after the batch. Weights: kernel (window..., channels/Groups, filters), bias (filters). Behaviour and defaults
// are those of keras.layers.Conv3D.
type Conv3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Filters      int        `keras:"filters"`                           // number of output channels; required
	KernelSize   []int      `keras:"kernel_size,length=3"`              // length of the window; required, one number stands for all axes
	Strides      []int      `keras:"strides,length=3,default=1"`        // steps between windows; nil is 1
	Padding      Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat   DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	DilationRate []int      `keras:"dilation_rate,length=3,default=1"`  // distance between the window's cells; nil is 1
	Groups       int        `keras:"groups,default=1"`                  // independent groups of channels; 0 is 1
	Activation   any        `keras:"activation,default=linear"`         // name or function; nil is linear
	NoBias       bool       `keras:"use_bias,not"`                      // no bias

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer"`
	KernelConstraint    any `keras:"kernel_constraint"`
	BiasConstraint      any `keras:"bias_constraint"`

	LoraRank  int     `keras:"lora_rank,omitempty"`  // train an update of this rank instead of the kernel, see EnableLora; 0: train the kernel
	LoraAlpha float64 `keras:"lora_alpha,omitempty"` // the update is scaled by LoraAlpha/LoraRank; 0: LoraRank

	convolution
}

// Build creates the kernel and bias.
func (l *Conv3D) Build(b *Builder, in []ir.Shape) {
	l.read(b, 3, convFields{KernelSize: l.KernelSize, Strides: l.Strides, DilationRate: l.DilationRate, Padding: l.Padding, DataFormat: l.DataFormat}, in[0])
	l.buildConv(b, in[0], l.Filters, l.Groups, WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint})
	l.buildBias(b, l.Filters, l.NoBias, WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	b.SetActivityRegularizer(l.ActivityRegularizer)
	b.addLora(&l.lora, l.loraTarget(), l.LoraRank, LoraOptions{Alpha: l.LoraAlpha})
}

// Forward computes the layer.
func (l *Conv3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return l.leave(c, l.forwardConv(c, one(c, in), max(l.Groups, 1)), l.Activation)
}

// EnableLora trains a low-rank update instead of the kernel; see [Dense.EnableLora]. With Groups above 1 the rows of A
// are those of one group.
func (l *Conv3D) EnableLora(rank int, options ...LoraOptions) error {
	return l.enableLora(&l.lora, l.loraTarget, &l.LoraRank, &l.LoraAlpha, rank, options)
}

func (l *Conv3D) loraTarget() loraTarget {
	return loraTarget{"kernel", l.kernel, nil, l.KernelRegularizer, l.KernelConstraint}
}

func (l *Conv3D) weightsInFiles() *weightsInFiles {
	return l.lora.inFiles(&l.Base, l.kernel)
}

func init() { Register[Conv3D]() }
