package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// The gradient of a loop is a backward loop that reads what the forward loop has stored, step by step. Some of that is
// a sum or product of other values that it reads as well, such as the derivative y·(1 - y) of a sigmoid beside y.
// recomputeInScans lets the backward loop recompute it, which is cheaper than writing and reading it.

// maxRecomputed is the largest depth of an expression that is worth computing twice.
const maxRecomputed = 6

// scanEdit says how a scan changes.
type scanEdit struct {
	dropped map[int]bool     // results that nothing needs any more
	kept    map[int]bool     // results that a recomputation reads
	again   map[int]ir.Value // operands that become expressions: values of the body of the scan that stacked them
	source  map[int]int      // by operand: the node of that scan
}

// recomputer is one pass over a program.
type recomputer struct {
	p     *ir.Program
	def   []int
	users [][]int
	edits map[int]*scanEdit // by node
}

func recomputeInScans(p *ir.Program) (*ir.Program, error) {
	c := &recomputer{p: p, users: make([][]int, p.NumValues()), edits: map[int]*scanEdit{}}
	_, c.def = pass.Uses(p)
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			c.users[v] = append(c.users[v], i)
		}
	}
	for _, out := range p.Outputs {
		c.users[out.Value] = append(c.users[out.Value], -1)
	}
	found := false
	for i := range p.Nodes {
		if a, ok := p.Nodes[i].Attrs.(ir.ScanAttrs); ok {
			for y := a.Carry; y < len(p.Nodes[i].Outputs); y++ {
				found = c.consider(i, y) || found
			}
		}
	}
	if !found {
		return p, nil
	}
	return c.rewrite()
}

func (c *recomputer) edit(i int) *scanEdit {
	if c.edits[i] == nil {
		c.edits[i] = &scanEdit{dropped: map[int]bool{}, kept: map[int]bool{}, again: map[int]ir.Value{}, source: map[int]int{}}
	}
	return c.edits[i]
}

// consider drops result y of scan i if its only reader is a scan that can recompute it.
func (c *recomputer) consider(i, y int) bool {
	n := &c.p.Nodes[i]
	v := n.Outputs[y]
	if len(c.users[v]) != 1 || c.users[v][0] < 0 || c.edit(i).kept[y] {
		return false
	}
	reader := c.users[v][0]
	a := n.Attrs.(ir.ScanAttrs)
	b, ok := c.p.Nodes[reader].Attrs.(ir.ScanAttrs)
	if !ok || b.Length != a.Length {
		return false
	}
	x := slices.Index(c.p.Nodes[reader].Inputs, v)
	if x < b.Carry || x >= b.Carry+b.Xs {
		return false
	}
	c.edit(i).dropped[y] = true
	var leaves []int
	w := a.Body.Outputs[y].Value
	if !c.expression(i, reader, w, maxRecomputed, &leaves) {
		delete(c.edit(i).dropped, y)
		return false
	}
	for _, leaf := range leaves {
		c.edit(i).kept[leaf] = true
	}
	c.edit(reader).again[x], c.edit(reader).source[x] = w, i
	return true
}

// leaf returns the operand of scan reader that holds the slices of value w of the body of scan i, and the result of
// scan i that it comes from, or -1 if it is an operand of both scans.
func (c *recomputer) leaf(i, reader int, w ir.Value) (x, y int, ok bool) {
	n, m := &c.p.Nodes[i], &c.p.Nodes[reader]
	a, b := n.Attrs.(ir.ScanAttrs), m.Attrs.(ir.ScanAttrs)
	find := func(v ir.Value) int {
		for x := b.Carry; x < b.Carry+b.Xs; x++ {
			if _, gone := c.edit(reader).again[x]; m.Inputs[x] == v && !gone {
				return x
			}
		}
		return -1
	}
	for y := a.Carry; y < len(n.Outputs); y++ {
		if a.Body.Outputs[y].Value == w && !c.edit(i).dropped[y] {
			if x := find(n.Outputs[y]); x >= 0 {
				return x, y, true
			}
		}
	}
	for j := a.Carry; j < a.Carry+a.Xs; j++ {
		if a.Body.Inputs[j].Value == w {
			if x := find(n.Inputs[j]); x >= 0 {
				return x, -1, true
			}
		}
	}
	return 0, 0, false
}

