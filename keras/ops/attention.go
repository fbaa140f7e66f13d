package ops

import "github.com/gokeras/gokeras/kernels/ir"

// Attention is scaled dot-product attention: softmax(scale · q·kᵀ)·v over the keys, for each head. q is (batch,
// queries, heads, depth), k (batch, keys, heads, depth), v (batch, keys, heads, width), the result (batch, queries,
// heads, width). mask is nil or bool, true where a query may see a key, and broadcasts to (batch, heads, queries,
// keys); causal hides keys after the query's own position. A query that sees no key gives zeros. Source: Vaswani et
// al., "Attention Is All You Need", 2017, equation 1.
func Attention(q, k, v, mask *Tensor, scale float64, causal bool) *Tensor {
	q = float(q)
	in := []*Tensor{q, Cast(k, q.DType()), Cast(v, q.DType())}
	if mask != nil {
		mask = Cast(mask, ir.Bool)
		for mask.Rank() < 4 {
			mask = ExpandDims(mask, 0)
		}
		in = append(in, mask)
	}
	return apply(ir.Attention, ir.AttentionAttrs{Scale: scale, Causal: causal, Masked: mask != nil}, in...)[0]
}

func init() {
	rules[ir.Attention] = func(c *vjp) []*Tensor {
		if c.dys[1] != nil { // only the gradient's own gradient reads logsumexp
			return decomposedRule(c)
		}
		in := []*Tensor{c.in(0), c.in(1), c.in(2), c.out(0), c.out(1), c.dy(0)}
		grads := make([]*Tensor, len(c.node.Inputs))
		if len(grads) == 4 {
			in = append(in, c.in(3))
		}
		copy(grads, apply(ir.AttentionGrad, c.node.Attrs, in...))
		return grads
	}
}
