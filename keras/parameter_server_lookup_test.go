package keras_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// otherIDs gives an embedding other ids in training than in inference, like layers that mask words.
type otherIDs struct {
	layers.Base
	random bool
}

func (l *otherIDs) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	ids := ops.Cast(in[0], ir.Int32)
	switch {
	case c.Training && l.random:
		hidden := ops.RandomInt(c, ir.Int32, 0, 2, 7, ids.Shape()...)
		ids = ops.Multiply(ids, hidden)
	case c.Training:
		ids = ops.Mod(ops.AddScalar(ids, 1), ops.Full(c, ir.Int32, 11, ids.Shape()...))
	}
	return []*ops.Tensor{ids}
}

// routed looks up what the rows of another table choose.
type routed struct {
	layers.Base
	loop          bool
	first, second *layers.Embedding
}

func (l *routed) Build(b *layers.Builder, _ []ir.Shape) {
	l.first = &layers.Embedding{InputDim: 11, OutputDim: 3}
	l.second = &layers.Embedding{InputDim: 3, OutputDim: 3}
	b.Adopt(l.first, l.second)
}

func (l *routed) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	rows := layers.Invoke(l.first, c, in[0])
	choice := ops.Argmax(rows, -1)
	if l.loop {
		choice = ops.Map(func(xs []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Argmax(xs[0], -1)} }, rows)[0]
	}
	chosen := layers.Invoke(l.second, c, choice)
	return []*ops.Tensor{ops.Add(rows, chosen)}
}

// twice looks up everything twice, and other words once, in a second table.
type twice struct {
	layers.Base
	first, second *layers.Embedding
}

func (l *twice) Build(b *layers.Builder, _ []ir.Shape) {
	l.first = &layers.Embedding{InputDim: 30, OutputDim: 3}
	l.second = &layers.Embedding{InputDim: 11, OutputDim: 3}
	b.Adopt(l.first, l.second)
}

func (l *twice) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	other := ops.AddScalar(ops.MultiplyScalar(in[0], 2), 1)
	x := ops.Multiply(layers.Invoke(l.first, c, in[0]), layers.Invoke(l.first, c, other))
	return []*ops.Tensor{ops.Add(x, layers.Invoke(l.second, c, in[0]))}
}

// looped looks each example up by itself.
type looped struct {
	layers.Base
	table *layers.Embedding
}

func (l *looped) Build(b *layers.Builder, _ []ir.Shape) {
	l.table = &layers.Embedding{InputDim: 11, OutputDim: 3}
	b.Adopt(l.table)
}

func (l *looped) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return ops.Map(func(xs []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{layers.Invoke(l.table, c, xs[0])} }, in[0])
}

// minimizing is a user's step.
func minimizing(s *keras.Step) keras.StepLogs {
	y := s.Model().Call(s.Training(), s.X[0])
	s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
	return s.ComputeMetrics(y)
}

// scaling is a user's step that takes gradients, and scales them down by their norm.
func scaling(s *keras.Step) keras.StepLogs {
	y := s.Model().Call(s.Training(), s.X[0])
	gradients := ops.NewTape(s).Gradients(s.ComputeLoss(y), s.Model().TrainableVariables())
	for i, g := range gradients.Values {
		norm := ops.Sqrt(ops.Sum(ops.Square(g)))
		gradients.Values[i] = ops.Divide(g, ops.AddScalar(norm, 1))
	}
	s.Apply(s.Optimizer(), gradients)
	return s.ComputeMetrics(y)
}

