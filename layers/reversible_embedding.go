package layers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// ReversibleEmbedding looks up a vector for each number, as [Embedding] does, and turns vectors back into one score for
// each number, as language models do before a softmax:
//
//	Call:    y[..., :] = embeddings[x[...], :]
//	Reverse: y = x · R,   R = embeddingsᵀ, or reverse_embeddings with UntiedWeights
//
// With LogitSoftCap s the scores are s·tanh(y/s), which lie between -s and s. There is no bias.
//
// Input shape: any, integers in [0, InputDim); a number outside is an error when the step runs. Output shape: that of
// the input with OutputDim as a new last axis. In reverse: (..., OutputDim) to (..., InputDim). Weights: embeddings
// (InputDim, OutputDim), and reverse_embeddings (OutputDim, InputDim) with UntiedWeights. With MaskZero the number 0
// means padding, and looked-up vectors have the mask x ≠ 0; scores have none.
//
// One layer can be called in both ways: [ReversibleEmbedding.Call] and [ReversibleEmbedding.Reverse] inside a trace,
// [Apply] and [ReversibleEmbedding.ApplyReverse] in a Functional model, whose files have the argument reverse=True for
// the latter.
//
// Source: Press and Wolf, "Using the Output Embedding to Improve Language Models", EACL 2017; behaviour of
// keras.layers.ReversibleEmbedding.
type ReversibleEmbedding struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	InputDim      int      `keras:"input_dim"`                  // how many numbers there are; required
	OutputDim     int      `keras:"output_dim"`                 // length of the vectors; required
	UntiedWeights bool     `keras:"tie_weights,not"`            // Reverse has its own matrix
	MaskZero      bool     `keras:"mask_zero"`                  // number 0 is padding
	ReverseDType  string   `keras:"reverse_dtype,default=null"` // type that scores are computed in, for example "bfloat16"; "": that of the vectors and of the layer together, float32 in models of a mixed policy
	LogitSoftCap  *float64 `keras:"logit_soft_cap"`             // s above, positive; nil leaves scores unchanged

	EmbeddingsInitializer any `keras:"embeddings_initializer,default=RandomUniform"` // of both matrices; uniform between -0.05 and 0.05
	EmbeddingsRegularizer any `keras:"embeddings_regularizer"`                       // of embeddings alone
	ActivityRegularizer   any `keras:"activity_regularizer"`
	EmbeddingsConstraint  any `keras:"embeddings_constraint"` // of embeddings alone

	LoraRank  int     `keras:"lora_rank,omitempty"`  // train an update of this rank instead of the embeddings, see EnableLora; 0: train them
	LoraAlpha float64 `keras:"lora_alpha,omitempty"` // the update is scaled by LoraAlpha/LoraRank; 0: LoraRank

	QuantizationConfig quantizers.Config `keras:"quantization_config"` // of a policy such as "int8_from_float32", see Quantize; nil is the mode's default

	embeddings, reverse *distribute.Variable
	lora                lora
	whole, wholeReverse quantized
	reverseDType        ir.DType // ir.Invalid: the compute type
}

// Build creates the table, and reverse_embeddings if they are separate.
func (l *ReversibleEmbedding) Build(b *Builder, _ []ir.Shape) {
	if l.InputDim <= 0 || l.OutputDim <= 0 {
		b.Fail("InputDim and OutputDim must be positive, received %d and %d; set layers.ReversibleEmbedding{InputDim: n, OutputDim: m}", l.InputDim, l.OutputDim)
	}
	if l.LogitSoftCap != nil && !(*l.LogitSoftCap > 0) {
		b.Fail("LogitSoftCap must be positive, received %v; leave it nil for scores without bounds", *l.LogitSoftCap)
	}
	l.reverseDType = ir.Invalid
	if l.ReverseDType != "" {
		d, err := ir.ParseDType(l.ReverseDType)
		if err != nil || !d.IsFloat() {
			b.Fail("ReverseDType must be a float type such as %q, received %q", ir.Float32, l.ReverseDType)
		}
		l.reverseDType = d
	}
	l.reverse = nil
	if l.whole = b.quantization(l.QuantizationConfig, reverseActivations); l.whole.mode != "" {
		l.buildQuantized(b)
	} else {
		l.embeddings = b.AddWeight("embeddings", ir.Shape{l.InputDim, l.OutputDim}, WeightOptions{Initializer: orDefault(l.EmbeddingsInitializer, "uniform"), Regularizer: l.EmbeddingsRegularizer, Constraint: l.EmbeddingsConstraint})
	}
	b.addLora(&l.lora, l.loraTarget(), l.LoraRank, LoraOptions{Alpha: l.LoraAlpha})
	if l.UntiedWeights && l.whole.mode == "" {
		l.reverse = b.AddWeight("reverse_embeddings", ir.Shape{l.OutputDim, l.InputDim}, WeightOptions{Initializer: orDefault(l.EmbeddingsInitializer, "uniform")})
	}
	b.SetActivityRegularizer(l.ActivityRegularizer)
}

