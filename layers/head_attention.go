package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// headAttention is the part of attention layers with heads between the projections. Projected tensors have the axes of
// the inputs except the last, then heads and features. Scores have the axes that are not attended over, then heads,
// query positions and key positions.
type headAttention struct {
	scale   float64
	dropout float64
	seed    *int
	window  int  // a query sees the keys less than so many positions away; 0 is no limit
	causal  bool // a query sees no key after its own position
	scores  bool // the probabilities are asked for

	rank            int    // of the inputs
	axes            []int  // of the inputs, attended over
	dot, combine    string // equations
	leading, spread int    // axes not attended over; query positions, as many as key positions
}

// letters name the axes in equations.
const letters = "abcdefghijklmnopqrstuvwxyz"

// arrange determines the equations for inputs of a rank. If axes is nil, all axes but batch and features are attended
// over.
func (a *headAttention) arrange(b *Builder, rank int, axes []int) {
	if 2*rank+2 > len(letters) {
		b.Fail("takes inputs of at most %d axes, received %d", len(letters)/2-1, rank)
	}
	a.rank, a.axes = rank, nil
	for _, axis := range axes {
		if axis < 0 {
			axis += rank
		}
		if axis < 1 || axis >= rank-1 || slices.Contains(a.axes, axis) {
			b.Fail("AttentionAxes %v must name axes between batch and features of an input of %d axes, each once", axes, rank)
		}
		a.axes = append(a.axes, axis)
	}
	for axis := 1; axis < rank-1 && axes == nil; axis++ {
		a.axes = append(a.axes, axis)
	}
	query := []byte(letters[:rank-1])
	key := slices.Clone(query)
	var lead, from, to []byte
	for _, axis := range a.axes {
		key[axis] = letters[rank+1+axis]
		from, to = append(from, query[axis]), append(to, key[axis])
	}
	for axis := range rank - 1 {
		if !slices.Contains(a.axes, axis) {
			lead = append(lead, query[axis])
		}
	}
	heads, features := letters[rank:rank+1], letters[rank+1:rank+2]
	scores := string(lead) + heads + string(from) + string(to)
	a.dot = string(query) + heads + features + "," + string(key) + heads + features + "->" + scores
	a.combine = scores + "," + string(key) + heads + features + "->" + string(query) + heads + features
	a.leading, a.spread = len(lead), len(a.axes)
}

// attend returns the results of the heads, and the probabilities if requested. mask is nil or has the rank of the
// scores and broadcasts to them.
//
// Keras has two implementations. Without dropout and probabilities it is a fused one, in which a query that sees no key
// attends to all of them equally. Otherwise such a query attends to nothing, and its result is zero.
func (a *headAttention) attend(c *Context, q, k, v, mask *ops.Tensor) (y, probabilities *ops.Tensor) {
	if a.dropout == 0 && !a.scores && a.rank == 3 {
		return a.fused(c, q, k, v, mask), nil
	}
	scores := ops.Einsum(a.dot, ops.MultiplyScalar(q, a.scale), k)
	if a.causal {
		mask = and(mask, a.past(c, scores.Dim(-2), scores.Dim(-1)))
	}
	p := ops.Cast(maskedSoftmax(atLeastFloat32(scores), mask, a.spread), q.DType())
	dropped := p
	if c.Training && a.dropout > 0 {
		dropped = dropout(c, p, a.dropout, a.seed, p.Shape())
	}
	return ops.Einsum(a.combine, dropped, v), p
}

// fused is attention as one operation; see attend.
func (a *headAttention) fused(c *Context, q, k, v, mask *ops.Tensor) *ops.Tensor {
	y := ops.Attention(q, k, v, mask, a.scale, a.causal)
	if mask == nil {
		return y
	}
	visible := mask
	if a.causal {
		visible = and(mask, a.past(c, q.Dim(1), k.Dim(1)))
	}
	return meanUnseen(y, v, visible)
}

// meanUnseen gives queries that see no key the mean of all values instead of zeros.
func meanUnseen(y, v, visible *ops.Tensor) *ops.Tensor {
	sees := ops.ExpandDims(ops.SwapAxes(ops.Any(visible, -1), 1, 2), -1) // (batch, queries, heads, 1)
	return ops.Where(sees, y, ops.KeepDims(ops.Mean(v, 1), v, 1))
}

// past (queries, keys) is true where the key is not after the query.
func (a *headAttention) past(c *Context, queries, keys int) *ops.Tensor {
	if len(a.axes) != 1 {
		ops.Failf(c.Graph(), "UseCausalMask and SlidingWindow need one attention axis, there are %d", len(a.axes))
	}
	return ops.GreaterEqual(ops.Iota(c, ir.Int32, 0, queries, keys), ops.Iota(c, ir.Int32, 1, queries, keys))
}

