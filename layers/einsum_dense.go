package layers

import (
	"regexp"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// EinsumDense is a dense layer whose product is an arbitrary Einstein sum of input and kernel:
//
//	y = activation(einsum(Equation, x, kernel) + bias)
//
// The equation has the form "ab,bc->ac" and may leave leading axes open ("...x,xy->...y") or trailing ones
// ("ab...,bc->ac..."). OutputShape is the shape of the result without the batch; an axis of -1 is taken from the input.
// The kernel has one axis for each letter of its part of the equation; the bias has the axes listed in BiasAxes, and
// there is no bias by default.
//
// Input and output shape: as the equation says. A mask does not pass through.
type EinsumDense struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Equation    string `keras:"equation"`                  // required
	OutputShape []int  `keras:"output_shape,shape"`        // required; Unknown for axes taken from the input
	Activation  any    `keras:"activation,default=linear"` // name or function; nil is linear
	BiasAxes    string `keras:"bias_axes,default=null"`    // letters of the result that the bias has; "" is no bias

	KernelInitializer   any `keras:"kernel_initializer,default=GlorotUniform"`
	BiasInitializer     any `keras:"bias_initializer,default=Zeros"`
	KernelRegularizer   any `keras:"kernel_regularizer"`
	BiasRegularizer     any `keras:"bias_regularizer"`
	ActivityRegularizer any `keras:"activity_regularizer"`
	KernelConstraint    any `keras:"kernel_constraint"`
	BiasConstraint      any `keras:"bias_constraint"`

	LoraRank  int     `keras:"lora_rank,omitempty"`  // train an update of this rank instead of the kernel, see EnableLora; 0: train the kernel
	LoraAlpha float64 `keras:"lora_alpha,omitempty"` // the update is scaled by LoraAlpha/LoraRank; 0: LoraRank

	QuantizationConfig quantizers.Config `keras:"quantization_config"` // of a policy such as "int8_from_float32", see Quantize; nil is the mode's default

	kernel, bias *distribute.Variable
	lora         lora
	whole        quantized
	eight        float8
	axes         einsumAxes
}

// Build creates the kernel and bias.
func (l *EinsumDense) Build(b *Builder, in []ir.Shape) {
	e := parseEinsumDense(b, l.Equation, in[0], l.OutputShape)
	shape, inputAxes, outputAxes := e.kernel(b)
	l.axes = e.axes(shape, len(in[0]))
	l.kernel, l.whole = nil, b.quantization(l.QuantizationConfig, defaultActivations)
	if l.whole.mode != "" {
		l.buildQuantized(b)
	} else {
		init, err := initializers.Get(orDefault(l.KernelInitializer, "glorot_uniform"))
		b.check("kernel", err)
		l.kernel = b.AddWeight("kernel", shape, WeightOptions{Initializer: initializers.WithAxes(init, inputAxes, outputAxes), Regularizer: l.KernelRegularizer, Constraint: l.KernelConstraint})
	}
	if l.BiasAxes != "" {
		l.bias = b.AddWeight("bias", e.bias(b, l.BiasAxes), WeightOptions{Initializer: orDefault(l.BiasInitializer, "zeros"), Regularizer: l.BiasRegularizer, Constraint: l.BiasConstraint})
	}
	b.SetActivityRegularizer(l.ActivityRegularizer)
	if b.addFloat8(&l.eight); l.eight.enabled() && l.LoraRank != 0 {
		b.Fail("float8 does not go with LoRA; leave LoraRank out, or the policy %q", b.policy.Name)
	}
	b.addLora(&l.lora, l.loraTarget(), l.LoraRank, LoraOptions{Alpha: l.LoraAlpha})
}

// Forward computes the layer.
func (l *EinsumDense) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	var y *ops.Tensor
	if l.whole.mode != "" {
		y = l.quantizedProduct(c, x)
	} else if l.eight.enabled() {
		y = l.eight.product(c, x, c.Weight(l.kernel), func(x, w *ops.Tensor) *ops.Tensor { return ops.Einsum(l.Equation, x, w) })
	} else {
		y = ops.Einsum(l.Equation, x, l.lora.change(c, c.Weight(l.kernel)))
	}
	if l.bias != nil {
		y = ops.Add(y, l.eight.bias(c, l.bias))
	}
	return []*ops.Tensor{activate(c, l.Activation, y)}
}

// EnableLora trains a low-rank update instead of the kernel; see [Dense.EnableLora]. A has the axes of the kernel with
// the rank in place of the last one, B is (rank, last axis).
func (l *EinsumDense) EnableLora(rank int, options ...LoraOptions) error {
	return l.enableLora(&l.lora, l.loraTarget, &l.LoraRank, &l.LoraAlpha, rank, options)
}

func (l *EinsumDense) loraTarget() loraTarget {
	return loraTarget{"kernel", l.kernel, l.axes.kernel, l.KernelRegularizer, l.KernelConstraint}
}

func (l *EinsumDense) weightsInFiles() *weightsInFiles {
	if l.whole.mode != "" {
		return l.whole.inFiles(&l.Base, &l.lora, l.kernel, l.bias, l.dequantize, l.quantize)
	}
	if l.eight.enabled() {
		return l.eight.inFiles(l.kernel, l.bias)
	}
	return l.lora.inFiles(&l.Base, l.kernel)
}

