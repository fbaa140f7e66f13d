package keras_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestCheckNumerics: the first layer, loss or gradient that is not finite is named, with the element, and the step that
// fails changes nothing.
func TestCheckNumerics(t *testing.T) {
	logarithm := func() layers.Layer { return &layers.Lambda{Name: "log", Function: ops.Log} }
	for _, c := range []struct {
		name    string
		layers  func() []layers.Layer
		config  keras.CompileConfig
		y       float32
		scope   string
		what    string
		element []int
	}{
		{"a layer", func() []layers.Layer { return []layers.Layer{logarithm(), &layers.Dense{Units: 2}} }, keras.CompileConfig{Loss: "mse", Optimizer: "sgd"}, 1, "log", "the layer's result", []int{2, 1}},
		{"the loss", func() []layers.Layer { return []layers.Layer{&layers.Dense{Units: 2, KernelInitializer: "identity"}} }, keras.CompileConfig{Loss: "mse", Optimizer: "sgd"}, math.MaxFloat32, "loss", "the loss", nil},
		{"a gradient", func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 2, KernelInitializer: "zeros", Name: "first"}, &layers.Lambda{Name: "root", Function: ops.Sqrt}}
		}, keras.CompileConfig{Loss: "mse", Optimizer: "adam"}, 1, "first", "the gradient of the layer's result", []int{0, 0}},
		{"while the loss is scaled", func() []layers.Layer {
			return []layers.Layer{logarithm(), &layers.Dense{Units: 2, DType: "mixed_float16"}}
		}, keras.CompileConfig{Loss: "mse"}, 1, "log", "the layer's result", []int{2, 1}},
	} {
		for _, replicas := range []int{1, 2} {
			t.Run(c.name, func(t *testing.T) {
				strategy, err := distribute.NewMirroredStrategy(map[int][]string{1: {"cpu:0"}, 2: {"cpu:0", "cpu:1"}}[replicas]...)
				require.NoError(t, err)
				m := sequential(t, []keras.Option{keras.InputShape(2), distribute.Scope(strategy)}, c.layers()...)
				c.config.CheckNumerics = true
				if c.name == "while the loss is scaled" {
					c.config.Optimizer = optimizers.WithLossScale(&optimizers.SGD{})
				}
				compile(t, m, c.config)
				x := [][]float32{{1, 2}, {3, 4}, {5, 0}, {7, 0}}
				y := [][]float32{{1, 1}, {1, 1}, {1, 1}, {1, c.y}}
				before := weightBytes(t, m)
				_, err = m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(4), keras.Shuffle(false))
				var found *ops.NotFiniteError
				require.ErrorAs(t, err, &found)
				require.Contains(t, found.Scope, c.scope)
				require.Equal(t, c.what, found.What)
				if replicas == 1 && c.element != nil {
					require.Equal(t, c.element, found.Element)
				}
				require.ErrorContains(t, err, "NaN or infinite")
				require.Equal(t, before, weightBytes(t, m))
			})
		}
	}
}

// TestCheckNumericsOfWeights: the gradient of a weight can overflow although all other numbers are finite, in a custom
// step too.
func TestCheckNumericsOfWeights(t *testing.T) {
	own := func(s *keras.Step) keras.StepLogs {
		loss := s.ComputeLoss(s.Model().Call(s.Training(), s.X...))
		s.Minimize(s.Model().Optimizer(), loss, s.Model().TrainableVariables())
		return keras.StepLogs{"loss": loss}
	}
	for name, step := range map[string]keras.StepFunc{"Keras's step": nil, "own step": own} {
		t.Run(name, func(t *testing.T) {
			m := sequential(t, []keras.Option{keras.InputShape(1)}, &layers.Dense{Units: 1, KernelInitializer: "zeros", NoBias: true})
			compile(t, m, keras.CompileConfig{Loss: "mae", LossWeights: []float64{10}, Optimizer: "sgd", CheckNumerics: true, TrainStep: step})
			_, err := m.Fit(context.Background(), data.Arrays([][]float32{{3e38}, {1}}, [][]float32{{1}, {1}}), keras.BatchSize(2))
			require.ErrorContains(t, err, "dense/kernel: the weight's gradient is NaN or infinite (element [0 0] of shape [1 1])")
			require.Equal(t, []float64{0}, weightBytes(t, m)[0].Float64s())
		})
	}
}

