package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// LSTMCell is one step of LSTM:
//
//	i, f, g, o = split(x·kernel + h·recurrent_kernel + bias, 4)
//	c' = sigmoid(f)·c + sigmoid(i)·tanh(g)
//	h' = sigmoid(o)·tanh(c')
//
// with Activation in place of tanh and RecurrentActivation in place of sigmoid.
//
// Inputs: x (batch, features) and the states h and c (batch, units). Results: h' and the new states h' and c'. Weights:
// kernel (features, 4·units), recurrent_kernel (units, 4·units), bias (4·units), with the gates in the order input,
// forget, cell, output. Formula and defaults are those of keras.layers.LSTMCell. In training Dropout draws one mask of
// the inputs for all gates, the same at every step. With RecurrentDropout, inputs and state have a separate mask for
// each gate. Source: Hochreiter, Schmidhuber, "Long Short-Term Memory", 1997; forget gate: Gers, Schmidhuber, Cummins,
// 2000; its bias of 1: Jozefowicz, Zaremba, Sutskever, ICML 2015.
type LSTMCell struct {
	Base
	recurrent

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Units               int  `keras:"units"`                                // length of the state; required
	Activation          any  `keras:"activation,default=tanh"`              // nil is "tanh"
	RecurrentActivation any  `keras:"recurrent_activation,default=sigmoid"` // nil is "sigmoid"
	NoBias              bool `keras:"use_bias,not"`

	KernelInitializer    any  `keras:"kernel_initializer,default=GlorotUniform"`
	RecurrentInitializer any  `keras:"recurrent_initializer,default=Orthogonal"`
	BiasInitializer      any  `keras:"bias_initializer,default=Zeros"`
	NoUnitForgetBias     bool `keras:"unit_forget_bias,not"` // start the forget gate's bias like the others, not at 1
	KernelRegularizer    any  `keras:"kernel_regularizer"`
	RecurrentRegularizer any  `keras:"recurrent_regularizer"`
	BiasRegularizer      any  `keras:"bias_regularizer"`
	KernelConstraint     any  `keras:"kernel_constraint"`
	RecurrentConstraint  any  `keras:"recurrent_constraint"`
	BiasConstraint       any  `keras:"bias_constraint"`

	Dropout          float64 `keras:"dropout"`           // fraction of the inputs dropped in training
	RecurrentDropout float64 `keras:"recurrent_dropout"` // fraction of the state dropped in training
	Seed             *int    `keras:"seed"`
}

func (l *LSTMCell) config() recurrentConfig {
	bias := WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint}
	if !l.NoUnitForgetBias {
		bias.Initializer = forgetBias{l.BiasInitializer, l.Units}
	}
	return recurrentConfig{
		units: l.Units, gates: 4, noBias: l.NoBias,
		kernel:    WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint},
		recurrent: WeightOptions{Initializer: l.RecurrentInitializer, Regularizer: l.RecurrentRegularizer, Constraint: l.RecurrentConstraint},
		bias:      bias,
		dropout:   l.Dropout, recurrentDrop: l.RecurrentDropout, seed: l.Seed,
	}
}

// Build creates the variables.
func (l *LSTMCell) Build(b *Builder, in []ir.Shape) { l.buildWeights(b, in[0], l.config()) }

// StateSizes returns the lengths of the states.
func (l *LSTMCell) StateSizes() []int { return []int{l.Units, l.Units} }

// OutputSize returns Units.
func (l *LSTMCell) OutputSize() int { return l.Units }

// Start prepares the steps over a batch.
func (l *LSTMCell) Start(c *Context, batch int) CellRun {
	run := l.startRun(c, batch, l.config())
	step := func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		h, carry := lstmStep(c, l.Activation, l.RecurrentActivation, ops.Add(x, run.recur(states[0], 0, 4)), states[1])
		return h, []*ops.Tensor{h, carry}
	}
	return CellRun{Project: run.project, Step: step, OutputIsState: true}
}

// IgnoredConfig adds keys of older versions.
func (l *LSTMCell) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

