package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// RowWise reports whether a program with open axes treats examples independently: its outputs have an axis 0 as long as
// the named size (the batch), and row i of each follows from row i of the inputs that have such an axis, in the same
// way for each row and whatever the number of rows is. The error says which operation does not, or is not known to.
//
// An axis counts examples if its length is the size, or a multiple of it whose parts belong to one example each. An
// operation is row-wise if it keeps the order of that axis and computes nothing across it. So no value without such an
// axis depends on an example.
func RowWise(p *Program, size string) error {
	r := rows{p: p, size: size, batch: dim.Symbol(size)}
	if err := r.check(); err != nil {
		return fmt.Errorf("ir: program %q: %w", p.Name, err)
	}
	for i, out := range p.Outputs {
		if s := p.Type(out.Value).Shape; len(s) == 0 || s[0] != r.batch {
			return fmt.Errorf("ir: program %q: output %d is %v, without an axis 0 that counts the examples", p.Name, i, p.Type(out.Value))
		}
	}
	return nil
}

// KeepsRows reports whether the node computes row i of each result, along the given axis of each, from row i of the
// operands along theirs, in the same way for each row and whatever the number of rows. An axis of -1 says that all rows
// share the operand. Shapes are those of a program that runs. Nodes with sub-programs never qualify.
func KeepsRows(p *Program, n *Node, in, out []int) bool {
	t := n.Op.Traits()
	return t.rows != nil && SubPrograms(n.Attrs) == nil && !t.Random && !n.Op.IsCollective() && t.rows(rows{p: p}, n, in, out)
}

type rows struct {
	p     *Program
	size  string
	batch int
}

// none stands for the axis of examples of a value that has none.
const none = -1

// axis returns the axis of a value that counts examples.
func (r rows) axis(v Value) (int, error) { return r.axisOf(r.p.Type(v).Shape) }

func (r rows) axisOf(s Shape) (int, error) {
	found := none
	for i, d := range s {
		if dim.Known(d) || !dim.Depends(d, r.size) {
			continue
		}
		if found != none || dim.Mul(dim.FloorDiv(d, r.batch), r.batch) != d || dim.Depends(dim.FloorDiv(d, r.batch), r.size) {
			return none, fmt.Errorf("shape %v does not count the examples along one axis", s)
		}
		found = i
	}
	return found, nil
}

func (r rows) check() error {
	for i := range r.p.Nodes {
		n := &r.p.Nodes[i]
		if err := r.node(n); err != nil {
			return fmt.Errorf("layer %q: %v: %w", n.Scope, n.Op, err)
		}
		for _, sub := range SubPrograms(n.Attrs) {
			if err := (rows{sub, r.size, r.batch}).check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r rows) node(n *Node) error {
	in, out := make([]int, len(n.Inputs)), make([]int, len(n.Outputs))
	var err error
	touched := false
	for i, v := range n.Inputs {
		if in[i], err = r.axis(v); err != nil {
			return err
		}
		touched = touched || in[i] != none
	}
	for i, v := range n.Outputs {
		if out[i], err = r.axis(v); err != nil {
			return err
		}
		touched = touched || out[i] != none
	}
	if !touched && !n.Op.Traits().Random && !n.Op.IsCollective() {
		return nil // numbers that all examples share
	}
	if !n.Op.Traits().rows(r, n, in, out) {
		return fmt.Errorf("it works across the examples, or draws random numbers")
	}
	return nil
}
