package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// headProjections are the learned parts of an attention layer with heads. gate may be nil.
type headProjections struct{ query, key, gate, value, output *EinsumDense }

func checkHeads(b *Builder, in []ir.Shape, dropout float64, window int) {
	if len(in) < 2 || len(in[0]) < 3 || len(in[1]) != len(in[0]) {
		b.Fail("takes a query (batch, T, features) and a value (batch, S, features), received shapes %v", in)
	}
	checkDropout(b, dropout)
	if window < 0 {
		b.Fail("SlidingWindow must be positive, or 0 for none, received %d", window)
	}
}

// members lists the projections in the order of their weights.
func (p *headProjections) members() []Layer {
	if p.gate == nil {
		return []Layer{p.query, p.key, p.value, p.output}
	}
	return []Layer{p.query, p.key, p.gate, p.value, p.output}
}

func (p *headProjections) adopt(b *Builder) { b.adoptOnly(p.members()...) }

// attributes lists the names of the members, given for all five.
func (p *headProjections) attributes(query, key, gate, value, output string) []string {
	if p.gate == nil {
		return []string{query, key, value, output}
	}
	return []string{query, key, gate, value, output}
}

// attend projects the inputs, computes the attention, where each head of key and value serves repeats heads of the
// query, and projects the result.
func (p *headProjections) attend(c *Context, a *headAttention, in []*ops.Tensor, repeats int) []*ops.Tensor {
	query, value, key, given := attentionInputs(c, in)
	if query.Rank() != a.rank || value.Rank() != a.rank {
		ops.Failf(c.Graph(), "was built for a query and a value of %d axes, received shapes %v and %v", a.rank, query.Shape(), value.Shape())
	}
	mask := a.mask(c, query, value, key, given)
	q, k, v := Invoke(p.query, c, query), Invoke(p.key, c, key), Invoke(p.value, c, value)
	if repeats > 1 {
		k, v = ops.Repeat(k, repeats, 2), ops.Repeat(v, repeats, 2)
	}
	y, probabilities := a.attend(c, q, k, v, mask)
	if p.gate != nil {
		y = ops.Multiply(y, Invoke(p.gate, c, query))
	}
	out := []*ops.Tensor{Invoke(p.output, c, y)}
	if a.scores {
		out = append(out, probabilities)
	}
	return out
}
