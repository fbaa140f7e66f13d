package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// quantizedKind is the kind of networks that are measured in fewer bits instead of in 16.
const quantizedKind = "quantized"

// quantizedModes are measured beside float32. "int8-weights" leaves activations floats, "int4-whole" has one scale for
// each output; the blocks of the others are drawn.
var quantizedModes = []string{"int8", "int8-weights", "int4", "int4-whole", "float8", "gptq", "gptq-8", "gptq-2", "ordered", "awq"}

// errNoMode is the error of a network that a mode says nothing about.
var errNoMode = errors.New("no layer of the network has the mode")

// drawnQuantized are count networks that predict 1, 2, 8 and 64 examples, and train LoRA or, in float8, everything, on
// eight.
func drawnQuantized(first uint64, count int) []policyWork {
	var list []policyWork
	for i := range uint64(count) {
		for _, key := range []string{"1", "2", "8", "64", "train8"} {
			list = append(list, policyWork{quantizedKind + stepOf(key), fmt.Sprintf("%d %s", first+i, key), func() (*job, error) { return quantizedJob(first+i, key) }})
		}
	}
	return list
}

// quantizedJob trains a network or predicts in the mode that policy names; see job.
func quantizedJob(number uint64, key string) (*job, error) {
	mode := policy
	defer func() { policy = mode }()
	policy = ""
	q := &quantizedDrawer{drawer: drawer{rand.New(rand.NewPCG(number, 19))}, mode: mode}
	q.block = pick(q.drawer, 32, 64, 128, 128, 256, -1)
	inputs, y, what := q.network(int(number % quantizedNetworks))
	return q.job(number, key, inputs, y, what)
}

// job is [quantizedJob] of what was drawn.
func (q *quantizedDrawer) job(number uint64, key string, inputs, y *layers.KerasTensor, what string) (*job, error) {
	trains := strings.HasPrefix(key, "train")
	m, err := keras.NewFunctional(keras.Inputs(inputs), keras.Outputs(y), options(distribute.Default(), keras.Seed(number))...)
	if err == nil {
		err = q.quantize(m, trains || q.lora)
	}
	if err != nil {
		return nil, err
	}
	what = fmt.Sprint(what, " blocks ", q.block)
	j, err := drawn{m, "adam", what}.job(key)
	if trains && err == nil && !y.DType().IsFloat() {
		return nil, errNoMode
	}
	return j, err
}

// quantizedDrawer draws a network in a mode.
type quantizedDrawer struct {
	drawer
	mode  string
	block int
	lora  bool // beside the weights
}

// calibrated returns the policy and the configuration of the modes gptq and awq; "" for others.
func (q *quantizedDrawer) calibrated() (string, quantizers.Config) {
	bits := 4
	switch q.mode {
	case "gptq-8", "gptq-2":
		bits, _ = strconv.Atoi(q.mode[5:])
		fallthrough
	case "gptq", "ordered":
		return fmt.Sprintf("gptq/%d/%d_from_float32", bits, q.block), &quantizers.GPTQConfig{GroupSize: q.block, WeightBits: bits, ActivationOrder: q.mode == "ordered"}
	case "awq":
		return fmt.Sprintf("awq/4/%d_from_float32", q.block), &quantizers.AWQConfig{GroupSize: q.block}
	}
	return "", nil
}

func (q *quantizedDrawer) dense(units int, activation string, x *layers.KerasTensor) *layers.KerasTensor {
	l := &layers.Dense{Units: units, Activation: activation}
	if dtype, config := q.calibrated(); dtype != "" {
		l.DType, l.QuantizationConfig = dtype, config
	}
	return layers.Apply(l, x)
}

func (q *quantizedDrawer) einsum(equation string, shape []int, bias string, x *layers.KerasTensor) *layers.KerasTensor {
	l := &layers.EinsumDense{Equation: equation, OutputShape: shape, BiasAxes: bias}
	if dtype, config := q.calibrated(); dtype != "" {
		l.DType, l.QuantizationConfig = dtype, config
	}
	return layers.Apply(l, x)
}

