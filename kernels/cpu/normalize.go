package cpu

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// normalize returns a program with the same meaning that holds only ops the backend has kernels for, simplified.
func normalize(p *ir.Program, replicas int) (*ir.Program, error) {
	q := p
	for {
		expanded, changed, err := expand(q)
		if err != nil {
			return nil, err
		}
		q = expanded
		if !changed {
			break
		}
	}
	// A second pass sees what the first uncovered, for example constants behind folded conversions.
	for range 2 {
		var err error
		if q, err = simplify(q, replicas); err != nil {
			return nil, err
		}
	}
	if replicas > 1 {
		return mergeBuckets(q)
	}
	return q, nil
}

// rewriter copies a program node by node.
type rewriter struct {
	from, to *ir.Program
	mapped   []ir.Value // by value of from
}

func newRewriter(p *ir.Program) *rewriter {
	r := &rewriter{from: p, to: ir.New(p.Name), mapped: make([]ir.Value, p.NumValues())}
	for _, in := range p.Inputs {
		r.mapped[in.Value] = r.to.AddInput(in.Name, p.Type(in.Value))
	}
	return r
}

// operands returns the values of the new program that stand for the node's inputs.
func (r *rewriter) operands(n *ir.Node) []ir.Value {
	in := make([]ir.Value, len(n.Inputs))
	for i, v := range n.Inputs {
		in[i] = r.mapped[v]
	}
	return in
}

// define makes values of the new program stand for the node's results.
func (r *rewriter) define(n *ir.Node, results []ir.Value) error {
	if len(results) != len(n.Outputs) {
		return fmt.Errorf("cpu: rewriting %v: %d results instead of %d", n.Op, len(results), len(n.Outputs))
	}
	for i, v := range n.Outputs {
		if got, want := r.to.Type(results[i]), r.from.Type(v); !got.Equal(want) {
			return fmt.Errorf("cpu: rewriting %v: result %d becomes %v instead of %v", n.Op, i, got, want)
		}
		r.mapped[v] = results[i]
	}
	return nil
}

// finish adds the outputs.
func (r *rewriter) finish() *ir.Program {
	for _, out := range r.from.Outputs {
		r.to.Outputs = append(r.to.Outputs, ir.Output{Name: out.Name, Value: r.mapped[out.Value], Alias: out.Alias})
	}
	return r.to
}

// expand decomposes the composites that have no kernel and computes half precision in float32. Dead nodes are dropped.
func expand(p *ir.Program) (q *ir.Program, changed bool, err error) {
	r, live := newRewriter(p), p.Live()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !live[i] {
			continue
		}
		in := r.operands(n)
		var results []ir.Value
		switch {
		case needsFloat32(p, n):
			changed = true
			results, err = widen(r.to, n, in)
		case builders[n.Op] == nil && n.Op != ir.Constant && !n.Op.IsElementwise():
			changed = true
			var ok bool
			results, ok, err = ir.Decompose(r.to, &ir.Node{Op: n.Op, Attrs: n.Attrs, Inputs: in, Scope: n.Scope})
			if err == nil && !ok {
				err = fmt.Errorf("cpu: %v (scope %q) has neither a kernel nor a decomposition", n.Op, n.Scope)
			}
		default:
			results, err = r.to.Add(n.Scope, n.Op, n.Attrs, in...)
		}
		if err == nil {
			err = r.define(n, results)
		}
		if err != nil {
			return nil, false, err
		}
	}
	return r.finish(), changed, nil
}

func isHalf(d ir.DType) bool { return d == ir.Float16 || d == ir.BFloat16 }

// needsFloat32 reports whether the node computes with half precision in other ways than element by element.
func needsFloat32(p *ir.Program, n *ir.Node) bool {
	if n.Op.IsElementwise() || n.Op.IsCollective() || n.Op.Traits().Moves {
		return false
	}
	return slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return isHalf(p.Type(v).DType) })
}

// widen adds the node with its half precision operands in float32 and rounds its results.
func widen(q *ir.Program, n *ir.Node, in []ir.Value) ([]ir.Value, error) {
	half := ir.Invalid
	wide := make([]ir.Value, len(in))
	for i, v := range in {
		wide[i] = v
		if d := q.Type(v).DType; isHalf(d) {
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
