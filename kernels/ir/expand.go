package ir

import "fmt"

// Expand returns an equivalent program in which composites are replaced by their decompositions, in sub-programs too,
// until only those remain that keep accepts. Inputs, outputs and aliases stay in order; values are renumbered.
//
// A backend passes a keep that accepts the composites that it has kernels for; keep may be nil to keep none. It
// receives the program that the node is in: p at first, then what p has been expanded to so far, or a sub-program.
// Values have other numbers in each.
func Expand(p *Program, keep func(p *Program, n *Node) bool) (*Program, error) {
	for {
		expanded, changed, err := expandOnce(p, keep)
		if err != nil || !changed {
			return expanded, err
		}
		p = expanded
	}
}

func expandOnce(p *Program, keep func(p *Program, n *Node) bool) (q *Program, changed bool, err error) {
	q = New(p.Name)
	renamed := make([]Value, p.NumValues())
	for _, in := range p.Inputs {
		renamed[in.Value] = q.AddInput(in.Name, p.Type(in.Value))
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		moved := Node{Op: n.Op, Scope: n.Scope}
		for _, v := range n.Inputs {
			moved.Inputs = append(moved.Inputs, renamed[v])
		}
		var bodyChanged bool
		if moved.Attrs, bodyChanged, err = expandBodies(n.Attrs, keep); err != nil {
			return nil, false, err
		}
		var results []Value
		if n.Op.IsComposite() && (keep == nil || !keep(p, n)) {
			if results, _, err = Decompose(q, &moved); err == nil {
				err = sameResults(p, n, q, results)
			}
			changed = true
		} else {
			results, err = q.Add(n.Scope, n.Op, moved.Attrs, moved.Inputs...)
			changed = changed || bodyChanged
		}
		if err != nil {
			return nil, false, fmt.Errorf("ir: expanding node %d of program %q: %w", i, p.Name, err)
		}
		for j, v := range n.Outputs {
			renamed[v] = results[j]
		}
	}
	for _, out := range p.Outputs {
		q.Outputs = append(q.Outputs, Output{out.Name, renamed[out.Value], out.Alias})
	}
	return q, changed, nil
}

// sameResults guards against a decomposition that does not match its op's shape rule.
func sameResults(p *Program, n *Node, q *Program, results []Value) error {
	if len(results) != len(n.Outputs) {
		return fmt.Errorf("%v has %d results, its decomposition %d", n.Op, len(n.Outputs), len(results))
	}
	for i, v := range n.Outputs {
		if !q.Type(results[i]).Equal(p.Type(v)) {
			return fmt.Errorf("result %d of %v is %v, that of its decomposition %v", i, n.Op, p.Type(v), q.Type(results[i]))
		}
	}
	return nil
}

// expandBodies expands the sub-programs of control-flow attributes.
func expandBodies(attrs Attrs, keep func(p *Program, n *Node) bool) (Attrs, bool, error) {
	changed := false
	var failed error
	expand := func(body *Program) *Program {
		expanded, c, err := expandOnce(body, keep)
		if err != nil && failed == nil {
			failed = err
		}
		changed = changed || c
		return expanded
	}
	switch a := attrs.(type) {
	case ScanAttrs:
		a.Body = expand(a.Body)
		return a, changed, failed
	case WhileAttrs:
		a.Cond, a.Body = expand(a.Cond), expand(a.Body)
		return a, changed, failed
	case CondAttrs:
		a.Then, a.Else = expand(a.Then), expand(a.Else)
		return a, changed, failed
	}
	return attrs, false, nil
}
