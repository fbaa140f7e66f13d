package pass

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Derived is a value of a program that depends only on variables.
type Derived struct {
	// Program computes the value, its one output, from the inputs of the program that Inputs lists.
	Program *ir.Program
	Inputs  []int
}

const (
	deriveFrom = 1 << 8  // variables with fewer elements are not worth keeping a value for
	deriveMore = 1 << 18 // bytes of a value, at most, that may take more memory than its variables
)

// Derive removes from a program what it computes only from variables, which are the inputs with these numbers: a kernel
// that is standardized, rounded to eight bits or reordered, or rows of a table of positions. The rest of the program
// takes these values as further inputs, in their order, so that they need to be computed only when a variable has
// changed.
//
// Some values stay in place: views, repetitions and conversions of variables, since kernels read such operands
// directly; values that take more memory than their variables, unless that is little memory or 4-bit numbers unpacked
// to bytes; and values computed from few numbers.
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
	onRun       dependence = iota // differs from run to run
	onNothing                     // only constants
	onVariables                   // variables and constants
)

type deriver struct {
	p     *ir.Program
	kind  []dependence // by value
	def   []int        // the node that computes a value, or -1
	found []ir.Value
}

// classify determines what each value depends on, and finds the values to take out.
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

// consider takes out v, or the values that it is computed from, if that pays.
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
		if d.p.Type(v).DType.Size() == 1 { // unpacked 4-bit numbers
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
