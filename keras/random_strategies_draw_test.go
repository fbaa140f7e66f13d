package keras_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// drawnRun is a model, its data and the actions on it, drawn at random, always the same from the same seed.
type drawnRun struct {
	seed     uint64
	dtype    string
	server   bool // also trained on parameter servers
	parts    int  // closures per round there; 0 means 1
	own      bool // replicas have their own random numbers or statistics: N of them equal N of another strategy
	kinds    []string
	examples int
	actions  []drawnAction

	dir string // for files
	s   distribute.Strategy
	m   *keras.Model
	in  []*layers.KerasTensor
	out []drawnOutput
	log []string
}

type drawnOutput struct {
	tensor *layers.KerasTensor
	kind   string // "classes", "numbers", "bits", "steps"
	length int
}

func (d *drawnRun) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(d.seed, stream)) }

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// drawRun draws everything but the weights; for servers, only what they support.
func drawRun(seed uint64, server bool) *drawnRun {
	d := &drawnRun{seed: seed, server: server}
	r := d.random(1)
	d.dtype = one(r, "float64", "float64", "float64", "float64", "float32", "mixed_bfloat16", "mixed_float16")
	d.own = r.IntN(4) == 0
	if server {
		d.dtype, d.own = "float32", false
	}
	for range 1 + r.IntN(3)*r.IntN(2) {
		d.kinds = append(d.kinds, one(r, "vector", "sequence", "masked", "ids", "keys", "image"))
	}
	if d.dtype != "float64" {
		d.kinds = d.kinds[:1]
	}
	d.examples = 5 + r.IntN(28)
	d.drawActions(r)
	return d
}

func (d *drawnRun) apply(l layers.Layer, x ...*layers.KerasTensor) *layers.KerasTensor {
	d.log = append(d.log, fmt.Sprintf("%T", l)[len("*layers."):])
	return layers.Apply(l, x...)
}

// model draws the layers, always the same ones.
func (d *drawnRun) model(s distribute.Strategy) (*keras.Model, error) {
	r := d.random(2)
	d.in, d.out, d.log = nil, nil, nil
	var ends []*layers.KerasTensor
	var sequence *layers.KerasTensor
	for i, kind := range d.kinds {
		x, steps := d.branch(r, i, kind)
		ends = append(ends, x)
		if steps != nil {
			sequence = steps
		}
	}
	x := ends[0]
	if len(ends) > 1 {
		if r.IntN(2) == 0 { // one layer, called for each
			shared := &layers.Dense{Units: 4, Activation: d.activation(r), KernelRegularizer: "l2"}
			for i := range ends {
				ends[i] = d.apply(shared, ends[i])
			}
		}
		switch r.IntN(4) {
		case 0:
			x = d.apply(&layers.Add{}, ends...)
		case 1:
			x = d.apply(&layers.Multiply{}, ends...)
		default:
			x = d.apply(&layers.Concatenate{}, ends...)
		}
	}
	for range r.IntN(3) {
		x = d.vector(r, x)
	}
	for i := range 1 + r.IntN(2) {
		name := fmt.Sprint("out", i)
		switch k := r.IntN(4); {
		case k == 0 && sequence != nil:
			t := d.apply(&layers.Dense{Name: name, Units: 2}, sequence)
			d.out = append(d.out, drawnOutput{t, "steps", t.Shape()[1]})
		case k == 1:
			d.out = append(d.out, drawnOutput{d.apply(&layers.Dense{Name: name, Units: 1, Activation: "sigmoid", DType: d.outType()}, x), "bits", 1})
		case k == 2:
			d.out = append(d.out, drawnOutput{d.apply(&layers.Dense{Name: name, Units: 2, BiasRegularizer: "l2", DType: d.outType()}, x), "numbers", 2})
		default:
			d.out = append(d.out, drawnOutput{d.apply(&layers.Dense{Name: name, Units: 3, DType: d.outType()}, x), "classes", 1})
		}
	}
	var outs []*layers.KerasTensor
	for _, o := range d.out {
		outs = append(outs, o.tensor)
	}
	return keras.NewFunctional(keras.Inputs(d.in...), keras.Outputs(outs...), distribute.Scope(s), keras.Seed(d.seed+5), keras.DTypePolicy(d.dtype))
}

func (d *drawnRun) outType() string {
	if d.dtype == "float64" {
		return ""
	}
	return "float32"
}

