package layers

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/keras/ops"
)

// MultiHeadAttention lets every position of a query look at all positions of a value, with several heads (Vaswani et al. 2017,
// "Attention is all you need", section 3.2.2):
//
//	q, k, v = query·W_q + b_q, key·W_k + b_k, value·W_v + b_v        split into heads
//	y       = concat over heads of softmax(q·kᵀ/√KeyDim)·v, times W_o, plus b_o
//
// Inputs: query (batch, T, features), value (batch, S, features), optionally key (batch, S, features; the value where it is left
// out), optionally last a bool mask (batch, T, S) or (batch, heads, T, S), true where the query may look. Results: y (batch, T,
// features of the query, or OutputShape), and with ReturnAttentionScores the probabilities (batch, heads, T, S). The masks of
// query, value and key that came with them are combined with the given one and the causal one by "and". Inputs may have further
// axes, of which AttentionAxes are attended over. Behaviour and defaults are those of keras.layers.MultiHeadAttention.
type MultiHeadAttention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	NumHeads      int     `keras:"num_heads"`                   // required
	KeyDim        int     `keras:"key_dim"`                     // features of a head of query and key; required
	ValueDim      int     `keras:"value_dim"`                   // features of a head of the value; 0 is KeyDim
	Dropout       float64 `keras:"dropout"`                     // part of the probabilities dropped in training
	NoBias        bool    `keras:"use_bias,not"`                // leave the biases out
	UseGate       bool    `keras:"use_gate"`                    // multiply each head by a sigmoid of a projection of the query
	OutputShape   []int   `keras:"output_shape,default=null"`   // nil: the features of the query
	AttentionAxes []int   `keras:"attention_axes,default=null"` // nil: all axes but batch and features
	Seed          *int    `keras:"seed"`

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer"`
	KernelConstraint    any `keras:"kernel_constraint"`
	BiasConstraint      any `keras:"bias_constraint"`

	// UseCausalMask and ReturnAttentionScores are arguments of the call in Keras.
	UseCausalMask         bool
	ReturnAttentionScores bool

	query, key, value, output, gate *EinsumDense
	scores, combine                 string // equations
	axes                            []int  // of the inputs, attended over
}

// letters name the axes in equations.
const letters = "abcdefghijklmnopqrstuvwxyz"

// Build makes the projections.
func (l *MultiHeadAttention) Build(b *Builder, in []ir.Shape) {
	if l.NumHeads <= 0 || l.KeyDim <= 0 || l.ValueDim < 0 {
		b.Fail("NumHeads and KeyDim must be positive, received %d and %d (ValueDim %d)", l.NumHeads, l.KeyDim, l.ValueDim)
	}
	if len(in) < 2 || len(in[0]) < 3 {
		b.Fail("takes a query (batch, T, features) and a value (batch, S, features), received shapes %v", in)
	}
	query, value, key := in[0], in[1], in[1]
	if len(in) > 2 && len(in[2]) == len(value) && slices.Equal(in[2][1:len(value)-1], value[1:len(value)-1]) {
		key = in[2]
	}
	depth := l.KeyDim
	if l.ValueDim > 0 {
		depth = l.ValueDim
	}
	l.query = l.project("query", query, []int{l.NumHeads, l.KeyDim})
	l.key = l.project("key", key, []int{l.NumHeads, l.KeyDim})
	l.value = l.project("value", value, []int{l.NumHeads, depth})
	l.output = l.projectOut(query)
	members := []Layer{l.query, l.key, l.value, l.output}
	if l.UseGate {
		l.gate = l.project("gate", query, []int{l.NumHeads, depth})
		l.gate.Activation = "sigmoid"
		members = []Layer{l.query, l.key, l.gate, l.value, l.output}
	}
	for _, m := range members {
		b.Adopt(m)
	}
	b.BuildMember(l.query, query)
	b.BuildMember(l.key, key)
	if l.UseGate {
		b.BuildMember(l.gate, query)
	}
	b.BuildMember(l.value, value)
	b.BuildMember(l.output, slices.Concat(query[:len(query)-1], ir.Shape{l.NumHeads, depth}))
	l.equations(b, len(query))
}

