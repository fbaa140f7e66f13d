package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Attention is attention without projections:
//
//	y = softmax(scores)·value
//	scores = scale·query·keyᵀ                       (ScoreMode "dot")
//	scores = w·Σ tanh(scale·(query + key))          (ScoreMode "concat"; the sum runs over the features)
//
// Inputs: query (batch, T, features), value (batch, S, features), optionally key (batch, S, features; defaults to the
// value). Results: y (batch, T, features), and with ReturnAttentionScores the probabilities (batch, T, S), after
// Dropout in training.
//
// The mask of the value hides positions: 1e9 is subtracted from their scores (65504 in float16), so if all positions
// are hidden, the scores still differ as before, up to the precision of the type. The mask of the query sets results to
// 0 and is passed on. Weights: scale () with UseScale, concat_score_weight () with "concat". Behaviour and defaults are
// those of keras.layers.Attention. Source: Luong, Pham, Manning, "Effective Approaches to Attention-based Neural
// Machine Translation", EMNLP 2015.
type Attention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	UseScale  bool    `keras:"use_scale"`              // learn a scale for the scores
	ScoreMode string  `keras:"score_mode,default=dot"` // "dot" or "concat"
	Dropout   float64 `keras:"dropout"`                // fraction of the probabilities dropped in training
	Seed      *int    `keras:"seed"`

	// UseCausalMask hides positions after the query's own. It is an argument of the call in Keras.
	UseCausalMask bool `call:"use_causal_mask"`
	// ReturnAttentionScores asks for the probabilities as a second result. It is an argument of the call in Keras.
	ReturnAttentionScores bool `call:"return_attention_scores"`

	scale, concat *distribute.Variable
}

// Build creates the scale and the weight of the concat score.
func (l *Attention) Build(b *Builder, _ []ir.Shape) {
	switch l.ScoreMode {
	case "", "dot", "concat":
	default:
		b.Fail("unknown ScoreMode %q; use \"dot\" or \"concat\"", l.ScoreMode)
	}
	checkDropout(b, l.Dropout)
	l.scale, l.concat = nil, nil
	if l.UseScale {
		l.scale = b.AddWeight("scale", ir.Shape{}, WeightOptions{Initializer: "ones"})
	}
	if l.ScoreMode == "concat" {
		l.concat = b.AddWeight("concat_score_weight", ir.Shape{}, WeightOptions{Initializer: "ones"})
	}
}

// Forward computes the layer.
func (l *Attention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	query, value, key := threeInputs(c, in)
	s := plainAttention{l.Dropout, l.Seed, l.UseCausalMask, l.ReturnAttentionScores}
	return s.attend(c, l.scores(c, query, key), query, value)
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
	return ops.Multiply(c.Weight(l.concat), ops.Sum(ops.Tanh(scaled(sumPairs(query, key))), -1))
}

// sumPairs returns the sum of each query with each key: (batch, T, S, features).
func sumPairs(query, key *ops.Tensor) *ops.Tensor {
	return ops.Add(ops.ExpandDims(query, -2), ops.ExpandDims(key, -3))
}

// ComputeMask passes on the mask of the query.
func (l *Attention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	return queryMask(in, out)
}

// AdditiveAttention is attention whose scores are learned sums:
//
//	y = softmax(Σ scale·tanh(query + key))·value
//
// Inputs, results and masks are those of [Attention]. Weights: scale (features), unless NoScale. Behaviour and defaults
// are those of keras.layers.AdditiveAttention. Source: Bahdanau, Cho, Bengio, "Neural Machine Translation by Jointly
// Learning to Align and Translate", ICLR 2015.
type AdditiveAttention struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	NoScale bool    `keras:"use_scale,not"` // no learned factors
	Dropout float64 `keras:"dropout"`       // fraction of the probabilities dropped in training
	Seed    *int    `keras:"seed"`

	// UseCausalMask hides positions after the query's own. It is an argument of the call in Keras.
	UseCausalMask bool `call:"use_causal_mask"`
	// ReturnAttentionScores asks for the probabilities as a second result. It is an argument of the call in Keras.
	ReturnAttentionScores bool `call:"return_attention_scores"`

	scale *distribute.Variable
}

// Build creates the scale.
func (l *AdditiveAttention) Build(b *Builder, in []ir.Shape) {
	checkDropout(b, l.Dropout)
	l.scale = nil
	if len(in[0]) == 0 {
		b.Fail("takes a query (batch, T, features), received a scalar")
	}
	if !l.NoScale {
		l.scale = b.AddWeight("scale", ir.Shape{in[0][len(in[0])-1]}, WeightOptions{})
	}
}

// Forward computes the layer.
func (l *AdditiveAttention) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	query, value, key := threeInputs(c, in)
	x := ops.Tanh(sumPairs(query, key))
	if l.scale != nil {
		x = ops.Multiply(x, c.Weight(l.scale))
	}
	s := plainAttention{l.Dropout, l.Seed, l.UseCausalMask, l.ReturnAttentionScores}
	return s.attend(c, ops.Sum(x, -1), query, value)
}

// ComputeMask passes on the mask of the query.
func (l *AdditiveAttention) ComputeMask(_ *Context, in, out []*ops.Tensor) []*ops.Tensor {
	return queryMask(in, out)
}

func init() {
	Register[Attention]()
	Register[AdditiveAttention]()
}

// plainAttention computes the results of Attention and AdditiveAttention from their scores (batch, T, S).
type plainAttention struct {
	dropout        float64
	seed           *int
	causal, scores bool
}

func (s plainAttention) attend(c *Context, scores, query, value *ops.Tensor) []*ops.Tensor {
	var mask *ops.Tensor
	if m := value.Mask(); m != nil {
		mask = ops.ExpandDims(ops.Cast(m, ir.Bool), -2)
	}
	if s.causal {
		shape, n := scores.Shape(), scores.Rank()-1
		mask = and(mask, ops.GreaterEqual(ops.Iota(c, ir.Int32, n-1, shape...), ops.Iota(c, ir.Int32, n, shape...)))
	}
	if mask != nil {
		large := 1e9
		if scores.DType() == ir.Float16 {
			large = 65504
		}
		scores = ops.Where(mask, scores, ops.SubtractScalar(scores, large))
	}
	p := ops.Softmax(scores, -1)
	if c.Training && s.dropout > 0 {
		p = dropout(c, p, s.dropout, s.seed, p.Shape())
	}
	y := ops.Matmul(p, value)
	if m := query.Mask(); m != nil {
		y = ops.Where(ops.ExpandDims(ops.Cast(m, ir.Bool), -1), y, ops.ZerosLike(y))
	}
	if s.scores {
		return []*ops.Tensor{y, p}
	}
	return []*ops.Tensor{y}
}

// threeInputs returns query, value and key.
func threeInputs(c *Context, in []*ops.Tensor) (query, value, key *ops.Tensor) {
	if len(in) < 2 || len(in) > 3 {
		ops.Failf(c.Graph(), "takes query, value and optionally key, received %d tensors", len(in))
	}
	query, value, key = in[0], in[1], in[len(in)-1]
	for _, x := range in {
		if x.Rank() < 3 {
			ops.Failf(c.Graph(), "takes a query (batch, T, features), a value and a key (batch, S, features), received shape %v", x.Shape())
		}
	}
	return query, value, key
}

func checkDropout(b *Builder, rate float64) {
	if !(rate >= 0 && rate <= 1) {
		b.Fail("Dropout must be between 0 and 1, received %v", rate)
	}
}