// branch maps an input to a vector of four numbers, directly or through a sequence.
func (d *drawnRun) branch(r *rand.Rand, i int, kind string) (end, steps *layers.KerasTensor) {
	in := func(dtype string, shape ...int) *layers.KerasTensor {
		options := []keras.InputOption{keras.Shape(shape...), keras.InputName(fmt.Sprint("in", i))}
		if dtype != "" {
			options = append(options, keras.DType(dtype))
		}
		t := keras.Input(options...)
		d.in = append(d.in, t)
		return t
	}
	var x *layers.KerasTensor
	switch kind {
	case "vector":
		x = in(d.inType(), 3)
		for range r.IntN(3) {
			x = d.vector(r, x)
		}
		return d.apply(&layers.Dense{Units: 4, Activation: "tanh"}, x), nil
	case "image":
		x = in(d.inType(), 5, 4, 2)
		for range 1 + r.IntN(3) {
			x = d.image(r, x)
		}
		if r.IntN(2) == 0 {
			x = d.apply(&layers.GlobalAveragePooling2D{}, x)
		} else {
			x = d.apply(&layers.Flatten{}, x)
		}
		return d.apply(&layers.Dense{Units: 4}, x), nil
	case "sequence":
		x = in(d.inType(), 4, 3)
	case "masked":
		x = d.apply(&layers.Masking{}, in(d.inType(), 4, 3))
	case "ids":
		x = d.apply(&layers.Embedding{InputDim: 6, OutputDim: 3, MaskZero: r.IntN(2) == 0 && d.parts == 0, EmbeddingsRegularizer: one[any](r, nil, "l2"), LoraRank: 0}, in("int32", 4))
	case "keys":
		x = in("int64", 4)
		if d.dtype == "float32" {
			x = d.apply(&layers.Embedding{OutputDim: 3, Dynamic: true, DenseUpdates: r.IntN(2) == 0, Name: fmt.Sprint("table", i)}, x)
		} else {
			x = d.apply(&layers.Embedding{InputDim: 6, OutputDim: 3, MaskZero: true, EmbeddingsConstraint: one[any](r, nil, "max_norm")}, x)
		}
	}
	for range r.IntN(3) {
		x = d.sequence(r, x)
	}
	steps = x
	if r.IntN(3) > 0 {
		x = d.apply(d.recurrent(r, false), x)
	} else {
		x = d.apply(&layers.GlobalAveragePooling1D{}, x)
	}
	return d.apply(&layers.Dense{Units: 4}, x), steps
}

func (d *drawnRun) inType() string {
	if d.dtype == "float64" {
		return "float64"
	}
	return "float32"
}

func (d *drawnRun) activation(r *rand.Rand) string {
	return one(r, "tanh", "sigmoid", "softplus", "gelu", "silu", "elu", "softsign", "")
}

// norm draws a normalization: one with synchronized batches, or one with separate statistics on each replica.
func (d *drawnRun) norm(r *rand.Rand) layers.Layer {
	switch r.IntN(4) {
	case 0:
		return &layers.LayerNormalization{}
	case 1:
		return &layers.RMSNormalization{}
	default:
		return &layers.BatchNormalization{Synchronized: !d.own && d.parts == 0, Momentum: new(0.7), NoScale: r.IntN(4) == 0}
	}
}

func (d *drawnRun) noise(r *rand.Rand) layers.Layer {
	if !d.own {
		return &layers.ActivityRegularization{L2: 0.01}
	}
	return one[layers.Layer](r, &layers.Dropout{Rate: 0.4}, &layers.GaussianNoise{Stddev: 0.3}, &layers.GaussianDropout{Rate: 0.2})
}

func (d *drawnRun) vector(r *rand.Rand, x *layers.KerasTensor) *layers.KerasTensor {
	if d.parts > 0 && r.IntN(3) == 0 {
		x = d.apply(&assigning{}, x)
	}
	switch r.IntN(8) {
	case 0:
		return d.apply(d.norm(r), x)
	case 1:
		return d.apply(d.noise(r), x)
	case 2:
		return d.apply(&layers.PReLU{}, x)
	case 3:
		return d.apply(&layers.SpectralNormalization{Layer: &layers.Dense{Units: 3, Activation: d.activation(r)}}, x)
	case 4:
		return d.apply(&layers.UnitNormalization{}, x)
	default:
		return d.apply(&layers.Dense{
			Units: 1 + r.IntN(6), Activation: d.activation(r), Frozen: r.IntN(5) == 0, NoBias: r.IntN(4) == 0, LoraRank: r.IntN(2) * r.IntN(2) * r.IntN(2),
			KernelRegularizer: one[any](r, nil, "l2", "orthogonal_regularizer"), ActivityRegularizer: one[any](r, nil, nil, "l1"),
		}, x)
	}
}

