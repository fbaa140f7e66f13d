package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RNN runs a cell over the steps of a sequence.
//
// Inputs: x (batch, steps, features) and, optionally, the initial states. Results: the last output (batch, size), or with
// ReturnSequences all (batch, steps, size); with ReturnState the last states as well. Behaviour is that of keras.layers.RNN.
type RNN struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Cell              RNNCell `keras:"cell"`                 // required
	ReturnSequences   bool    `keras:"return_sequences"`     // the result of every step instead of the last
	ReturnState       bool    `keras:"return_state"`         // also the last states
	GoBackwards       bool    `keras:"go_backwards"`         // from the last step to the first; results come in that order
	Stateful          bool    `keras:"stateful"`             // each batch goes on with the states of the one before
	Unroll            bool    `keras:"unroll"`               // accepted for compatibility; the loop is one program either way
	ZeroOutputForMask bool    `keras:"zero_output_for_mask"` // masked steps give zeros instead of the result before

	ActivityRegularizer any `keras:"activity_regularizer"`

	loop recurrentLoop
}

// Build makes the variables of the cell.
func (l *RNN) Build(b *Builder, in []ir.Shape) {
	if l.Cell == nil {
		b.Fail("Cell is nil; set layers.RNN{Cell: &layers.LSTMCell{Units: n}}, or use layers.LSTM")
	}
	l.loop = recurrentLoop{cell: l.Cell, sequences: l.ReturnSequences, state: l.ReturnState, backwards: l.GoBackwards, stateful: l.Stateful, zeros: l.ZeroOutputForMask}
	l.loop.build(b, in)
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// Forward runs the steps.
func (l *RNN) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return l.loop.forward(c, in) }

// ComputeMask hands the mask of the input on to a result with all steps.
func (l *RNN) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	return l.loop.masks(in, out)
}

// Call applies the layer inside a trace; [InvokeAll] returns the states too.
func (l *RNN) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor { return Invoke(l, c, inputs...) }

// ResetState sets the states that a Stateful layer keeps between batches to zero.
func (l *RNN) ResetState() error { return l.loop.reset() }

func init() { Register[RNN]() }

// recurrentLoop is what all recurrent layers do with their cell.
type recurrentLoop struct {
	cell                                         RNNCell
	sequences, state, backwards, stateful, zeros bool

	kept map[int]distribute.Variables // states between batches, by batch size
}

func (l *recurrentLoop) build(b *Builder, in []ir.Shape) {
	if len(in[0]) != 3 {
		b.Fail("needs an input (batch, steps, features), received shape %v", in[0])
	}
	b.BuildMember(l.cell, ir.Shape{in[0][0], in[0][2]})
}

// initial returns the states to begin with: those handed over, those kept from the batch before, or zeros.
func (l *recurrentLoop) initial(c *Context, given []*ops.Tensor, batch int) (states []*ops.Tensor, kept distribute.Variables) {
	sizes := l.cell.StateSizes()
	if len(given) > 0 {
		if len(given) != len(sizes) {
			ops.Failf(c.Graph(), "takes %d initial states, received %d", len(sizes), len(given))
		}
		for i, s := range given {
			if want := (ir.Shape{batch, sizes[i]}); !s.Shape().Equal(want) {
				ops.Failf(c.Graph(), "initial state %d must have shape %v, received %v", i, want, s.Shape())
			}
		}
		return given, nil
	}
	if l.stateful && !c.Probing {
		kept = l.keep(batch, sizes, c.ComputeDType())
		for _, v := range kept {
			states = append(states, c.Weight(v))
		}
		return states, kept
	}
	for _, n := range sizes {
		states = append(states, ops.Zeros(c, c.ComputeDType(), batch, n))
	}
	return states, nil
}

// keep returns the variables that hold the states of batches of a size. Each replica has its own.
func (l *recurrentLoop) keep(batch int, sizes []int, dtype ir.DType) distribute.Variables {
	if l.kept == nil {
		l.kept = map[int]distribute.Variables{}
	}
	if l.kept[batch] == nil {
		for range sizes {
			l.kept[batch] = append(l.kept[batch], nil)
		}
		for i, n := range sizes {
			l.kept[batch][i] = distribute.NewVariable(distribute.VariableSpec{
				Name: "state", Shape: ir.Shape{batch, n}, DType: dtype, Frozen: true, Synchronization: distribute.OnRead,
			})
		}
	}
	return l.kept[batch]
}

