package fuse

import "github.com/gokeras/gokeras/kernels/ir"

// Operands of a concatenation can be computed in their places in its result, so that nothing is left to do for it. An
// elementwise unit can write rows with gaps between them as well as whole blocks.

// leastPart is the least size in bytes of rows that a unit writes to their places. Shorter rows are interleaved by
// vectors.
const leastPart = 32

// Part is a value that is computed in its place in a concatenation.
type Part struct {
	Whole       ir.Value // the result of the concatenation
	Unit        *Unit    // the concatenation
	Offset      int      // of the first row, in bytes
	Row, Stride int      // bytes of a row; bytes from one row to the next, equal to Row if there is only one
}

// Parts returns the values that are computed in their places, by value.
func (g *Graph) Parts() map[ir.Value]Part {
	if g.Plain {
		return nil
	}
	parts := map[ir.Value]Part{}
	for _, u := range g.Units {
		if len(u.Nodes) != 1 || u.Elementwise || u.Constant || u.Fused != nil || g.Program.Nodes[u.Nodes[0]].Op != ir.Concat {
			continue
		}
		n := &g.Program.Nodes[u.Nodes[0]]
		if g.replacesInput(n.Outputs[0]) {
			continue
		}
		rows := g.Program.Type(n.Outputs[0]).Shape[:n.Attrs.(ir.AxisAttrs).Axis].Size()
		p := Part{Whole: n.Outputs[0], Unit: u, Stride: g.Program.Type(n.Outputs[0]).Bytes() / max(rows, 1)}
		for _, v := range n.Inputs {
			if p.Row = g.Program.Type(v).Bytes() / max(rows, 1); rows == 1 {
				p.Stride = p.Row // all of it is one piece
			}
			if g.mayBePart(v, p.Row, rows) {
				parts[v] = p
			}
			p.Offset += p.Row
		}
	}
	return parts
}

// replacesInput reports whether v is an output that overwrites an input, which may still be read before.
func (g *Graph) replacesInput(v ir.Value) bool {
	for _, out := range g.Program.Outputs {
		if r, _ := g.Root(out.Value); r == v && out.Alias >= 0 {
			return true
		}
	}
	return false
}

// mayBePart reports whether an elementwise unit computes v, in rows of the given bytes, only for the concatenation.
func (g *Graph) mayBePart(v ir.Value, row, rows int) bool {
	i := g.Def[v]
	if i < 0 || g.IsOutput[v] || len(g.Users[v]) != 1 || !g.Program.Nodes[i].Op.IsElementwise() || row < leastPart {
		return false
	}
	u, t := g.UnitOf[i], g.Program.Type(v)
	return u != nil && u.Elementwise && !u.Constant && u.Size == t.Shape.Size() && (rows == 1 || !t.DType.IsHalf())
}
