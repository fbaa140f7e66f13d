package pass

import (
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Uses counts how often the values of a program are read, as outputs too, and finds the nodes that define them.
func Uses(p *ir.Program) (uses, def []int) {
	uses, def = make([]int, p.NumValues()), ints.Repeat(-1, p.NumValues())
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			uses[v]++
		}
		for _, v := range p.Nodes[i].Outputs {
			def[v] = i
		}
	}
	for _, out := range p.Outputs {
		uses[out.Value]++
	}
	return uses, def
}
