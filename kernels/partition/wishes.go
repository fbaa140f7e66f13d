package partition

import "github.com/gokeras/gokeras/kernels/ir"

// wishes are the preferred layouts of values from which new values of variables follow element by element: those of the
// variables. So a gradient is brought into the layout of its variable once, and not everything that an optimizer
// computes from it.
func wishes(p *ir.Program, in []value) map[ir.Value]layout {
	want := map[ir.Value]layout{}
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			want[out.Value] = in[out.Alias].at
		}
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		at, ok := want[n.Outputs[0]]
		if !ok || !n.Op.IsElementwise() && n.Op != ir.OptimizerUpdate {
			continue
		}
		for _, v := range n.Inputs {
			if _, has := want[v]; !has && p.Type(v).Shape.Equal(p.Type(n.Outputs[0]).Shape) {
				want[v] = at
			}
		}
	}
	return want
}
