package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// narrow returns the pass that concatenates very many operands in groups first, so that kernels do not have too many
// parameters.
func narrow() pass.Pass { return pass.Inside(pass.New("narrow", narrowed)) }

func isWide(n ir.Node) bool { return n.Op == ir.Concat && len(n.Inputs) > maxOperands }

func narrowed(p *ir.Program) (*ir.Program, error) {
	if !slices.ContainsFunc(p.Nodes, isWide) {
		return p, nil
	}
	r := pass.NewRewriter(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := r.Operands(n)
		for isWide(ir.Node{Op: n.Op, Inputs: in}) {
			var groups []ir.Value
			for group := range slices.Chunk(in, maxOperands/2) {
				joined, err := r.To.Add(n.Scope, n.Op, n.Attrs, group...)
				if err != nil {
					return nil, err
				}
				groups = append(groups, joined...)
			}
			in = groups
		}
		out, err := r.To.Add(n.Scope, n.Op, n.Attrs, in...)
		if err == nil {
			err = r.Define(n, out)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}
