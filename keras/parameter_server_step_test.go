package keras_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// fitOwnStep trains a model of serverModel with a TrainStep.
func fitOwnStep(ctx context.Context, t *testing.T, s distribute.Strategy, o optimizers.Optimizer, step keras.StepFunc) (*keras.Model, *keras.History, error) {
	m := serverModel(t, "moving", s)
	if err := m.Compile(keras.CompileConfig{Optimizer: o, Loss: "mse", Metrics: []string{"mae"}, TrainStep: step}); err != nil {
		return nil, nil, err
	}
	h, err := m.Fit(ctx, serverData(), keras.BatchSize(16), keras.StepsPerEpoch(6), keras.Epochs(3), keras.Shuffle(false))
	return m, h, err
}

// TestParameterServerTrainStep: a user-defined TrainStep trains weights on servers as on one device: with Minimize, and
// with gradients that are changed and clipped before Apply; its logs are in the history.
func TestParameterServerTrainStep(t *testing.T) {
	for name, step := range map[string]keras.StepFunc{
		"minimize": func(s *keras.Step) keras.StepLogs {
			y := s.Model().Call(s.Training(), s.X[0])
			s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
			return s.ComputeMetrics(y)
		},
		"apply": func(s *keras.Step) keras.StepLogs {
			y := s.Model().Call(s.Training(), s.X[0])
			loss := ops.AddScalar(s.Mean(ops.Square(ops.Subtract(y, s.Y[0]))), 1)
			all := s.Model().TrainableVariables()
			gradients := ops.NewTape(s).Gradients(loss, all)
			for i, g := range gradients.Values {
				gradients.Values[i] = ops.MultiplyScalar(g, 3)
			}
			s.Apply(s.Optimizer(), gradients)
			return keras.StepLogs{"own": loss}
		},
	} {
		t.Run(name, func(t *testing.T) {
			trainsAlike(t, func(ctx context.Context, s distribute.Strategy) (*keras.Model, *keras.History, error) {
				return fitOwnStep(ctx, t, s, &optimizers.SGD{LearningRate: 0.1, Momentum: 0.5, Options: optimizers.Options{GlobalClipNorm: pointer(0.2)}}, step)
			})
		})
	}
}

// TestParameterServerStepsThatCannotBe: a step that needs the new weights within the step is an error that says what to
// do.
func TestParameterServerStepsThatCannotBe(t *testing.T) {
	type maker func(other optimizers.Optimizer) keras.StepFunc
	fixed := func(step keras.StepFunc) maker { return func(optimizers.Optimizer) keras.StepFunc { return step } }
	for text, step := range map[string]maker{
		"computes with the weight dense/kernel after it has updated it; under ParameterServerStrategy updates are made on the servers": fixed(func(s *keras.Step) keras.StepLogs {
			y := s.Model().Call(s.Training(), s.X[0])
			s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
			kernel := s.Model().TrainableVariables()[3]
			return keras.StepLogs{"norm": ops.Sum(ops.Square(s.Read(kernel)))}
		}),
		"TrainStep uses 2 optimizers; parameter servers update the weights of a model by one": func(other optimizers.Optimizer) keras.StepFunc {
			return func(s *keras.Step) keras.StepLogs {
				y := s.Model().Call(s.Training(), s.X[0])
				loss, all := s.ComputeLoss(y), s.Model().TrainableVariables()
				s.Minimize(s.Optimizer(), loss, all[:1])
				s.Minimize(other, loss, all[1:])
				return s.ComputeMetrics(y)
			}
		},
		"twice; parameter servers make one update of a weight in a step": fixed(func(s *keras.Step) keras.StepLogs {
			y := s.Model().Call(s.Training(), s.X[0])
			gradients := ops.NewTape(s).Gradients(s.ComputeLoss(y), s.Model().TrainableVariables())
			s.Apply(s.Optimizer(), gradients)
			s.Apply(s.Optimizer(), gradients)
			return s.ComputeMetrics(y)
		}),
	} {
		err := onParameterServers(t, 1, 1, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			_, _, err := fitOwnStep(ctx, t, s, &optimizers.SGD{}, step(&optimizers.SGD{}))
			return err
		})
		require.ErrorContains(t, err, text)
		require.Equal(t, 1, strings.Count(err.Error(), "keras: Fit: "), "%v", err)
	}
}

// TestParameterServerDynamicTrainStep: rows of a dynamic embedding are trained by a user-defined TrainStep too.
func TestParameterServerDynamicTrainStep(t *testing.T) {
	x, y := rowData(64)
	var want []float64
	fit := func(ctx context.Context, s distribute.Strategy) ([]float64, error) {
		e := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true}
		m := rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")), distribute.Scope(s))
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.05}, Loss: "mse", TrainStep: func(s *keras.Step) keras.StepLogs {
			out := s.Model().Call(s.Training(), s.X[0])
			s.Minimize(s.Optimizer(), s.ComputeLoss(out), s.Model().TrainableVariables())
			return s.ComputeMetrics(out)
		}}); err != nil {
			return nil, err
		}
		if _, err := m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(4), keras.StepsPerEpoch(8), keras.Epochs(2), keras.Shuffle(false)); err != nil {
			return nil, err
		}
		rows, err := e.Table().Rows()
		var out []float64
		for _, row := range rows {
			for _, v := range row.Values {
				out = append(out, float64(v))
			}
		}
		return out, err
	}
	want, err := fit(t.Context(), distribute.Default())
	require.NoError(t, err)
	require.NoError(t, onParameterServers(t, 1, 2, oneAtATime, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		got, err := fit(ctx, s)
		if err == nil {
			require.InDeltaSlice(t, want, got, 2e-5)
		}
		return err
	}))
}
