package ir

import "math"

func init() {
	decompositions[Attention] = decomposeAttention
	decompositions[AttentionGrad] = decomposeAttentionGrad
}

// scores returns scale·q·k of shape (batch, heads, queries, keys), with -inf where a key is hidden.
func (b *builder) scores(a AttentionAttrs, q, k Value, mask []Value) Value {
	pairs := DotAttrs{LhsBatch: []int{0, 2}, RhsBatch: []int{0, 2}, LhsContract: []int{3}, RhsContract: []int{3}}
	scores := b.scale(b.op(Dot, pairs, q, k), a.Scale)
	s := b.shape(scores)
	hidden := b.like(scores, math.Inf(-1))
	if a.Causal {
		grid := Type{Int32, s[2:]}
		past := b.compare(Ge, b.op(Iota, IotaAttrs{grid, 0}), b.op(Iota, IotaAttrs{grid, 1}))
		scores = b.op(Select, nil, b.op(Broadcast, BroadcastAttrs{s, []int{2, 3}}, past), scores, hidden)
	}
	if a.Masked {
		scores = b.op(Select, nil, b.op(Broadcast, BroadcastAttrs{s, upTo(4)}, mask[0]), scores, hidden)
	}
	return scores
}

// finite replaces -inf, which stands for a row that sees nothing, by 0, so that -inf minus it is not NaN.
func (b *builder) finite(x Value) Value {
	return b.op(Select, nil, b.compare(Eq, x, b.like(x, math.Inf(-1))), b.like(x, 0), x)
}

// byHead multiplies a (batch, heads, rows, inner) matrix, contracted over the given one of its last two axes, with the
// steps of a (batch, steps, heads, size) tensor; the result is (batch, rows, heads, size).
func (b *builder) byHead(matrix Value, contract int, tensor Value) Value {
	product := b.op(Dot, DotAttrs{LhsBatch: []int{0, 1}, RhsBatch: []int{0, 2}, LhsContract: []int{contract}, RhsContract: []int{1}}, matrix, tensor)
	return b.transpose(product, 0, 2, 1, 3)
}

func decomposeAttention(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs[:3])
	scores := b.scores(n.Attrs.(AttentionAttrs), in[0], in[1], n.Inputs[3:])
	s := b.shape(scores)
	largest := b.finite(b.reduce(Max, scores, 3))
	e := b.op(Exp, nil, b.sub(scores, b.spread(largest, s, 3)))
	sum := b.reduce(Sum, e, 3)
	total := b.add(largest, b.op(Log, nil, sum))
	empty := b.compare(Eq, sum, b.like(sum, 0))
	p := b.div(e, b.spread(b.op(Select, nil, empty, b.like(sum, 1), sum), s, 3))
	return b.narrow(n.Inputs[0], b.byHead(p, 3, in[2]), total)
}

// decomposeAttentionGrad recomputes the probabilities p from the scores and the logsumexp; then dv = pᵀ·dy, ds =
// scale·p∘(dy·vᵀ - Σ y∘dy), dq = ds·k and dk = dsᵀ·q.
func decomposeAttentionGrad(b *builder, n *Node) []Value {
	a := n.Attrs.(AttentionAttrs)
	in := b.wideAll(n.Inputs[:6])
	q, k, v, y, total, dy := in[0], in[1], in[2], in[3], in[4], in[5]
	scores := b.scores(a, q, k, n.Inputs[6:])
	s := b.shape(scores)
	p := b.op(Exp, nil, b.sub(scores, b.spread(b.finite(total), s, 3)))
	pairs := DotAttrs{LhsBatch: []int{0, 2}, RhsBatch: []int{0, 2}, LhsContract: []int{3}, RhsContract: []int{3}}
	dp := b.op(Dot, pairs, dy, v)
	mean := b.transpose(b.reduce(Sum, b.mul(y, dy), 3), 0, 2, 1)
	ds := b.scale(b.mul(p, b.sub(dp, b.spread(mean, s, 3))), a.Scale)
	return b.narrow(n.Inputs[0], b.byHead(ds, 3, k), b.byHead(ds, 2, q), b.byHead(p, 2, dy))
}