// lstmStep returns h' and c', given the gates' sums z (..., 4·units) and the old c.
func lstmStep(c *Context, activation, recurrentActivation any, z, carry *ops.Tensor) (h, next *ops.Tensor) {
	if orDefault(activation, "tanh") == any("tanh") && orDefault(recurrentActivation, "sigmoid") == any("sigmoid") {
		return ops.LSTMCell(z, carry)
	}
	inner := func(x *ops.Tensor) *ops.Tensor { return activate(c, orDefault(activation, "tanh"), x) }
	gate := func(x *ops.Tensor) *ops.Tensor { return activate(c, orDefault(recurrentActivation, "sigmoid"), x) }
	gates := splitGates(z, 4)
	next = ops.Add(ops.Multiply(gate(gates[1]), carry), ops.Multiply(gate(gates[0]), inner(gates[2])))
	return ops.Multiply(gate(gates[3]), inner(next)), next
}

// Forward computes one step.
func (l *LSTMCell) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return ForwardCell(c, l, in) }

// LSTM runs an LSTMCell over the steps of a sequence.
//
// Inputs: x (batch, steps, features), optionally the initial states h and c (batch, units), zeros if omitted, and last
// optionally a bool mask (batch, steps). Results: the last h (batch, units), or with ReturnSequences all (batch, steps,
// units); with ReturnState the last h and c as well. Masks, GoBackwards and Stateful are those of [RNN]. The formula
// and the weights are those of LSTMCell; behaviour and defaults are those of keras.layers.LSTM.
type LSTM struct {
	Base
	recurrentLoop

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Units               int  `keras:"units"`                                // length of the state; required
	Activation          any  `keras:"activation,default=tanh"`              // nil is "tanh"
	RecurrentActivation any  `keras:"recurrent_activation,default=sigmoid"` // nil is "sigmoid"
	NoBias              bool `keras:"use_bias,not"`

	KernelInitializer    any  `keras:"kernel_initializer,default=GlorotUniform"`
	RecurrentInitializer any  `keras:"recurrent_initializer,default=Orthogonal"`
	BiasInitializer      any  `keras:"bias_initializer,default=Zeros"`
	NoUnitForgetBias     bool `keras:"unit_forget_bias,not"` // start the forget gate's bias like the others, not at 1
	KernelRegularizer    any  `keras:"kernel_regularizer"`
	RecurrentRegularizer any  `keras:"recurrent_regularizer"`
	BiasRegularizer      any  `keras:"bias_regularizer"`
	KernelConstraint     any  `keras:"kernel_constraint"`
	RecurrentConstraint  any  `keras:"recurrent_constraint"`
	BiasConstraint       any  `keras:"bias_constraint"`

	Dropout          float64 `keras:"dropout"`           // fraction of the inputs dropped in training
	RecurrentDropout float64 `keras:"recurrent_dropout"` // fraction of the state dropped in training
	Seed             *int    `keras:"seed"`

	ReturnSequences bool `keras:"return_sequences"` // the result of every step instead of the last
	ReturnState     bool `keras:"return_state"`     // also the last state
	GoBackwards     bool `keras:"go_backwards"`     // from the last step to the first; results come in that order
	Stateful        bool `keras:"stateful"`         // each batch continues with the state of the one before
	Unroll          bool `keras:"unroll"`           // accepted for compatibility; the loop is one program either way

	ZeroOutputForMask bool `keras:"zero_output_for_mask"` // masked steps give zeros instead of the previous result

	ActivityRegularizer any `keras:"activity_regularizer"`
}

// Build creates the cell and its variables.
func (l *LSTM) Build(b *Builder, in []ir.Shape) {
	cell := &LSTMCell{}
	copyFields(cell, l)
	cell.Name, cell.Frozen = "lstm_cell", b.base.frozen
	b.adoptOnly(cell)
	l.buildLoop(b, in, l, cell)
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// IgnoredConfig adds keys of other backends and older versions.
func (l *LSTM) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

func init() {
	Register[LSTMCell]()
	Register[LSTM]()
}
