package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// DropBarriers returns the pass that lets readers of a barrier read its operand. It comes after the passes that remove
// repeated computations. The nodes keep their order, in which recomputed values come late.
func DropBarriers() Pass { return New("drop barriers", dropBarriers) }

func dropBarriers(p *ir.Program) (*ir.Program, error) {
	if !slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { return n.Op == ir.Barrier }) {
		return p, nil
	}
	r := NewRewriter(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Op == ir.Barrier {
			r.Mapped[n.Outputs[0]] = r.Mapped[n.Inputs[0]]
			continue
		}
		if err := r.Keep(n); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}