// Forward looks vectors up.
func (l *ReversibleEmbedding) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	// Rows are cast after they are picked: casting the whole table would cost more than the lookup.
	var y *ops.Tensor
	if l.whole.mode != "" {
		y = l.whole.rows(c, &l.lora, l.embeddings, x)
	} else {
		y = ops.Embedding(c.Read(l.embeddings), x)
		if l.lora.a != nil {
			y = ops.Add(y, l.lora.product(ops.Embedding(c.Read(l.lora.a), x), c.Read(l.lora.b)))
		}
		y = ops.Cast(y, c.ComputeDType())
	}
	if !l.MaskZero {
		return []*ops.Tensor{y.WithMask(nil)}
	}
	return []*ops.Tensor{y.WithMask(ops.CompareScalar(ir.Ne, x, 0))}
}

// backward computes scores of vectors.
func (l *ReversibleEmbedding) backward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if !x.DType().IsFloat() {
		ops.Failf(c.Graph(), "in reverse it takes vectors of a float type (..., %d), received %v", l.OutputDim, x.Type())
	}
	if x.Rank() == 0 || !dim.MayEqual(x.Dim(-1), l.OutputDim) {
		ops.Failf(c.Graph(), "in reverse it takes vectors of length OutputDim %d on the last axis, received shape %v", l.OutputDim, x.Shape())
	}
	var y *ops.Tensor
	if l.whole.mode != "" {
		y = l.quantizedScores(c, ops.Cast(x, c.ComputeDType()))
	} else {
		y = l.scores(c, x)
	}
	if s := l.LogitSoftCap; s != nil {
		y = ops.MultiplyScalar(ops.Tanh(ops.DivideScalar(y, *s)), *s)
	}
	return []*ops.Tensor{y.WithMask(nil)}
}

// scores multiplies x by the reverse matrix. In Keras the layer is exempt from casting, so x keeps its type. In a model
// with a mixed policy the matrix keeps its type too, so that scores are float32; otherwise it has the compute type.
func (l *ReversibleEmbedding) scores(c *Context, x *ops.Tensor) *ops.Tensor {
	kernel := l.reverse
	if kernel == nil {
		kernel = l.embeddings
	}
	read := c.Weight
	if c.Policy.Compute != c.Policy.Variable {
		read = c.Read
	}
	w := read(kernel)
	if l.reverse == nil && l.lora.a != nil {
		w = ops.Add(w, l.lora.product(read(l.lora.a), read(l.lora.b)))
	}
	if l.reverseDType != ir.Invalid {
		x, w = ops.Cast(x, l.reverseDType), ops.Cast(w, l.reverseDType)
	}
	if l.reverse == nil {
		w = ops.Transpose(w)
	}
	return ops.Matmul(x, w)
}

// ComputeMask keeps the masks that the call made, because the two directions have different masks.
func (l *ReversibleEmbedding) ComputeMask(_ *Context, _, outputs []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{outputs[0].Mask()}
}

// EnableLora trains a low-rank update instead of the embeddings, A (InputDim, rank) times B (rank, OutputDim); see
// [Dense.EnableLora].
func (l *ReversibleEmbedding) EnableLora(rank int, options ...LoraOptions) error {
	return l.enableLora(&l.lora, l.loraTarget, &l.LoraRank, &l.LoraAlpha, rank, options)
}

func (l *ReversibleEmbedding) loraTarget() loraTarget {
	return loraTarget{"embeddings", l.embeddings, ir.Shape{l.InputDim, l.OutputDim}, l.EmbeddingsRegularizer, l.EmbeddingsConstraint}
}

func (l *ReversibleEmbedding) weightsInFiles() *weightsInFiles {
	if l.whole.mode != "" {
		return l.whole.inFiles(&l.Base, &l.lora, l.embeddings, nil, l.whole.dequantizeRows, quantizeRows)
	}
	return l.lora.inFiles(&l.Base, l.embeddings)
}

// Reverse turns vectors (..., OutputDim) into scores (..., InputDim), inside a trace.
func (l *ReversibleEmbedding) Reverse(c *Context, x *ops.Tensor) *ops.Tensor {
	return invoke(l, c, []*ops.Tensor{x}, how{compute: func(in []*ops.Tensor) []*ops.Tensor { return l.backward(c, in) }})[0]
}

// ApplyReverse records a call of Reverse on a symbolic tensor of a Functional model.
func (l *ReversibleEmbedding) ApplyReverse(x *KerasTensor) *KerasTensor {
	return ApplyArguments(l, Arguments{Positional: []any{x}, Keywords: Keywords{"reverse": true}})[0]
}

// argumentsOfCalls lists "reverse", because each call says itself whether it is in reverse.
func (l *ReversibleEmbedding) argumentsOfCalls() []string { return []string{"reverse"} }

// forwardWith returns what a call with such arguments computes.
func (l *ReversibleEmbedding) forwardWith(a Arguments) (func(c *Context, in []*ops.Tensor) []*ops.Tensor, error) {
	value, given := a.Keywords["reverse"]
	reverse, isBool := value.(bool)
	if given && !isBool {
		return nil, fmt.Errorf("call argument \"reverse\" must be a bool, received %v", value)
	}
	if reverse {
		return l.backward, nil
	}
	return l.Forward, nil
}

// keepsInputType: numbers given as floats must not lose digits before they are truncated to integers.
func (l *ReversibleEmbedding) keepsInputType() {}

func init() { Register[ReversibleEmbedding]() }