// TestCheckNumericsOfOneStep: the layers that a custom step calls are checked, and so are those that a layer calls in
// each step of a loop, and what that layer computes with their results.
func TestCheckNumericsOfOneStep(t *testing.T) {
	own := func(s *keras.Step) keras.StepLogs {
		loss := s.ComputeLoss(s.Model().Call(s.Training(), s.X...))
		return keras.StepLogs{"loss": loss}
	}
	for name, c := range map[string]struct {
		layer layers.Layer
		step  keras.StepFunc
		x     [][]float32
		want  string
	}{
		"own step": {&layers.Lambda{Name: "log", Function: ops.Log}, own, [][]float32{{1}, {2}, {0}}, "log: the layer's result is NaN or infinite (element [0 2 0] of shape [1 3 1])"},
		"a layer in a loop": {&layers.RNN{Cell: &denseCell{Dense: &layers.Dense{Units: 1, KernelInitializer: &initializers.Constant{Value: 2}}}, ReturnSequences: true}, nil, [][]float32{{1}, {0}, {3e38}},
			"rnn/dense_cell/dense: the layer's result is NaN or infinite (element [0 0] of shape [1 1])"},
		"the loop": {&layers.RNN{Cell: &denseCell{Dense: &layers.Dense{Units: 1, KernelInitializer: "ones"}}, ReturnSequences: true}, nil, [][]float32{{3e38}, {0}, {3e38}},
			"rnn: the layer's result is NaN or infinite (element [0 2 0] of shape [1 3 1])"},
	} {
		t.Run(name, func(t *testing.T) {
			m := sequential(t, []keras.Option{keras.InputShape(3, 1)}, c.layer)
			compile(t, m, keras.CompileConfig{Loss: "mse", Optimizer: "sgd", CheckNumerics: true, TrainStep: c.step})
			_, err := m.Fit(context.Background(), data.Arrays([][][]float32{c.x}, [][][]float32{{{0}, {0}, {0}}}))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestCheckNumericsScaled: a loss scale at which gradients overflow is lowered, as without checks, and is not an error.
func TestCheckNumericsScaled(t *testing.T) {
	scaled := &optimizers.LossScaleOptimizer{Inner: &optimizers.SGD{}, InitialScale: 1e38}
	m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 2, DType: "mixed_float16"}, &layers.Dense{Units: 1, DType: "mixed_float16"})
	compile(t, m, keras.CompileConfig{Loss: "mse", Optimizer: scaled, CheckNumerics: true})
	before := weightBytes(t, m)
	_, err := m.Fit(context.Background(), data.Arrays([][]float32{{1, 2}, {3, 4}}, [][]float32{{1}, {2}}), keras.BatchSize(2))
	require.NoError(t, err)
	require.Equal(t, before, weightBytes(t, m), "the optimizer skips the step")
}

// TestCheckNumericsChangesNothing: if all numbers are finite, training gives the same results as without checks.
// Evaluate checks too.
func TestCheckNumericsChangesNothing(t *testing.T) {
	x := [][]float32{{1, 2}, {3, 4}, {5, 6}, {7, 8}}
	y := [][]float32{{1}, {2}, {3}, {5}}
	var results [2][]kernels.Array
	for i, check := range []bool{false, true} {
		m := sequential(t, []keras.Option{keras.InputShape(2), keras.Seed(3)}, &layers.Dense{Units: 4}, &layers.BatchNormalization{}, &layers.Dense{Units: 1})
		compile(t, m, keras.CompileConfig{Loss: "mse", Optimizer: "adam", CheckNumerics: check})
		_, err := m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(2), keras.Epochs(3))
		require.NoError(t, err)
		results[i] = weightBytes(t, m)
		_, err = m.Evaluate(context.Background(), data.Arrays([][]float32{{1, 2}, {float32(math.Inf(1)), 4}}, [][]float32{{1}, {2}}), keras.BatchSize(2))
		if !check {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "dense: the layer's result is NaN or infinite (element [1 0] of shape [2 4]); lower the learning rate")
	}
	for i, want := range results[0] {
		require.InDeltaSlice(t, want.Float64s(), results[1][i].Float64s(), 1e-6)
	}
}

func weightBytes(t *testing.T, m *keras.Model) (all []kernels.Array) {
	all, err := m.GetWeights()
	require.NoError(t, err)
	return all
}
