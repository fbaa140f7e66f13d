package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// examplesBody is what the body of a loop over blocks of examples consists of.
type examplesBody struct {
	*examples
	xs, shared []ir.Value // what it reads: xs by rows; shared for all examples
	noted      []bool     // by value: it is in one of these lists
	again      []bool     // by node: the body computes it again, although all examples share it
	outputs    []ir.Value
}

const examplesLiteral = 1 << 10 // largest constants, in bytes, that are copied into the body

// rewrite puts first what does not depend on examples, and the nodes into a loop if there should be one.
func (e *examples) rewrite() (*ir.Program, error) {
	b := &examplesBody{examples: e, noted: make([]bool, e.p.NumValues()), again: make([]bool, len(e.p.Nodes))}
	if e.block > 0 {
		b.operands()
	}
	r := pass.NewRewriter(e.p)
	late, live := make([]bool, e.p.NumValues()), b.live()
	var behind []int
	for i := range e.p.Nodes {
		n := &e.p.Nodes[i]
		switch {
		case !slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return live[v] }):
		case e.taken[i] || slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return late[v] }):
			for _, v := range n.Outputs {
				late[v] = true
			}
			if e.block == 0 || !e.taken[i] {
				behind = append(behind, i)
			}
		default:
			if err := r.Keep(n); err != nil {
				return nil, err
			}
		}
	}
	if e.block > 0 {
		if err := b.add(r); err != nil {
			return nil, err
		}
	}
	for _, i := range behind {
		if err := r.Keep(&e.p.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

// live says which values are read, by the loop or outside it, apart from what only the body computes again.
func (b *examplesBody) live() []bool {
	live := slices.Clone(b.noted)
	for _, out := range b.p.Outputs {
		live[out.Value] = true
	}
	for _, v := range b.outputs {
		live[v] = true
	}
	for i := range slices.Backward(b.p.Nodes) {
		n := &b.p.Nodes[i]
		if b.block > 0 && b.taken[i] {
			for _, v := range n.Outputs {
				live[v] = true
			}
		} else if slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return live[v] }) {
			for _, v := range n.Inputs {
				live[v] = true
			}
		}
	}
	return live
}

// operands records what the body reads and computes.
func (b *examplesBody) operands() {
	for _, i := range b.nodes {
		n := &b.p.Nodes[i]
		for k, v := range n.Inputs {
			b.wants(v, k == 1)
		}
		for _, v := range n.Outputs {
			out := slices.ContainsFunc(b.p.Outputs, func(o ir.Output) bool { return o.Value == v })
			if out || slices.ContainsFunc(b.readers[v], func(i int) bool { return !b.taken[i] }) {
				b.outputs = append(b.outputs, v)
			}
		}
	}
}

// wants records what the body needs for an operand.
func (b *examplesBody) wants(v ir.Value, kernel bool) {
	switch {
	case b.noted[v] || b.inside(v):
	case b.row[v] && b.repeats(v), !b.row[v] && b.cheap(v, kernel):
		b.again[b.def[v]] = true
		for _, x := range b.p.Nodes[b.def[v]].Inputs {
			b.wants(x, false)
		}
	default:
		if b.noted[v] = true; b.row[v] {
			b.xs = append(b.xs, v)
		} else {
			b.shared = append(b.shared, v)
		}
	}
}

// cheap reports whether the body computes v again, although all examples share it. It does if v costs nothing, or if v
// is a kernel whose columns are scaled, which its product keeps.
func (b *examplesBody) cheap(v ir.Value, kernel bool) bool {
	if b.def[v] < 0 {
		return false
	}
	switch n := &b.p.Nodes[b.def[v]]; n.Op {
	case ir.Broadcast, ir.Reshape:
		return true
	case ir.Constant:
		return b.repeats(v) || b.p.Type(v).Bytes() <= examplesLiteral
	case ir.Mul:
		return kernel && len(b.readers[v]) == 1 && slices.ContainsFunc(n.Inputs, func(x ir.Value) bool { return b.def[x] < 0 || b.p.Nodes[b.def[x]].Op == ir.Reshape })
	}
	return false
}

// body returns the body, for the examples of a block.
func (b *examplesBody) body() (*ir.Program, error) {
	whole, err := ir.Extract(b.p, b.p.Name, append(b.xs, b.shared...), b.outputs)
	if err != nil {
		return nil, err
	}
	r := &RowBody{Program: whole, Batch: b.batch, Row: make([]bool, whole.NumValues())}
	for _, in := range whole.Inputs[:len(b.xs)] {
		r.Row[in.Value] = true
	}
	at := 0 // the nodes are in the order of the program
	for i, kept := range b.kept() {
		if kept {
			for k, v := range whole.Nodes[at].Outputs {
				r.Row[v] = b.row[b.p.Nodes[i].Outputs[k]]
			}
			at++
		}
	}
	return r.ForRows(b.block, make([]bool, len(b.outputs)))
}

// kept says which nodes the outputs need, and [ir.Extract] therefore keeps. Some results of nodes in the loop may have
// no reader.
func (b *examplesBody) kept() []bool {
	kept, needed := make([]bool, len(b.p.Nodes)), make([]bool, b.p.NumValues())
	for _, v := range b.outputs {
		needed[v] = true
	}
	for i := range slices.Backward(b.p.Nodes) {
		n := &b.p.Nodes[i]
		kept[i] = (b.taken[i] || b.again[i]) && slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return needed[v] && !b.noted[v] })
		if kept[i] {
			for _, v := range n.Inputs {
				needed[v] = true
			}
		}
	}
	return kept
}

// add adds the loop to the program.
func (b *examplesBody) add(r *pass.Rewriter) error {
	body, err := b.body()
	if err != nil {
		return err
	}
	var in []ir.Value
	loops, scope := b.batch/b.block, b.p.Nodes[b.nodes[0]].Scope
	for _, v := range b.xs {
		s := append(ir.Shape{loops, b.block}, b.p.Type(v).Shape[1:]...)
		x, err := r.To.Add(scope, ir.Reshape, ir.ReshapeAttrs{Shape: s}, r.Mapped[v])
		if err != nil {
			return err
		}
		in = append(in, x[0])
	}
	for _, v := range b.shared {
		in = append(in, r.Mapped[v])
	}
	out, err := r.To.Add(scope, ir.Scan, ir.ScanAttrs{Body: body, Length: loops, Xs: len(b.xs)}, in...)
	if err != nil {
		return err
	}
	for k, v := range b.outputs {
		y, err := r.To.Add(scope, ir.Reshape, ir.ReshapeAttrs{Shape: b.p.Type(v).Shape}, out[k])
		if err != nil {
			return err
		}
		r.Mapped[v] = y[0]
	}
	return nil
}
