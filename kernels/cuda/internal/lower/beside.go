package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	maxBeside = 3   // reductions that may join another one: their sums are kept in registers
	lookAhead = 256 // in nodes
)

// reduces returns the Reduce that node i's kernel computes; nil if it computes another op.
func (s *scope) reduces(f *fusion, i int) *ir.Node {
	n := &s.p.Nodes[i]
	if f.anchor[i] != nil {
		n = f.anchor[i]
	}
	if !f.kernel[i] || n.Op != ir.Reduce {
		return nil
	}
	return n
}

// findBeside finds reductions after node i, itself a reduction, that read the same shape along the same axes and whose
// operands are available already. The same kernel computes them and reads shared operands once.
func (s *scope) findBeside(f *fusion, i int) {
	n := s.reduces(f, i)
	if n == nil || s.committed[s.p.Nodes[i].Outputs[0]] {
		return
	}
	if s.findMoments(f, i) {
		return
	}
	shape, axes := s.p.Type(n.Inputs[0]).Shape, n.Attrs.(ir.ReduceAttrs).Axes
	for j := i + 1; j < min(len(s.p.Nodes), i+lookAhead) && len(s.beside) < maxBeside; j++ {
		m := s.reduces(f, j)
		root := s.p.Nodes[j].Outputs[0]
		if m == nil || s.early[j] || s.committed[root] || len(f.checks[j]) > 0 || !s.p.Type(m.Inputs[0]).Shape.Equal(shape) || !slices.Equal(m.Attrs.(ir.ReduceAttrs).Axes, axes) {
			continue
		}
		ready := true
		for v := range s.readsOf(f, &s.p.Nodes[j]).inPlace {
			ready = ready && s.inMemory[v] && !s.underWay.brings(v)
		}
		if ready {
			s.beside = append(s.beside, s.total(m, root))
			s.early[j] = true
		}
	}
}