func (d *drawnRun) image(r *rand.Rand, x *layers.KerasTensor) *layers.KerasTensor {
	f, a, k := 1+r.IntN(4), d.activation(r), []int{1 + r.IntN(3)}
	switch r.IntN(9) {
	case 0:
		return d.apply(&layers.DepthwiseConv2D{KernelSize: k, Padding: "same", Activation: a, DepthMultiplier: 1 + r.IntN(2)}, x)
	case 1:
		return d.apply(&layers.SeparableConv2D{Filters: f, KernelSize: k, Padding: "same", Activation: a}, x)
	case 2:
		return d.apply(&layers.Conv2DTranspose{Filters: f, KernelSize: k, Padding: "same", Activation: a}, x)
	case 3:
		return d.apply(&layers.MaxPooling2D{PoolSize: []int{2}, Padding: "same"}, x)
	case 4, 5:
		return d.apply(d.norm(r), x)
	case 6:
		return d.apply(&layers.GroupNormalization{Groups: -1}, x)
	default:
		return d.apply(&layers.Conv2D{Filters: f, KernelSize: k, Padding: "same", Activation: a, Strides: []int{1 + r.IntN(2)}, Frozen: r.IntN(6) == 0, KernelConstraint: one[any](r, nil, nil, "max_norm")}, x)
	}
}

func (d *drawnRun) recurrent(r *rand.Rand, all bool) layers.Layer {
	u, back := 2+r.IntN(3), r.IntN(3) == 0
	drop := 0.0
	if d.own && r.IntN(2) == 0 {
		drop = 0.3
	}
	l := one[layers.Layer](r, &layers.LSTM{Units: u, ReturnSequences: all, GoBackwards: back, Dropout: drop},
		&layers.GRU{Units: u, ReturnSequences: all, RecurrentDropout: drop}, &layers.SimpleRNN{Units: u, ReturnSequences: all, GoBackwards: back})
	if !back && r.IntN(3) == 0 {
		return &layers.Bidirectional{Layer: l, MergeMode: one[layers.MergeMode](r, "concat", "sum", "ave")}
	}
	return l
}

func (d *drawnRun) sequence(r *rand.Rand, x *layers.KerasTensor) *layers.KerasTensor {
	switch r.IntN(7) {
	case 0:
		return d.apply(d.norm(r), x)
	case 1:
		return d.apply(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 2, NoBias: true}, x, x)
	case 2:
		return d.apply(&layers.Attention{UseScale: true}, x, x)
	case 3:
		return d.apply(&layers.Conv1D{Filters: 3, KernelSize: []int{2}, Padding: one[layers.Padding](r, "same", "causal"), Activation: d.activation(r)}, x)
	case 4:
		return d.apply(&layers.TimeDistributed{Layer: &layers.Dense{Units: 3, Activation: d.activation(r)}}, x)
	case 5:
		return d.apply(d.noise(r), x)
	default:
		return d.apply(d.recurrent(r, true), x)
	}
}

// rule draws an optimizer. Its epsilon prevents rounding errors from becoming steps.
func (d *drawnRun) rule(r *rand.Rand) optimizers.Optimizer {
	var o optimizers.Options
	switch r.IntN(6) {
	case 0:
		o.GlobalClipNorm = new(0.5)
	case 1:
		o.ClipNorm = new(0.3)
	case 2:
		o.ClipValue = new(0.2)
	}
	if r.IntN(4) == 0 {
		o.WeightDecay = new(0.01)
	}
	if r.IntN(4) == 0 {
		o.UseEMA, o.EMAMomentum, o.EMAOverwriteFrequency = true, new(0.8), r.IntN(4)
	}
	if r.IntN(4) == 0 {
		o.GradientAccumulationSteps = 2 + r.IntN(2)
	}
	epsilon := new(1e-2)
	var rate any = 0.02
	if r.IntN(4) == 0 {
		rate = &schedules.ExponentialDecay{InitialLearningRate: 0.03, DecaySteps: 3, DecayRate: 0.7}
	}
	if d.server {
		o = optimizers.Options{ClipNorm: o.ClipNorm, GlobalClipNorm: o.GlobalClipNorm, ClipValue: o.ClipValue, WeightDecay: o.WeightDecay}
		if d.parts > 0 { // each part would clip its own gradients
			o = optimizers.Options{WeightDecay: o.WeightDecay}
		}
		return one[optimizers.Optimizer](r, &optimizers.SGD{LearningRate: rate, Momentum: 0.8, Nesterov: true, Options: o}, &optimizers.Adam{LearningRate: rate, Epsilon: epsilon, Options: o},
			&optimizers.RMSprop{LearningRate: rate, Epsilon: epsilon, Momentum: 0.3, Options: o}, &optimizers.Adagrad{LearningRate: rate, Options: o}, &optimizers.Ftrl{LearningRate: rate, Options: o})
	}
	if d.dtype != "float64" {
		inner := &optimizers.SGD{LearningRate: rate, Momentum: 0.5, Options: o}
		if d.dtype == "mixed_float16" { // a scale that does not overflow: with fewer examples, sums overflow later
			return &optimizers.LossScaleOptimizer{Inner: inner, InitialScale: 64}
		}
		return inner
	}
	return one[optimizers.Optimizer](r, &optimizers.SGD{LearningRate: rate, Options: o}, &optimizers.SGD{LearningRate: rate, Momentum: 0.8, Nesterov: true, Options: o},
		&optimizers.Adam{LearningRate: rate, Epsilon: epsilon, AMSGrad: r.IntN(2) == 0, Options: o}, &optimizers.AdamW{LearningRate: rate, Epsilon: epsilon, Options: o},
		&optimizers.RMSprop{LearningRate: rate, Epsilon: epsilon, Momentum: 0.3, Options: o}, &optimizers.Adagrad{LearningRate: rate, Options: o},
		&optimizers.Adamax{LearningRate: rate, Epsilon: epsilon, Options: o}, &optimizers.Nadam{LearningRate: rate, Epsilon: epsilon, Options: o},
		&optimizers.Adadelta{LearningRate: rate, Epsilon: epsilon, Options: o}, &optimizers.Ftrl{LearningRate: rate, Options: o})
}