// expression reports whether scan reader can compute value w of the body of scan i from its own operands.
func (c *recomputer) expression(i, reader int, w ir.Value, depth int, leaves *[]int) bool {
	if _, y, ok := c.leaf(i, reader, w); ok {
		if y >= 0 {
			*leaves = append(*leaves, y)
		}
		return true
	}
	body := c.p.Nodes[i].Attrs.(ir.ScanAttrs).Body
	_, def := pass.Uses(body)
	if depth == 0 || def[w] < 0 {
		return false
	}
	n := &body.Nodes[def[w]]
	switch n.Op {
	case ir.Add, ir.Sub, ir.Mul, ir.Neg, ir.Broadcast, ir.Reshape:
	case ir.Constant:
		return n.Attrs.(ir.ConstantAttrs).Literal.Splat || body.Type(w).Shape.Size() == 1
	default:
		return false
	}
	for _, v := range n.Inputs {
		if !c.expression(i, reader, v, depth-1, leaves) {
			return false
		}
	}
	return true
}

func (c *recomputer) rewrite() (*ir.Program, error) {
	r := pass.NewRewriter(c.p)
	for i := range c.p.Nodes {
		n := &c.p.Nodes[i]
		e := c.edits[i]
		if e == nil || len(e.dropped)+len(e.again) == 0 {
			out, err := r.To.Add(n.Scope, n.Op, n.Attrs, r.Operands(n)...)
			if err == nil {
				err = r.Define(n, out)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := c.rewriteScan(r, i, e); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

func (c *recomputer) rewriteScan(r *pass.Rewriter, i int, e *scanEdit) error {
	n := &c.p.Nodes[i]
	a := n.Attrs.(ir.ScanAttrs)
	body := &pass.Rewriter{From: a.Body, To: ir.New(a.Body.Name), Mapped: make([]ir.Value, a.Body.NumValues())}
	var operands []ir.Value
	for j, in := range a.Body.Inputs {
		if _, again := e.again[j]; !again {
			body.Mapped[in.Value] = body.To.AddInput(in.Name, a.Body.Type(in.Value))
			operands = append(operands, r.Mapped[n.Inputs[j]])
		}
	}
	for j, in := range a.Body.Inputs {
		if w, again := e.again[j]; again {
			v, err := c.emit(body, e.source[j], i, w)
			if err != nil {
				return err
			}
			body.Mapped[in.Value] = v
		}
	}
	for k := range a.Body.Nodes {
		m := &a.Body.Nodes[k]
		out, err := body.To.Add(m.Scope, m.Op, m.Attrs, body.Operands(m)...)
		if err == nil {
			err = body.Define(m, out)
		}
		if err != nil {
			return err
		}
	}
	for j, out := range a.Body.Outputs {
		if !e.dropped[j] {
			body.To.AddOutput(out.Name, body.Mapped[out.Value])
		}
	}
	attrs := ir.ScanAttrs{Body: body.To, Length: a.Length, Carry: a.Carry, Xs: a.Xs - len(e.again), Reverse: a.Reverse}
	out, err := r.To.Add(n.Scope, ir.Scan, attrs, operands...)
	if err != nil {
		return err
	}
	at := 0
	for j, v := range n.Outputs {
		if !e.dropped[j] {
			r.Mapped[v] = out[at]
			at++
		}
	}
	return nil
}

// emit adds the nodes that compute value w of the body of scan i to the new body of scan reader.
func (c *recomputer) emit(body *pass.Rewriter, i, reader int, w ir.Value) (ir.Value, error) {
	if x, _, ok := c.leaf(i, reader, w); ok {
		return body.Mapped[c.p.Nodes[reader].Attrs.(ir.ScanAttrs).Body.Inputs[x].Value], nil
	}
	source := c.p.Nodes[i].Attrs.(ir.ScanAttrs).Body
	_, def := pass.Uses(source)
	n := &source.Nodes[def[w]]
	var in []ir.Value
	for _, v := range n.Inputs {
		u, err := c.emit(body, i, reader, v)
		if err != nil {
			return 0, err
		}
		in = append(in, u)
	}
	out, err := body.To.Add(n.Scope, n.Op, n.Attrs, in...)
	if err != nil {
		return 0, err
	}
	return out[slices.Index(n.Outputs, w)], nil
}
