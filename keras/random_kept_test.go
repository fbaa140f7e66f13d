package keras_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

var (
	keptRuns = flag.Int("keptruns", 24, "how many runs TestRandomKeptWeights draws")
	keptSeed = flag.Uint64("keptseed", 1, "seed of the first of them")
)

// keptRun is a set of models that share layers whose weights change between predictions. It is drawn at random, always
// the same from the same seed.
type keptRun struct {
	t        *testing.T
	seed     uint64
	r        *rand.Rand // for the events
	network  string
	policy   string
	replicas int
	models   []*keras.Model
	compiled []bool
	x        data.Array
	rows     int                                 // maximum number of rows in a prediction
	changed  []func(models []*keras.Model) error // changes of the layers themselves, in order
	files    map[string]int                      // files of weights, and the model of each
	log      []string
}

func newKeptRun(t *testing.T, seed uint64) *keptRun {
	d := &keptRun{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), files: map[string]int{}}
	d.network = one(d.r, "vectors", "images", "images", "steps", "words")
	d.policy = one(d.r, "float32", "float32", "float32", "mixed_bfloat16", "mixed_float16", "float64", "bfloat16")
	d.replicas = one(d.r, 1, 1, 1, 2)
	d.models = d.build()
	d.compiled = make([]bool, len(d.models))
	shape := append([]int{keptRows}, d.models[0].Inputs()[0].Shape()[1:]...)
	if d.network == "words" {
		d.x = keptNumbers(t, d.r, ir.Int32, shape)
	} else {
		d.x = keptNumbers(t, d.r, ir.Float32, shape)
	}
	if d.rows = keptRows; strings.Contains(d.policy, "16") {
		d.rows = 7 // from 8 on several sizes share a program, and rounding to 16 bits between layers depends on its rows
	}
	return d
}

const keptRows = 12

// keptNumbers draws an array.
func keptNumbers(t *testing.T, r *rand.Rand, dtype ir.DType, shape []int) data.Array {
	values := make([]float64, ir.Shape(shape).Size())
	for i := range values {
		if values[i] = r.NormFloat64(); dtype == ir.Int32 {
			values[i] = float64(r.IntN(40))
		}
	}
	a, err := kernels.FromFloat64s(dtype, shape, values)
	require.NoError(t, err)
	return a
}

// build makes the models, the same ones each time: a whole network, one of its first layers, one with another layer on
// top of these, and one that calls the whole network.
func (d *keptRun) build() []*keras.Model {
	strategy := mirrored(d.t, []string{"cpu:0", "cpu:1"}[:d.replicas]...)
	n := &keptNetwork{r: rand.New(rand.NewPCG(d.seed, 2))}
	input, inner, last := n.draw(d.network)
	options := []keras.Option{distribute.Scope(strategy), keras.Seed(d.seed), keras.DTypePolicy(d.policy)}
	model := func(input, output *layers.KerasTensor) *keras.Model {
		m, err := keras.NewFunctional(keras.Inputs(input), keras.Outputs(output), options...)
		require.NoError(d.t, err)
		return m
	}
	whole := model(input, last)
	around := keras.Input(keras.Shape(input.Shape()[1:]...), keras.DType(input.DType().String()))
	return []*keras.Model{
		whole,
		model(input, inner),
		model(input, n.apply(&layers.Dense{Units: 18, Activation: "tanh"}, inner)),
		model(around, n.apply(&layers.Dense{Units: 17}, layers.Apply(whole, around))),
	}
}

// keptNetwork draws layers whose weights predictions keep in another form: in the kernels' layout, in 16 bits, as
// values computed from them, or folded into each other.
type keptNetwork struct {
	r *rand.Rand
	n int
}

// apply calls a layer under a new name.
func (n *keptNetwork) apply(l layers.Layer, x *layers.KerasTensor) *layers.KerasTensor {
	n.n++
	layers.SetName(l, fmt.Sprint("layer", n.n))
	return layers.Apply(l, x)
}

func (n *keptNetwork) draw(kind string) (input, inner, last *layers.KerasTensor) {
	r, shape, dtype := n.r, []int{70}, "float32"
	switch kind {
	case "images":
		shape = []int{8, 9, one(r, 3, 16, 32)}
	case "steps":
		shape = []int{7, 24}
	case "words":
		shape, dtype = []int{6}, "int32"
	}
	input = keras.Input(keras.Shape(shape...), keras.DType(dtype))
	x := input
	if kind == "words" {
		x, kind = n.apply(&layers.Embedding{InputDim: 40, OutputDim: 32}, x), "steps"
	}
	for i := range 2 + r.IntN(3) {
		if x = n.norm(n.apply(n.layer(kind), x)); i == 0 {
			inner = x
		}
	}
	switch kind {
	case "images":
		x = n.apply(&layers.GlobalAveragePooling2D{}, x)
	case "steps":
		x = n.apply(one[layers.Layer](r, &layers.GlobalAveragePooling1D{}, &layers.LSTM{Units: 40}, &layers.GRU{Units: 40}), x)
	}
	return input, inner, n.apply(&layers.Dense{Units: one(r, 10, 33, 64)}, x)
}

