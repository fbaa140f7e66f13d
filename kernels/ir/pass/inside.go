package pass

import "github.com/gokeras/gokeras/kernels/ir"

// Inside returns the pass that runs another one on the programs of loops and branches first, to any depth, and then on
// the program itself.
func Inside(s Pass) Pass {
	return New(s.Name(), func(p *ir.Program) (*ir.Program, error) { return inside(p, s) })
}

func inside(p *ir.Program, s Pass) (*ir.Program, error) {
	var err error
	run := func(body *ir.Program) *ir.Program {
		if err != nil {
			return body
		}
		var q *ir.Program
		if q, err = inside(body, s); err != nil {
			return body
		}
		return q
	}
	r, changed := NewRewriter(p), false
	for i := range p.Nodes {
		n := &p.Nodes[i]
		attrs := n.Attrs
		switch a := n.Attrs.(type) {
		case ir.ScanAttrs:
			body := run(a.Body)
			changed = changed || body != a.Body
			a.Body = body
			attrs = a
		case ir.WhileAttrs:
			cond, body := run(a.Cond), run(a.Body)
			changed = changed || cond != a.Cond || body != a.Body
			a.Cond, a.Body = cond, body
			attrs = a
		case ir.CondAttrs:
			yes, no := run(a.Then), run(a.Else)
			changed = changed || yes != a.Then || no != a.Else
			a.Then, a.Else = yes, no
			attrs = a
		}
		if err != nil {
			return nil, err
		}
		results, e := r.To.Add(n.Scope, n.Op, attrs, r.Operands(n)...)
		if e == nil {
			e = r.Define(n, results)
		}
		if e != nil {
			return nil, e
		}
	}
	if !changed {
		return s.Run(p)
	}
	return s.Run(r.Finish())
}
