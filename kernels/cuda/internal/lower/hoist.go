package lower

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// maxStacked limits the bytes that a loop stores for all its steps only because a sum was moved out of it.
const maxStacked = 256 << 20

// hoist returns the pass that moves sums over steps out of loops. If every step only adds to a state, the state is
// computed after the loop: from the stacked values of all steps, by one product or one reduction. Thus the gradient of
// a recurrent kernel becomes a single large product, and what remains in the loop treats examples separately.
func hoist() pass.Pass { return pass.New("hoist", hoisted) }

func hoisted(p *ir.Program) (*ir.Program, error) {
	r := pass.NewRewriter(p)
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := r.Operands(n)
		a, isScan := n.Attrs.(ir.ScanAttrs)
		if !isScan || a.Length == 0 {
			out, err := r.To.Add(n.Scope, n.Op, n.Attrs, in...)
			if err == nil {
				err = r.Define(n, out)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := hoistFrom(r, n, a, in); err != nil {
			return nil, err
		}
	}
	return r.Finish(), nil
}

// growing is a state to which each step adds a value, or a product of two values.
type growing struct {
	carry int
	add   *ir.Node // the node that adds
	dot   *ir.Node // nil: the step adds a value
	terms []ir.Value
}

// hoistFrom writes a loop without the sums, and then the sums.
func hoistFrom(r *pass.Rewriter, n *ir.Node, a ir.ScanAttrs, in []ir.Value) error {
	found, stacked := sumsOf(a)
	body, err := withoutSums(a, found, stacked)
	if err != nil {
		return err
	}
	var inputs []ir.Value
	for i, v := range in {
		if found[i] == nil {
			inputs = append(inputs, v)
		}
	}
	attrs := a
	attrs.Body, attrs.Carry = body, a.Carry-len(found)
	made, err := r.To.Add(n.Scope, ir.Scan, attrs, inputs...)
	if err != nil {
		return err
	}
	results, all := make([]ir.Value, len(n.Outputs)), map[ir.Value]ir.Value{} // by value of the body: its stacked values of all steps
	for i := a.Carry; i < a.Carry+a.Xs; i++ {
		all[a.Body.Inputs[i].Value] = in[i]
	}
	next := 0
	for i := range results {
		if i >= a.Carry || found[i] == nil {
			results[i] = made[next]
			next++
		}
		if i >= a.Carry {
			all[a.Body.Outputs[i].Value] = results[i]
		}
	}
	for i, v := range stacked {
		all[v] = made[next+i]
	}
	for i := range a.Carry {
		g := found[i]
		if g == nil {
			continue
		}
		var sum []ir.Value
		if g.dot != nil {
			both := ir.DotAttrs{LhsContract: []int{0, 1}, RhsContract: []int{0, 1}}
			sum, err = r.To.Add(g.dot.Scope, ir.Dot, both, all[g.terms[0]], all[g.terms[1]])
		} else {
			sum, err = r.To.Add(g.add.Scope, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, all[g.terms[0]])
		}
		if err == nil {
			sum, err = r.To.Add(g.add.Scope, ir.Add, nil, in[i], sum[0])
		}
		if err != nil {
			return err
		}
		results[i] = sum[0]
	}
	return r.Define(n, results)
}

// withoutSums returns the loop's body without the states that only grow; it returns the values that they grow by.
func withoutSums(a ir.ScanAttrs, found map[int]*growing, stacked []ir.Value) (*ir.Program, error) {
	body, at := ir.New(a.Body.Name), map[ir.Value]ir.Value{}
	for i, input := range a.Body.Inputs {
		if found[i] == nil {
			at[input.Value] = body.AddInput(input.Name, a.Body.Type(input.Value))
		}
	}
	skip := map[*ir.Node]bool{}
	for _, g := range found {
		skip[g.add], skip[g.dot] = true, true
	}
	for i := range a.Body.Nodes {
		m := &a.Body.Nodes[i]
		if skip[m] {
			continue
		}
		var operands []ir.Value
		for _, v := range m.Inputs {
			operands = append(operands, at[v])
		}
		out, err := body.Add(m.Scope, m.Op, m.Attrs, operands...)
		if err != nil {
			return nil, err
		}
		for j, v := range m.Outputs {
			at[v] = out[j]
		}
	}
	for i, out := range a.Body.Outputs {
		if i >= a.Carry || found[i] == nil {
			body.AddOutput(out.Name, at[out.Value])
		}
	}
	for _, v := range stacked {
		body.AddOutput("", at[v])
	}
	return body, nil
}

// sumsOf finds a loop's states that only grow, by number, and the values that the loop must stack for them.
func sumsOf(a ir.ScanAttrs) (found map[int]*growing, stacked []ir.Value) {
	p := a.Body
	uses, makers := map[ir.Value]int{}, map[ir.Value]*ir.Node{}
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Inputs {
			uses[v]++
		}
		for _, v := range p.Nodes[i].Outputs {
			makers[v] = &p.Nodes[i]
		}
	}
	for _, out := range p.Outputs {
		uses[out.Value]++
	}
	found = map[int]*growing{}
	kept := map[ir.Value]bool{}
	for _, in := range p.Inputs[a.Carry : a.Carry+a.Xs] {
		kept[in.Value] = true
	}
	for _, out := range p.Outputs[a.Carry:] {
		kept[out.Value] = true
	}
	bytes := 0
	for i := range a.Carry {
		state, next := p.Inputs[i].Value, p.Outputs[i].Value
		add := makers[next]
		if add == nil || add.Op != ir.Add || uses[state] != 1 || uses[next] != 1 || !p.Type(state).DType.IsFloat() {
			continue
		}
		g := &growing{carry: i, add: add, terms: []ir.Value{add.Inputs[1]}}
		if add.Inputs[1] == state {
			g.terms[0] = add.Inputs[0]
		} else if add.Inputs[0] != state {
			continue
		}
		if dot := makers[g.terms[0]]; dot != nil && dot.Op == ir.Dot && uses[g.terms[0]] == 1 && isOuter(p, dot) {
			g.dot, g.terms = dot, dot.Inputs
		}
		more := 0
		for _, v := range g.terms {
			if makers[v] == nil && !kept[v] {
				more = maxStacked // a state or a constant: keep the sum in the loop
			}
			if !kept[v] {
				more += a.Length * p.Type(v).Bytes()
			}
		}
		if bytes += more; bytes >= maxStacked {
			bytes -= more
			continue
		}
		for _, v := range g.terms {
			if !kept[v] {
				kept[v] = true
				stacked = append(stacked, v)
			}
		}
		found[i] = g
	}
	return found, stacked
}

// isOuter reports whether a product is that of two matrices over their first axes.
func isOuter(p *ir.Program, dot *ir.Node) bool {
	d := dot.Attrs.(ir.DotAttrs)
	first := func(axes []int, v ir.Value) bool { return len(axes) == 1 && axes[0] == 0 && len(p.Type(v).Shape) == 2 }
	return len(d.LhsBatch) == 0 && first(d.LhsContract, dot.Inputs[0]) && first(d.RhsContract, dot.Inputs[1])
}