// TestParameterServerLookups: the rows fetched from servers are those that the step looks up, even if they differ
// between training and inference, are drawn at random, or are chosen by other rows, under Fit and in a user's step.
func TestParameterServerLookups(t *testing.T) {
	for name, first := range map[string]func() []layers.Layer{
		"others in training": func() []layers.Layer {
			return []layers.Layer{&otherIDs{}, &layers.Embedding{InputDim: 11, OutputDim: 3}}
		},
		"drawn": func() []layers.Layer {
			return []layers.Layer{&otherIDs{random: true}, &layers.Embedding{InputDim: 11, OutputDim: 3}}
		},
		"chosen by rows":           func() []layers.Layer { return []layers.Layer{&routed{}} },
		"twice":                    func() []layers.Layer { return []layers.Layer{&twice{}} },
		"in a loop":                func() []layers.Layer { return []layers.Layer{&looped{}} },
		"chosen by rows in a loop": func() []layers.Layer { return []layers.Layer{&routed{loop: true}} },
		"after moving statistics": func() []layers.Layer {
			return []layers.Layer{&layers.BatchNormalization{Momentum: pointer(0.5), NoScale: true, NoCenter: true}, &rounded{}, &layers.Embedding{InputDim: 11, OutputDim: 3}}
		},
	} {
		for step, f := range map[string]keras.StepFunc{"": nil, " own step": minimizing, " own gradients": scaling} {
			t.Run(name+step, func(t *testing.T) {
				trainsAlike(t, func(ctx context.Context, s distribute.Strategy) (*keras.Model, *keras.History, error) {
					stack := append(first(), &layers.Flatten{}, &layers.Dense{Units: 1})
					m, err := keras.NewSequential(stack, keras.InputShape(2), keras.Seed(3), distribute.Scope(s))
					if err != nil {
						return nil, nil, err
					}
					if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1, Momentum: 0.5}, Loss: "mse", TrainStep: f}); err != nil {
						return nil, nil, err
					}
					h, err := m.Fit(ctx, serverData(), keras.BatchSize(16), keras.StepsPerEpoch(6), keras.Epochs(3), keras.Shuffle(false))
					return m, h, err
				})
			})
		}
	}
}

// rounded turns numbers into ids.
type rounded struct{ layers.Base }

func (l *rounded) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Cast(ops.Clip(ops.Round(ops.AddScalar(ops.MultiplyScalar(in[0], 2), 5)), 0, 10), ir.Int32)}
}

