package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// worthExcess reports whether there is something to do, and enough memory for it.
func worthExcess(p *ir.Program, o ExcessOptions) bool {
	light := onlyUpdates(p)
	if o.Updates {
		return slices.ContainsFunc(p.Inputs, func(in ir.Input) bool { return o.Type(p.Type(in.Value).DType) }) &&
			slices.ContainsFunc(p.Nodes, func(n ir.Node) bool {
				return updatesOnly(n.Op) && light[n.Outputs[0]] && o.Type(p.Type(n.Outputs[0]).DType)
			})
	}
	any, bytes := excessBytes(p, o, light)
	for _, in := range p.Inputs { // which are converted once
		if t := p.Type(in.Value); o.Inputs && o.Type(t.DType) && !light[in.Value] {
			bytes += 2 * t.Shape.Size()
		}
	}
	return any && bytes <= o.Most
}

// onlyUpdates returns, by value, whether nothing but outputs of the program is computed from it, by operations that
// become loops over elements: updates of variables, whose results stay in registers until they are rounded.
func onlyUpdates(p *ir.Program) []bool {
	light := make([]bool, p.NumValues())
	for v := range light {
		light[v] = true
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		updates := updatesOnly(n.Op) && light[n.Outputs[0]]
		for _, v := range n.Inputs {
			light[v] = light[v] && updates
		}
	}
	return light
}

// updatesOnly reports whether an operation may be part of such a loop.
func updatesOnly(op ir.Op) bool { return op.IsElementwise() || op == ir.Reduce || passesOn(op) }

// excessBytes reports whether a program has results of the types, and returns how many more bytes those of them that
// live at the same time would take, without those that are marked.
func excessBytes(p *ir.Program, o ExcessOptions, without []bool) (any bool, bytes int) {
	ends := resultEnds(p)
	live := make([]int, len(p.Nodes)+1) // by node: bytes that begin to live there, less those that end before
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, v := range n.Outputs {
			if t := p.Type(v); o.Type(t.DType) {
				if any = true; !passesOn(n.Op) && n.Op != ir.Constant && n.Op != ir.Iota && !(without != nil && without[v] && n.Op.IsElementwise()) {
					live[i] += 2 * t.Shape.Size()
					live[ends[v]] -= 2 * t.Shape.Size()
				}
			}
		}
		for _, body := range ir.SubPrograms(n.Attrs) {
			has, inside := excessBytes(body, o, nil)
			any = any || has
			live[i] += inside
			live[i+1] -= inside
		}
	}
	sum := 0
	for _, change := range live[:len(p.Nodes)] {
		sum += change
		bytes = max(bytes, sum)
	}
	return any, bytes
}

// passesOn reports whether an operation takes no memory of its own for numbers in float32, or next to none.
func passesOn(op ir.Op) bool { return op == ir.Convert || op == ir.Broadcast || op == ir.Reshape }

// resultEnds returns, by value, the node after which nothing reads it.
func resultEnds(p *ir.Program) []int {
	ends := make([]int, p.NumValues())
	for _, out := range p.Outputs {
		ends[out.Value] = len(p.Nodes)
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n, end := &p.Nodes[i], i+1
		for _, v := range n.Outputs {
			if ends[v] = max(ends[v], i+1); passesOn(n.Op) {
				end = max(end, ends[v])
			}
		}
		for _, v := range n.Inputs {
			ends[v] = max(ends[v], end)
		}
	}
	return ends
}
