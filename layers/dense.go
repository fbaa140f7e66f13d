package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/activations"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Dense is a fully connected layer:
//
//	y = activation(x·kernel + bias)
//
// Input shape: (batch, ..., features). Output shape: (batch, ..., units). Weights: kernel (features, units), bias
// (units). Behaviour and defaults are those of keras.layers.Dense.
type Dense struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Units      int  `keras:"units"`                     // length of the last axis of the result; required
	Activation any  `keras:"activation,default=linear"` // name or function; nil is linear
	NoBias     bool `keras:"use_bias,not"`              // no bias

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer,omitempty"`
	KernelConstraint    any `keras:"kernel_constraint"`
	BiasConstraint      any `keras:"bias_constraint"`

	LoraRank  int     `keras:"lora_rank,omitempty"`  // train an update of this rank instead of the kernel, see EnableLora; 0: train the kernel
	LoraAlpha float64 `keras:"lora_alpha,omitempty"` // the update is scaled by LoraAlpha/LoraRank; 0: LoraRank

	QuantizationConfig quantizers.Config `keras:"quantization_config"` // of a policy such as "int8_from_float32", see Quantize; nil is the mode's default

	kernel, bias *distribute.Variable
	lora         lora
	whole        quantized
	eight        float8
}

// Build creates the kernel and bias.
func (l *Dense) Build(b *Builder, in []ir.Shape) {
	if l.Units <= 0 {
		b.Fail("Units must be positive, received %d; set layers.Dense{Units: n}", l.Units)
	}
	if len(in[0]) < 2 {
		b.Fail("needs an input (batch, ..., features), received shape %v; reshape it or add a batch axis", in[0])
	}
	features := in[0][len(in[0])-1]
	l.kernel, l.whole = nil, b.quantization(l.QuantizationConfig, defaultActivations)
	if l.whole.mode != "" {
		l.buildQuantized(b, features)
	} else {
		l.kernel = b.AddWeight("kernel", ir.Shape{features, l.Units}, WeightOptions{Initializer: l.KernelInitializer, Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint})
	}
	if !l.NoBias {
		l.bias = b.AddWeight("bias", ir.Shape{l.Units}, WeightOptions{Initializer: orDefault(l.BiasInitializer, "zeros"), Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	}
	b.SetActivityRegularizer(l.ActivityRegularizer)
	if b.addFloat8(&l.eight); l.eight.enabled() && l.LoraRank != 0 {
		b.Fail("float8 does not go with LoRA; leave LoraRank out, or the policy %q", b.policy.Name)
	}
	b.addLora(&l.lora, l.loraTarget(), l.LoraRank, LoraOptions{Alpha: l.LoraAlpha})
}

// Forward computes the layer.
func (l *Dense) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	needBuilt(c, l)
	x := one(c, in)
	if features := l.whole.inputsOf(l.kernel); !dim.MayEqual(x.Dim(-1), features) {
		ops.Failf(c.Graph(), "expected inputs whose last axis has length %d (the layer was built with that many features), received shape %v", features, x.Shape())
	}
	var y *ops.Tensor
	if l.whole.mode != "" {
		y = l.whole.product(c, x, l.kernel, &l.lora)
	} else if l.eight.enabled() {
		y = l.eight.product(c, x, c.Weight(l.kernel), ops.Matmul)
	} else {
		y = ops.Matmul(x, l.lora.change(c, c.Weight(l.kernel)))
	}
	if l.bias != nil {
		y = ops.Add(y, l.eight.bias(c, l.bias))
	}
	return []*ops.Tensor{activate(c, l.Activation, y)}
}

// EnableLora freezes the kernel W of a built layer and trains a low-rank update instead:
//
//	y = activation(x·(W + alpha/rank·A·B) + bias)
//
// A (features, rank) and B (rank, units) are new float32 variables; B starts at zero, so nothing changes before the
// first training step. A model that was already compiled must be compiled again. Files hold W + alpha/rank·A·B as the
// kernel, and A and B of a loaded layer are zeros, as in Keras. It fails if the layer is not built, has a
// KernelConstraint or already has LoRA, and if the rank is below 1.
//
// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022; behaviour of
// keras.layers.Dense.enable_lora.
func (l *Dense) EnableLora(rank int, options ...LoraOptions) error {
	return l.enableLora(&l.lora, l.loraTarget, &l.LoraRank, &l.LoraAlpha, rank, options)
}

func (l *Dense) loraTarget() loraTarget {
	return loraTarget{"kernel", l.kernel, ir.Shape{l.whole.inputsOf(l.kernel), l.Units}, l.KernelRegularizer, l.KernelConstraint}
}

func (l *Dense) weightsInFiles() *weightsInFiles {
	if l.whole.mode != "" {
		return l.whole.inFiles(&l.Base, &l.lora, l.kernel, l.bias, l.dequantize, quantizeMatrix)
	}
	if l.eight.enabled() {
		return l.eight.inFiles(l.kernel, l.bias)
	}
	return l.lora.inFiles(&l.Base, l.kernel)
}

// dequantize is the inverse of quantizeMatrix. In this layer only, Keras rounds its result to the compute type if
// groups have their own scales.
func (l *Dense) dequantize(parts []kernels.Array) (kernels.Array, error) {
	m, err := l.whole.dequantizeMatrix(parts)
	if err != nil || !l.whole.grouped() {
		return m, err
	}
	halves, err := kernels.FromFloat64s(l.resolved.Compute, m.Type.Shape, m.Float64s())
	if err != nil {
		return m, err
	}
	return kernels.FromFloat64s(m.Type.DType, m.Type.Shape, halves.Float64s())
}

func (l *Dense) hasFloat8() {}

func (l *Dense) hasCalibration() {}

// defaultActivations holds the default quantizer of activations for each mode.
var defaultActivations = map[string]quantizers.Quantizer{"int8": &quantizers.AbsMaxQuantizer{}}

func (l *Dense) buildQuantized(b *Builder, features int) {
	if l.whole.calibrated() {
		l.kernel = b.addCalibrated(&l.whole, ir.Shape{features, l.Units}, "kernel_zero")
		return
	}
	l.kernel = b.addMatrix(&l.whole, packing{name: "kernel", shape: ir.Shape{features, l.Units}, axis: 1,
		scale: ir.Shape{l.Units}, grouped: ir.Shape{groupsOf(features, l.whole.block), l.Units}, zero: ir.Int8, length: features})
}

// Quantize converts the kernel of a built layer to integers q of eight or four bits, which are not trained; the bias is
// still trained. how is "int8", "int4", or a configuration such as &quantizers.Int4QuantizationConfig{BlockSize: 64}.
//
//	int8: y = activation((round(x·t)·q) / (s·t) + bias),  q = round(kernel·s),  s = 127 / max|kernel[:, j]|,  t = 127 / max|x[i, :]|
//	int4: y = activation(x·((q - zero)·s) + bias),  one s and zero for each block of 128 inputs and each unit
//
// The gradient of x is computed from the product with the dequantized weights. A model that was already compiled must
// be compiled again. It fails if the layer is not built or is already quantized. Behaviour of
// keras.layers.Dense.quantize.
func (l *Dense) Quantize(how any) error {
	if !l.built {
		return l.quantizeBase(how, nil, nil, nil, nil, nil, nil)
	}
	if isFloat8(how) {
		return l.quantizeFloat8(how, &l.eight, l.kernel, &l.DType, &l.QuantizationConfig, &l.lora)
	}
	return l.quantize(how, quantizeMatrix)
}

// quantize is Quantize with a way to convert the kernel.
func (l *Dense) quantize(how any, convert func(quantizers.Config, kernels.Array) ([]kernels.Array, error)) error {
	features := l.kernel.Type().Shape[0]
	return l.quantizeWeight(how, &l.kernel, &l.whole, &l.DType, &l.QuantizationConfig, func(b *Builder) { l.buildQuantized(b, features) }, convert)
}

// QuantizeCalibrated quantizes the kernel of a built layer with the mode gptq or awq, using statistics s of its inputs;
// see [quantizers.GPTQConfig] and [quantizers.AWQConfig]. keras.Model.QuantizeWith does so for all layers of a model:
//
//	y = activation(x·((q - zero)·scale / saliency) + bias),  one scale and zero for each group of inputs and each unit
//
// Saliency is 1 with gptq. It fails if the layer is not built, is already quantized, or has LoRA. Behaviour of
// keras.layers.Dense.
func (l *Dense) QuantizeCalibrated(c quantizers.Calibrator, s quantizers.Statistics) error {
	if l.lora.a != nil {
		return l.quantizeError("%s does not go with LoRA; save the model, which merges the change, and load it without LoraRank", c.Mode())
	}
	return l.quantize(&calibration{c}, func(_ quantizers.Config, kernel kernels.Array) ([]kernels.Array, error) {
		return calibrate(c, kernel, s)
	})
}

// SupportsMasking reports that a mask passes through.
func (l *Dense) SupportsMasking() bool { return true }

// one returns the only input of a layer.
func one(c *Context, in []*ops.Tensor) *ops.Tensor {
	if len(in) != 1 {
		ops.Failf(c.Graph(), "takes one input, received %d", len(in))
	}
	return in[0]
}

// activate applies an activation, given as a name or a value, which may be a layer; nil is linear.
func activate(c *Context, activation any, x *ops.Tensor) *ops.Tensor {
	if l, ok := activation.(Layer); ok {
		return Invoke(l, c, x)
	}
	f, err := activations.Get(activation)
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	if !c.Remat.RecomputesActivations() {
		return f(x)
	}
	return ops.Remat(func(xs ...*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{f(xs[0])} }, x)[0]
}

// orDefault returns value, or the default if value is nil.
func orDefault(value, def any) any {
	if value == nil {
		return def
	}
	return value
}

func init() { Register[Dense]() }