// TestParameterServerRowsAlone: Fit fetches only the rows that a batch looks up. So does a user's step that minimizes,
// with CheckNumerics too, or that takes gradients and scales and clips them. A step that needs the gradient of the
// whole table fetches all of it, and still trains.
func TestParameterServerRowsAlone(t *testing.T) {
	const all, steps, epochs = 20_000, 6, 3
	taking := func(change func(s *keras.Step, g *ops.Tensor) *ops.Tensor) keras.StepFunc {
		return func(s *keras.Step) keras.StepLogs {
			y := s.Model().Call(s.Training(), s.X[0])
			gradients := ops.NewTape(s).Gradients(s.ComputeLoss(y), s.Model().TrainableVariables())
			gradients.Values[0] = change(s, gradients.Values[0])
			s.Apply(s.Optimizer(), gradients)
			return s.ComputeMetrics(y)
		}
	}
	norm := func(g *ops.Tensor) *ops.Tensor { return ops.Sqrt(ops.Sum(ops.Square(g))) }
	fit := func(ctx context.Context, s distribute.Strategy, step keras.StepFunc, check bool) ([][]float64, error) {
		m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: all, OutputDim: 2}, &positive{}, &layers.Flatten{}, &layers.Dense{Units: 1}}, keras.InputShape(2), keras.Seed(3), distribute.Scope(s))
		if err != nil {
			return nil, err
		}
		clip := optimizers.Options{GlobalClipNorm: pointer(0.3)}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1, Momentum: 0.5, Options: clip}, Loss: "mse", TrainStep: step, CheckNumerics: check}); err != nil {
			return nil, err
		}
		_, err = m.Fit(ctx, serverData(), keras.BatchSize(16), keras.StepsPerEpoch(steps), keras.Epochs(epochs), keras.Shuffle(false))
		return valuesOfAll(t, m.Weights()), err
	}
	for name, c := range map[string]struct {
		step  keras.StepFunc
		check bool
		whole bool
	}{
		"Fit":               {},
		"Fit checked":       {check: true},
		"minimized":         {step: minimizing},
		"minimized checked": {step: minimizing, check: true},
		"taken":             {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return g })},
		"taken checked":     {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.CheckNumerics(g, "it") }), check: true},
		"scaled":            {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(g, 3) })},
		"scaled by columns": {step: taking(func(s *keras.Step, g *ops.Tensor) *ops.Tensor {
			return ops.Multiply(g, ops.Constant(s, ir.Float32, ir.Shape{2}, []float64{2, 3}))
		})},
		"clipped":    {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.Clip(g, -0.01, 0.02) })},
		"normalized": {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.Divide(g, ops.AddScalar(norm(g), 1)) })},
		"clipped by norm": {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor {
			n := norm(g)
			return ops.Where(ops.CompareScalar(ir.Gt, n, 0.1), ops.Multiply(g, ops.Divide(ops.Scalar(n, 0.1), n)), g)
		})},
		"and its signs": {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor {
			return ops.Subtract(g, ops.MultiplyScalar(ops.Sign(g), 0.001))
		})},
		"its mean":       {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.Multiply(g, ops.Mean(ops.Abs(g))) }), whole: true},
		"its size":       {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.DivideScalar(g, float64(g.Dim(0))) }), whole: true},
		"its largest":    {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.Multiply(g, ops.Max(g)) }), whole: true},
		"shifted":        {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.AddScalar(g, 0.1) }), whole: true},
		"clipped beside": {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.Clip(g, 0.01, 0.02) }), whole: true},
		"reversed":       {step: taking(func(_ *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.Flip(g, 0) }), whole: true},
		"with the table": {step: taking(func(s *keras.Step, g *ops.Tensor) *ops.Tensor {
			return ops.Add(g, ops.MultiplyScalar(s.Read(s.Model().TrainableVariables()[0]), 0.1))
		}), whole: true},
		"another one": {step: taking(func(s *keras.Step, g *ops.Tensor) *ops.Tensor { return ops.OnesLike(g) }), whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := fit(t.Context(), distribute.Default(), c.step, c.check)
			require.NoError(t, err)
			spec := clustertest.Jobs(t, map[string]int{"worker": 1, "ps": 1})
			options := func(task *cluster.Task) parameterserver.Options {
				o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: 20 * time.Second}
				oneAtATime(&o)
				return o
			}
			server, err := parameterserver.NewServer(options(&cluster.Task{Type: "ps"}))
			require.NoError(t, err)
			ends := make(chan error, 2)
			go func() { ends <- server.Serve(t.Context()) }()
			program := func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
				got, err := fit(ctx, s, c.step, c.check)
				for i := range got {
					if s.IsCoordinator() {
						require.InDeltaSlice(t, want[i], got[i], 2e-5)
					}
				}
				return err
			}
			go func() {
				ends <- parameterserver.RunStrategy(t.Context(), options(&cluster.Task{Type: "worker"}), program)
			}()
			require.NoError(t, parameterserver.RunStrategy(t.Context(), options(nil), program))
			require.NoError(t, errors.Join(<-ends, <-ends))
			stats := server.Stats()
			fetched, sent := float64(stats.RowsRead)/all, float64(stats.BytesWritten)/(4*2*all)
			if c.whole {
				require.Greater(t, fetched, float64(epochs*steps))
				require.Greater(t, sent, float64(epochs*steps))
			} else {
				require.Less(t, fetched, 2*epochs+2.5, "after each epoch, and at the beginning and the end, all rows")
				require.Less(t, sent, 1.1, "once, when the table is made")
			}
		})
	}
}

// positive computes numbers from rows that zeros, the rows without a lookup, would not give.
type positive struct{ layers.Base }

func (l *positive) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	x := in[0]
	return []*ops.Tensor{ops.Multiply(x, ops.Divide(x, x))}
}