// attention is multi-head attention whose projections are in the mode.
func (q *quantizedDrawer) attention(heads, size int, causal bool, x *layers.KerasTensor) *layers.KerasTensor {
	l := &layers.MultiHeadAttention{NumHeads: heads, KeyDim: size, UseCausalMask: causal}
	if dtype, _ := q.calibrated(); dtype != "" {
		policies, err := ops.NewDTypePolicyMap("float32")
		if err == nil {
			err = policies.Set(".*(query|key|value|attention_output)", dtype)
		}
		if err != nil {
			panic(err)
		}
		l.DType = policies.String()
	}
	return layers.Apply(l, x, x)
}

const quantizedNetworks = 10

// network draws one of a kind below quantizedNetworks and says what it is.
func (q *quantizedDrawer) network(kind int) (input, y *layers.KerasTensor, what string) {
	d, apply := q.drawer, layers.Apply
	width := func() int { return pick(d, 64, 128, 256, 384, 512, 768, 1024, 2048, d.between(50, 1500)) }
	activation := pick(d, "relu", "gelu", "silu", "")
	switch kind {
	case 0: // a layer
		features, units := pick(d, width(), 4096), pick(d, width(), 4096)
		input = keras.Input(keras.Shape(features))
		return input, q.dense(units, activation, input), fmt.Sprint("Dense ", features, " to ", units, " ", activation)
	case 1:
		input = keras.Input(keras.Shape(width()))
		what = fmt.Sprint("MLP ", input.Shape()[1])
		y = input
		for range d.between(2, 4) {
			y = q.dense(width(), activation, y)
			what += fmt.Sprint(" ", y.Shape()[1])
		}
		y = q.dense(pick(d, 2, 10, 100), "softmax", y)
		return input, y, fmt.Sprint(what, " ", y.Shape()[1], " ", activation)
	case 2:
		input = keras.Input(keras.Shape(d.between(4, 128), width()))
		y = q.dense(width(), activation, input)
		return input, y, fmt.Sprint("Dense ", input.Shape()[1:], " to ", y.Shape()[2], " ", activation)
	case 3:
		heads, size := pick(d, 2, 4, 8), pick(d, 16, 32, 64)
		input = keras.Input(keras.Shape(d.between(4, 128), heads*size))
		return input, q.attention(heads, size, false, input), fmt.Sprint("attention ", input.Shape()[1:], " heads ", heads)
	case 4, 5, 6:
		return q.transformer(kind)
	case 7:
		heads, size := pick(d, 2, 4, 8), pick(d, 8, 16, 32, 64)
		if d.IntN(2) == 0 {
			input = keras.Input(keras.Shape(d.between(2, 64), width()))
			return input, q.einsum("abc,cde->abde", []int{layers.Unknown, heads, size}, pick(d, "", "de"), input), fmt.Sprint("abc,cde->abde ", input.Shape()[1:], " to ", heads, size)
		}
		input = keras.Input(keras.Shape(d.between(2, 64), heads, size))
		units := width()
		return input, q.einsum("abcd,cde->abe", []int{layers.Unknown, units}, pick(d, "", "e"), input), fmt.Sprint("abcd,cde->abe ", input.Shape()[1:], " to ", units)
	case 8:
		input = keras.Input(keras.Shape(16, 16, 8))
		y = apply(&layers.Conv2D{Filters: pick(d, 16, 32, 64), KernelSize: []int{3}, Strides: []int{2}, Activation: "relu"}, input)
		y = q.dense(width(), activation, apply(&layers.Flatten{}, y))
		return input, q.dense(10, "softmax", y), fmt.Sprint("images, Dense ", y.Shape()[1])
	}
	input = keras.Input(keras.Shape(d.between(4, 128)), keras.DType("int32"))
	n, length := pick(d, 100, 1000, 10000, 30000), width()
	y = apply(&layers.Embedding{InputDim: n, OutputDim: length}, input)
	what = fmt.Sprint("Embedding ", input.Shape()[1:], " of ", n, " x ", length)
	if d.IntN(2) == 0 {
		y = q.dense(pick(d, 2, 10, 200), activation, apply(&layers.GlobalAveragePooling1D{}, y))
		what += fmt.Sprint(", Dense ", y.Shape()[1])
	}
	return input, y, what
}

