package pass

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Rewriter copies a program node by node. For each node of the old program, a pass adds that node or an equivalent to
// the new one, and calls Define with the results.
type Rewriter struct {
	From, To *ir.Program
	Mapped   []ir.Value // by value of the old program: its counterpart in the new program, which has the same type
	operands []ir.Value // of the node that is being kept
}

// NewRewriter begins a program with the inputs of p.
func NewRewriter(p *ir.Program) *Rewriter {
	r := &Rewriter{From: p, To: ir.New(p.Name), Mapped: make([]ir.Value, p.NumValues())}
	for _, in := range p.Inputs {
		r.Mapped[in.Value] = r.To.AddInput(in.Name, p.Type(in.Value))
	}
	return r
}

// Operands returns the values of the new program that stand for the node's inputs.
//
//go:noinline
func (r *Rewriter) Operands(n *ir.Node) []ir.Value {
	in := make([]ir.Value, len(n.Inputs))
	for i, v := range n.Inputs {
		in[i] = r.Mapped[v]
	}
	return in
}

// Define makes values of the new program stand for the node's results.
func (r *Rewriter) Define(n *ir.Node, results []ir.Value) error {
	if len(results) != len(n.Outputs) {
		return fmt.Errorf("rewriting %v: %d results instead of %d", n.Op, len(results), len(n.Outputs))
	}
	for i, v := range n.Outputs {
		if got, want := r.To.Type(results[i]), r.From.Type(v); !got.Equal(want) {
			return fmt.Errorf("rewriting %v: result %d becomes %v instead of %v", n.Op, i, got, want)
		}
		r.Mapped[v] = results[i]
	}
	return nil
}

// Keep adds a node of the old program as it is.
func (r *Rewriter) Keep(n *ir.Node) error {
	return r.KeepWith(n, r.operandsOf(n))
}

// operandsOf is Operands in memory that is used again for the next node.
func (r *Rewriter) operandsOf(n *ir.Node) []ir.Value {
	r.operands = r.operands[:0]
	for _, v := range n.Inputs {
		r.operands = append(r.operands, r.Mapped[v])
	}
	return r.operands
}

// KeepWith adds a node of the old program with other operands of the same types.
func (r *Rewriter) KeepWith(n *ir.Node, operands []ir.Value) error {
	results, err := r.To.Copy(r.From, n, operands)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		r.Mapped[v] = results[i]
	}
	return nil
}

// add adds a node with one result to the new program.
//
//go:noinline
func (r *Rewriter) add(scope string, op ir.Op, attrs ir.Attrs, in ...ir.Value) (ir.Value, error) {
	out, err := r.To.Add(scope, op, attrs, in...)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// inOrder reports whether the values of a program have the numbers that a copy of it would give them.
func inOrder(p *ir.Program) bool {
	next := ir.Value(0)
	for _, in := range p.Inputs {
		if in.Value != next {
			return false
		}
		next++
	}
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Outputs {
			if v != next {
				return false
			}
			next++
		}
	}
	return int(next) == p.NumValues()
}

// Finish adds the outputs.
//
//go:noinline
func (r *Rewriter) Finish() *ir.Program {
	for _, out := range r.From.Outputs {
		r.To.Outputs = append(r.To.Outputs, ir.Output{Name: out.Name, Value: r.Mapped[out.Value], Alias: out.Alias})
	}
	return r.To
}