// near (queries, keys) is true where the distance of query and key is less than the window.
func (a *headAttention) near(c *Context, queries, keys int) *ops.Tensor {
	if len(a.axes) != 1 {
		ops.Failf(c.Graph(), "UseCausalMask and SlidingWindow need one attention axis, there are %d", len(a.axes))
	}
	distance := ops.Abs(ops.Subtract(ops.Iota(c, ir.Int32, 0, queries, keys), ops.Iota(c, ir.Int32, 1, queries, keys)))
	return ops.CompareScalar(ir.Lt, distance, float64(a.window))
}

// and combines masks; nil is none.
func and(a, b *ops.Tensor) *ops.Tensor {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return ops.LogicalAnd(a, b)
}

// maskedSoftmax is the softmax over the last n axes together. Masked elements are zero; a row that is completely masked
// is all zeros.
func maskedSoftmax(x, mask *ops.Tensor, n int) *ops.Tensor {
	rank := x.Rank()
	axes := make([]int, n)
	for i := range axes {
		axes[i] = rank - n + i
	}
	if mask == nil {
		return softmaxOver(x, axes)
	}
	p := softmaxOver(ops.Where(mask, x, ops.Scalar(x, -1e9)), axes)
	return ops.Where(mask, p, ops.Scalar(p, 0))
}

// mask combines the masks that came with query, value and key, the given one and the window; nil is none. The result
// has the rank of the scores.
func (a *headAttention) mask(c *Context, query, value, key, given *ops.Tensor) *ops.Tensor {
	var mask *ops.Tensor
	if m := query.Mask(); m != nil {
		mask = a.positions(c, "query", m, 0)
	}
	if m := value.Mask(); m != nil {
		mask = and(mask, a.positions(c, "value", m, a.spread))
	}
	if m := key.Mask(); m != nil && key != value {
		mask = and(mask, a.positions(c, "key", m, a.spread))
	}
	if given != nil {
		mask = and(mask, a.explicit(c, given))
	}
	if a.window > 0 {
		near := a.near(c, query.Dim(a.axes[0]), value.Dim(a.axes[0]))
		for near.Rank() < a.leading+1+2*a.spread {
			near = ops.ExpandDims(near, 0)
		}
		mask = and(mask, near)
	}
	return mask
}

// positions gives a mask of the inputs' positions (the axes of the input but the last) the rank of the scores. Its
// attended axes go to those of the queries (at 0) or of the keys (at a.spread).
func (a *headAttention) positions(c *Context, what string, m *ops.Tensor, at int) *ops.Tensor {
	if m.Rank() != a.rank-1 {
		ops.Failf(c.Graph(), "the mask of the %s has shape %v; expected one of %d axes, those of the %s but the features", what, m.Shape(), a.rank-1, what)
	}
	var perm []int
	shape := make([]int, a.leading+1+2*a.spread)
	for i := range shape {
		shape[i] = 1
	}
	for axis := range a.rank - 1 {
		if !slices.Contains(a.axes, axis) {
			shape[len(perm)] = m.Dim(axis)
			perm = append(perm, axis)
		}
	}
	for i, axis := range a.axes {
		shape[a.leading+1+at+i] = m.Dim(axis)
		perm = append(perm, axis)
	}
	return ops.Reshape(ops.Transpose(ops.Cast(m, ir.Bool), perm...), shape...)
}

// explicit gives a mask (..., query positions, key positions) the rank of the scores; without a heads axis it holds for
// all heads.
func (a *headAttention) explicit(c *Context, m *ops.Tensor) *ops.Tensor {
	rank := a.leading + 1 + 2*a.spread
	if m.Rank() > rank || m.Rank() < 2*a.spread {
		ops.Failf(c.Graph(), "the attention mask has shape %v; expected (batch, queries, keys) or (batch, heads, queries, keys)", m.Shape())
	}
	m = ops.Cast(m, ir.Bool)
	for m.Rank() < rank {
		m = ops.ExpandDims(m, m.Rank()-2*a.spread)
	}
	return m
}

// attentionInputs finds query, value, key and mask among the inputs. A bool tensor at the end, or a fourth one, is the
// mask.
func attentionInputs(c *Context, in []*ops.Tensor) (query, value, key, mask *ops.Tensor) {
	if n := len(in); n == 4 || n == 3 && in[2].DType() == ir.Bool {
		mask, in = in[n-1], in[:n-1]
	}
	if len(in) < 2 || len(in) > 3 {
		ops.Failf(c.Graph(), "takes query, value and optionally key, and last optionally a bool mask; received %d tensors", len(in))
	}
	query, value, key = in[0], in[1], in[1]
	if len(in) == 3 {
		key = in[2]
	}
	if key.Rank() != value.Rank() || key.Rank() > 1 && !dim.ShapesMayEqual(key.Shape()[1:key.Rank()-1], value.Shape()[1:value.Rank()-1]) {
		ops.Failf(c.Graph(), "key and value must have the same positions, received shapes %v and %v", key.Shape(), value.Shape())
	}
	return query, value, key, mask
}

// queryMask passes on the mask of the query to the first result.
func queryMask(in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	masks[0] = in[0].Mask()
	return masks
}