// project makes the layer that maps features to heads: "abc,cde->abde" for (batch, T, features).
func (l *MultiHeadAttention) project(name string, in ir.Shape, heads []int) *EinsumDense {
	n := len(in) - 1
	lead, last, out := letters[:n], letters[n:n+1], letters[n+1:n+3]
	shape := append(slices.Repeat([]int{Unknown}, n-1), heads...)
	return l.dense(name, lead+last+","+last+out+"->"+lead+out, shape, out)
}

// projectOut makes the layer that maps heads to the result.
func (l *MultiHeadAttention) projectOut(query ir.Shape) *EinsumDense {
	n := len(query) - 1
	out := l.OutputShape
	if out == nil {
		out = query[n:]
	}
	lead, heads, to := letters[:n], letters[n:n+2], letters[n+2:n+2+len(out)]
	shape := append(slices.Repeat([]int{Unknown}, n-1), out...)
	return l.dense("attention_output", lead+heads+","+heads+to+"->"+lead+to, shape, to)
}

func (l *MultiHeadAttention) dense(name, equation string, shape []int, bias string) *EinsumDense {
	if l.NoBias {
		bias = ""
	}
	return &EinsumDense{
		Name: name, DType: l.DType, Frozen: l.Frozen, Equation: equation, OutputShape: shape, BiasAxes: bias,
		KernelInitializer: l.KernelInitializer, BiasInitializer: l.BiasInitializer,
		KernelRegularizer: l.KernelRegularizer, BiasRegularizer: l.BiasRegularizer, ActivityRegularizer: l.ActivityRegularizer,
		KernelConstraint: l.KernelConstraint, BiasConstraint: l.BiasConstraint,
	}
}

// equations works out how scores and results are summed. Projected tensors have the axes of the input but the last, then heads
// and features; scores have the axes not attended over, heads, query positions, key positions.
func (l *MultiHeadAttention) equations(b *Builder, rank int) {
	l.axes = nil
	for _, a := range l.AttentionAxes {
		if a < 0 {
			a += rank
		}
		if a < 1 || a >= rank-1 {
			b.Fail("AttentionAxes %v must name axes between batch and features of an input of %d axes", l.AttentionAxes, rank)
		}
		l.axes = append(l.axes, a)
	}
	if l.AttentionAxes == nil {
		for a := 1; a < rank-1; a++ {
			l.axes = append(l.axes, a)
		}
	}
	query := []byte(letters[:rank-1])
	key := slices.Clone(query)
	var lead, from, to []byte
	for a := range rank - 1 {
		if !slices.Contains(l.axes, a) {
			lead = append(lead, query[a])
			continue
		}
		key[a] = query[a] + byte(rank) + 4
		from, to = append(from, query[a]), append(to, key[a])
	}
	heads, features := letters[rank:rank+1], letters[rank+1:rank+2]
	scores := string(lead) + heads + string(from) + string(to)
	l.scores = string(query) + heads + features + "," + string(key) + heads + features + "->" + scores
	l.combine = scores + "," + string(key) + heads + features + "->" + string(query) + heads + features
}

// Forward computes the layer.
func (l *MultiHeadAttention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	query, value, key, given := attentionInputs(c, in)
	q, k, v := Invoke(l.query, c, query), Invoke(l.key, c, key), Invoke(l.value, c, value)
	mask := l.mask(c, query, value, key, given)
	scale := 1 / math.Sqrt(float64(l.KeyDim))
	var y, probabilities *ops.Tensor
	if mask == nil && l.Dropout == 0 && !l.ReturnAttentionScores && q.Rank() == 4 {
		y = ops.Attention(q, k, v, nil, scale, l.UseCausalMask)
	} else {
		probabilities = l.attend(c, ops.Einsum(l.scores, ops.MultiplyScalar(q, scale), k), mask)
		dropped := probabilities
		if c.Training && l.Dropout > 0 {
			dropped = ops.Dropout(probabilities, l.Dropout, seedOf(l.Seed))
		}
		y = ops.Einsum(l.combine, dropped, v)
	}
	if l.UseGate {
		y = ops.Multiply(y, Invoke(l.gate, c, query))
	}
	out := []*ops.Tensor{Invoke(l.output, c, y)}
	if l.ReturnAttentionScores {
		out = append(out, probabilities)
	}
	return out
}

