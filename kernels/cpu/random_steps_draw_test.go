package cpu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// stepDraw draws a network, a loss and an optimizer.
type stepDraw struct {
	layerDraw
	batch   int
	most    int    // elements of a tensor
	policy  string // of all layers
	inputs  []*layers.KerasTensor
	tensors []*layers.KerasTensor
	shape   []int  // of the first input; nil: any
	text    string // what was drawn
}

// largeShapes are shapes for special kernels: images of many channels, whose predictions use Winograd's algorithm, sums
// over many rows, matrices that do not fit into caches, rows for deep networks, and long rows.
var largeShapes = [][]int{
	nil, nil, {1, 12, 10, 32}, {2, 20, 20, 32}, {2, 9, 7, 64}, {3, 16, 16, 16}, {64, 33, 16}, {128, 17, 32}, {4, 700}, {17, 1030}, {512, 12}, {2, 5000}, {1, 28, 28, 8}, {2, 8, 8, 8, 16},
}

func newStepDraw(seed uint64, policy string) *stepDraw {
	d := &stepDraw{policy: policy, layerDraw: layerDraw{Rand: rand.New(rand.NewPCG(seed, 2711))}, most: 3000}
	d.batch = of(d.Rand, 1, 2, 3, 4, 7, 8, 17)
	if d.yes(3) {
		d.large, d.most = true, 60000
		d.batch = of(d.Rand, 2, 5, 16, 33, 64)
		if d.shape = of(d.Rand, largeShapes...); d.shape != nil {
			d.batch = d.shape[0]
		}
	}
	return d
}

func (d *stepDraw) say(format string, values ...any) { d.text += fmt.Sprintf(format, values...) + "\n" }

// input is of words, sequences, images or volumes.
func (d *stepDraw) input() *layers.KerasTensor {
	if d.shape != nil && len(d.inputs) == 0 {
		return layers.NewInput("x0", ir.Float32, d.shape...)
	}
	rank, last := of(d.Rand, 2, 3, 3, 4, 4, 4, 5), d.channels()
	shape := []int{d.batch}
	most := d.most / d.batch / last
	for range rank - 2 {
		n := of(d.Rand, 1, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 28)
		if rank == 3 && d.large {
			n = of(d.Rand, 5, 16, 33, 100, 400, 1500)
		}
		n = max(min(n, most), 1)
		most /= n
		shape = append(shape, n)
	}
	return layers.NewInput(fmt.Sprint("x", len(d.inputs)), ir.Float32, append(shape, last)...)
}

// words is an embedding of small integers, many of them equal.
func (d *stepDraw) words() *layers.KerasTensor {
	x := layers.NewInput(fmt.Sprint("x", len(d.inputs)), ir.Int32, d.batch, of(d.Rand, 1, 4, 9, 16))
	d.inputs = append(d.inputs, x)
	c := settings{"input_dim": of(d.Rand, 10, 50, 1000), "output_dim": d.channels(), "mask_zero": d.yes(2)}
	d.weights(c, "embeddings")
	if d.yes(5) {
		return d.apply(configured{"ReversibleEmbedding", settings{"input_dim": 12, "output_dim": d.channels()}}, x)
	}
	return d.apply(configured{"Embedding", c}, x)
}

// apply adds a layer; nil: it does not fit.
func (d *stepDraw) apply(c configured, in ...*layers.KerasTensor) *layers.KerasTensor {
	text, err := json.Marshal(c.object())
	if err != nil {
		panic(err)
	}
	l, err := layers.FromObject(text)
	if err != nil {
		return nil
	}
	operands := in
	switch c.class {
	case "MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention":
		operands = append(operands[:1:1], in[0])
		if d.yes(3) {
			_ = layers.SetCallArgument(l, "use_causal_mask", true)
		}
	}
	return d.fits(layers.Apply(l, operands...), "%s of %v", text, in)
}

func (d *stepDraw) fits(y *layers.KerasTensor, format string, values ...any) *layers.KerasTensor {
	if y.Err() != nil || y.DType() != ir.Float32 || len(y.Shape()) < 2 || y.Shape()[0] != d.batch || y.Shape().Size() == 0 || y.Shape().Size() > 2*d.most {
		return nil
	}
	d.say(format, values...)
	d.say("  -> %v", y.Shape())
	return y
}

// function applies a function of the library that no layer uses, such as loops and branches.
func (d *stepDraw) function(x *layers.KerasTensor) *layers.KerasTensor {
	names := []string{"cumsum", "sort", "logsumexp", "real_fft", "while", "cond", "switch", "map", "associative_scan", "flip", "roll", "top_k", "norm", "moments", "rows", "columns", "solve", "conv_transposed", "fft", "take", "segment", "max", "gram", "padded"}
	name := of(d.Rand, names...)
	f := functionsOfSteps[name]
	k := d.IntN(5)
	return d.fits(layers.Apply(&layers.Lambda{Function: func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor { return f(in[0], k) }}, x), "%s %d of %v", name, k, x)
}

// network grows layers on each other and returns the output.
func (d *stepDraw) network() *layers.KerasTensor {
	for range 1 + d.IntN(4)/3 {
		if d.yes(5) {
			if y := d.words(); y != nil {
				d.tensors = append(d.tensors, y)
			}
			continue
		}
		x := d.input()
		d.inputs, d.tensors = append(d.inputs, x), append(d.tensors, x)
	}
	if len(d.tensors) == 0 {
		return nil
	}
	for range 1 + d.IntN(8) {
		x := d.tensors[len(d.tensors)-1]
		if d.yes(5) {
			x = of(d.Rand, d.tensors...)
		}
		for range 20 {
			if y := d.next(x); y != nil {
				d.tensors = append(d.tensors, y)
				break
			}
		}
	}
	return d.tensors[len(d.tensors)-1]
}

