package keras_test

import (
	"context"
	"testing"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// otherIDs gives an embedding other ids in training than in inference, as layers do that hide words.
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

// TestParameterServerLookups: rows on servers are those that the step looks up, also where these are others in training
// than in inference, drawn at random, or chosen by other rows, under Fit and in a step of the user's.
func TestParameterServerLookups(t *testing.T) {
	own := func(s *keras.Step) keras.StepLogs {
		y := s.Model().Call(s.Training(), s.X[0])
		s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
		return s.ComputeMetrics(y)
	}
	for name, first := range map[string]func() []layers.Layer{
		"others in training": func() []layers.Layer {
			return []layers.Layer{&otherIDs{}, &layers.Embedding{InputDim: 11, OutputDim: 3}}
		},
		"drawn": func() []layers.Layer {
			return []layers.Layer{&otherIDs{random: true}, &layers.Embedding{InputDim: 11, OutputDim: 3}}
		},
		"chosen by rows":           func() []layers.Layer { return []layers.Layer{&routed{}} },
		"in a loop":                func() []layers.Layer { return []layers.Layer{&looped{}} },
		"chosen by rows in a loop": func() []layers.Layer { return []layers.Layer{&routed{loop: true}} },
		"after moving statistics": func() []layers.Layer {
			return []layers.Layer{&layers.BatchNormalization{Momentum: pointer(0.5), NoScale: true, NoCenter: true}, &rounded{}, &layers.Embedding{InputDim: 11, OutputDim: 3}}
		},
	} {
		for step, f := range map[string]keras.StepFunc{"": nil, " own step": own} {
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

// rounded makes ids of numbers.
type rounded struct{ layers.Base }

func (l *rounded) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Cast(ops.Clip(ops.Round(ops.AddScalar(ops.MultiplyScalar(in[0], 2), 5)), 0, 10), ir.Int32)}
}
