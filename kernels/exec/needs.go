package exec

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// checkMemory refuses a function whose variables and results together do not fit in host memory. They are made one by
// one, and filling weights takes long before the slots of an optimizer are reached.
func (f *Function) checkMemory(c *compiled) error {
	total, most, largest := 0, 0, ""
	add := func(t ir.Type, what string) {
		bytes := t.Bytes()
		total = ir.AddLengths(total, bytes)
		if bytes > most {
			most, largest = bytes, fmt.Sprintf("%s, %v", what, t)
		}
	}
	for i, d := range f.strategy.Devices() {
		if d.Kind != hostKind {
			continue
		}
		p := c.programs[i]
		for k, v := range p.variables {
			if !v.hasMemory() {
				add(p.program.Type(p.program.Inputs[p.inputs[k]].Value), "variable "+v.Path())
			}
		}
		for k, out := range p.program.Outputs[:p.results] {
			add(p.program.Type(out.Value), fmt.Sprintf("result %d%s", k, madeBy(p.program, out.Value)))
		}
	}
	if total < memory.Noticed {
		return nil
	}
	return memory.Check(fmt.Sprintf("distribute: %s: the sum of its variables and results (the largest: %s, %.3g bytes)", f.name, largest, float64(most)), total)
}

// hostKind is the kind of the devices whose memory is the host's.
const hostKind = "cpu"

// hasMemory reports whether the variable has been given memory.
func (v *Variable) hasMemory() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.copies != nil
}

// madeBy names the layer that computes a value.
func madeBy(p *ir.Program, v ir.Value) string {
	i := slices.IndexFunc(p.Nodes, func(n ir.Node) bool { return slices.Contains(n.Outputs, v) })
	if i < 0 || p.Nodes[i].Scope == "" {
		return ""
	}
	return fmt.Sprintf(" (of layer %q)", p.Nodes[i].Scope)
}

// newInput makes a buffer for an input, which usually uses the caller's memory if it can.
func newInput(backend kernels.Backend, d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	if b, ok := backend.(kernels.Deferrer); ok {
		return b.NewBorrowingBuffer(d, t)
	}
	return backend.NewBuffer(d, t)
}