func (d *stepDraw) next(x *layers.KerasTensor) *layers.KerasTensor {
	switch d.IntN(12) {
	case 0, 1:
		other := of(d.Rand, d.tensors...)
		for _, t := range d.tensors {
			if t != x && d.yes(2) && fmt.Sprint(t.Shape()) == fmt.Sprint(x.Shape()) {
				other = t
			}
		}
		return d.apply(d.merge(), x, other)
	case 2:
		return d.function(x)
	case 3: // what is fused most of the time
		if len(x.Shape()) < 3 || len(x.Shape()) > 5 {
			return nil
		}
		for _, c := range []configured{d.convolution(len(x.Shape()) - 2), {"BatchNormalization", settings{}}, {"Activation", settings{"activation": of(d.Rand, "relu", "relu", "relu6", "silu")}}} {
			if y := d.apply(c, x); y != nil {
				x = y
			}
		}
		return x
	}
	return d.apply(d.layer(len(x.Shape())), x)
}

// drawStep returns the programs of a training step and of a prediction of a random network, with inputs for them. It
// returns none if the drawn parts do not fit together.
func drawStep(ctx context.Context, seed uint64, policy string) (d *stepDraw, steps []*step, err error) {
	d = newStepDraw(seed, policy)
	y := d.network()
	if y == nil {
		return d, nil, nil
	}
	target := ir.Float32
	y, loss, kind := d.head(y)
	if y == nil {
		return d, nil, nil
	}
	if kind == "class" {
		target = ir.Int32
	}
	var outputs []*layers.KerasTensor
	outputs = append(outputs, y)
	options := []keras.Option{keras.Seed(seed)}
	if policy != "" {
		options = append(options, keras.DTypePolicy(policy))
	}
	m, err := keras.NewFunctional(keras.Inputs(d.inputs...), keras.Outputs(outputs...), options...)
	if err != nil {
		return d, nil, err
	}
	o := d.optimizer()
	text, _ := json.Marshal(o.settings)
	d.say("%s %s, %T %+v", o.class, text, loss, loss)
	optimizer, err := optimizers.Get(config.Object{Module: "keras.optimizers", ClassName: o.class, Config: text})
	if err != nil {
		return d, nil, err
	}
	var metrics []any
	if kind != "class" && d.yes(2) {
		metrics = []any{"mae"}
	}
	if err := m.Compile(keras.CompileConfig{Loss: loss, Optimizer: optimizer, Metrics: metrics}); err != nil {
		return d, nil, err
	}
	var x data.Tensors
	for _, in := range d.inputs {
		x.Arrays = append(x.Arrays, kernels.NewArray(ir.Type{DType: in.DType(), Shape: in.Shape()}))
	}
	shape := y.Shape()
	if kind == "class" {
		shape = shape[:len(shape)-1]
	}
	labels := kernels.NewArray(ir.Type{DType: target, Shape: shape})
	p, err := m.TrainingProgram(ctx, data.Arrays(x, labels))
	if err != nil {
		return d, nil, err
	}
	values, err := d.values(m)
	if err != nil {
		return d, nil, err
	}
	steps = append(steps, d.step(p, values, kind, true))
	if p, err = m.InferenceProgram(d.batch); err != nil {
		return d, nil, err
	}
	return d, append(steps, d.step(p, values, kind, false)), nil
}

// head returns the output with a loss for it, and the kind of its labels.
func (d *stepDraw) head(y *layers.KerasTensor) (out *layers.KerasTensor, loss losses.Loss, kind string) {
	last := y.Shape()[len(y.Shape())-1]
	switch d.IntN(5) {
	case 0:
		if last > 1 && last < 100 {
			return y, &losses.SparseCategoricalCrossentropy{FromLogits: true}, "class"
		}
	case 1:
		classes := of(d.Rand, 2, 3, 10)
		y = d.apply(configured{"Dense", settings{"units": classes, "activation": "softmax"}}, y)
		if d.yes(4) {
			return y, of[losses.Loss](d.Rand, &losses.SparseCategoricalCrossentropy{}, &losses.CategoricalGeneralizedCrossEntropy{}), "class"
		}
		return y, of[losses.Loss](d.Rand, &losses.CategoricalCrossentropy{LabelSmoothing: 0.1}, &losses.KLDivergence{}, &losses.CategoricalFocalCrossentropy{}, &losses.Poisson{}, &losses.Dice{}, &losses.Tversky{}), "share"
	case 2:
		y = d.apply(configured{"Activation", settings{"activation": "sigmoid"}}, y)
		return y, of[losses.Loss](d.Rand, &losses.BinaryCrossentropy{}, &losses.BinaryFocalCrossentropy{}, &losses.MeanSquaredLogarithmicError{}), "share"
	case 3:
		return y, of[losses.Loss](d.Rand, &losses.BinaryCrossentropy{FromLogits: true}, &losses.CategoricalCrossentropy{FromLogits: true}, &losses.Hinge{}, &losses.SquaredHinge{}, &losses.CategoricalHinge{}), "share"
	}
	return y, of[losses.Loss](d.Rand, &losses.MeanSquaredError{}, &losses.MeanAbsoluteError{}, &losses.Huber{}, &losses.LogCosh{}, &losses.CosineSimilarity{}), "number"
}
