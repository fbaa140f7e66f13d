package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

type odd struct{ D *layers.Dense }

func (odd) TrainStep(*keras.Step) error { return nil }

// mistaken has one of the mistakes of the table below in its step.
type mistaken struct {
	Known, Other *layers.Dense
	hidden       *layers.Dense
	Optimizer    optimizers.Optimizer
	None         *metrics.Mean
	step         func(v *mistaken, s *keras.Step) keras.StepLogs
}

func (v *mistaken) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(v.Known, c, x)
}

func (v *mistaken) TrainStep(s *keras.Step) keras.StepLogs { return v.step(v, s) }

// Every mistake is one clear error.
func TestStepErrors(t *testing.T) {
	loss := func(v *mistaken, s *keras.Step) *ops.Tensor {
		layers.Invoke(v.Other, s.Training(), s.X[0])
		return s.Mean(ops.Square(layers.Invoke(v.Known, s.Training(), s.X[0])))
	}
	for _, c := range []struct {
		want string
		step func(v *mistaken, s *keras.Step) keras.StepLogs
	}{
		{"TrainStep returned no logs", func(v *mistaken, s *keras.Step) keras.StepLogs { return nil }},
		{`a log of the name ""`, func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"": loss(v, s)} }},
		{`a log of the name "val_loss"`, func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"val_loss": loss(v, s)} }},
		{`the log "loss" is a float64; expected`, func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"loss": 1.5} }},
		{`the log "loss" is a nil *metrics.Mean`, func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"loss": v.None} }},
		{`the metric of the log "m" has not been updated`, func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"m": metrics.NewMean("m")} }},
		{`the log "loss" must be a scalar, received float32[6 3]`, func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"loss": s.X[0]} }},
		{"trains the weight dense/kernel of model \"mistaken\" by no optimizer", func(v *mistaken, s *keras.Step) keras.StepLogs { return keras.StepLogs{"loss": loss(v, s)} }},
		{"trains the weight dense_1/kernel of model \"mistaken\" by no optimizer", func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := loss(v, s)
			s.Minimize(v.Optimizer, l, layers.TrainableWeights(v.Known))
			return keras.StepLogs{"loss": l}
		}},
		{"does not depend on dense_1/kernel, dense_1/bias", func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := loss(v, s)
			s.Minimize(v.Optimizer, l, s.Model().TrainableVariables())
			return keras.StepLogs{"loss": l}
		}},
		{"does not belong to model \"mistaken\"", func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := s.Mean(layers.Invoke(v.hidden, s.Training(), s.X[0]))
			s.Minimize(v.Optimizer, l, layers.TrainableWeights(v.hidden))
			return keras.StepLogs{"loss": l}
		}},
		{"uses the variable dense/kernel, which is neither the model's", func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := ops.Add(loss(v, s), s.Mean(layers.Invoke(v.hidden, s.Training(), s.X[0])))
			s.Minimize(v.Optimizer, l, layers.TrainableWeights(v.Known))
			return keras.StepLogs{"loss": l}
		}},
		{"uses the variable sgd/iteration", func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := loss(v, s)
			(&optimizers.SGD{}).Apply(s.Replica, ops.NewTape(s).Gradients(l, layers.TrainableWeights(v.Known)))
			return keras.StepLogs{"loss": l}
		}},
		{"the optimizer is nil", func(v *mistaken, s *keras.Step) keras.StepLogs {
			s.Minimize((*optimizers.Adam)(nil), loss(v, s), s.Model().TrainableVariables())
			return nil
		}},
		{"there are no variables to train", func(v *mistaken, s *keras.Step) keras.StepLogs {
			s.Minimize(v.Optimizer, loss(v, s), nil)
			return nil
		}},
		{"Minimize needs the loss as a scalar, received float32[6 3]", func(v *mistaken, s *keras.Step) keras.StepLogs {
			loss(v, s)
			s.Minimize(v.Optimizer, s.X[0], s.Model().TrainableVariables())
			return nil
		}},
		{"Apply needs the gradients of variables, received those of a *ops.Tensor", func(v *mistaken, s *keras.Step) keras.StepLogs {
			s.Apply(v.Optimizer, ops.NewTape(s).Gradients(loss(v, s), s.X[0]))
			return nil
		}},
		{"an optimizer serves only the 2 weights", func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := ops.Add(loss(v, s), s.Mean(layers.Invoke(v.Other, s.Training(), s.X[0])))
			s.Minimize(v.Optimizer, l, layers.TrainableWeights(v.Known))
			s.Minimize(v.Optimizer, l, layers.TrainableWeights(v.Other))
			return nil
		}},
		{"ComputeLoss: there is no loss", func(v *mistaken, s *keras.Step) keras.StepLogs {
			s.ComputeLoss(layers.Invoke(v.Known, s.Training(), s.X[0]))
			return nil
		}},
		{"ComputeLoss: there are no outputs", func(v *mistaken, s *keras.Step) keras.StepLogs { s.ComputeLoss(); return nil }},
		{"Mean needs the values of the examples", func(v *mistaken, s *keras.Step) keras.StepLogs { s.Mean(ops.Sum(s.X[0])); return nil }},
		{"TrainStep panicked: runtime error: index out of range", func(v *mistaken, s *keras.Step) keras.StepLogs {
			return keras.StepLogs{"loss": s.Mean(s.Y[len(s.X)])}
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			v := &mistaken{Known: &layers.Dense{Units: 2}, Other: &layers.Dense{Units: 2}, hidden: &layers.Dense{Units: 2}, Optimizer: &optimizers.SGD{}, step: c.step}
			m, err := keras.NewModel(v)
			require.NoError(t, err)
			compile(t, m, keras.CompileConfig{})
			_, err = m.Fit(t.Context(), data.Arrays(grid(6, 3), nil))
			require.ErrorContains(t, err, c.want)
			t.Log(err)
		})
	}
	_, err := keras.NewModel(odd{})
	require.ErrorContains(t, err, "method TrainStep has the form func(*keras.Step) error; expected func(*keras.Step) keras.StepLogs")
	_, m := newNoisy(t)
	require.ErrorContains(t, m.SaveBackup(filepath.Join(t.TempDir(), "x"), callbacks.Progress{}), "train on a batch first")
	test := sequential(t, nil, &layers.Dense{Units: 2})
	compile(t, test, keras.CompileConfig{Loss: "mse", TestStep: plain})
	_, err = test.Evaluate(t.Context(), data.Arrays(grid(6, 3), grid(6, 2)))
	require.ErrorContains(t, err, "Minimize: a TestStep only measures")
}