func (l *recurrentLoop) reset() error {
	for _, vars := range l.kept {
		for _, v := range vars {
			if err := v.SetValue(kernels.NewArray(v.Type())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *recurrentLoop) forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := in[0]
	if x.Rank() != 3 {
		ops.Failf(c.Graph(), "expected an input (batch, steps, features), received shape %v", x.Shape())
	}
	batch := x.Dim(0)
	mask := x.Mask()
	if l.backwards {
		x = ops.Flip(x, 1)
		if mask != nil {
			mask = ops.Flip(mask, 1)
		}
	}
	states, kept := l.initial(c, in[1:], batch)
	run := l.cell.Start(c, batch)
	xs := []*ops.Tensor{timeFirst(run.Project(x))}
	if mask != nil {
		xs = append(xs, ops.ExpandDims(ops.Transpose(mask, 1, 0), -1))
	}
	last, ys, final := l.scan(c, run, xs, states, batch)
	for i, v := range kept {
		c.Assign(v, final[i])
	}
	out := []*ops.Tensor{last}
	if l.sequences {
		out[0] = timeFirst(ys)
	}
	if l.state {
		out = append(out, final...)
	}
	return out
}

// timeFirst swaps batch and steps.
func timeFirst(x *ops.Tensor) *ops.Tensor { return ops.SwapAxes(x, 0, 1) }

// scan runs the loop. A masked step keeps the states; its result is that of the step before, at first zeros, or zeros.
func (l *recurrentLoop) scan(c *Context, run CellRun, xs, states []*ops.Tensor, batch int) (last, ys *ops.Tensor, final []*ops.Tensor) {
	n := len(states)
	carry := append([]*ops.Tensor{}, states...)
	carryOutput := !run.OutputIsState || l.zeros || len(xs) == 2 && l.sequences
	if carryOutput {
		carry = append(carry, ops.Zeros(c, states[0].DType(), batch, l.cell.OutputSize()))
	}
	final, stacked := ops.Scan(func(carry, xs []*ops.Tensor) (next, out []*ops.Tensor) {
		y, after := run.Step(xs[0], carry[:n])
		next = append(next, after...)
		if len(xs) == 2 {
			for i := range after {
				next[i] = ops.Where(xs[1], after[i], carry[i])
			}
			before := ops.ZerosLike(y)
			if !l.zeros && carryOutput {
				before = carry[n]
			}
			y = ops.Where(xs[1], y, before)
		}
		if carryOutput {
			next = append(next, y)
		}
		if l.sequences {
			out = []*ops.Tensor{y}
		}
		return next, out
	}, carry, xs, ops.ScanOptions{})
	last = final[0]
	if carryOutput {
		last = final[n]
	}
	if l.sequences {
		ys = stacked[0]
	}
	return last, ys, final[:n]
}

func (l *recurrentLoop) masks(in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	if l.sequences {
		masks[0] = in[0].Mask()
	}
	return masks
}

// StackedRNNCells is several cells as one: each feeds the next, at every step.
//
// Its states are those of all cells in order; its result is that of the last cell. Behaviour is that of
// keras.layers.StackedRNNCells.
type StackedRNNCells struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Cells []RNNCell `keras:"cells"` // required
}

// Build builds all cells.
func (l *StackedRNNCells) Build(b *Builder, in []ir.Shape) {
	if len(l.Cells) == 0 {
		b.Fail("Cells is empty; give at least one cell")
	}
	shape := in[0]
	for _, cell := range l.Cells {
		b.BuildMember(cell, shape)
		shape = ir.Shape{shape[0], cell.OutputSize()}
	}
}

// StateSizes returns the sizes of all cells' states.
func (l *StackedRNNCells) StateSizes() []int {
	var sizes []int
	for _, cell := range l.Cells {
		sizes = append(sizes, cell.StateSizes()...)
	}
	return sizes
}

// OutputSize returns that of the last cell.
func (l *StackedRNNCells) OutputSize() int { return l.Cells[len(l.Cells)-1].OutputSize() }

// Start prepares the steps of all cells over a batch. Only the first cell's inputs are known before the loop.
func (l *StackedRNNCells) Start(c *Context, batch int) CellRun {
	runs := make([]CellRun, len(l.Cells))
	for i, cell := range l.Cells {
		runs[i] = cell.Start(c, batch)
	}
	step := func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		var all []*ops.Tensor
		for i, cell := range l.Cells {
			if i > 0 {
				x = runs[i].Project(x)
			}
			n := len(cell.StateSizes())
			y, next := runs[i].Step(x, states[:n])
			x, states, all = y, states[n:], append(all, next...)
		}
		return x, all
	}
	return CellRun{Project: runs[0].Project, Step: step}
}

// Forward computes one step.
func (l *StackedRNNCells) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return stepOf(c, l, in)
}

// Call computes one step inside a trace and returns the result.
func (l *StackedRNNCells) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

func init() { Register[StackedRNNCells]() }
