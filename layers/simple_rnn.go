package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// SimpleRNNCell is one step of SimpleRNN:
//
//	h' = activation(x·kernel + h·recurrent_kernel + bias)
//
// Inputs: x (batch, features) and the state h (batch, units). Results: h', and h' again as the new state. Weights:
// kernel (features, units), recurrent_kernel (units, units), bias (units). Formula and defaults are those of
// keras.layers.SimpleRNNCell.
type SimpleRNNCell struct {
	Base
	recurrent

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Units      int  `keras:"units"`                   // length of the state; required
	Activation any  `keras:"activation,default=tanh"` // nil is "tanh"
	NoBias     bool `keras:"use_bias,not"`

	KernelInitializer    any `keras:"kernel_initializer,default=GlorotUniform"`
	RecurrentInitializer any `keras:"recurrent_initializer,default=Orthogonal"`
	BiasInitializer      any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer    any `keras:"kernel_regularizer"`
	RecurrentRegularizer any `keras:"recurrent_regularizer"`
	BiasRegularizer      any `keras:"bias_regularizer"`
	KernelConstraint     any `keras:"kernel_constraint"`
	RecurrentConstraint  any `keras:"recurrent_constraint"`
	BiasConstraint       any `keras:"bias_constraint"`

	Dropout          float64 `keras:"dropout"`           // fraction of the inputs dropped in training
	RecurrentDropout float64 `keras:"recurrent_dropout"` // fraction of the state dropped in training
	Seed             *int    `keras:"seed"`
}

func (l *SimpleRNNCell) config() recurrentConfig {
	return recurrentConfig{
		units: l.Units, gates: 1, noBias: l.NoBias,
		kernel:    WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint},
		recurrent: WeightOptions{Initializer: l.RecurrentInitializer, Regularizer: l.RecurrentRegularizer, Constraint: l.RecurrentConstraint},
		bias:      WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint},
		dropout:   l.Dropout, recurrentDrop: l.RecurrentDropout, seed: l.Seed,
	}
}

// Build creates the variables.
func (l *SimpleRNNCell) Build(b *Builder, in []ir.Shape) { l.buildWeights(b, in[0], l.config()) }

// StateSizes returns the lengths of the states.
func (l *SimpleRNNCell) StateSizes() []int { return []int{l.Units} }

// OutputSize returns Units.
func (l *SimpleRNNCell) OutputSize() int { return l.Units }

// Start prepares the steps over a batch.
func (l *SimpleRNNCell) Start(c *Context, batch int) CellRun {
	run := l.startRun(c, batch, l.config())
	step := func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		h := activate(c, orDefault(l.Activation, "tanh"), ops.Add(x, run.recur(states[0], 0, 1)))
		return h, []*ops.Tensor{h}
	}
	return CellRun{Project: run.project, Step: step, OutputIsState: true}
}

// IgnoredConfig adds keys of older versions.
func (l *SimpleRNNCell) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

// Forward computes one step.
func (l *SimpleRNNCell) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return ForwardCell(c, l, in)
}

// SimpleRNN runs a SimpleRNNCell over the steps of a sequence.
//
// Inputs: x (batch, steps, features), optionally the initial state (batch, units), zeros if omitted, and last
// optionally a bool mask (batch, steps). Results: the last h (batch, units), or with ReturnSequences all (batch, steps,
// units); with ReturnState the last state as well. Masks, GoBackwards and Stateful are those of [RNN]. The formula and
// the weights are those of SimpleRNNCell; behaviour and defaults are those of keras.layers.SimpleRNN.
type SimpleRNN struct {
	Base
	recurrentLoop

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Units      int  `keras:"units"`                   // length of the state; required
	Activation any  `keras:"activation,default=tanh"` // nil is "tanh"
	NoBias     bool `keras:"use_bias,not"`

	KernelInitializer    any `keras:"kernel_initializer,default=GlorotUniform"`
	RecurrentInitializer any `keras:"recurrent_initializer,default=Orthogonal"`
	BiasInitializer      any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer    any `keras:"kernel_regularizer"`
	RecurrentRegularizer any `keras:"recurrent_regularizer"`
	BiasRegularizer      any `keras:"bias_regularizer"`
	KernelConstraint     any `keras:"kernel_constraint"`
	RecurrentConstraint  any `keras:"recurrent_constraint"`
	BiasConstraint       any `keras:"bias_constraint"`

	Dropout          float64 `keras:"dropout"`           // fraction of the inputs dropped in training
	RecurrentDropout float64 `keras:"recurrent_dropout"` // fraction of the state dropped in training
	Seed             *int    `keras:"seed,omitempty"`

	ReturnSequences bool `keras:"return_sequences"` // the result of every step instead of the last
	ReturnState     bool `keras:"return_state"`     // also the last state
	GoBackwards     bool `keras:"go_backwards"`     // from the last step to the first; results come in that order
	Stateful        bool `keras:"stateful"`         // each batch continues with the state of the one before
	Unroll          bool `keras:"unroll"`           // accepted for compatibility; the loop is one program either way

	ZeroOutputForMask bool `keras:"zero_output_for_mask"` // masked steps give zeros instead of the previous result

	ActivityRegularizer any `keras:"activity_regularizer"`
}

// Build creates the cell and its variables.
func (l *SimpleRNN) Build(b *Builder, in []ir.Shape) {
	cell := &SimpleRNNCell{}
	copyFields(cell, l)
	cell.Name, cell.Frozen = "simple_rnn_cell", b.base.frozen
	b.adoptOnly(cell)
	l.buildLoop(b, in, l, cell)
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// IgnoredConfig adds keys of other backends and older versions.
func (l *SimpleRNN) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

func init() {
	Register[SimpleRNNCell]()
	Register[SimpleRNN]()
}
