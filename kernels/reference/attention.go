package reference

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// heads gives the loops of attention their sizes and reads operands by index.
type heads struct {
	ir.AttentionAttrs
	batch, queries, keys, heads, depth, width int
	q, k, v, mask                             Value
}

func newHeads(a ir.AttentionAttrs, q, k, v Value, mask []Value) heads {
	h := heads{
		AttentionAttrs: a, q: q, k: k, v: v,
		batch: q.Type.Shape[0], queries: q.Type.Shape[1], heads: q.Type.Shape[2], depth: q.Type.Shape[3],
		keys: k.Type.Shape[1], width: v.Type.Shape[3],
	}
	if a.Masked {
		h.mask = mask[0]
	}
	return h
}

// each visits every (batch, head, query).
func (h heads) each(visit func(b, n, t int)) {
	for _, at := range indices(ir.Shape{h.batch, h.heads, h.queries}) {
		visit(at[0], at[1], at[2])
	}
}

// at is the position of element i of a (batch, steps, heads, size) tensor.
func (h heads) at(v Value, b, step, n, i int) int {
	return position(v.Type.Shape, []int{b, step, n, i})
}

// row is the position of a (batch, heads, queries) element.
func (h heads) row(b, n, t int) int {
	return position(ir.Shape{h.batch, h.heads, h.queries}, []int{b, n, t})
}

func (h heads) visible(b, n, t, s int) bool {
	if h.Causal && s > t {
		return false
	}
	if !h.Masked {
		return true
	}
	at := []int{b, n, t, s}
	for i, d := range h.mask.Type.Shape {
		at[i] = min(at[i], d-1)
	}
	return h.mask.I[position(h.mask.Type.Shape, at)] != 0
}

// score is the scaled product of a query and a key, or -inf where the key is hidden.
func (h heads) score(b, n, t, s int) float64 {
	if !h.visible(b, n, t, s) {
		return math.Inf(-1)
	}
	sum := 0.0
	for i := range h.depth {
		sum += h.q.F[h.at(h.q, b, t, n, i)] * h.k.F[h.at(h.k, b, s, n, i)]
	}
	return sum * h.Scale
}

// probability of a key given the row's logsumexp; 0 in a row that sees nothing.
func probability(score, total float64) float64 {
	if math.IsInf(score, -1) {
		return 0
	}
	return math.Exp(score - total)
}

func (c *call) attention() error {
	h := newHeads(c.node.Attrs.(ir.AttentionAttrs), c.in[0], c.in[1], c.in[2], c.in[3:])
	y, total := c.out[0], c.out[1]
	h.each(func(b, n, t int) {
		scores := make([]float64, h.keys)
		largest := math.Inf(-1)
		for s := range scores {
			scores[s] = h.score(b, n, t, s)
			largest = maximum(largest, scores[s])
		}
		sum := 0.0
		for _, score := range scores {
			sum += probability(score, largest)
		}
		row := h.row(b, n, t)
		total.F[row] = largest + math.Log(sum)
		for s, score := range scores {
			for i := range h.width {
				y.F[h.at(y, b, t, n, i)] += probability(score, total.F[row]) * h.v.F[h.at(h.v, b, s, n, i)]
			}
		}
	})
	return nil
}

func (c *call) attentionGrad() error {
	h := newHeads(c.node.Attrs.(ir.AttentionAttrs), c.in[0], c.in[1], c.in[2], c.in[6:])
	y, total, dy := c.in[3], c.in[4], c.in[5]
	dq, dk, dv := c.out[0], c.out[1], c.out[2]
	h.each(func(b, n, t int) {
		mean := 0.0 // mean of the gradients of the probabilities, weighted by the probabilities: Σ_s p_s·dp_s = y·dy
		for i := range h.width {
			mean += y.F[h.at(y, b, t, n, i)] * dy.F[h.at(dy, b, t, n, i)]
		}
		for s := range h.keys {
			p := probability(h.score(b, n, t, s), total.F[h.row(b, n, t)])
			dp := 0.0
			for i := range h.width {
				dyi := dy.F[h.at(dy, b, t, n, i)]
				dp += dyi * h.v.F[h.at(h.v, b, s, n, i)]
				dv.F[h.at(dv, b, s, n, i)] += p * dyi
			}
			ds := p * (dp - mean) * h.Scale
			for i := range h.depth {
				dq.F[h.at(dq, b, t, n, i)] += ds * h.k.F[h.at(h.k, b, s, n, i)]
				dk.F[h.at(dk, b, s, n, i)] += ds * h.q.F[h.at(h.q, b, t, n, i)]
			}
		}
	})
	return nil
}