// transformer is one of vectors, a classifier of words, or a language model with tied embeddings.
func (q *quantizedDrawer) transformer(kind int) (input, y *layers.KerasTensor, what string) {
	d, apply := q.drawer, layers.Apply
	heads, size, steps := pick(d, 2, 4, 8), pick(d, 16, 32, 64), d.between(8, 100)
	width, words := heads*size, pick(d, 500, 2000, 10000)
	what = fmt.Sprint("transformer ", steps, " x ", width, " heads ", heads)
	embed := &layers.ReversibleEmbedding{InputDim: words, OutputDim: width, UntiedWeights: d.IntN(3) == 0}
	if kind == 4 {
		input = keras.Input(keras.Shape(steps, width))
		y = input
	} else {
		input = keras.Input(keras.Shape(steps), keras.DType("int32"))
		if y = apply(embed, input); kind == 5 {
			y = apply(&layers.Embedding{InputDim: words, OutputDim: width}, input)
		}
		what += fmt.Sprint(" words ", words)
	}
	for range d.between(1, 3) {
		z := apply(&layers.LayerNormalization{}, y)
		y = apply(&layers.Add{}, y, q.attention(heads, size, kind == 6, z))
		z = q.dense(4*width, pick(d, "gelu", "relu", "silu"), apply(&layers.LayerNormalization{}, y))
		y = apply(&layers.Add{}, y, q.dense(width, "", z))
	}
	switch y = apply(&layers.LayerNormalization{}, y); kind {
	case 5:
		y = q.dense(pick(d, 2, 10), "softmax", apply(&layers.GlobalAveragePooling1D{}, y))
	case 6:
		y = embed.ApplyReverse(y)
		what += map[bool]string{true: " scores, untied", false: " scores, tied"}[embed.UntiedWeights]
	}
	return input, y, what
}

// quantize brings a network into the mode, with LoRA for training.
func (q *quantizedDrawer) quantize(m *keras.Model, trains bool) error {
	var how any
	dtype, _ := q.calibrated()
	switch q.mode {
	case "int8", "float8":
		how = q.mode
	case "int8-weights":
		how = &quantizers.Int8QuantizationConfig{WeightsOnly: true}
	case "int4":
		how = &quantizers.Int4QuantizationConfig{BlockSize: q.block}
	case "int4-whole":
		how = &quantizers.Int4QuantizationConfig{BlockSize: -1}
	}
	if trains && (dtype != "" || q.mode == "float8") {
		return errNoMode // LoRA does not go with them
	}
	if how != nil {
		if err := m.Quantize(how); err != nil {
			return fmt.Errorf("%w: %w", errNoMode, err)
		}
	}
	if dtype != "" {
		return q.fill(m)
	}
	var err error
	layers.Walk(m, func(l layers.Layer) {
		if e, ok := l.(layers.LoraEnabler); ok && trains && err == nil {
			err = e.EnableLora(8)
		}
	})
	return err
}

// fill draws the bytes of weights, which are zeros until they are loaded.
func (q *quantizedDrawer) fill(m *keras.Model) error {
	filled := false
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range m.Weights() {
		t := v.Type()
		scale := strings.HasSuffix(v.Name(), "_scale")
		if v.Name() == "g_idx" && q.mode == "ordered" {
			if err := shuffleValues(r, v); err != nil {
				return err
			}
		}
		if t.DType != ir.Uint8 && !scale {
			continue
		}
		filled = true
		values := make([]float64, t.Shape.Size())
		for i := range values {
			if values[i] = float64(r.IntN(256)); scale {
				values[i] = 0.002
			} else if strings.Contains(v.Name(), "zero") {
				values[i] = 3
			}
		}
		a, err := kernels.FromFloat64s(t.DType, t.Shape, values)
		if err == nil {
			err = v.SetValue(a)
		}
		if err != nil {
			return err
		}
	}
	if !filled {
		return errNoMode
	}
	return nil
}

// shuffleValues puts the groups of inputs in an order as activations give them.
func shuffleValues(r *rand.Rand, v *distribute.Variable) error {
	a, err := v.Value()
	if err != nil {
		return err
	}
	values := a.Float64s()
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	if a, err = kernels.FromFloat64s(a.Type.DType, a.Type.Shape, values); err != nil {
		return err
	}
	return v.SetValue(a)
}
