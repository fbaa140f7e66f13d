package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// A recurrent layer needs its sequences step by step, but an embedding before it produces them example by example.
// lookUpBySteps transposes the indices instead of the vectors that they stand for.

// swapsStacking reports whether the node swaps the first two axes of a stack of matrices.
func swapsStacking(n *ir.Node) bool {
	a, ok := n.Attrs.(ir.TransposeAttrs)
	return ok && slices.Equal(a.Perm, []int{1, 0, 2})
}

// LookUpBySteps replaces transpose(embedding(table, i)) by embedding(table, transpose(i)), and embedding_grad(table, i,
// transpose(dy)) by embedding_grad(table, transpose(i), dy), if nothing else reads the values that no longer exist
// then.
func LookUpBySteps(p *ir.Program) (*ir.Program, error) {
	uses, def := pass.Uses(p)
	r := pass.NewRewriter(p)
	transposed := map[ir.Value]ir.Value{} // by indices: their transpose
	for i := range p.Nodes {
		n := &p.Nodes[i]
		op, attrs, operands := n.Op, n.Attrs, r.Operands(n)
		var inner *ir.Node // the node that n is joined with
		if last := len(n.Inputs) - 1; last >= 0 && def[n.Inputs[last]] >= 0 && uses[n.Inputs[last]] == 1 {
			inner = &p.Nodes[def[n.Inputs[last]]]
		}
		switch {
		case inner == nil:
		case swapsStacking(n) && inner.Op == ir.Embedding:
			op, attrs, operands = inner.Op, inner.Attrs, r.Operands(inner)
		case n.Op == ir.EmbeddingGrad && swapsStacking(inner):
			operands[2] = r.Mapped[inner.Inputs[0]]
		default:
			inner = nil
		}
		if inner != nil {
			indices, ok := transposed[operands[1]]
			if !ok {
				t, err := r.To.Add(n.Scope, ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, operands[1])
				if err != nil {
					return nil, err
				}
				indices = t[0]
				transposed[operands[1]] = indices
			}
			operands[1] = indices
		}
		out, err := r.To.Add(n.Scope, op, attrs, operands...)
		if err == nil {
			err = r.Define(n, out)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(transposed) == 0 {
		return p, nil
	}
	return r.Finish(), nil
}