func (l *EinsumDense) hasFloat8() {}

func (l *EinsumDense) hasCalibration() {}

// AmendConfig writes the number of columns of a kernel in mode gptq, as Keras does.
func (l *EinsumDense) AmendConfig(keys map[string]any) error {
	if l.whole.mode == "gptq" {
		keys["gptq_unpacked_column_size"] = l.whole.columns
	}
	return nil
}

// IgnoredConfig adds a key that can be derived from others.
func (l *EinsumDense) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "gptq_unpacked_column_size")
}

func init() { Register[EinsumDense]() }

// einsumDense is the equation of an EinsumDense with the lengths of its axes, which are Unknown if the layer need not
// know them.
type einsumDense struct {
	equation              string
	input, weight, output string
	inputLength           map[rune]int
	outputLength          map[rune]int
	trailing              int // axes that the equation leaves open at the end
}

var einsumDenseForm = regexp.MustCompile(`^(\.\.\.)?([a-zA-Z]+)(\.\.\.)?,([a-zA-Z]+)->(\.\.\.)?([a-zA-Z]+)(\.\.\.)?$`)

func parseEinsumDense(b *Builder, equation string, x ir.Shape, outputShape []int) einsumDense {
	m := einsumDenseForm.FindStringSubmatch(strings.ReplaceAll(equation, " ", ""))
	if m == nil || m[1] != m[5] || m[3] != m[7] || m[1] != "" && m[3] != "" {
		b.Fail("Equation %q must have the form \"ab,bc->ac\", \"...x,xy->...y\" or \"ab...,bc->ac...\"", equation)
	}
	e := einsumDense{equation: equation, input: m[2], weight: m[4], output: m[6], inputLength: map[rune]int{}, outputLength: map[rune]int{}}
	open := len(x) - len(e.input)
	leading := m[1] != ""
	if open < 0 || open > 0 && !leading && m[3] == "" {
		b.Fail("Equation %q names %d axes of the input, received shape %v", equation, len(e.input), x)
	}
	// The shape of the result: batch, open axes, and then OutputShape.
	full := append([]int{x[0]}, outputShape...)
	inputFrom, outputFrom := 0, 0
	if leading {
		inputFrom, outputFrom = open, open
		full = ints.Concat(full[:1], x[1:max(open, 1)], full[1:])
		if open == 0 {
			b.Fail("Equation %q leaves leading axes open, but input %v has none beyond those it names", equation, x)
		}
	} else {
		e.trailing = open
		full = ints.Concat(full, x[len(x)-open:])
	}
	if len(full)-open != len(e.output) {
		b.Fail("Equation %q has a result of axes %q, but OutputShape %v (without the batch) does not fit; give one length for each axis, or Unknown", equation, e.output, outputShape)
	}
	for i, name := range e.input {
		e.inputLength[name] = x[inputFrom+i]
	}
	for i, name := range e.output {
		e.outputLength[name] = full[outputFrom+i]
		if n, shared := e.inputLength[name]; shared && full[outputFrom+i] != Unknown && !dim.MayEqual(n, full[outputFrom+i]) {
			b.Fail("Equation %q: axis %q has length %d in the input %v, but OutputShape says %d", equation, string(name), n, x, full[outputFrom+i])
		}
		if !strings.ContainsRune(e.input, name) && !strings.ContainsRune(e.weight, name) {
			b.Fail("Equation %q: axis %q of the result is neither the input's nor the kernel's", equation, string(name))
		}
	}
	return e
}

// kernel returns the kernel's shape, and which of its axes are summed over (inputs of a unit) and which are the
// result's.
func (e einsumDense) kernel(b *Builder) (shape ir.Shape, inputAxes, outputAxes []int) {
	inputAxes, outputAxes = []int{}, []int{}
	for i, name := range e.weight {
		n, ok := e.outputLength[name]
		if ok {
			outputAxes = append(outputAxes, i)
			if in, shared := e.inputLength[name]; shared {
				n = in
			}
		} else if n, ok = e.inputLength[name]; ok {
			inputAxes = append(inputAxes, i)
		}
		if !ok || n < 0 {
			b.Fail("Equation %q: axis %q of the kernel has no length; it must be an axis of the input, or of the result with a length in OutputShape", e.equation, string(name))
		}
		shape = append(shape, n)
	}
	return shape, inputAxes, outputAxes
}

// bias returns the bias's shape: the result's axes from the first one named, with length 1 for those not named.
func (e einsumDense) bias(b *Builder, axes string) ir.Shape {
	first := len(e.output)
	for _, name := range axes {
		at := strings.IndexRune(e.output, name)
		if at < 0 {
			b.Fail("BiasAxes %q: axis %q is not one of the result %q", axes, string(name), e.output)
		}
		first = min(first, at)
	}
	var shape ir.Shape
	for _, name := range e.output[first:] {
		n := 1
		if strings.ContainsRune(axes, name) {
			n = e.outputLength[name]
			if in, shared := e.inputLength[name]; n < 0 && shared {
				n = in
			}
		}
		shape = append(shape, n)
	}
	return append(shape, ints.Repeat(1, e.trailing)...)
}
