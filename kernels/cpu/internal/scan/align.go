package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// alignSums makes sums over examples and steps read both operands in the order of memory. If an operand is the stack
// (batch, steps, ...) and its transpose (steps, batch, ...) exists as well, the sum reads the transpose.
func alignSums(p *ir.Program) (*ir.Program, error) {
	r, found := pass.NewRewriter(p), false
	swapped := map[ir.Value]ir.Value{} // of a stack: its transpose
	for i := range p.Nodes {
		n := &p.Nodes[i]
		attrs, operands := n.Attrs, r.Operands(n)
		switch a := n.Attrs.(type) {
		case ir.TransposeAttrs:
			if slices.Equal(a.Perm, []int{1, 0, 2}) {
				swapped[n.Inputs[0]] = n.Outputs[0]
			}
		case ir.DotAttrs:
			t, ok := swapped[n.Inputs[0]]
			if ok && slices.Equal(a.LhsContract, []int{1, 0}) && slices.Equal(a.RhsContract, []int{0, 1}) && len(p.Type(n.Inputs[1]).Shape) == 3 {
				found = true
				operands[0] = r.Mapped[t]
				attrs = ir.DotAttrs{LhsContract: []int{0, 1}, RhsContract: []int{0, 1}}
			}
		}
		out, err := r.To.Add(n.Scope, n.Op, attrs, operands...)
		if err == nil {
			err = r.Define(n, out)
		}
		if err != nil {
			return nil, err
		}
	}
	if !found {
		return p, nil
	}
	return r.Finish(), nil
}
