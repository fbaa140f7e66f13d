package layers

import (
	"math"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MultiHeadAttention lets every position of a query look at all positions of a value, with several heads:
//
//	q, k, v = query·W_q + b_q, key·W_k + b_k, value·W_v + b_v        split into heads
//	y       = concat over heads of softmax(q·kᵀ/√KeyDim)·v, times W_o, plus b_o
//
// Inputs: query (batch, T, features), value (batch, S, features), optionally key (batch, S, features; the value if
// omitted), optionally last a bool mask (batch, T, S) or (batch, heads, T, S), true where the query may look. Results:
// y (batch, T, features of the query, or OutputShape), and with ReturnAttentionScores the probabilities (batch, heads,
// T, S).
//
// The masks that came with query, value and key are combined with the given one, the causal one and the window by
// "and". As in Keras, a query position that may look at nothing gets the mean of all values, or zeros with Dropout or
// ReturnAttentionScores. The mask of the query is passed on. Inputs may have further axes; AttentionAxes are those
// attended over.
//
// Weights, as kernel and bias of the members query, key, gate (with UseGate), value, attention_output: (features,
// heads, KeyDim or ValueDim) and (heads, KeyDim or ValueDim), and last (heads, ValueDim, features) and (features).
// Behaviour and defaults are those of keras.layers.MultiHeadAttention. Source: Vaswani et al., "Attention Is All You
// Need", NeurIPS 2017, section 3.2.2; gate: Qiu et al., "Gated Attention for Large Language Models", 2025.
type MultiHeadAttention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	NumHeads      int     `keras:"num_heads"`                   // required
	KeyDim        int     `keras:"key_dim"`                     // features of a head of query and key; required
	ValueDim      int     `keras:"value_dim,null"`              // features of a head of the value; 0 is KeyDim
	Dropout       float64 `keras:"dropout"`                     // fraction of the probabilities dropped in training
	NoBias        bool    `keras:"use_bias,not"`                // no biases
	UseGate       bool    `keras:"use_gate"`                    // multiply each head by a sigmoid of a projection of the query
	OutputShape   []int   `keras:"output_shape,default=null"`   // nil: the features of the query
	AttentionAxes []int   `keras:"attention_axes,default=null"` // nil: all axes but batch and features
	SlidingWindow int     `keras:"sliding_window,default=null"` // attend only to positions less than this far away; 0: to all
	Seed          *int    `keras:"seed"`

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer"` // of each projection
	KernelConstraint    any `keras:"kernel_constraint"`
	BiasConstraint      any `keras:"bias_constraint"`

	// UseCausalMask hides positions after the query's own. It is an argument of the call in Keras.
	UseCausalMask bool `call:"use_causal_mask"`
	// ReturnAttentionScores asks for the probabilities as a second result. It is an argument of the call in Keras.
	ReturnAttentionScores bool `call:"return_attention_scores"`

	heads headProjections
	inner headAttention
}

// Build creates the projections. They build their weights when they are first called.
func (l *MultiHeadAttention) Build(b *Builder, in []ir.Shape) {
	if l.NumHeads <= 0 || l.KeyDim <= 0 || l.ValueDim < 0 {
		b.Fail("NumHeads and KeyDim must be positive, received %d and %d (ValueDim %d)", l.NumHeads, l.KeyDim, l.ValueDim)
	}
	checkHeads(b, in, l.Dropout, l.SlidingWindow)
	l.inner = headAttention{
		scale: 1 / math.Sqrt(float64(l.KeyDim)), dropout: l.Dropout, seed: l.Seed, window: l.SlidingWindow,
		causal: l.UseCausalMask, scores: l.ReturnAttentionScores,
	}
	query := in[0]
	l.inner.arrange(b, len(query), l.AttentionAxes)
	out := l.OutputShape
	if len(out) == 0 {
		out = query[len(query)-1:]
	}
	l.heads = headProjections{
		query:  l.project("query", len(query), 1, []int{l.NumHeads, l.KeyDim}),
		key:    l.project("key", len(query), 1, []int{l.NumHeads, l.KeyDim}),
		value:  l.project("value", len(query), 1, []int{l.NumHeads, l.valueDim()}),
		output: l.project("attention_output", len(query)+1, 2, out),
	}
	if l.UseGate {
		l.heads.gate = l.project("gate", len(query), 1, []int{l.NumHeads, l.valueDim()})
		l.heads.gate.Activation = "sigmoid"
	}
	l.heads.adopt(b)
}

func (l *MultiHeadAttention) valueDim() int {
	if l.ValueDim > 0 {
		return l.ValueDim
	}
	return l.KeyDim
}

// project makes a layer that maps the last bound axes of a tensor of the given rank to others: "abc,cde->abde".
func (l *MultiHeadAttention) project(name string, rank, bound int, to []int) *EinsumDense {
	free := letters[:rank-bound]
	in, out := letters[rank-bound:rank], letters[rank:rank+len(to)]
	shape := append(ints.Repeat(Unknown, rank-bound-1), to...)
	d := &EinsumDense{
		Name: name, DType: l.DType, Frozen: l.base().frozen, Equation: free + in + "," + in + out + "->" + free + out, OutputShape: shape,
		KernelInitializer: l.KernelInitializer, BiasInitializer: l.BiasInitializer,
		KernelRegularizer: l.KernelRegularizer, BiasRegularizer: l.BiasRegularizer, ActivityRegularizer: l.ActivityRegularizer,
		KernelConstraint: l.KernelConstraint, BiasConstraint: l.BiasConstraint,
	}
	if !l.NoBias {
		d.BiasAxes = out
	}
	return d
}

// Forward computes the layer.
func (l *MultiHeadAttention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return l.heads.attend(c, &l.inner, in, 1)
}

// ComputeMask passes on the mask of the query. As in Keras, query, key and value themselves have none from then on:
// other results that are computed from them, such as the sum of a residual connection, have no mask. In a Functional
// model this is so for what looks at masks while the model runs: other attention, losses and metrics. Layers whose call
// takes a mask as an argument, such as GlobalAveragePooling1D, have the one that the symbolic tensor had.
func (l *MultiHeadAttention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := queryMask(in, out)
	for _, x := range in {
		x.DropMask()
	}
	return masks
}

// MemberAttributes names the projections as Keras files do.
func (l *MultiHeadAttention) MemberAttributes() []string {
	return l.heads.attributes("query_dense", "key_dense", "_gate_dense", "value_dense", "output_dense")
}

// IgnoredConfig adds a key that only selects a kernel.
func (l *MultiHeadAttention) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "flash_attention")
}

// adjustConfig writes the length that Keras has computed.
func (l *MultiHeadAttention) adjustConfig(c map[string]any) error {
	c["value_dim"] = int64(l.valueDim())
	return nil
}

func init() { Register[MultiHeadAttention]() }
