package layers

import "github.com/gokeras/gokeras/kernels/ir"

// ConvLSTM1D is an LSTM over a sequence of lines, with convolutions instead of matrix products:
//
//	i, f, g, o = split(x * kernel + h * recurrent_kernel + bias, 4)
//	c' = sigmoid(f)·c + sigmoid(i)·tanh(g)
//	h' = sigmoid(o)·tanh(c')
//
// with Activation in place of tanh and RecurrentActivation in place of sigmoid. The convolution of the inputs has the
// given Strides, Padding and DilationRate; that of the states has strides 1 and padding Same.
//
// Inputs: x (batch, steps, length, channels), or with ChannelsFirst (batch, steps, channels, length), optionally the
// initial states h and c (batch, length', filters), zeros if omitted, and last optionally a bool mask (batch, steps).
// Results: the last h, or with ReturnSequences all (batch, steps, length', filters); with ReturnState the last h and c
// as well. Masks, GoBackwards and Stateful are those of [RNN]. In training Dropout and RecurrentDropout draw one mask
// for each gate, the same at every step. Weights, of the member conv_lstm_cell: kernel (window..., channels,
// 4·filters), recurrent_kernel (window..., filters, 4·filters), bias (4·filters), with the gates in the order input,
// forget, cell, output. Behaviour and defaults are those of keras.layers.ConvLSTM1D. Source: Shi et al., "Convolutional
// LSTM Network", NeurIPS 2015, without the peephole terms.
type ConvLSTM1D struct {
	Base
	convLSTM

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Filters      int        `keras:"filters"`                           // channels of the states; required
	KernelSize   []int      `keras:"kernel_size,length=1"`              // length of the window; required, one number stands for all axes
	Strides      []int      `keras:"strides,length=1,default=1"`        // steps between windows; nil is 1
	Padding      Padding    `keras:"padding,default=valid"`             // Valid or Same; "" is Valid
	DataFormat   DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	DilationRate []int      `keras:"dilation_rate,length=1,default=1"`  // distance between the window's cells; nil is 1

	Activation          any  `keras:"activation,default=tanh"`              // nil is "tanh"
	RecurrentActivation any  `keras:"recurrent_activation,default=sigmoid"` // nil is "sigmoid"
	NoBias              bool `keras:"use_bias,not"`                         // no bias

	KernelInitializer    any  `keras:"kernel_initializer,default=GlorotUniform"`
	RecurrentInitializer any  `keras:"recurrent_initializer,default=Orthogonal"`
	BiasInitializer      any  `keras:"bias_initializer,default=Zeros"`
	NoUnitForgetBias     bool `keras:"unit_forget_bias,not"` // start the forget gate's bias like the others, not at 1
	KernelRegularizer    any  `keras:"kernel_regularizer"`
	RecurrentRegularizer any  `keras:"recurrent_regularizer"`
	BiasRegularizer      any  `keras:"bias_regularizer"`
	ActivityRegularizer  any  `keras:"activity_regularizer"`
	KernelConstraint     any  `keras:"kernel_constraint"`
	RecurrentConstraint  any  `keras:"recurrent_constraint"`
	BiasConstraint       any  `keras:"bias_constraint"`

	Dropout          float64 `keras:"dropout"`           // fraction of the inputs dropped in training
	RecurrentDropout float64 `keras:"recurrent_dropout"` // fraction of the state dropped in training
	Seed             *int    `keras:"seed"`

	ReturnSequences   bool `keras:"return_sequences"`     // the result of every step instead of the last
	ReturnState       bool `keras:"return_state"`         // also the last states
	GoBackwards       bool `keras:"go_backwards"`         // from the last step to the first; results come in that order
	Stateful          bool `keras:"stateful"`             // each batch continues with the states of the one before
	Unroll            bool `keras:"unroll"`               // accepted for compatibility; the loop is one program either way
	ZeroOutputForMask bool `keras:"zero_output_for_mask"` // masked steps give zeros instead of the previous result
}

// Build creates the cell and its variables.
func (l *ConvLSTM1D) Build(b *Builder, in []ir.Shape) {
	l.buildOver(b, in[0], l, l.DType, convLSTMConfig{
		rank: 1, filters: l.Filters,
		conv:       convFields{KernelSize: l.KernelSize, Strides: l.Strides, DilationRate: l.DilationRate, Padding: l.Padding, DataFormat: l.DataFormat},
		activation: l.Activation, recurrentActivation: l.RecurrentActivation, noBias: l.NoBias, noUnitForgetBias: l.NoUnitForgetBias,
		kernel:    WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint},
		recurrent: WeightOptions{Initializer: l.RecurrentInitializer, Regularizer: l.RecurrentRegularizer, Constraint: l.RecurrentConstraint},
		bias:      WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint},
		dropout:   l.Dropout, recurrentDrop: l.RecurrentDropout, seed: l.Seed,
	})
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// IgnoredConfig adds keys of older versions.
func (l *ConvLSTM1D) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

func init() { Register[ConvLSTM1D]() }
