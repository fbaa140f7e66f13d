package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Embedding looks up a vector for each number:
//
//	y[..., :] = embeddings[x[...], :]
//
// Input shape: any, integers in [0, InputDim); a number outside is an error when the step runs. Output shape: that of
// the input with OutputDim as a new last axis. Weights: embeddings (InputDim, OutputDim). With MaskZero the number 0
// means padding, and the result has the mask x ≠ 0.
//
// The gradients of a row that a batch looks up several times are summed before the optimizer sees them. In Keras on
// TensorFlow, Adam and other adaptive optimizers see them one by one.
//
// # Dynamic
//
// With Dynamic the input consists of keys: any int64 numbers, or strings. There is no InputDim: a row is created when a
// key is first trained, and its initial value depends on the seed and the key alone, whatever the number of processes,
// and after a restart. A lookup creates no row: in prediction a key that was never trained has its initial value. Rows
// are stored in a table in the memory of the process, on disk beyond MemoryBytes, or on parameter servers.
//
// The layer works on the host, before the model's program, so its input must be an input of the model or the result of
// other layers on the host. Each distinct key of a batch is looked up once, and gradients of equal keys are summed
// before they are applied. The optimizer is that of Compile: SGD, Adagrad, Adam, AdamW, RMSprop or Ftrl, without
// clipping; its state is stored with the rows. Rows that are not in a batch are left unchanged, including their
// momentum ("lazy"); with DenseUpdates the table is trained exactly like a plain one, bit for bit, at a cost for each
// update that a row has missed. With MaskZero key 0, or "", is padding.
//
// With MaxRows or MaxAge rows are evicted, depending on updates, not on lookups. An evicted row is kept for another 128
// updates of the table, so that it is not lost while its gradient is being computed.
type Embedding struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	InputDim  int  `keras:"input_dim"`  // how many numbers there are; required
	OutputDim int  `keras:"output_dim"` // length of the vectors; required
	MaskZero  bool `keras:"mask_zero"`  // number 0 is padding

	EmbeddingsInitializer any `keras:"embeddings_initializer,default=RandomUniform"` // uniform between -0.05 and 0.05
	EmbeddingsRegularizer any `keras:"embeddings_regularizer"`
	ActivityRegularizer   any `keras:"activity_regularizer"`
	EmbeddingsConstraint  any `keras:"embeddings_constraint"`

	LoraRank  int     `keras:"lora_rank,omitempty"`  // train an update of this rank instead of the embeddings, see EnableLora; 0: train them
	LoraAlpha float64 `keras:"lora_alpha,omitempty"` // the update is scaled by LoraAlpha/LoraRank; 0: LoraRank

	QuantizationConfig quantizers.Config `keras:"quantization_config"` // of a policy such as "int8_from_float32", see Quantize; nil is the mode's default

	Dynamic      bool   `keras:"dynamic,omitempty"`       // a row for each key that occurs; see above
	MaxRows      int    `keras:"max_rows,omitempty"`      // of a dynamic table; 0: no bound
	MaxAge       int    `keras:"max_age,omitempty"`       // rows not updated in this many updates of a dynamic table are evicted; 0: no bound
	Eviction     string `keras:"eviction,omitempty"`      // which rows are evicted above MaxRows: "least_frequent", those updated least, or "least_recent"; "" is the first
	DenseUpdates bool   `keras:"dense_updates,omitempty"` // optimizers treat rows without a gradient as in a plain table
	MemoryBytes  int    `keras:"memory_bytes,omitempty"`  // of a dynamic table; more goes to disk, with package distribute/tables/disk. 0: no limit

	embeddings *distribute.Variable
	dynamic    dynamic
	lora       lora
	whole      quantized
}