// TestMinimizeTwice: a loss that was computed before an update keeps its gradients, as with TensorFlow's tape, so a
// second update with it is as large as the first.
func TestMinimizeTwice(t *testing.T) {
	x := data.Arrays(grid(6, 3), nil)
	after := func(rate float64, times int) []float32 {
		v := &mistaken{Known: &layers.Dense{Units: 2}, Other: &layers.Dense{Units: 2}, Optimizer: &optimizers.SGD{LearningRate: rate}}
		v.step = func(v *mistaken, s *keras.Step) keras.StepLogs {
			l := s.Mean(ops.Square(layers.Invoke(v.Known, s.Training(), s.X[0])))
			for range times {
				s.Minimize(v.Optimizer, l, layers.TrainableWeights(v.Known))
			}
			return keras.StepLogs{"loss": l}
		}
		m, err := keras.NewModel(v)
		require.NoError(t, err)
		compile(t, m, keras.CompileConfig{})
		_, err = m.Fit(t.Context(), x, keras.BatchSize(6))
		require.NoError(t, err)
		kernel, err := layers.TrainableWeights(v.Known)[0].Value()
		require.NoError(t, err)
		out := make([]float32, kernel.Type.Shape.Size())
		for i := range out {
			out[i] = float32(kernel.Element(i))
		}
		return out
	}
	once := after(0.02, 1)
	require.InDeltaSlice(t, once, after(0.01, 2), 1e-6)
	require.NotEqual(t, once, after(0.01, 1))
}
