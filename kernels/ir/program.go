package ir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Value names one tensor of a program.
type Value int32

// Node is one operation.
type Node struct {
	Op      Op
	Attrs   Attrs
	Inputs  []Value
	Outputs []Value
	// Scope is the path of the layer that made the node, for error messages and profiles.
	Scope string
}

// Input is one parameter of a program.
type Input struct {
	Name  string
	Value Value
}

// Output is one result of a program. Alias is the index of the input that it replaces (a variable's new value), or -1.
type Output struct {
	Name  string
	Value Value
	Alias int
}

// Program is a typed graph in single assignment form. Nodes are ordered so that operands come before their uses.
type Program struct {
	Name    string
	Inputs  []Input
	Nodes   []Node
	Outputs []Output

	types []Type
	room  room
}

// New returns an empty program.
func New(name string) *Program { return &Program{Name: name} }

// Type returns the type of a value.
func (p *Program) Type(v Value) Type { return p.types[v] }

// NumValues is the number of values defined so far; values are numbered from 0.
func (p *Program) NumValues() int { return len(p.types) }

// AddInput adds a parameter.
//
//go:noinline
func (p *Program) AddInput(name string, t Type) Value {
	v := p.newValue(t)
	p.Inputs = append(p.Inputs, Input{name, v})
	return v
}

// AddOutput adds a result that replaces nothing.
func (p *Program) AddOutput(name string, v Value) {
	p.Outputs = append(p.Outputs, Output{name, v, -1})
}

// AddAlias adds a result that replaces the given input, which must have the same type.
func (p *Program) AddAlias(name string, v Value, input int) {
	p.Outputs = append(p.Outputs, Output{name, v, input})
}

//go:noinline
func (p *Program) newValue(t Type) Value {
	p.types = append(p.types, t)
	return Value(len(p.types) - 1)
}

// Add appends a node, infers the types of its results and returns them.
func (p *Program) Add(scope string, op Op, attrs Attrs, inputs ...Value) ([]Value, error) {
	if err := p.full(); err != nil {
		return nil, err
	}
	types, err := p.infer(op, attrs, inputs, &p.own().operands)
	if err != nil {
		return nil, err
	}
	in, outputs := p.list(len(inputs)), p.list(len(types))
	copy(in, inputs)
	for i, t := range types {
		outputs[i] = p.newValue(t)
	}
	p.Nodes = append(p.Nodes, Node{op, attrs, in, outputs, scope})
	return outputs, nil
}

// full returns an error if there is no place for another node.
func (p *Program) full() error {
	if len(p.Nodes) >= MaxNodes {
		return fmt.Errorf("ir: program %q has more than %d operations; where a layer is traced step by step, give it fewer steps or a loop", p.Name, MaxNodes)
	}
	return nil
}

// infer returns the types of a node's results. Until the next call, they may lie in room.
func (p *Program) infer(op Op, attrs Attrs, inputs []Value, room *[]Type) ([]Type, error) {
	if op == OpInvalid || op >= opCount {
		return nil, fmt.Errorf("ir: %v is not an operation", op)
	}
	info := &opTable[op]
	if len(inputs) < info.min || info.max >= 0 && len(inputs) > info.max {
		return nil, fmt.Errorf("ir: %v takes %s, received %d", op, operandCount(info.min, info.max), len(inputs))
	}
	in := (*room)[:0]
	for i, v := range inputs {
		if v < 0 || int(v) >= len(p.types) {
			return nil, fmt.Errorf("ir: %v: operand %d is %%%d, but the program has %d values", op, i, v, len(p.types))
		}
		in = append(in, p.types[v])
	}
	*room = in
	types, err := info.infer(in, attrs)
	if err != nil {
		return nil, fmt.Errorf("ir: %v%v: %w", op, in, err)
	}
	for i, t := range types {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("ir: %v%v: result %d: %w", op, in, i, err)
		}
	}
	return types, nil
}

func operandCount(low, high int) string {
	switch {
	case high < 0:
		return fmt.Sprintf("at least %d operands", low)
	case low == high:
		return fmt.Sprintf("%d operands", low)
	}
	return fmt.Sprintf("%d to %d operands", low, high)
}

// ReplaceNode replaces the op, attributes and operands of node i and appends further results. The types of the existing
// results must stay. The gradient of loops uses it to make a loop return more of the values that it computes.
func (p *Program) ReplaceNode(i int, op Op, attrs Attrs, inputs []Value) ([]Value, error) {
	types, err := p.infer(op, attrs, inputs, new([]Type))
	if err != nil {
		return nil, err
	}
	n := &p.Nodes[i]
	if len(types) < len(n.Outputs) {
		return nil, fmt.Errorf("ir: replacing %v: %d results become %d", n.Op, len(n.Outputs), len(types))
	}
	for j, v := range n.Outputs {
		if !types[j].Equal(p.types[v]) {
			return nil, fmt.Errorf("ir: replacing %v: result %d changes from %v to %v", n.Op, j, p.types[v], types[j])
		}
	}
	n.Op, n.Attrs, n.Inputs = op, attrs, slices.Clone(inputs)
	for _, t := range types[len(n.Outputs):] {
		n.Outputs = append(n.Outputs, p.newValue(t))
	}
	return n.Outputs, nil
}

