package pass

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Decompose returns the pass that replaces composites by their decompositions, except those that the backend has a
// kernel for, as kernel reports. Nodes that read half precision and are not elementwise are computed in float32 and
// their results rounded once, except those that the backend has a kernel for, as half reports; half may be nil. Dead
// nodes are removed. Sub-programs stay unchanged.
func Decompose(kernel func(op ir.Op) bool, half func(p *ir.Program, n *ir.Node) bool) Pass {
	return New("decompose", func(p *ir.Program) (*ir.Program, error) {
		for {
			q, changed, err := decomposeOnce(p, kernel, half)
			if err != nil || !changed {
				return q, err
			}
			p = q
		}
	})
}

func decomposeOnce(p *ir.Program, kernel func(op ir.Op) bool, half func(p *ir.Program, n *ir.Node) bool) (q *ir.Program, changed bool, err error) {
	r, live, whole := NewRewriter(p), p.Live(), true
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !live[i] {
			whole = false
			continue
		}
		var results []ir.Value
		switch {
		case needsFloat32(p, n) && (half == nil || !half(p, n)):
			changed = true
			results, err = widen(r.To, n, r.Operands(n))
		case !kernel(n.Op) && n.Op != ir.Constant && !n.Op.IsElementwise():
			changed = true
			var ok bool
			results, ok, err = ir.Decompose(r.To, &ir.Node{Op: n.Op, Attrs: n.Attrs, Inputs: r.Operands(n), Scope: n.Scope})
			if err == nil && !ok {
				err = fmt.Errorf("%v (scope %q) has neither a kernel nor a decomposition", n.Op, n.Scope)
			}
		default:
			if err = r.Keep(n); err != nil {
				return nil, false, err
			}
			continue
		}
		if err == nil {
			err = r.Define(n, results)
		}
		if err != nil {
			return nil, false, err
		}
	}
	if !changed && whole && inOrder(p) {
		return p, false, nil
	}
	return r.Finish(), changed, nil
}

// needsFloat32 reports whether the node computes with half precision and is not elementwise.
func needsFloat32(p *ir.Program, n *ir.Node) bool {
	if n.Op.IsElementwise() || n.Op.IsCollective() || n.Op.Traits().Moves {
		return false
	}
	return slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return p.Type(v).DType.IsHalf() })
}

// widen adds the node with its half precision operands in float32 and rounds its results.
func widen(q *ir.Program, n *ir.Node, in []ir.Value) ([]ir.Value, error) {
	half := ir.Invalid
	wide := make([]ir.Value, len(in))
	for i, v := range in {
		wide[i] = v
		if d := q.Type(v).DType; d.IsHalf() {
			half = d
			out, err := q.Add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, v)
			if err != nil {
				return nil, err
			}
			wide[i] = out[0]
		}
	}
	results, err := q.Add(n.Scope, n.Op, n.Attrs, wide...)
	if err != nil {
		return nil, err
	}
	results = slices.Clone(results)
	for i, v := range results {
		if q.Type(v).DType == ir.Float32 {
			out, err := q.Add(n.Scope, ir.Convert, ir.ConvertAttrs{DType: half}, v)
			if err != nil {
				return nil, err
			}
			results[i] = out[0]
		}
	}
	return results, nil
}