func (n *keptNetwork) norm(x *layers.KerasTensor) *layers.KerasTensor {
	switch n.r.IntN(4) {
	case 0, 1:
		x = n.apply(&layers.BatchNormalization{Momentum: new(0.5)}, x)
	case 2:
		x = n.apply(&layers.LayerNormalization{}, x)
	}
	return n.apply(&layers.Activation{Activation: one(n.r, "relu", "tanh", "gelu", "linear")}, x)
}

func (n *keptNetwork) layer(kind string) layers.Layer {
	r := n.r
	units, bias := one(r, 32, 48, 64), r.IntN(2) == 0
	switch kind {
	case "images":
		return one[layers.Layer](r,
			&layers.Conv2D{Filters: units, KernelSize: []int{3}, Padding: "same", NoBias: bias},
			&layers.Conv2D{Filters: units, KernelSize: []int{3}, Padding: "same", NoBias: bias},
			&layers.Conv2D{Filters: units, KernelSize: []int{1}, NoBias: bias},
			&layers.Conv2D{Filters: units, KernelSize: []int{5}, Padding: "same", NoBias: bias},
			&layers.Conv2D{Filters: units, KernelSize: []int{2}, Strides: []int{2}, Padding: "same"},
			&layers.Conv2DTranspose{Filters: units, KernelSize: []int{3}, Padding: "same"},
			&layers.SeparableConv2D{Filters: units, KernelSize: []int{3}, Padding: "same", NoBias: bias},
			&layers.DepthwiseConv2D{KernelSize: []int{3}, Padding: "same", NoBias: bias},
			&layers.Dense{Units: units, NoBias: bias},
		)
	case "steps":
		return one[layers.Layer](r,
			&layers.Conv1D{Filters: units, KernelSize: []int{3}, Padding: "same", NoBias: bias},
			&layers.Conv1D{Filters: units, KernelSize: []int{2}, Padding: "causal", NoBias: bias},
			&layers.LSTM{Units: units, ReturnSequences: true},
			&layers.GRU{Units: units, ReturnSequences: true},
			&layers.Bidirectional{Layer: &layers.LSTM{Units: 32, ReturnSequences: true}},
			&layers.TimeDistributed{Layer: &layers.Dense{Units: units}},
			&layers.Dense{Units: units, NoBias: bias},
			&standardized{Units: units},
		)
	}
	return one[layers.Layer](r,
		&layers.Dense{Units: units * 2, NoBias: bias},
		&layers.Dense{Units: units * 2, Activation: "relu"},
		&layers.EinsumDense{Equation: "ab,bc->ac", OutputShape: []int{units * 2}},
		&layers.SpectralNormalization{Layer: &layers.Dense{Units: units * 2}},
		&standardized{Units: units * 2},
	)
}

// TestRandomKeptWeights: whatever changes the weights of layers that several models share, the next prediction of each
// model, and the one after that, which uses weights in other forms, has the bits of new models with the same weights.
func TestRandomKeptWeights(t *testing.T) {
	for seed := *keptSeed; seed < *keptSeed+uint64(*keptRuns); seed++ {
		if testing.Short() && seed%4 > 0 {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := newKeptRun(t, seed)
			defer func() {
				if t.Failed() {
					t.Logf("%s, %s, %d replicas: %q", d.network, d.policy, d.replicas, d.log)
				}
			}()
			d.check()
			for range 8 {
				require.NoError(t, d.change(t.Context()), "%q", d.log)
				d.check()
			}
		})
	}
}

// check compares the models' predictions with those of new models.
func (d *keptRun) check() {
	fresh := d.build()
	for _, f := range d.changed {
		require.NoError(d.t, f(fresh))
	}
	for k, m := range d.models {
		weights, err := m.GetWeights()
		require.NoError(d.t, err)
		require.NoError(d.t, fresh[k].SetWeights(weights))
	}
	for k, m := range d.models {
		rows := 1 + d.r.IntN(d.rows)
		want := d.predict(fresh[k], rows)
		for i := range 3 { // the second time weights are kept
			if got := d.predict(m, rows); !bytes.Equal(got, want) {
				at := 0
				for got[at] == want[at] {
					at++
				}
				require.FailNow(d.t, "other bits", "model %d, %d rows, prediction %d, from byte %d on: % x, not % x; after %q", k, rows, i, at, got[at&^3:min(at&^3+16, len(got))], want[at&^3:min(at&^3+16, len(want))], d.log)
			}
		}
	}
}

func (d *keptRun) predict(m *keras.Model, rows int) []byte {
	out, err := m.PredictOnBatch(d.t.Context(), data.Arrays(d.x.Slice(0, rows), nil))
	require.NoError(d.t, err)
	return slices.Clone(out.Data)
}
