package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/keras/ops"
)

// Attention is dot-product attention without projections (Luong et al. 2015):
//
//	y = softmax(scale·query·keyᵀ)·value
//
// with ScoreMode "concat": scores are w·Σ tanh(scale·(query + key)) over the features. Inputs: query (batch, T, features), value
// (batch, S, features), optionally key (batch, S, features). Results: y (batch, T, features), and with ReturnAttentionScores the
// probabilities (batch, T, S). The value's mask hides positions, the query's mask sets results to 0. Weights: scale () with
// UseScale, concat_score_weight () with "concat". Behaviour and defaults are those of keras.layers.Attention.
type Attention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	UseScale  bool    `keras:"use_scale"`
	ScoreMode string  `keras:"score_mode,default=dot"` // "dot" or "concat"
	Dropout   float64 `keras:"dropout"`                // part of the probabilities dropped in training
	Seed      *int    `keras:"seed"`

	// UseCausalMask and ReturnAttentionScores are arguments of the call in Keras.
	UseCausalMask         bool
	ReturnAttentionScores bool

	scale, concat *distribute.Variable
}

// Build makes the scale and the weight of the concat score.
func (l *Attention) Build(b *Builder, _ []ir.Shape) {
	switch l.ScoreMode {
	case "", "dot", "concat":
	default:
		b.Fail("unknown ScoreMode %q; use \"dot\" or \"concat\"", l.ScoreMode)
	}
	if l.UseScale {
		l.scale = b.AddWeight("scale", ir.Shape{}, WeightOptions{Initializer: "ones"})
	}
	if l.ScoreMode == "concat" {
		l.concat = b.AddWeight("concat_score_weight", ir.Shape{}, WeightOptions{Initializer: "ones"})
	}
}

// Forward computes the layer.
func (l *Attention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	query, value, key, given := attentionInputs(c, in)
	return l.settings().attend(c, l.scores(c, query, key), query, value, given)
}

func (l *Attention) settings() simpleAttention {
	return simpleAttention{l.Dropout, seedOf(l.Seed), l.UseCausalMask, l.ReturnAttentionScores}
}

func (l *Attention) scores(c *Context, query, key *ops.Tensor) *ops.Tensor {
	scaled := func(x *ops.Tensor) *ops.Tensor {
		if l.scale != nil {
			return ops.Multiply(x, c.Weight(l.scale))
		}
		return x
	}
	if l.concat == nil {
		return scaled(ops.Matmul(query, ops.SwapAxes(key, -2, -1)))
	}
	sum := ops.Add(ops.ExpandDims(query, -2), ops.ExpandDims(key, -3))
	return ops.Multiply(c.Weight(l.concat), ops.Sum(ops.Tanh(scaled(sum)), -1))
}

// ComputeMask hands the mask of the query on.
func (l *Attention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	masks[0] = in[0].Mask()
	return masks
}

// Call applies the layer inside a trace; [InvokeAll] returns the probabilities too.
func (l *Attention) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

// AdditiveAttention is additive attention (Bahdanau et al. 2015):
//
//	y = softmax(Σ scale·tanh(query + key))·value
//
// Inputs and results are those of [Attention]. Weights: scale (features), unless NoScale. Behaviour and defaults are those of
// keras.layers.AdditiveAttention.
type AdditiveAttention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	NoScale bool    `keras:"use_scale,not"`
	Dropout float64 `keras:"dropout"` // part of the probabilities dropped in training
	Seed    *int    `keras:"seed"`

	// UseCausalMask and ReturnAttentionScores are arguments of the call in Keras.
	UseCausalMask         bool
	ReturnAttentionScores bool

	scale *distribute.Variable
}

// Build makes the scale.
func (l *AdditiveAttention) Build(b *Builder, in []ir.Shape) {
	if !l.NoScale {
		l.scale = b.AddWeight("scale", ir.Shape{in[0][len(in[0])-1]}, WeightOptions{})
	}
}

// Forward computes the layer.
func (l *AdditiveAttention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	query, value, key, given := attentionInputs(c, in)
	x := ops.Tanh(ops.Add(ops.ExpandDims(query, -2), ops.ExpandDims(key, -3)))
	if l.scale != nil {
		x = ops.Multiply(x, c.Weight(l.scale))
	}
	s := simpleAttention{l.Dropout, seedOf(l.Seed), l.UseCausalMask, l.ReturnAttentionScores}
	return s.attend(c, ops.Sum(x, -1), query, value, given)
}

// ComputeMask hands the mask of the query on.
func (l *AdditiveAttention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	masks[0] = in[0].Mask()
	return masks
}

// Call applies the layer inside a trace; [InvokeAll] returns the probabilities too.
func (l *AdditiveAttention) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

func init() {
	Register[Attention]()
	Register[AdditiveAttention]()
}

// simpleAttention is what Attention and AdditiveAttention do with their scores (batch, T, S).
type simpleAttention struct {
	dropout        float64
	seed           uint64
	causal, scores bool
}

func (s simpleAttention) attend(c *Context, scores, query, value, given *ops.Tensor) []*ops.Tensor {
	var mask *ops.Tensor
	if m := value.Mask(); m != nil {
		mask = ops.ExpandDims(m, -2)
	}
	if given != nil {
		mask = given
	}
	if s.causal {
		shape := scores.Shape()
		n := scores.Rank() - 1
		causal := ops.GreaterEqual(ops.Iota(c, ir.Int32, n-1, shape...), ops.Iota(c, ir.Int32, n, shape...))
		if mask != nil {
			causal = ops.LogicalAnd(mask, causal)
		}
		mask = causal
	}
	if mask != nil { // as Keras: a large number is taken off, so a row that hides everything keeps its proportions
		large := 1e9
		if scores.DType() == ir.Float16 {
			large = 65504
		}
		scores = ops.Where(mask, scores, ops.SubtractScalar(scores, large))
	}
	p := ops.Softmax(scores, -1)
	dropped := p
	if c.Training && s.dropout > 0 {
		dropped = ops.Dropout(p, s.dropout, s.seed)
	}
	y := ops.Matmul(dropped, value)
	if m := query.Mask(); m != nil {
		y = ops.Where(ops.ExpandDims(m, -1), y, ops.ZerosLike(y))
	}
	if s.scores {
		return []*ops.Tensor{y, p}
	}
	return []*ops.Tensor{y}
}
