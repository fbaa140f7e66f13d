package ir

import "fmt"

// Clone returns a copy that can grow on its own. Nodes share attributes, which are never changed in place.
func (p *Program) Clone() *Program {
	c := *p
	c.Inputs = append([]Input(nil), p.Inputs...)
	c.Nodes = append([]Node(nil), p.Nodes...)
	c.Outputs = append([]Output(nil), p.Outputs...)
	c.types = append([]Type(nil), p.types...)
	return &c
}

// Extract returns the program that computes outputs (values of p) from inputs (other values of p, in this order). Nodes
// that the outputs do not need are left out. It fails if an output needs an input of p that is not among inputs.
func Extract(p *Program, name string, inputs, outputs []Value) (*Program, error) {
	e := New(name)
	mapped := make(map[Value]Value, len(inputs))
	for i, v := range inputs {
		mapped[v] = e.AddInput(fmt.Sprint("in", i), p.Type(v))
	}
	needed := make([]bool, p.NumValues())
	for _, v := range outputs {
		needed[v] = true
	}
	keep := make([]bool, len(p.Nodes))
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		for _, v := range p.Nodes[i].Outputs {
			if _, given := mapped[v]; needed[v] && !given {
				keep[i] = true
			}
		}
		if keep[i] {
			for _, v := range p.Nodes[i].Inputs {
				needed[v] = true
			}
		}
	}
	for i := range p.Nodes {
		if keep[i] {
			if err := e.copyNode(&p.Nodes[i], mapped); err != nil {
				return nil, err
			}
		}
	}
	for i, v := range outputs {
		m, ok := mapped[v]
		if !ok {
			return nil, fmt.Errorf("ir: extract %q: output %d, %%%d, is an input of the program that was not handed over", name, i, v)
		}
		e.AddOutput(fmt.Sprint("out", i), m)
	}
	return e, nil
}

// Inline appends the nodes of sub to p with the given operands for its inputs, and returns its outputs.
func (p *Program) Inline(sub *Program, operands []Value) ([]Value, error) {
	if len(operands) != len(sub.Inputs) {
		return nil, fmt.Errorf("ir: inline %q: takes %d operands, received %d", sub.Name, len(sub.Inputs), len(operands))
	}
	mapped := make(map[Value]Value, sub.NumValues())
	for i, in := range sub.Inputs {
		mapped[in.Value] = operands[i]
	}
	for i := range sub.Nodes {
		if err := p.copyNode(&sub.Nodes[i], mapped); err != nil {
			return nil, err
		}
	}
	outputs := make([]Value, len(sub.Outputs))
	for i, out := range sub.Outputs {
		outputs[i] = mapped[out.Value]
	}
	return outputs, nil
}

// copyNode appends a copy of n, whose operands are looked up in mapped, and records its results there. Results that are
// already mapped (because they were passed as inputs) keep their mapping.
func (p *Program) copyNode(n *Node, mapped map[Value]Value) error {
	in := make([]Value, len(n.Inputs))
	for j, v := range n.Inputs {
		m, ok := mapped[v]
		if !ok {
			return fmt.Errorf("ir: program %q: %v needs %%%d, which was not handed over", p.Name, n.Op, v)
		}
		in[j] = m
	}
	out, err := p.Add(n.Scope, n.Op, n.Attrs, in...)
	if err != nil {
		return err
	}
	for j, v := range n.Outputs {
		if _, given := mapped[v]; !given {
			mapped[v] = out[j]
		}
	}
	return nil
}
