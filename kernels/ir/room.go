package ir

import "slices"

// room is memory that the nodes of a program are made in. Most programs are compiled once and then read, and making a
// node is all that many passes do.
type room struct {
	of       *Program // a copy of the program has its own room
	values   []Value  // for operands and results
	operands []Type   // of the node that is being added
}

// own returns the program's room.
func (p *Program) own() *room {
	if p.room.of != p {
		p.room = room{of: p}
	}
	return &p.room
}

// list returns memory for n values.
func (p *Program) list(n int) []Value {
	if n == 0 {
		return nil
	}
	r := p.own()
	if len(r.values) < n {
		r.values = make([]Value, max(n, min(8+2*len(p.Nodes), 512)))
	}
	list := r.values[:n:n]
	r.values = r.values[n:]
	return list
}

// Copy appends a node of another program, which knows the types of its results: those of the operands, values of p, are
// the same as there.
func (p *Program) Copy(from *Program, n *Node, operands []Value) ([]Value, error) {
	if err := p.full(); err != nil {
		return nil, err
	}
	if p.Nodes == nil { // many more will follow
		p.Nodes = make([]Node, 0, len(from.Nodes))
		p.types = slices.Grow(p.types, len(from.types))
	}
	in, out := p.list(len(operands)), p.list(len(n.Outputs))
	copy(in, operands)
	for i, v := range n.Outputs {
		out[i] = p.newValue(from.types[v])
	}
	p.Nodes = append(p.Nodes, Node{n.Op, n.Attrs, in, out, n.Scope})
	return out, nil
}