// Verify checks everything that a backend relies on: operands are defined before their use, each value once, types are
// those that the op's rule gives, aliases fit, and the same for sub-programs.
func (p *Program) Verify() error {
	c := checker{Program: p, defined: make([]bool, len(p.types))}
	for i, in := range p.Inputs {
		what := func() string { return fmt.Sprintf("input %d %q", i, in.Name) }
		if err := c.define(in.Value, what); err != nil {
			return err
		}
		if err := p.types[in.Value].check(); err != nil {
			return fmt.Errorf("ir: program %q: %s: %w", p.Name, what(), err)
		}
	}
	for i := range p.Nodes {
		if err := c.node(&p.Nodes[i], i); err != nil {
			return err
		}
	}
	return p.verifyOutputs(c.defined)
}

// checker verifies the nodes of a program.
type checker struct {
	*Program
	defined []bool
	room    []Type
}

// define records the definition of a value by what.
func (c *checker) define(v Value, what func() string) error {
	if v < 0 || int(v) >= len(c.types) {
		return fmt.Errorf("ir: program %q: %s is %%%d, but the program has %d values", c.Name, what(), v, len(c.types))
	}
	if c.defined[v] {
		return fmt.Errorf("ir: program %q: %%%d is defined twice, second time as %s", c.Name, v, what())
	}
	c.defined[v] = true
	return nil
}

func (c *checker) node(n *Node, i int) error {
	where := func() string { return fmt.Sprintf("node %d %v (scope %q)", i, n.Op, n.Scope) }
	for j, v := range n.Inputs {
		if v < 0 || int(v) >= len(c.defined) || !c.defined[v] {
			return fmt.Errorf("ir: program %q: %s: operand %d, %%%d, is not defined before its use", c.Name, where(), j, v)
		}
	}
	types, err := c.infer(n.Op, n.Attrs, n.Inputs, &c.room)
	if err != nil {
		return fmt.Errorf("ir: program %q: %s: %w", c.Name, where(), err)
	}
	if len(types) != len(n.Outputs) {
		return fmt.Errorf("ir: program %q: %s: has %d results, its rule gives %d", c.Name, where(), len(n.Outputs), len(types))
	}
	for j, v := range n.Outputs {
		if err := c.define(v, where); err != nil {
			return err
		}
		if !types[j].Equal(c.types[v]) {
			return fmt.Errorf("ir: program %q: %s: result %d has type %v, its rule gives %v", c.Name, where(), j, c.types[v], types[j])
		}
	}
	for _, sub := range SubPrograms(n.Attrs) {
		if err := sub.Verify(); err != nil {
			return fmt.Errorf("ir: program %q: %s: %w", c.Name, where(), err)
		}
	}
	return nil
}

func (p *Program) verifyOutputs(defined []bool) error {
	replaced := make(map[int]string)
	for i, out := range p.Outputs {
		if out.Value < 0 || int(out.Value) >= len(defined) || !defined[out.Value] {
			return fmt.Errorf("ir: program %q: output %d %q, %%%d, is not defined", p.Name, i, out.Name, out.Value)
		}
		if out.Alias < 0 {
			continue
		}
		if out.Alias >= len(p.Inputs) {
			return fmt.Errorf("ir: program %q: output %q replaces input %d, but there are %d inputs", p.Name, out.Name, out.Alias, len(p.Inputs))
		}
		in := p.Inputs[out.Alias]
		if !p.types[in.Value].Equal(p.types[out.Value]) {
			return fmt.Errorf("ir: program %q: output %q of type %v cannot replace input %q of type %v", p.Name, out.Name, p.types[out.Value], in.Name, p.types[in.Value])
		}
		if other, twice := replaced[out.Alias]; twice {
			return fmt.Errorf("ir: program %q: outputs %q and %q both replace input %q", p.Name, other, out.Name, in.Name)
		}
		replaced[out.Alias] = out.Name
	}
	return nil
}

// SubPrograms returns the bodies held by the attributes of a control-flow op.
//
//go:noinline
func SubPrograms(attrs Attrs) []*Program {
	switch a := attrs.(type) {
	case ScanAttrs:
		return []*Program{a.Body}
	case WhileAttrs:
		return []*Program{a.Cond, a.Body}
	case CondAttrs:
		return []*Program{a.Then, a.Else}
	case FactorAttrs:
		return []*Program{a.Definition}
	}
	return nil
}

// Live marks the nodes whose results reach an output, directly or not. Collectives, and control flow that contains one,
// are always live: if a replica left one out, the others would wait for it.
func (p *Program) Live() []bool {
	needed := make([]bool, len(p.types))
	for _, out := range p.Outputs {
		needed[out.Value] = true
	}
	live := make([]bool, len(p.Nodes))
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		live[i] = n.Communicates() || slices.ContainsFunc(n.Outputs, func(v Value) bool { return needed[v] })
		if live[i] {
			for _, v := range n.Inputs {
				needed[v] = true
			}
		}
	}
	return live
}

// Communicates reports whether the node is a collective or has one in a sub-program.
func (n *Node) Communicates() bool {
	return n.Op.IsCollective() || slices.ContainsFunc(SubPrograms(n.Attrs), func(sub *Program) bool {
		return sub != nil && slices.ContainsFunc(sub.Nodes, func(n Node) bool { return n.Communicates() })
	})
}

// Hash returns a checksum of the program's meaning: all of its text except names and scopes.
func (p *Program) Hash() string {
	h := sha256.New()
	p.print(h, "", false)
	return hex.EncodeToString(h.Sum(nil))
}

func checksum(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:8]
}
