package pass

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The gradient of an activation reads values of the forward pass again. If they are one operation with a constant away
// from another value, as x/2 and 1 - x are, recomputing them is cheaper than writing them and reading them back. The
// same holds for 16-bit numbers in float32, which take twice the memory, whatever reads them: normalizations under
// mixed precision and their gradients do.

// farBytes is the size up to which values are still in the cache when they are read again.
const farBytes = 64 << 10

// recomputing is the pass over one program.
type recomputing struct {
	p       *ir.Program
	def     []int   // by value: the node that defines it, or -1
	users   [][]int // by value: the nodes that read it; -1 for an output
	segment []int   // by node: the nodes before it that are not elementwise. Only nodes of one segment become one step.
}

// RecomputeCheap returns the pass that recomputes cheap elementwise functions of one value where they are read far
// away, instead of keeping them.
func RecomputeCheap() Pass { return New("recompute cheap values", recomputeCheap) }

// recomputeCheap makes elementwise nodes recompute cheap functions of one value if they read them in another segment
// than the one that first computes them.
func recomputeCheap(p *ir.Program) (*ir.Program, error) {
	c := newRecomputing(p)
	again := c.choose()
	if len(again) == 0 {
		return p, nil
	}
	type place struct {
		v       ir.Value
		segment int
	}
	r, copies := NewRewriter(p), map[place]ir.Value{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := r.Operands(n)
		for k, v := range n.Inputs {
			if !again[v] || c.segment[i] == c.segment[c.def[v]] || !n.Op.IsElementwise() && c.widensInput(v) {
				continue
			}
			at := place{v, c.segment[i]}
			if _, made := copies[at]; !made {
				first := &p.Nodes[c.def[v]]
				out, err := r.To.Add(first.Scope, first.Op, first.Attrs, r.Operands(first)...)
				if err != nil {
					return nil, err
				}
				copies[at] = out[0]
			}
			in[k] = copies[at]
		}
		if err := r.KeepWith(n, in); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

func newRecomputing(p *ir.Program) *recomputing {
	c := &recomputing{p: p, def: ints.Repeat(-1, p.NumValues()), users: Readers(p), segment: make([]int, len(p.Nodes))}
	others := 0
	for i := range p.Nodes {
		n := &p.Nodes[i]
		c.segment[i] = others
		switch {
		case n.Op.IsElementwise() || n.Op == ir.Constant || n.Op == ir.Broadcast || n.Op == ir.Reshape:
		default:
			others++
		}
		for _, v := range n.Outputs {
			c.def[v] = i
		}
	}
	for _, out := range p.Outputs {
		c.users[out.Value] = append(c.users[out.Value], -1)
	}
	return c
}

// choose returns the values to recompute. A value that is in memory anyway serves any number of them; any other must
// save more reads and writes than it costs itself.
func (c *recomputing) choose() map[ir.Value]bool {
	candidates := map[ir.Value][]ir.Value{} // by the value that they are functions of
	var order []ir.Value
	for i := range c.p.Nodes {
		n := &c.p.Nodes[i]
		x, ok := c.functionOf(n)
		if !ok || c.p.Type(n.Outputs[0]).Bytes() < farBytes || !c.onlyReadFar(n.Outputs[0]) {
			continue
		}
		if candidates[x] == nil {
			order = append(order, x)
		}
		candidates[x] = append(candidates[x], n.Outputs[0])
	}
	again := map[ir.Value]bool{}
	for i := range c.p.Nodes {
		if n := &c.p.Nodes[i]; c.widens(n) {
			again[n.Outputs[0]] = true
		}
	}
	for _, x := range order {
		if list := candidates[x]; len(list) > 1 || c.inMemory(x) {
			for _, v := range list {
				again[v] = true
			}
		}
	}
	return again
}

// widensInput reports whether a value is a conversion to float32 of 16-bit numbers that the program reads. Such
// variables are widened wherever elements are computed from them, but only once for all products.
func (c *recomputing) widensInput(v ir.Value) bool {
	n := &c.p.Nodes[c.def[v]]
	return n.Op == ir.Convert && c.def[n.Inputs[0]] < 0 && c.p.Type(n.Inputs[0]).DType.IsHalf()
}

// widens reports whether the node converts to float32 many 16-bit numbers that are read far away.
func (c *recomputing) widens(n *ir.Node) bool {
	if n.Op != ir.Convert {
		return false
	}
	x, y, v := c.p.Type(n.Inputs[0]), c.p.Type(n.Outputs[0]), n.Outputs[0]
	return x.DType.IsHalf() && y.DType == ir.Float32 && y.Bytes() >= farBytes &&
		slices.ContainsFunc(c.users[v], func(i int) bool { return i >= 0 && c.segment[i] != c.segment[c.def[v]] }) && !slices.Contains(c.users[v], -1)
}

// functionOf returns x if the node computes a cheap function of x alone.
func (c *recomputing) functionOf(n *ir.Node) (x ir.Value, ok bool) {
	if !n.Op.Traits().Cheap {
		return 0, false
	}
	for _, v := range n.Inputs {
		switch {
		case c.isSplat(v):
		case ok && v != x:
			return 0, false
		default:
			x, ok = v, true
		}
	}
	return x, ok
}

// isSplat reports whether all elements of v are one constant.
func (c *recomputing) isSplat(v ir.Value) bool {
	if c.def[v] < 0 {
		return false
	}
	a, ok := c.p.Nodes[c.def[v]].Attrs.(ir.ConstantAttrs)
	return ok && a.Literal.Splat
}

// onlyReadFar reports whether v would be stored only for elementwise nodes of other segments.
func (c *recomputing) onlyReadFar(v ir.Value) bool {
	far := false
	for _, i := range c.users[v] {
		if i < 0 || !c.p.Nodes[i].Op.IsElementwise() {
			return false
		}
		far = far || c.segment[i] != c.segment[c.def[v]]
	}
	return far
}

// inMemory reports whether x is stored in any case, whatever is done with the functions of it.
func (c *recomputing) inMemory(x ir.Value) bool {
	i := c.def[x]
	if i < 0 || !c.p.Nodes[i].Op.IsElementwise() {
		return true
	}
	for _, v := range c.p.Nodes[i].Inputs { // a value added to a product becomes part of its step
		if j := c.def[v]; j >= 0 && (c.p.Nodes[j].Op == ir.Dot || c.p.Nodes[j].Op == ir.Conv) {
			return true
		}
	}
	return slices.ContainsFunc(c.users[x], func(j int) bool {
		if j < 0 || !c.p.Nodes[j].Op.IsElementwise() {
			return true
		}
		_, function := c.functionOf(&c.p.Nodes[j])
		return !function && c.segment[j] != c.segment[i]
	})
}
