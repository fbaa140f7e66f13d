package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// GroupQueryAttention is [MultiHeadAttention] in which several query heads share one head of key and value: query head
// u uses head u / (NumQueryHeads / NumKeyValueHeads) of the others. With NumKeyValueHeads 1 it is multi-query
// attention.
//
// Inputs: query (batch, T, features), value (batch, S, features), optionally key (batch, S, features), optionally last
// a bool mask (batch, T, S) or (batch, heads, T, S). Results: y (batch, T, features of the query), and with
// ReturnAttentionScores the probabilities (batch, heads of the query, T, S). Masks are treated as in
// MultiHeadAttention.
//
// Weights, as kernel and bias of the members query, key, gate (with UseGate), value, attention_output: (features,
// heads, HeadDim) and (heads, HeadDim), and last (heads, HeadDim, features) and (features). Behaviour and defaults are
// those of keras.layers.GroupQueryAttention. Source: Ainslie et al., "GQA: Training Generalized Multi-Query Transformer
// Models from Multi-Head Checkpoints", EMNLP 2023.
type GroupQueryAttention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	HeadDim          int     `keras:"head_dim"`                    // features of a head; required
	NumQueryHeads    int     `keras:"num_query_heads"`             // required
	NumKeyValueHeads int     `keras:"num_key_value_heads"`         // a divisor of NumQueryHeads; required
	Dropout          float64 `keras:"dropout"`                     // fraction of the probabilities dropped in training
	NoBias           bool    `keras:"use_bias,not"`                // no biases
	UseGate          bool    `keras:"use_gate"`                    // multiply each head by a sigmoid of a projection of the query
	SlidingWindow    int     `keras:"sliding_window,default=null"` // attend only to positions less than this far away; 0: to all
	Seed             *int    `keras:"seed"`

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer"` // of each projection, and of the results
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
func (l *GroupQueryAttention) Build(b *Builder, in []ir.Shape) {
	if l.HeadDim <= 0 || l.NumQueryHeads <= 0 || l.NumKeyValueHeads <= 0 {
		b.Fail("HeadDim, NumQueryHeads and NumKeyValueHeads must be positive, received %d, %d and %d", l.HeadDim, l.NumQueryHeads, l.NumKeyValueHeads)
	}
	if l.NumQueryHeads%l.NumKeyValueHeads != 0 {
		b.Fail("NumQueryHeads must be a multiple of NumKeyValueHeads, received %d and %d", l.NumQueryHeads, l.NumKeyValueHeads)
	}
	checkHeads(b, in, l.Dropout, l.SlidingWindow)
	if len(in[0]) != 3 {
		b.Fail("takes a query (batch, T, features) of 3 axes, received shape %v; use MultiHeadAttention for more", in[0])
	}
	l.inner = headAttention{
		scale: 1 / math.Sqrt(float64(l.HeadDim)), dropout: l.Dropout, seed: l.Seed, window: l.SlidingWindow,
		causal: l.UseCausalMask, scores: l.ReturnAttentionScores,
	}
	l.inner.arrange(b, 3, nil)
	l.heads = headProjections{
		query:  l.project("query", "bqm,muh->bquh", "uh", l.NumQueryHeads, l.HeadDim),
		key:    l.project("key", "bkm,mvh->bkvh", "vh", l.NumKeyValueHeads, l.HeadDim),
		value:  l.project("value", "bkm,mvh->bkvh", "vh", l.NumKeyValueHeads, l.HeadDim),
		output: l.project("attention_output", "bquh,uhm->bqm", "m", in[0][2]),
	}
	if l.UseGate {
		l.heads.gate = l.project("gate", "bqm,muh->bquh", "uh", l.NumQueryHeads, l.HeadDim)
		l.heads.gate.Activation = "sigmoid"
	}
	l.heads.adopt(b)
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

//go:noinline
func (l *GroupQueryAttention) project(name, equation, bias string, to ...int) *EinsumDense {
	d := &EinsumDense{
		Name: name, DType: l.DType, Frozen: l.base().frozen, Equation: equation, OutputShape: append([]int{Unknown}, to...),
		KernelInitializer: l.KernelInitializer, BiasInitializer: l.BiasInitializer,
		KernelRegularizer: l.KernelRegularizer, BiasRegularizer: l.BiasRegularizer, ActivityRegularizer: l.ActivityRegularizer,
		KernelConstraint: l.KernelConstraint, BiasConstraint: l.BiasConstraint,
	}
	if !l.NoBias {
		d.BiasAxes = bias
	}
	return d
}

// Forward computes the layer.
func (l *GroupQueryAttention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	needBuilt(c, l)
	return l.heads.attend(c, &l.inner, in, l.NumQueryHeads/l.NumKeyValueHeads)
}

// ComputeMask passes on the mask of the query.
func (l *GroupQueryAttention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	return queryMask(in, out)
}

// ClassName returns the name that Keras makes layer names and file paths from; the class is exported, and written, as
// GroupQueryAttention.
func (l *GroupQueryAttention) ClassName() string { return "GroupedQueryAttention" }

// MemberAttributes names the projections as Keras files do.
func (l *GroupQueryAttention) MemberAttributes() []string {
	return l.heads.attributes("_query_dense", "_key_dense", "_gate_dense", "_value_dense", "_output_dense")
}

// IgnoredConfig adds a key that only selects a kernel.
func (l *GroupQueryAttention) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "flash_attention")
}

func init() { Register[GroupQueryAttention]() }
