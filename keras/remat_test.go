package keras_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// manyKinds is a model with layers that keep much memory, draw random numbers, loop over time and have statistics.
func manyKinds(t *testing.T, options ...keras.Option) *keras.Model {
	inner := sequential(t, append([]keras.Option{keras.Name("inner"), keras.InputShape(3, 24)}, options...),
		&layers.Dense{Units: 16, Activation: "gelu"}, &layers.Dropout{Rate: 0.3}, &layers.LSTM{Units: 6, ReturnSequences: true, Dropout: 0.2})
	return sequential(t, append([]keras.Option{keras.InputShape(6, 6, 2), keras.Seed(5)}, options...),
		&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Activation: "tanh", Padding: "same", Name: "conv"}, &layers.BatchNormalization{Name: "norm"}, &layers.MaxPooling2D{},
		&layers.Reshape{TargetShape: []int{3, 12}}, &layers.Dense{Units: 24, Activation: &layers.LeakyReLU{}, Name: "wide", ActivityRegularizer: "l2"}, inner,
		&layers.TimeDistributed{Layer: &layers.Dense{Units: 5, Activation: "silu"}}, &layers.Flatten{}, &layers.Dense{Units: 3, Activation: "softmax"})
}

// TestRemat: models that recompute layers train to the same weights and statistics as those that keep everything.
func TestRemat(t *testing.T) {
	x, y := make([]float32, 12*72), make([]int32, 12)
	for i := range x {
		x[i], y[i%12] = float32(i*7919%101)/50-1, int32(i%3)
	}
	images := data.Must(data.ArrayOf(x, 12, 6, 6, 2))
	for _, replicas := range [][]string{{"cpu:0"}, {"cpu:0", "cpu:1"}} {
		trained := func(s *keras.RematScope) *keras.Model {
			m := manyKinds(t, distribute.Scope(mirrored(t, replicas...)))
			compile(t, m, keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "sparse_categorical_crossentropy", Remat: s})
			require.NoError(t, fit(m, data.Arrays(images, y), keras.BatchSize(6), keras.Epochs(2), keras.Shuffle(false)))
			return m
		}
		want := trained(nil)
		for _, s := range []keras.RematScope{
			{}, {Mode: "full"}, {Mode: "activations"}, {Mode: "larger_than"}, {Mode: "larger_than", OutputSizeThreshold: 100},
			{Mode: "list_of_layers", LayerNames: []string{"conv", "wide", "inner"}},
		} {
			requireClose(t, want, trained(&s))
		}
	}
}

// TestRematOfMixedPrecision: what is recomputed in 16 bits equals what was computed before, also with losses that are
// scaled until they become infinite, so that both ways skip the same steps.
func TestRematOfMixedPrecision(t *testing.T) {
	x := make([]float32, 12*6)
	for i := range x {
		x[i] = float32(i*7919%101)/50 - 1
	}
	for _, policy := range []string{"mixed_bfloat16", "mixed_float16"} {
		trained := func(s *keras.RematScope) *keras.Model {
			m := sequential(t, []keras.Option{keras.InputShape(6), keras.Seed(5)}, &layers.Dense{Units: 24, Activation: "gelu", DType: policy}, &layers.Dropout{Rate: 0.3, DType: policy},
				&layers.LayerNormalization{DType: policy}, &layers.Dense{Units: 24, Activation: "tanh", DType: policy}, &layers.Dense{Units: 3, DType: policy})
			var o optimizers.Optimizer = &optimizers.Adam{LearningRate: 0.01}
			if policy == "mixed_float16" {
				o = &optimizers.LossScaleOptimizer{Inner: o, InitialScale: 1 << 20, DynamicGrowthSteps: 2}
			}
			compile(t, m, keras.CompileConfig{Optimizer: o, Loss: "mse", Remat: s})
			require.NoError(t, fit(m, data.Arrays(shaped(x, 12, 6), shaped(x[:36], 12, 3)), keras.BatchSize(6), keras.Epochs(6), keras.Shuffle(false)))
			return m
		}
		want := trained(nil)
		for _, s := range []keras.RematScope{{}, {Mode: "activations"}} {
			requireClose(t, want, trained(&s))
		}
	}
}

func TestRematIsRefused(t *testing.T) {
	m := manyKinds(t)
	for _, c := range []struct {
		scope keras.RematScope
		want  string
	}{
		{keras.RematScope{Mode: "all"}, `the mode "all" is unknown; expected one of ["full" "activations" "larger_than" "list_of_layers"]`},
		{keras.RematScope{Mode: "larger_than", OutputSizeThreshold: -1}, "OutputSizeThreshold is -1"},
		{keras.RematScope{LayerNames: []string{"conv"}}, `LayerNames count in mode "list_of_layers" alone, and the mode is ""`},
		{keras.RematScope{Mode: "list_of_layers", LayerNames: []string{"conf"}}, `has no layer "conf"; did you mean "conv"?`},
		{keras.RematScope{Mode: "list_of_layers", LayerNames: []string{m.Name()}}, "has no layer " + strconv.Quote(m.Name())},
	} {
		require.ErrorContains(t, m.Compile(keras.CompileConfig{Loss: "mse", Remat: &c.scope}), c.want)
	}
}