// attend turns scores into probabilities over the key positions. A query that may look at nothing looks at everything alike in
// Keras's fused path; where probabilities are asked for, or dropped, it looks at nothing.
func (l *MultiHeadAttention) attend(c *Context, scores, mask *ops.Tensor) *ops.Tensor {
	dtype := scores.DType()
	if l.UseCausalMask {
		s := scores.Shape()
		n := scores.Rank() - 1
		if len(l.axes) != 1 {
			ops.Failf(c.Graph(), "UseCausalMask needs one attention axis, there are %d", len(l.axes))
		}
		row := ops.Iota(c, ir.Int32, n-1, s...)
		causal := ops.GreaterEqual(row, ops.Iota(c, ir.Int32, n, s...))
		if mask != nil {
			causal = ops.LogicalAnd(causal, mask)
		}
		mask = causal
	}
	wide := ops.Cast(scores, larger(dtype))
	if mask != nil {
		wide = ops.Where(mask, wide, ops.Scalar(wide, -0.7*maxFinite(wide.DType())))
	}
	positions := 1
	for i := range l.axes {
		positions *= wide.Dim(-1 - i)
	}
	flat := ops.Reshape(wide, append(slices.Clone(wide.Shape()[:wide.Rank()-len(l.axes)]), positions)...)
	p := ops.Reshape(ops.Softmax(flat, -1), wide.Shape()...)
	if mask != nil && (l.ReturnAttentionScores || l.Dropout > 0 || wide.Rank() != 4) {
		p = ops.Where(mask, p, ops.ZerosLike(p))
	}
	return ops.Cast(p, dtype)
}

// larger is the type in which probabilities are computed: at least float32.
func larger(d ir.DType) ir.DType {
	if d == ir.Float64 {
		return d
	}
	return ir.Float32
}

func maxFinite(d ir.DType) float64 {
	if d == ir.Float64 {
		return math.MaxFloat64
	}
	return math.MaxFloat32
}

// mask combines the masks that came with the inputs and the given one; nil is none. Its axes broadcast to those of the scores.
func (l *MultiHeadAttention) mask(c *Context, query, value, key, given *ops.Tensor) *ops.Tensor {
	var mask *ops.Tensor
	and := func(m *ops.Tensor) {
		if mask != nil {
			m = ops.LogicalAnd(mask, m)
		}
		mask = m
	}
	if m := query.Mask(); m != nil {
		and(ops.ExpandDims(ops.Cast(m, ir.Bool), -1))
	}
	if m := value.Mask(); m != nil {
		and(ops.ExpandDims(ops.Cast(m, ir.Bool), -2))
	}
	if m := key.Mask(); m != nil && key != value {
		and(ops.ExpandDims(ops.Cast(m, ir.Bool), -2))
	}
	if given != nil {
		m := ops.Cast(given, ir.Bool)
		if mask != nil && m.Rank() > mask.Rank() { // a mask for each head
			mask = ops.ExpandDims(mask, 1)
		}
		and(m)
	}
	if mask == nil {
		return nil
	}
	for rank := query.Rank() - 1 + 1 + len(l.axes); mask.Rank() < rank; {
		mask = ops.ExpandDims(mask, mask.Rank()-2*len(l.axes))
	}
	return mask
}

// attentionInputs sorts query, value, key and mask out of the inputs. A bool tensor at the end is the mask.
func attentionInputs(c *Context, in []*ops.Tensor) (query, value, key, mask *ops.Tensor) {
	if n := len(in); n > 2 && in[n-1].DType() == ir.Bool {
		mask, in = in[n-1], in[:n-1]
	}
	if len(in) < 2 || len(in) > 3 {
		ops.Failf(c.Graph(), "takes query, value and optionally key, and last optionally a bool mask; received %d tensors", len(in))
	}
	query, value, key = in[0], in[1], in[1]
	if len(in) == 3 {
		key = in[2]
	}
	return query, value, key, mask
}

// ComputeMask hands the mask of the query on.
func (l *MultiHeadAttention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	masks[0] = in[0].Mask()
	return masks
}

// Call applies the layer inside a trace; [InvokeAll] returns the probabilities too.
func (l *MultiHeadAttention) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

func init() { Register[MultiHeadAttention]() }
