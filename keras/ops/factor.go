package ops

import "github.com/gokeras/gokeras/kernels/ir"

// factor returns what definition computes from the matrices xs (..., m, n). Backends either have a kernel of that kind
// or run the definition. 16-bit types are computed in float32.
func factor(kind ir.Factorization, definition func(xs []*Tensor) []*Tensor, xs ...*Tensor) []*Tensor {
	if d := xs[0].DType(); d.IsHalf() {
		wide := make([]*Tensor, len(xs))
		for i, x := range xs {
			wide[i] = Cast(x, ir.Float32)
		}
		out := factor(kind, definition, wide...)
		for i, y := range out {
			if y.DType().IsFloat() {
				out[i] = Cast(y, d)
			}
		}
		return out
	}
	g := graphOf(xs...).current()
	b, results := g.traceBody(string(kind), types(xs), func(_ *Graph, in []*Tensor) []*Tensor { return definition(in) })
	return g.add(ir.Factor, ir.FactorAttrs{Kind: kind, Definition: b.snapshot(b.inputValues(), results)}, xs...)
}
