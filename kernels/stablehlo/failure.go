package stablehlo

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// guarded writes the nodes of the whole program and returns its outputs. Those that replace inputs repeat these if the
// failure flag of any replica is set.
//
// The nodes that checks need are written first, then the flag of all replicas. From there on, the rest of the program
// reads a new value after the selection. The selection is then part of the loop that computes the value, and readers
// read memory. If readers saw the value before the selection, XLA would compute it once more for them, from a copy of
// the old value, which the stored value overwrites. Such a copy of all slots of an optimizer made a step half as long
// again.
func (e *emitter) guarded(p *ir.Program, arguments []value) []value {
	source := sources(p)
	kept := keptValues(p, source)
	live, before := p.Live(), beforeChecks(p)
	replaces := slices.ContainsFunc(p.Outputs, func(o ir.Output) bool { return o.Alias >= 0 })
	values := inputsOf(p, arguments)
	for i := range p.Nodes {
		before[i] = before[i] || !replaces // otherwise the order of the program is right
		if live[i] && before[i] {
			e.node(p, &p.Nodes[i], values)
		}
	}
	e.settle()
	if e.replicas > 1 && len(e.checks) > 0 {
		e.agree()
	}
	var ok value
	if replaces {
		ok = e.compare(ir.Eq, e.checkNumber(e.flag), e.splat(ir.Type{DType: ir.Int32}, 0))
	}
	keep := func(raw value, output int) value {
		return e.choose(e.broadcast(ok, raw.typ.Shape), raw, arguments[p.Outputs[output].Alias])
	}
	raw := map[ir.Value]value{}
	look := func(v ir.Value) {
		if output, is := kept[v]; is {
			raw[v] = values[v]
			values[v] = keep(values[v], output)
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if live[i] && !before[i] {
			e.node(p, n, values)
		}
		if live[i] {
			for _, v := range n.Outputs {
				look(v)
			}
		}
	}
	results := outputsOf(p, values)
	for i, out := range p.Outputs {
		from := source[out.Value]
		if first, is := kept[from]; out.Alias >= 0 && !(is && first == i) {
			if is {
				results[i] = raw[from]
			}
			results[i] = keep(results[i], i)
		}
	}
	return results
}

// sources maps each value to the one that it is another name of: the operand of an Identity without a layout.
func sources(p *ir.Program) []ir.Value {
	source := make([]ir.Value, p.NumValues())
	for i := range source {
		source[i] = ir.Value(i)
	}
	for _, n := range p.Nodes {
		if _, moves := n.Attrs.(ir.LayoutAttrs); n.Op == ir.Identity && !moves {
			source[n.Outputs[0]] = source[n.Inputs[0]]
		}
	}
	return source
}

// keptValues maps each computed value that replaces inputs to the first of these outputs.
func keptValues(p *ir.Program, source []ir.Value) map[ir.Value]int {
	inputs := map[ir.Value]bool{}
	for _, in := range p.Inputs {
		inputs[in.Value] = true
	}
	kept := map[ir.Value]int{}
	for i, out := range p.Outputs {
		from := source[out.Value]
		if _, is := kept[from]; out.Alias >= 0 && !is && !inputs[from] {
			kept[from] = i
		}
	}
	return kept
}

// beforeChecks reports which nodes checks need, including the checks themselves.
func beforeChecks(p *ir.Program) []bool {
	needed := make([]bool, p.NumValues())
	before := make([]bool, len(p.Nodes))
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		before[i] = nodeCanFail(*n)
		for _, v := range n.Outputs {
			before[i] = before[i] || needed[v]
		}
		if before[i] {
			for _, v := range n.Inputs {
				needed[v] = true
			}
		}
	}
	return before
}

// checkNumber is the number of the check that failed, as a scalar.
func (e *emitter) checkNumber(flag value) value {
	return e.reshape(e.slice(flag, []int{1}, []int{2}, []int{1}))
}

// agree sets the flag of all replicas to that of the first replica whose flag is set.
func (e *emitter) agree() {
	all := e.allGather(ir.CollectiveAttrs{Replicas: e.replicas}, e.reshape(e.flag, 1, 3), 0)
	for i := e.replicas - 1; i >= 0; i-- {
		theirs := e.reshape(e.slice(all, []int{i, 0}, []int{i + 1, 3}, []int{1, 1}), 3)
		set := e.compare(ir.Ne, e.checkNumber(theirs), e.splat(ir.Type{DType: ir.Int32}, 0))
		e.flag = e.choose(e.broadcast(set, FlagType.Shape), theirs, e.flag)
	}
}
