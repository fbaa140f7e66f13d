package randomnets

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestWideEmpty draws convolutions, products and recurrent layers that are wide enough for kernels of their own, on
// axes of length 0, 1 and more, in all types. Predictions of no, one and some examples have the shape that the model
// says, and a step of so few examples that most replicas have none makes the same of the weights as on one device.
// RANDOM_WIDE_EMPTY_COUNT is how many, RANDOM_WIDE_EMPTY_SEED the first seed.
func TestWideEmpty(t *testing.T) {
	refused := map[string]int{}
	first := numberOf(t, "RANDOM_WIDE_EMPTY_SEED", "0")
	for seed := first; seed < first+numberOf(t, "RANDOM_WIDE_EMPTY_COUNT", "30"); seed++ {
		if err := wideEmpty(uint64(seed), refused); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("refused: %v", refused)
}

// drawWideLayer returns a layer and the shape of an example.
func drawWideLayer(r *rand.Rand) (layers.Layer, []int) {
	of := func(n ...int) int { return n[r.IntN(len(n))] }
	d := of(1, 2, 2, 2, 3)
	channels := of(32, 33, 48, 64, 72)
	each := func(n ...int) (out []int) {
		for range d {
			out = append(out, of(n...))
		}
		return out
	}
	shape := append(each(0, 1, 1, 2, 5, 9, 16), channels)
	kernel, strides, padding := each(1, 2, 3, 3, 5), each(1, 1, 1, 2, 3), layers.Padding([]string{"same", "same", "valid"}[r.IntN(3)])
	filters, groups := of(32, 40, 64, 96), 1
	if r.IntN(6) == 0 && channels%8 == 0 {
		groups = of(2, 4, 8)
	}
	activation := []any{nil, "relu", "gelu", "tanh"}[r.IntN(4)]
	switch kind := r.IntN(12); {
	case kind == 0:
		return &layers.Dense{Units: filters, Activation: activation}, shape
	case kind == 1:
		return &layers.LSTM{Units: filters, ReturnSequences: r.IntN(2) == 0}, []int{of(0, 1, 5), channels}
	case kind == 2:
		return &layers.GRU{Units: filters, ReturnSequences: r.IntN(2) == 0}, []int{of(0, 1, 5), channels}
	case kind == 3 && d == 2:
		return &layers.Conv2DTranspose{Filters: filters, KernelSize: kernel, Strides: strides, Padding: padding, Activation: activation}, shape
	case kind == 4 && d == 2:
		return &layers.DepthwiseConv2D{KernelSize: kernel, Strides: []int{strides[0], strides[0]}, Padding: padding, DepthMultiplier: of(1, 2), Activation: activation}, shape
	case kind == 5 && d == 2:
		return &layers.SeparableConv2D{Filters: filters, KernelSize: kernel, Padding: padding, Activation: activation}, shape
	case d == 1:
		return &layers.Conv1D{Filters: filters, KernelSize: kernel, Strides: strides, Padding: padding, Groups: groups, Activation: activation}, shape
	case d == 2:
		return &layers.Conv2D{Filters: filters, KernelSize: kernel, Strides: strides, Padding: padding, Groups: groups, Activation: activation}, shape
	}
	return &layers.Conv3D{Filters: filters, KernelSize: kernel, Strides: strides, Padding: padding, Groups: groups, Activation: activation}, shape
}

func wideEmpty(seed uint64, refused map[string]int) (err error) {
	r := rand.New(rand.NewPCG(seed, 7))
	layer, shape := drawWideLayer(r)
	policy := []string{"float32", "float32", "float64", "mixed_bfloat16", "mixed_float16", "bfloat16"}[r.IntN(6)]
	what := fmt.Sprintf("%T of %v, %s", layer, shape, policy)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", what, p)
		} else if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
	}()
	make := func(s distribute.Strategy) (*keras.Model, error) {
		r := rand.New(rand.NewPCG(seed, 7))
		layer, shape := drawWideLayer(r)
		options := []keras.Option{keras.InputShape(shape...), keras.DTypePolicy(policy), keras.Seed(seed)}
		if s != nil {
			options = append(options, distribute.Scope(s))
		}
		return keras.NewSequential([]layers.Layer{layer, &layers.Activation{Activation: "linear"}}, options...)
	}
	m, err := make(nil)
	if err != nil {
		refused[strings.SplitN(err.Error(), ";", 2)[0]]++
		return nil
	}
	out := m.Outputs()[0].Shape()[1:]
	random := func(shape []int) data.Array {
		v := []float64{}
		for range ir.Shape(shape).Size() {
			v = append(v, r.Float64()-0.5)
		}
		a, err := kernels.FromFloat64s(ir.Float32, shape, v)
		if err != nil {
			panic(err)
		}
		return a
	}
	for _, n := range []int{0, 1, 3} {
		y, err := m.PredictOnBatch(context.Background(), data.Arrays(random(append([]int{n}, shape...)), nil))
		if err != nil {
			return fmt.Errorf("predictions of %d: %w", n, err)
		}
		if got, want := fmt.Sprint(y.Shape()), fmt.Sprint(append([]int{n}, out...)); got != want {
			return fmt.Errorf("predictions of %d have shape %s, not %s", n, got, want)
		}
	}
	n := 1 + r.IntN(3)
	x, y := random(append([]int{n}, shape...)), random(append([]int{n}, out...))
	var first []kernels.Array
	for _, replicas := range []int{1, 2, 4} {
		var s distribute.Strategy
		names := []string{"cpu:0", "cpu:1", "cpu:2", "cpu:3"}[:replicas]
		if r.IntN(2) == 0 {
			s, err = distribute.NewCentralStorageStrategy(names...)
		} else {
			s, err = distribute.NewMirroredStrategy(names...)
		}
		if err != nil {
			return err
		}
		m, err := make(s)
		if err != nil {
			return err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}); err != nil {
			return err
		}
		if _, err := m.TrainOnBatch(context.Background(), data.Arrays(x, y)); err != nil {
			return fmt.Errorf("a step of %d: %w", replicas, err)
		}
		weights, err := m.GetWeights()
		if err != nil {
			return err
		}
		if first == nil {
			first = weights
		}
		narrow := map[string]float64{"float32": 1e-5, "float64": 1e-12}[policy]
		if narrow == 0 {
			narrow = 2e-2
		}
		for i, w := range weights {
			want := first[i].Float64s()
			for k, v := range w.Float64s() {
				if !(math.Abs(v-want[k]) <= narrow*(1+math.Abs(want[k]))) && !(v != v && want[k] != want[k]) {
					return fmt.Errorf("after a step of %d examples on %d replicas, weight %d has %v, on one %v", n, replicas, i, v, want[k])
				}
			}
		}
	}
	return nil
}
