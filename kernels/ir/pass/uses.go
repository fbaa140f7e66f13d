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

// Use says that somebody, such as node number By, reads a value.
type Use struct {
	Value ir.Value
	By    int
}

// ByValue returns the readers of each of n values, in the order of the list.
func ByValue(list []Use, n int) [][]int {
	counts := make([]int, n)
	for _, u := range list {
		counts[u.Value]++
	}
	readers, all := make([][]int, n), make([]int, len(list))
	for v, count := range counts {
		readers[v], all = all[:0:count], all[count:]
	}
	for _, u := range list {
		readers[u.Value] = append(readers[u.Value], u.By)
	}
	return readers
}

// Readers returns the nodes that read each value of a program, in order, as often as they read it.
func Readers(p *ir.Program) [][]int {
	list := make([]Use, 0, 2*len(p.Nodes))
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			list = append(list, Use{v, i})
		}
	}
	return ByValue(list, p.NumValues())
}