// compile draws losses, metrics and an optimizer.
func (d *drawnRun) compile(m *keras.Model, r *rand.Rand) error {
	var loss, measures, weighted []any
	for _, o := range d.out {
		kind, known := any("mse"), []any{"mae", "root_mean_squared_error", "cosine_similarity"}
		switch o.kind {
		case "numbers":
			kind = one[any](r, "mse", "huber", "mae", &losses.MeanSquaredError{Reduction: "sum"})
			if l, sums := kind.(*losses.MeanSquaredError); sums && d.parts > 0 { // parts are averaged
				l.Reduction = ""
			}
		case "bits":
			kind, known = one[any](r, "binary_crossentropy", "binary_focal_crossentropy", "mse"), []any{"binary_accuracy", "auc", "precision"}
		case "classes":
			kind, known = &losses.SparseCategoricalCrossentropy{FromLogits: true}, []any{"accuracy", "sparse_top_k_categorical_accuracy"}
		}
		loss, measures, weighted = append(loss, kind), append(measures, []any{one(r, known...)}), append(weighted, []any{one(r, known...)})
	}
	c := keras.CompileConfig{Optimizer: d.rule(r), Loss: loss, StepsPerExecution: r.IntN(4)}
	if len(d.out) > 1 {
		c.LossWeights = []float64{0.7, 1.3}
	}
	if r.IntN(2) == 0 {
		c.Metrics, c.WeightedMetrics = measures, weighted
	}
	if r.IntN(4) == 0 {
		c.Remat = &keras.RematScope{}
	}
	return m.Compile(c)
}

// data draws n examples.
func (d *drawnRun) data(stream uint64, n int, labels, weights bool) *data.ArraySource {
	r := d.random(100 + stream)
	numbers := func(shape ...int) data.Array {
		v := make([]float64, n*ir.Shape(shape).Size())
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return data.Must(data.ArrayOf(v, append([]int{n}, shape...)...))
	}
	whole := func(below int, shape ...int) data.Array {
		v := make([]int64, n*ir.Shape(shape).Size())
		for i := range v {
			v[i] = r.Int64N(int64(below))
		}
		return data.Must(data.ArrayOf(v, append([]int{n}, shape...)...))
	}
	var x, y, w []any
	for _, kind := range d.kinds {
		switch kind {
		case "vector":
			x = append(x, numbers(3))
		case "image":
			x = append(x, numbers(5, 4, 2))
		case "sequence":
			x = append(x, numbers(4, 3))
		case "masked":
			v := numbers(4, 3)
			e := v.Elements().([]float64)
			for i := 0; i+3 <= len(e); i += 3 {
				if r.IntN(3) == 0 && i%12 != 0 {
					e[i], e[i+1], e[i+2] = 0, 0, 0
				}
			}
			x = append(x, v)
		default:
			x = append(x, whole(6, 4))
		}
	}
	for _, o := range d.out {
		switch o.kind {
		case "classes":
			y = append(y, whole(3))
		case "bits":
			y = append(y, whole(2, 1))
		case "steps":
			y = append(y, numbers(o.length, 2))
		default:
			y = append(y, numbers(2))
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(r.IntN(4)) / 2
		}
		v[r.IntN(n)] = 0.7
		w = append(w, v)
	}
	switch {
	case !labels:
		return data.Arrays(x, nil)
	case weights:
		return data.Arrays(x, y, data.SampleWeight(w))
	}
	return data.Arrays(x, y)
}
