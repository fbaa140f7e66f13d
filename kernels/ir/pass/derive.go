package pass

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Derived is a value of a program that depends on variables alone.
type Derived struct {
	// Program computes the value, its one output, from the inputs of the program that Inputs lists.
	Program *ir.Program
	Inputs  []int
}

const (
	deriveFrom = 1 << 8  // elements that variables have at least from which it pays to keep a value
	deriveMore = 1 << 18 // bytes of a value that may take more memory than they do, at most
)

// Derive takes out of a program what it computes from variables alone, which are the inputs with these numbers: a
// kernel that is standardized, rounded to eight bits or put into another order, rows of a table of positions. What is
// left takes these values as further inputs, in their order, so that whoever runs it may compute them only when a
// variable has changed.
//
// Left in place are what only views, repeats or converts variables, since kernels read such operands as they are; what
// takes more memory than the variables it is computed from, but for little memory and for numbers of four bits that are
// unpacked to bytes; and what is computed from few numbers.
func Derive(p *ir.Program, variables []int) (rest *ir.Program, derived []Derived, err error) {
	d := deriver{p: p, kind: make([]dependence, p.NumValues()), def: make([]int, p.NumValues())}
	for i := range d.def {
		d.def[i] = -1
	}
	for _, i := range variables {
		d.kind[p.Inputs[i].Value] = onVariables
	}
	d.classify()
	given := make([]ir.Value, len(p.Inputs), len(p.Inputs)+len(d.found))
	for i, in := range p.Inputs {
		given[i] = in.Value
	}
	for _, v := range d.found {
		from := d.variablesOf(v)
		values := make([]ir.Value, len(from))
		for i, input := range from {
			values[i] = p.Inputs[input].Value
		}
		program, err := ir.Extract(p, p.Name+"_derived", values, []ir.Value{v})
		if err != nil {
			return nil, nil, err
		}
		derived = append(derived, Derived{program, from})
		given = append(given, v)
	}
	if len(derived) == 0 {
		return p, nil, nil
	}
	outputs := make([]ir.Value, len(p.Outputs))
	for i, out := range p.Outputs {
		outputs[i] = out.Value
	}
	if rest, err = ir.Extract(p, p.Name, given, outputs); err != nil {
		return nil, nil, err
	}
	for i := range rest.Inputs {
		rest.Inputs[i].Name = fmt.Sprint("derived", i-len(p.Inputs))
		if i < len(p.Inputs) {
			rest.Inputs[i].Name = p.Inputs[i].Name
		}
	}
	for i, out := range p.Outputs {
		rest.Outputs[i].Name, rest.Outputs[i].Alias = out.Name, out.Alias
	}
	return rest, derived, nil
}

// dependence is what a value depends on.
type dependence int8

const (
	onRun       dependence = iota // what differs from run to run
	onNothing                     // constants
	onVariables                   // and constants
)

type deriver struct {
	p     *ir.Program
	kind  []dependence // by value
	def   []int        // the node that computes a value, or -1
	found []ir.Value
}

// classify says what each value depends on, and finds the values to take out.
func (d *deriver) classify() {
	for i := range d.p.Nodes {
		n := &d.p.Nodes[i]
		kind := onNothing
		for _, v := range n.Inputs {
			if kind == onRun || d.kind[v] == onRun {
				kind = onRun
			} else {
				kind = max(kind, d.kind[v])
			}
		}
		if n.Communicates() || n.Op == ir.ReplicaID || n.Op == ir.CheckFinite {
			kind = onRun
		}
		for _, v := range n.Outputs {
			d.kind[v], d.def[v] = kind, i
		}
	}
	for i := range d.p.Nodes {
		n := &d.p.Nodes[i]
		if len(n.Outputs) == 0 || d.kind[n.Outputs[0]] != onRun {
			continue
		}
		for _, v := range n.Inputs {
			d.consider(v)
		}
	}
}

// consider takes v out, or what it is computed from, where that pays.
func (d *deriver) consider(v ir.Value) {
	if d.kind[v] != onVariables || d.def[v] < 0 || slices.Contains(d.found, v) {
		return
	}
	n := &d.p.Nodes[d.def[v]]
	switch n.Op {
	case ir.Identity, ir.Barrier, ir.Reshape, ir.Transpose, ir.Broadcast, ir.Slice, ir.Convert, ir.BitCast:
	default:
		elements, bytes := 0, 0
		for _, i := range d.variablesOf(v) {
			t := d.p.Type(d.p.Inputs[i].Value)
			elements += t.Shape.Size()
			bytes += t.Bytes()
		}
		if elements < deriveFrom {
			return
		}
		if d.p.Type(v).DType.Size() == 1 { // numbers of four bits, unpacked
			bytes *= 2
		}
		if d.p.Type(v).Bytes() <= max(bytes, deriveMore) {
			d.found = append(d.found, v)
			return
		}
	}
	for _, from := range n.Inputs {
		d.consider(from)
	}
}

// variablesOf returns the inputs that v is computed from, in their order.
func (d *deriver) variablesOf(v ir.Value) []int {
	needed := make([]bool, d.p.NumValues())
	needed[v] = true
	for i := d.def[v]; i >= 0; i-- {
		n := &d.p.Nodes[i]
		if slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return needed[v] }) {
			for _, v := range n.Inputs {
				needed[v] = true
			}
		}
	}
	var inputs []int
	for i, in := range d.p.Inputs {
		if needed[in.Value] {
			inputs = append(inputs, i)
		}
	}
	return inputs
}
