package layers

import "github.com/gokeras/gokeras/kernels/ir"

// RNN runs a cell over the steps of a sequence.
//
// Inputs: x (batch, steps, features), optionally the initial states (batch, size), zeros where they are left out, and
// last optionally a bool mask (batch, steps), true where a step counts. Results: the last output (batch, size), or with
// ReturnSequences all (batch, steps, size); with ReturnState the last states as well.
//
// The mask that came with x is used where none is given and there are no initial states: with states Keras ignores it,
// so pass it as the last input then. Results with all steps carry the mask either way. A masked step keeps the states
// and repeats the result of the previous step (zeros if there is none), or gives zeros with ZeroOutputForMask. With
// GoBackwards the results are in the order of computation, from the last step to the first.
//
// A Stateful layer begins each batch with the final states of the previous one, which each replica keeps for itself.
// ResetState sets them to zero. All batches must have the same size; after ResetState it may change. Behaviour is that
// of keras.layers.RNN.
type RNN struct {
	Base
	recurrentLoop

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Cell              RNNCell `keras:"cell,required"`        // required; several as one: &StackedRNNCells{...}
	ReturnSequences   bool    `keras:"return_sequences"`     // the result of every step instead of the last
	ReturnState       bool    `keras:"return_state"`         // also the last states
	GoBackwards       bool    `keras:"go_backwards"`         // from the last step to the first; results come in that order
	Stateful          bool    `keras:"stateful"`             // each batch continues with the states of the one before
	Unroll            bool    `keras:"unroll"`               // accepted for compatibility; the loop is one program either way
	ZeroOutputForMask bool    `keras:"zero_output_for_mask"` // masked steps give zeros instead of the previous result

	ActivityRegularizer any `keras:"activity_regularizer,omitempty"`
}

// Build creates the variables of the cell.
func (l *RNN) Build(b *Builder, in []ir.Shape) {
	if l.Cell == nil {
		b.Fail("Cell is nil; set layers.RNN{Cell: &layers.LSTMCell{Units: n}}, or use layers.LSTM")
	}
	l.buildLoop(b, in, l, l.Cell)
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// IgnoredConfig adds keys of older versions.
func (l *RNN) IgnoredConfig() []string { return recurrentIgnored(&l.Base) }

func init() { Register[RNN]() }
