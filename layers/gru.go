package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// GRUCell is one step of GRU:
//
//	z, r = sigmoid(x·W_z + h·U_z + b_z), sigmoid(x·W_r + h·U_r + b_r)
//	g    = tanh(x·W_h + b_h + r·(h·U_h + b'_h))     (ResetBefore: tanh(x·W_h + b_h + (r·h)·U_h))
//	h'   = z·h + (1-z)·g
//
// with Activation in place of tanh and RecurrentActivation in place of sigmoid.
//
// Inputs: x (batch, features) and the state h (batch, units). Results: h', and h' again as the new state. Weights:
// kernel (features, 3·units), recurrent_kernel (units, 3·units), bias (2, 3·units) with b before b', or (3·units) with
// ResetBefore; gates in the order update, reset, new. Formula and defaults are those of keras.layers.GRUCell. In
// training Dropout draws one mask of the inputs for all gates, the same at every step. With RecurrentDropout, inputs
// and state have a separate mask for each gate. Source: Cho et al., "Learning Phrase Representations using RNN
// Encoder-Decoder", arXiv 1406.1078: its first version has the reset gate after the product, the third one before it.
type GRUCell struct {
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
	ResetBefore          bool `keras:"reset_after,not"` // apply the reset gate before the matrix product, as in the first paper
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

func (l *GRUCell) config() recurrentConfig {
	var shape ir.Shape
	if !l.ResetBefore {
		shape = ir.Shape{2, 3 * l.Units}
	}
	return recurrentConfig{
		units: l.Units, gates: 3, noBias: l.NoBias, biasShape: shape,
		kernel:    WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint},
		recurrent: WeightOptions{Initializer: l.RecurrentInitializer, Regularizer: l.RecurrentRegularizer, Constraint: l.RecurrentConstraint},
		bias:      WeightOptions{Initializer: l.BiasInitializer, Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint},
		dropout:   l.Dropout, recurrentDrop: l.RecurrentDropout, seed: l.Seed,
	}
}

// Build creates the variables.
func (l *GRUCell) Build(b *Builder, in []ir.Shape) { l.buildWeights(b, in[0], l.config()) }

// StateSizes returns the lengths of the states.
func (l *GRUCell) StateSizes() []int { return []int{l.Units} }

// OutputSize returns Units.
func (l *GRUCell) OutputSize() int { return l.Units }

// Start prepares the steps over a batch.
func (l *GRUCell) Start(c *Context, batch int) CellRun {
	run := l.startRun(c, batch, l.config())
	step := l.resetAfter(c, run)
	if l.ResetBefore {
		step = l.resetBefore(c, run)
	}
	return CellRun{Project: run.project, Step: step, OutputIsState: true}
}

type cellStep = func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor)

func (l *GRUCell) gate(c *Context, x *ops.Tensor) *ops.Tensor {
	return activate(c, orDefault(l.RecurrentActivation, "sigmoid"), x)
}

func (l *GRUCell) inner(c *Context, x *ops.Tensor) *ops.Tensor {
	return activate(c, orDefault(l.Activation, "tanh"), x)
}

// mix returns z·h + (1-z)·g.
func mix(z, h, g *ops.Tensor) *ops.Tensor {
	return ops.Add(ops.Multiply(z, h), ops.Multiply(ops.Subtract(ops.OnesLike(z), z), g))
}

func (l *GRUCell) resetAfter(c *Context, run *recurrentRun) cellStep {
	usual := orDefault(l.Activation, "tanh") == any("tanh") && orDefault(l.RecurrentActivation, "sigmoid") == any("sigmoid")
	return func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		u := addBias(run.recur(states[0], 0, 3), run.stateBias)
		if usual {
			h := ops.GRUCell(x, u, states[0])
			return h, []*ops.Tensor{h}
		}
		xs, us := splitGates(x, 3), splitGates(u, 3)
		z, r := l.gate(c, ops.Add(xs[0], us[0])), l.gate(c, ops.Add(xs[1], us[1]))
		h := mix(z, states[0], l.inner(c, ops.Add(xs[2], ops.Multiply(r, us[2]))))
		return h, []*ops.Tensor{h}
	}
}

func (l *GRUCell) resetBefore(c *Context, run *recurrentRun) cellStep {
	return func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		xs, us := splitGates(x, 3), splitGates(run.recur(states[0], 0, 2), 2)
		z, r := l.gate(c, ops.Add(xs[0], us[0])), l.gate(c, ops.Add(xs[1], us[1]))
		h := mix(z, states[0], l.inner(c, ops.Add(xs[2], run.recur(ops.Multiply(r, states[0]), 2, 3))))
		return h, []*ops.Tensor{h}
	}
}

// IgnoredConfig adds keys of older versions.
func (l *GRUCell) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

// Forward computes one step.
func (l *GRUCell) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return ForwardCell(c, l, in) }

// GRU runs a GRUCell over the steps of a sequence.
//
// Inputs: x (batch, steps, features), optionally the initial state (batch, units), zeros if omitted, and last
// optionally a bool mask (batch, steps). Results: the last h (batch, units), or with ReturnSequences all (batch, steps,
// units); with ReturnState the last state as well. Masks, GoBackwards and Stateful are those of [RNN]. The formula and
// the weights are those of GRUCell; behaviour and defaults are those of keras.layers.GRU.
type GRU struct {
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
	ResetBefore          bool `keras:"reset_after,not"` // apply the reset gate before the matrix product, as in the first paper
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
func (l *GRU) Build(b *Builder, in []ir.Shape) {
	cell := &GRUCell{}
	copyFields(cell, l)
	cell.Name, cell.Frozen = "gru_cell", b.base.frozen
	b.adoptOnly(cell)
	l.buildLoop(b, in, l, cell)
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// IgnoredConfig adds keys of other backends and older versions.
func (l *GRU) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

func init() {
	Register[GRUCell]()
	Register[GRU]()
}
