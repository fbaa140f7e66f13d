package fuse

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A sink is a reduction that joins the elementwise unit that computes its operand. It reads each block while it is in
// the first-level cache. The operand is viewed as rows: a sink reduces each row to one element, or all rows to one row,
// or everything to one element.

// MaxColumns is the length of the longest rows that fit into a block. If longer rows are each reduced to one element, a
// block holds part of a row.
const MaxColumns = 4096

// sinkShape describes a reduction of rows of Columns elements. It combines whole rows if Leading is set, and otherwise
// the elements within each row. Columns is 0 if everything is reduced to one element.
type sinkShape struct {
	Columns int
	Leading bool // combines whole rows
}

// SinkOf reports how a reduction fits a sink.
func (g *Graph) SinkOf(n *ir.Node) (sinkShape, bool) {
	if n.Op != ir.Reduce {
		return sinkShape{}, false
	}
	t := g.Program.Type(n.Inputs[0])
	if t.Shape.Size() == 0 || t.DType == ir.Bool {
		return sinkShape{}, false
	}
	groups := geometry.AxisGroups(t.Shape, n.Attrs.(ir.ReduceAttrs).Axes)
	if len(groups) != 1 {
		return sinkShape{}, false
	}
	switch r := groups[0]; {
	case r.Outer == 1 && r.Inner == 1:
		return sinkShape{}, true
	case r.Outer == 1:
		return sinkShape{r.Inner, true}, r.Inner <= MaxColumns
	case r.Inner == 1:
		return sinkShape{r.Length, false}, true
	}
	return sinkShape{}, false
}

// SinkOperand returns the value that a sink reduces, before any reshapes.
func (g *Graph) SinkOperand(i int) ir.Value {
	return resolve(g.Program, g.Def, g.Program.Nodes[i].Inputs[0]).Source
}
