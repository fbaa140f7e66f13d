package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RowCoding is the quantization of rows to int8, each with a scale of its own; see quant.RowCoding.
type RowCoding struct {
	Columns            int
	Scale              ir.Value // of each row
	Numerator, Epsilon float64
	Low, High          float64
}

// findRowCoding looks for the quantization of the rows of x, in the form in which quantizers.AbsMaxQuantizer writes it:
//
//	scale = numerator / (max |x| + epsilon)      q = int8(min(max(round(x·scale), low), high))
//
// One kernel computes the scales and the integers while a row is in the cache. The unit's anchor is the absolute value.
func (g *Graph) findRowCoding(i int) {
	n := &g.Program.Nodes[i]
	if n.Op != ir.Abs || g.constant[i] || g.Program.Type(n.Inputs[0]).DType != ir.Float32 || g.Program.Type(n.Inputs[0]).Shape.Size() == 0 {
		return
	}
	x, c := n.Inputs[0], &RowCoding{}
	scale, nodes, ok := g.scaleOfRows(i, c)
	if !ok {
		return
	}
	rows := geometry.AxisGroup{Outer: g.Program.Type(x).Shape.Size() / c.Columns, Length: c.Columns, Inner: 1}
	product := slices.IndexFunc(g.Users[x], func(j int) bool {
		m := &g.Program.Nodes[j]
		if m.Op != ir.Mul || m.Inputs[0] == m.Inputs[1] {
			return false
		}
		by := m.Inputs[0]
		if by == x {
			by = m.Inputs[1]
		}
		a := resolve(g.Program, g.Def, by)
		return a.Source == scale && spreads(&a, rows)
	})
	if product < 0 {
		return
	}
	code, ok := g.codesOf(g.Users[x][product], c)
	nodes = append(nodes, code...)
	last := nodes[len(nodes)-1]
	if !ok || slices.ContainsFunc(nodes, func(j int) bool { return g.constant[j] || g.UnitOf[j] != nil }) || !g.readAfter(scale, last, nodes) {
		return
	}
	e := NewEpilogue(i, g.Program.Nodes[last].Outputs[0])
	c.Scale, e.Coding = scale, c
	g.fuse(&Unit{Nodes: nodes, position: last, Fused: e})
}

// scaleOfRows follows the absolute values of node i to the scale of each row.
func (g *Graph) scaleOfRows(i int, c *RowCoding) (scale ir.Value, nodes []int, ok bool) {
	shape := g.Program.Type(g.Program.Nodes[i].Inputs[0]).Shape
	reduce, ok := g.onlyReader(g.Program.Nodes[i].Outputs[0])
	if !ok {
		return 0, nil, false
	}
	a, ok := g.Program.Nodes[reduce].Attrs.(ir.ReduceAttrs)
	if !ok || a.Kind != ir.Max || len(a.Axes) == 0 {
		return 0, nil, false
	}
	c.Columns = 1
	for k, axis := range slices.Sorted(slices.Values(a.Axes)) {
		if axis != len(shape)-len(a.Axes)+k {
			return 0, nil, false
		}
		c.Columns *= shape[axis]
	}
	v := g.Program.Nodes[reduce].Outputs[0]
	sum, ok := g.onlyReader(v)
	for ok && g.Program.Nodes[sum].Op == ir.Reshape {
		v = g.Program.Nodes[sum].Outputs[0]
		sum, ok = g.onlyReader(v)
	}
	if !ok || g.Program.Nodes[sum].Op != ir.Add {
		return 0, nil, false
	}
	if c.Epsilon, ok = g.splatBeside(sum, v); !ok {
		return 0, nil, false
	}
	quotient, ok := g.onlyReader(g.Program.Nodes[sum].Outputs[0])
	if !ok {
		return 0, nil, false
	}
	div := &g.Program.Nodes[quotient]
	if div.Op != ir.Div || div.Inputs[1] != g.Program.Nodes[sum].Outputs[0] {
		return 0, nil, false
	}
	c.Numerator, ok = g.splatBeside(quotient, div.Inputs[1])
	return div.Outputs[0], []int{i, reduce, sum, quotient}, ok
}

// codesOf follows the scaled numbers of node i to the integers.
func (g *Graph) codesOf(i int, c *RowCoding) (nodes []int, ok bool) {
	nodes = []int{i}
	for _, step := range []struct {
		op    ir.Op
		limit *float64
	}{{ir.Round, nil}, {ir.Maximum, &c.Low}, {ir.Minimum, &c.High}, {ir.Convert, nil}} {
		v := g.Program.Nodes[i].Outputs[0]
		if i, ok = g.onlyReader(v); !ok || g.Program.Nodes[i].Op != step.op {
			return nodes, false
		}
		if step.limit != nil {
			if *step.limit, ok = g.splatBeside(i, v); !ok {
				return nodes, false
			}
		}
		nodes = append(nodes, i)
	}
	whole := func(x float64) bool { return x == float64(int8(x)) }
	return nodes, g.Program.Type(g.Program.Nodes[i].Outputs[0]).DType == ir.Int8 && whole(c.Low) && whole(c.High)
}

// splatBeside returns the number that fills the other operand of a node, if that is a constant.
func (g *Graph) splatBeside(node int, v ir.Value) (float64, bool) {
	in := g.Program.Nodes[node].Inputs
	other := in[0]
	if other == v {
		other = in[1]
	}
	c := g.Node(other)
	if c == nil || c.Op != ir.Constant {
		return 0, false
	}
	l := c.Attrs.(ir.ConstantAttrs).Literal
	if !l.Splat {
		return 0, false
	}
	return l.At(0), true
}

// readAfter reports whether everything but the given nodes reads v behind a node, which computes v.
func (g *Graph) readAfter(v ir.Value, node int, but []int) bool {
	for _, j := range g.Users[v] {
		n := &g.Program.Nodes[j]
		switch {
		case slices.Contains(but, j):
		case n.Op == ir.Broadcast || n.Op == ir.Reshape:
			if g.IsOutput[n.Outputs[0]] || !g.readAfter(n.Outputs[0], node, but) {
				return false
			}
		case j < node:
			return false
		}
	}
	return true
}
