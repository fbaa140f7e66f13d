package keras_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// foldedNetwork draws a network of what prediction programs fold, and of what they must not fold: convolutions of every
// kind and products, with and without normalization, in any order, branches that merge and layers that are used twice.
type foldedNetwork struct {
	*rand.Rand
	flat bool // of sequences
}

func (f *foldedNetwork) activation() string {
	return []string{"relu", "linear", "linear", "silu", "relu6"}[f.IntN(5)]
}

func (f *foldedNetwork) kernel() []int { return []int{1 + 2*f.IntN(2)} }

// product keeps the shape of images and sequences except for the channels.
func (f *foldedNetwork) product(channels int) layers.Layer {
	k, a := f.kernel(), f.activation()
	if f.flat {
		return []layers.Layer{
			&layers.Conv1D{Filters: channels, KernelSize: k, Padding: "same", Activation: a},
			&layers.SeparableConv1D{Filters: channels, KernelSize: k, Padding: "same", Activation: a},
			&layers.Dense{Units: channels, Activation: a},
			&layers.Conv1DTranspose{Filters: channels, KernelSize: k, Padding: "same"},
		}[f.IntN(4)]
	}
	return []layers.Layer{
		&layers.Conv2D{Filters: channels, KernelSize: k, Padding: "same", Activation: a, NoBias: f.IntN(2) == 0},
		&layers.Conv2D{Filters: channels, KernelSize: []int{3}, Padding: "same", NoBias: true},
		&layers.SeparableConv2D{Filters: channels, KernelSize: k, Padding: "same", Activation: a},
		&layers.DepthwiseConv2D{KernelSize: []int{3}, Padding: "same", NoBias: f.IntN(2) == 0},
		&layers.Dense{Units: channels, Activation: a},
		&layers.Conv2DTranspose{Filters: channels, KernelSize: k, Padding: "same"},
		&layers.Conv2D{Filters: channels, KernelSize: []int{1}, NoBias: true},
	}[f.IntN(7)]
}

func (f *foldedNetwork) between(x *layers.KerasTensor) *layers.KerasTensor {
	for range f.IntN(4) {
		x = layers.Apply([]layers.Layer{
			&layers.BatchNormalization{}, &layers.BatchNormalization{NoScale: true}, &layers.BatchNormalization{NoCenter: true},
			&layers.Rescaling{Scale: []float64{0.7}, Offset: []float64{0.1}}, &layers.Activation{Activation: "relu"}, &layers.LayerNormalization{},
		}[f.IntN(6)], x)
	}
	return x
}

func (f *foldedNetwork) model(seed uint64) (*keras.Model, error) {
	shape := []int{9, 8, 3}
	if f.flat {
		shape = []int{17, 5}
	}
	input := keras.Input(keras.Shape(shape...))
	x := f.between(input)
	for range 1 + f.IntN(4) {
		channels := []int{16, 32, 48}[f.IntN(3)]
		first := layers.Apply(f.product(channels), x)
		y := f.between(first)
		if f.IntN(3) == 0 { // the same layer with something else after it
			shared := f.product(first.Shape()[len(first.Shape())-1])
			z := layers.Apply(shared, y)
			if z.Shape().Equal(y.Shape()) {
				y = layers.Apply(&layers.Add{}, f.between(z), f.between(layers.Apply(shared, z)))
			}
		}
		switch f.IntN(3) {
		case 0:
			if y.Shape().Equal(x.Shape()) {
				y = layers.Apply(&layers.Add{}, x, y)
			}
		case 1:
			other := f.between(layers.Apply(f.product(16), x))
			y = layers.Apply(&layers.Concatenate{}, y, other)
		}
		x = layers.Apply(&layers.Activation{Activation: f.activation()}, y)
	}
	if f.flat {
		x = layers.Apply(&layers.GlobalAveragePooling1D{}, x)
	} else {
		x = layers.Apply(&layers.GlobalAveragePooling2D{}, x)
	}
	y := layers.Apply(&layers.Dense{Units: 7}, x)
	m, err := keras.NewFunctional(keras.Inputs(input), keras.Outputs(y), keras.Seed(seed))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.01}, Loss: &losses.MeanSquaredError{}})
}

// TestFoldedPredictions: predictions of random networks are what an evaluation computes, within 1e-5 of the largest,
// after every training step too, and the same from a file.
func TestFoldedPredictions(t *testing.T) {
	ctx := context.Background()
	networks := 40
	if testing.Short() {
		networks = 10
	}
	for seed := range uint64(networks) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := &foldedNetwork{Rand: rand.New(rand.NewPCG(seed, 16)), flat: seed%3 == 0}
			m, err := f.model(seed)
			require.NoError(t, err)
			shape := append([]int{4}, m.Inputs()[0].Shape()[1:]...)
			x := foldedInput(t, f.Rand, shape)
			y := foldedInput(t, f.Rand, []int{4, 7})
			for range 3 {
				for range 2 { // the second time weights are kept
					asEvaluated(ctx, t, m, x)
				}
				_, err := m.TrainOnBatch(ctx, data.Arrays([]data.Array{x}, []data.Array{y}))
				require.NoError(t, err)
			}
			p := asEvaluated(ctx, t, m, x)
			file := filepath.Join(t.TempDir(), "m.keras")
			require.NoError(t, m.Save(file))
			again, err := keras.LoadModel(file)
			require.NoError(t, err)
			q, err := again.PredictOnBatch(ctx, data.Arrays([]data.Array{x}, nil))
			require.NoError(t, err)
			require.Equal(t, p.Float32s(), q.Float32s())
		})
	}
}

func foldedInput(t *testing.T, r *rand.Rand, shape []int) data.Array {
	values := make([]float64, ir.Shape(shape).Size())
	for i := range values {
		values[i] = r.NormFloat64()
	}
	a, err := kernels.FromFloat64s(ir.Float32, shape, values)
	require.NoError(t, err)
	return a
}

// asEvaluated requires that an evaluation, whose program folds nothing, computes what the model predicts. It returns
// that.
func asEvaluated(ctx context.Context, t *testing.T, m *keras.Model, x data.Array) data.Array {
	t.Helper()
	p, err := m.PredictOnBatch(ctx, data.Arrays([]data.Array{x}, nil))
	require.NoError(t, err)
	largest := 0.0
	for _, v := range p.Float32s() {
		largest = max(largest, math.Abs(float64(v)))
	}
	logs, err := m.Evaluate(ctx, data.Arrays([]data.Array{x}, []data.Array{p}), keras.BatchSize(4))
	require.NoError(t, err)
	require.LessOrEqual(t, math.Sqrt(logs["loss"]), 1e-5*largest)
	return p
}
