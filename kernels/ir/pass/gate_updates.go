package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// GateUpdates returns the pass for updates under a scaled loss. There, each result of an update is chosen over the old
// value only if all gradients are finite, and gradients are divided by the scale, perhaps after a conversion from 16
// bits. The pass makes updates do all of that themselves (see [ir.OptimizerAttrs]), in one pass over memory. Checks
// whether all of a converted value is finite then read the 16 bits.
func GateUpdates() Pass { return New("gate updates", gateUpdates) }

// gates is the pass over one program.
type gates struct {
	*Rewriter
	uses, def []int
	reader    []int // by value: the last node that reads it
}

// gated is an update and the nodes after it that choose its results.
type gated struct {
	node    int
	chosen  []int      // by result: the node that chooses it
	old     []ir.Value // by result: the value chosen otherwise
	gate    ir.Value
	divisor ir.Value // or -1
	g       ir.Value // the gradient
}

func gateUpdates(p *ir.Program) (*ir.Program, error) {
	t := &gates{Rewriter: NewRewriter(p), reader: make([]int, p.NumValues())}
	t.uses, t.def = Uses(p)
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			t.reader[v] = i
		}
	}
	at, inside := map[int]*gated{}, make([]bool, len(p.Nodes))
	for i := range p.Nodes {
		if u := t.find(i); u != nil {
			at[slices.Max(u.chosen)], inside[i] = u, true
			for _, j := range u.chosen {
				inside[j] = true
			}
		}
	}
	if len(at) == 0 {
		return p, nil
	}
	for i := range p.Nodes {
		n, u := &p.Nodes[i], at[i]
		var err error
		switch {
		case u != nil:
			err = t.join(u)
		case inside[i]:
		default:
			if in, ok := t.narrowed(i); ok {
				var out []ir.Value
				if out, err = t.To.Add(n.Scope, n.Op, n.Attrs, in); err == nil {
					err = t.Define(n, out)
				}
			} else {
				err = t.Keep(n)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return t.Finish(), nil
}

// find returns the gated update that consists of node i and its readers, or nil.
func (t *gates) find(i int) *gated {
	n := &t.From.Nodes[i]
	if n.Op != ir.OptimizerUpdate || len(n.Inputs) > 3+len(n.Outputs) || t.From.Type(n.Inputs[0]).DType.IsHalf() {
		return nil
	}
	u := &gated{node: i, gate: -1, divisor: -1, g: n.Inputs[1]}
	for _, v := range n.Outputs {
		s := &t.From.Nodes[t.reader[v]]
		if t.uses[v] != 1 || s.Op != ir.Select || s.Inputs[1] != v || s.Inputs[2] == v {
			return nil
		}
		gate, ok := t.scalar(s.Inputs[0])
		if !ok || u.gate >= 0 && u.gate != gate {
			return nil
		}
		u.gate = gate
		u.chosen, u.old = append(u.chosen, t.reader[v]), append(u.old, s.Inputs[2])
	}
	if d := t.node(u.g); d != nil && d.Op == ir.Div && t.uses[u.g] == 1 {
		if by, ok := t.scalar(d.Inputs[1]); ok {
			u.divisor, u.g = by, d.Inputs[0]
		}
	}
	if d := t.node(u.g); d != nil && d.Op == ir.Convert && t.From.Type(d.Inputs[0]).DType.IsHalf() && t.From.Type(u.g).DType == ir.Float32 {
		u.g = d.Inputs[0]
	}
	return u
}

func (t *gates) node(v ir.Value) *ir.Node {
	if t.def[v] < 0 {
		return nil
	}
	return &t.From.Nodes[t.def[v]]
}

// scalar returns the scalar that v repeats, or is.
func (t *gates) scalar(v ir.Value) (ir.Value, bool) {
	if d := t.node(v); d != nil && (d.Op == ir.Broadcast || d.Op == ir.Reshape) {
		v = d.Inputs[0]
	}
	return v, len(t.From.Type(v).Shape) == 0
}

// join adds the update with its gate, once everything that it reads has been computed.
func (t *gates) join(u *gated) error {
	n := &t.From.Nodes[u.node]
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ([]ir.Value, error) {
		return t.To.Add(n.Scope, op, attrs, in...)
	}
	in := t.Operands(n)
	for j, old := range u.old {
		at := 0
		if j > 0 {
			at = 3 + j
		}
		if old == n.Inputs[at] {
			continue
		}
		out, err := add(ir.Select, nil, t.Mapped[t.From.Nodes[u.chosen[j]].Inputs[0]], in[at], t.Mapped[old])
		if err != nil {
			return err
		}
		in[at] = out[0]
	}
	divisor := ir.Value(-1)
	if u.divisor >= 0 {
		divisor = t.Mapped[u.divisor]
	} else {
		out, err := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(t.From.Type(n.Inputs[0]).DType, 1)})
		if err != nil {
			return err
		}
		divisor = out[0]
	}
	in[1] = t.Mapped[u.g]
	out, err := add(n.Op, n.Attrs, append(in, t.Mapped[u.gate], divisor)...)
	if err != nil {
		return err
	}
	for j, i := range u.chosen {
		if err := t.Define(&t.From.Nodes[i], out[j:j+1]); err != nil {
			return err
		}
	}
	return nil
}

// narrowed returns the number before the conversion, if node i checks whether a number converted from 16 bits is
// finite.
func (t *gates) narrowed(i int) (ir.Value, bool) {
	n := &t.From.Nodes[i]
	if n.Op != ir.IsFinite {
		return 0, false
	}
	if d := t.node(n.Inputs[0]); d != nil && d.Op == ir.Convert && t.From.Type(d.Inputs[0]).DType.IsHalf() {
		return t.Mapped[d.Inputs[0]], true
	}
	return 0, false
}
