package fuse

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A sink is a reduction that joins the elementwise unit that computes its operand, and reads each block while it is in
// the first-level cache. The operand is seen as rows: a sink combines either whole rows to one element each, or all
// rows to one, or everything to one element.

// MaxColumns is the longest row of which blocks hold whole ones. Of longer rows, which are combined to an element each,
// a block holds a part.
const MaxColumns = 4096

// sinkShape describes the reduction of a shape: over the columns of rows (inner false), or over the rows (inner true).
// Columns is 0 when everything is reduced.
type sinkShape struct {
	Columns int
	Leading bool // the rows are combined
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

// SinkOperand returns the value that a sink reduces, without the reshapes on the way to it.
func (g *Graph) SinkOperand(i int) ir.Value {
	return resolve(g.Program, g.Def, g.Program.Nodes[i].Inputs[0]).Source
}
