package layers

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// StackedRNNCells combines several cells into one: at every step, each cell feeds the next.
//
// Inputs: x (batch, features) and the states of all cells in order. Results: the result of the last cell, then the new
// states of all cells. Behaviour is that of keras.layers.StackedRNNCells; keras.layers.RNN makes one from a list of
// cells.
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
	if err := AssignNames(l); err != nil { // so that two cells of one class have weights of different paths
		ops.Fail(b.context.Graph(), err)
	}
	shape := in[0]
	for i, cell := range l.Cells {
		if IsNil(cell) {
			b.Fail("cell %d is nil", i)
		}
		b.BuildMember(cell, shape)
		shape = ir.Shape{shape[0], cell.OutputSize()}
	}
}

// StateSizes returns the sizes of all cells' states.
func (l *StackedRNNCells) StateSizes() []int {
	var sizes []int
	for _, cell := range l.Cells {
		if !IsNil(cell) { // Build says so
			sizes = append(sizes, cell.StateSizes()...)
		}
	}
	return sizes
}

// OutputSize returns the output size of the last cell, or 0 if there are no cells.
func (l *StackedRNNCells) OutputSize() int {
	n := len(l.Cells)
	if n == 0 || IsNil(l.Cells[n-1]) { // Build says so
		return 0
	}
	return l.Cells[n-1].OutputSize()
}

// Start prepares the steps of all cells over a batch. Only the first cell's inputs are known before the loop.
func (l *StackedRNNCells) Start(c *Context, batch int) CellRun {
	needBuilt(c, l)
	runs := make([]CellRun, len(l.Cells))
	first := make([]int, len(l.Cells)) // state of each cell
	n := 0
	for i, cell := range l.Cells {
		runs[i], first[i] = startCell(c, cell, ir.Shape{batch}), n
		n += len(cell.StateSizes())
	}
	step := func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		var all []*ops.Tensor
		for i, cell := range l.Cells {
			if i > 0 {
				x = runs[i].Project(x)
			}
			y, next := runs[i].Step(x, states[first[i]:first[i]+len(cell.StateSizes())])
			x, all = y, append(all, next...)
		}
		return x, all
	}
	last := len(runs) - 1
	return CellRun{Project: runs[0].Project, Step: step, OutputIsState: runs[last].OutputIsState, OutputState: first[last] + runs[last].OutputState}
}

// Forward computes one step.
func (l *StackedRNNCells) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return ForwardCell(c, l, in)
}

// MigrateConfig reads the cells, a list of objects.
func (l *StackedRNNCells) MigrateConfig(keys map[string]json.RawMessage) error {
	var objects []json.RawMessage
	if raw, ok := keys["cells"]; ok {
		if json.Unmarshal(raw, &objects) != nil || objects == nil {
			return fmt.Errorf("key \"cells\": expected a list of cells, received %.80s", raw)
		}
	}
	l.Cells = nil
	for i, raw := range objects {
		member, err := FromObject(raw)
		if err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
		cell, ok := member.(RNNCell)
		if !ok {
			return fmt.Errorf("cell %d is %s, which is not a cell of a recurrent layer", i, describe(member))
		}
		l.Cells = append(l.Cells, cell)
	}
	delete(keys, "cells")
	return nil
}

// adjustConfig writes the cells as objects with their current names.
func (l *StackedRNNCells) adjustConfig(c map[string]any) error {
	cells := make([]any, len(l.Cells))
	for i, cell := range l.Cells {
		o, err := ToObject(cell)
		if err != nil {
			return err
		}
		cells[i] = o
	}
	c["cells"] = cells
	return nil
}

// MemberAttributes names the list of cells as Keras files do.
func (l *StackedRNNCells) MemberAttributes() []string {
	return slices.Repeat([]string{"cells[]"}, len(l.Cells))
}

func init() { Register[StackedRNNCells]() }