// Build creates the table.
func (l *Embedding) Build(b *Builder, _ []ir.Shape) {
	if l.Dynamic {
		b.Fail("%v", errDynamicCall)
	}
	if l.InputDim <= 0 || l.OutputDim <= 0 {
		b.Fail("InputDim and OutputDim must be positive, received %d and %d; set layers.Embedding{InputDim: n, OutputDim: m}", l.InputDim, l.OutputDim)
	}
	if l.whole = b.quantization(l.QuantizationConfig, nil); l.whole.mode != "" {
		l.buildQuantized(b)
	} else {
		l.embeddings = b.AddWeight("embeddings", ir.Shape{l.InputDim, l.OutputDim}, WeightOptions{Initializer: orDefault(l.EmbeddingsInitializer, "uniform"), Regularizer: l.EmbeddingsRegularizer, Constraint: l.EmbeddingsConstraint})
	}
	b.SetActivityRegularizer(l.ActivityRegularizer)
	b.addLora(&l.lora, l.loraTarget(), l.LoraRank, LoraOptions{Alpha: l.LoraAlpha})
}

// Forward computes the layer.
func (l *Embedding) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	if l.Dynamic {
		ops.Failf(c.Graph(), "%v", errDynamicCall)
	}
	x := one(c, in)
	if l.whole.mode != "" {
		return []*ops.Tensor{l.whole.rows(c, &l.lora, l.embeddings, x)}
	}
	if l.lora.a != nil {
		rows := ops.Add(c.Lookup(l.embeddings, x), l.lora.product(c.Lookup(l.lora.a, x), c.Read(l.lora.b)))
		return []*ops.Tensor{ops.Cast(rows, c.ComputeDType())}
	}
	// Rows are cast after they are picked: casting the whole table would cost more than the lookup.
	return []*ops.Tensor{ops.Cast(c.Lookup(l.embeddings, x), c.ComputeDType())}
}

// ComputeMask returns x ≠ 0 with MaskZero set.
func (l *Embedding) ComputeMask(_ *Context, inputs, _ []*ops.Tensor) []*ops.Tensor {
	if !l.MaskZero {
		return []*ops.Tensor{nil}
	}
	return []*ops.Tensor{ops.CompareScalar(ir.Ne, inputs[0], 0)}
}

// EnableLora trains a low-rank update instead of the embeddings, A (InputDim, rank) times B (rank, OutputDim); see
// [Dense.EnableLora].
func (l *Embedding) EnableLora(rank int, options ...LoraOptions) error {
	return l.enableLora(&l.lora, l.loraTarget, &l.LoraRank, &l.LoraAlpha, rank, options)
}

func (l *Embedding) loraTarget() loraTarget {
	return loraTarget{"embeddings", l.embeddings, ir.Shape{l.InputDim, l.OutputDim}, l.EmbeddingsRegularizer, l.EmbeddingsConstraint}
}

func (l *Embedding) weightsInFiles() *weightsInFiles {
	if l.whole.mode != "" {
		return l.whole.inFiles(&l.Base, &l.lora, l.embeddings, nil, l.whole.dequantizeRows, quantizeRows)
	}
	return l.lora.inFiles(&l.Base, l.embeddings)
}

func (l *Embedding) buildQuantized(b *Builder) {
	l.embeddings = b.addMatrix(&l.whole, packedRows(l.InputDim, l.OutputDim, l.whole.block))
}

// Quantize converts the embeddings of a built layer to integers of eight or four bits, with one scale for each vector,
// or one scale and zero for each block of a vector; see [Dense.Quantize]. They are not trained.
func (l *Embedding) Quantize(how any) error {
	if !l.built {
		return l.quantizeBase(how, nil, nil, nil, nil, nil, nil)
	}
	table, before := l.embeddings, l.whole
	err := l.quantizeBase(how, []*distribute.Variable{table}, &l.DType, &l.QuantizationConfig, func(b *Builder) {
		l.whole = b.quantization(l.QuantizationConfig, nil)
		l.buildQuantized(b)
	}, func(c quantizers.Config) ([]kernels.Array, error) {
		value, err := table.Value()
		if err != nil {
			return nil, err
		}
		return quantizeRows(c, value)
	}, func() []*distribute.Variable { return l.whole.variables(l.embeddings) })
	if err != nil {
		l.embeddings, l.whole = table, before
	}
	return err
}

// keepsInputType: numbers given as floats must not lose digits before they are truncated to integers.
func (l *Embedding) keepsInputType() {}

// IgnoredConfig adds a key of older versions.
func (l *Embedding) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "input_length")
}

func init() { Register[Embedding]() }
