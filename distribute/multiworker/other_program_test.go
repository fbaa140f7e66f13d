package multiworker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// otherProgram is what a worker trains.
type otherProgram struct {
	units, batch, epochs, steps int
	activation, policy          string
	loss                        any
	optimizer                   optimizers.Optimizer
	seed                        uint64
	options                     []keras.FitOption
	rate                        float64   // of the second epoch
	touch                       float64   // what is added to a weight after that epoch
	bias                        []float64 // at the end
}

func (p *otherProgram) fit(ctx context.Context, s distribute.Strategy, backup string) error {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: p.units, Activation: p.activation}, &layers.Dense{Units: 2}},
		distribute.Scope(s), keras.Seed(p.seed), keras.DTypePolicy(p.policy), keras.InputShape(4))
	if err != nil {
		return err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: p.optimizer, Loss: p.loss}); err != nil {
		return err
	}
	options := []keras.FitOption{keras.BatchSize(p.batch), keras.Epochs(p.epochs), keras.StepsPerEpoch(p.steps), keras.Callbacks(
		&callbacks.LearningRateScheduler{Schedule: func(epoch int, rate float64) float64 {
			if epoch == 1 {
				return p.rate
			}
			return rate
		}}, &callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error {
			v := m.Weights()[3]
			a, err := v.Value()
			if err != nil || epoch != 1 || p.touch == 0 {
				return err
			}
			if err := a.SetFloat64s(1, []float64{a.Element(1) + p.touch}); err != nil {
				return err
			}
			return v.SetValue(a)
		}})}
	if backup != "" {
		options = append(options, keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: backup}))
	}
	if _, err = m.Fit(ctx, trainings()[0].arrays(false), append(options, p.options...)...); err != nil {
		return err
	}
	bias, err := m.Weights()[3].Value()
	p.bias = bias.Float64s()
	return err
}

// TestRoundedWeights: weights that differ by rounding alone, as of workers on processors of different kinds, are those
// of the chief from the end of the epoch on.
func TestRoundedWeights(t *testing.T) {
	biases, errs := workers(t, 2, nil, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) ([]float64, error) {
		p := &otherProgram{units: 5, batch: 8, epochs: 3, steps: 3, policy: "float32", loss: "mse", optimizer: &optimizers.Adam{LearningRate: 0.1}, seed: 3, rate: 0.2}
		if s.Rank() == 1 {
			p.touch = 1e-6
		}
		err := p.fit(ctx, s, "")
		return p.bias, err
	})
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	require.Equal(t, biases[0], biases[1])
}

// TestOtherProgram: where one worker runs another program, all end with an error that shows what differs; none waits,
// and none trains on.
func TestOtherProgram(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(p *otherProgram)
		here, there string // parts of what the workers have
	}{
		"batch size":   {change: func(p *otherProgram) { p.batch = 9 }, here: "batch size 9", there: "batch size 8"},
		"epochs":       {change: func(p *otherProgram) { p.epochs = 4 }, here: "4 epochs", there: "3 epochs"},
		"steps":        {change: func(p *otherProgram) { p.steps = 4 }, here: "4 steps", there: "3 steps"},
		"seed":         {change: func(p *otherProgram) { p.seed = 4 }, here: "seed 4", there: "seed 3"},
		"shuffle seed": {change: func(p *otherProgram) { p.options = append(p.options, keras.ShuffleSeed(5)) }, here: "with seed 5", there: "shuffle true"},
		"shuffle":      {change: func(p *otherProgram) { p.options = append(p.options, keras.Shuffle(false)) }, here: "shuffle false", there: "shuffle true"},
		"activation":   {change: func(p *otherProgram) { p.activation = "relu" }, here: "relu", there: "tanh"},
		"width":        {change: func(p *otherProgram) { p.units = 6 }, here: "6", there: "5"},
		"loss":         {change: func(p *otherProgram) { p.loss = "mae" }, here: "program", there: "program"},
		"policy":       {change: func(p *otherProgram) { p.policy = "mixed_bfloat16" }, here: "bfloat16", there: "float32"},
		"optimizer":    {change: func(p *otherProgram) { p.optimizer = &optimizers.SGD{LearningRate: 0.1} }, here: "weights and optimizer variables", there: "weights and optimizer variables"},
		"moments":      {change: func(p *otherProgram) { p.optimizer = &optimizers.Adam{LearningRate: 0.1, Beta1: new(0.5)} }, here: "program", there: "program"},
		"rate":         {change: func(p *otherProgram) { p.rate = 0.5 }, here: "learning rate 0.5", there: "learning rate 0.2"},
		"weights":      {change: func(p *otherProgram) { p.touch = 9 }, here: "epoch 2: the weight dense_1/bias is not what the chief has: element 1 is 8.88", there: "there; let callbacks set weights"},
	} {
		for kind, elastic := range map[string]*distribute.Elastic{"plain": nil, "elastic": {}, "backup": nil} {
			t.Run(fmt.Sprint(name, " ", kind), func(t *testing.T) {
				t.Parallel()
				clock := fairclock.Start()
				defer clock.Stop()
				dir := t.TempDir()
				_, errs := workers(t, 3, func(_ int, o *multiworker.Options) {
					o.Elastic, o.JoinTimeout, o.Deadline = elastic, 5*time.Minute, 5*time.Second
				},
					func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (int, error) {
						p := &otherProgram{units: 5, batch: 8, epochs: 3, steps: 3, activation: "tanh", policy: "float32", loss: "mse", optimizer: &optimizers.Adam{LearningRate: 0.1}, seed: 3, rate: 0.2}
						if s.Rank() == 1 {
							c.change(p)
						}
						backup := ""
						if kind == "backup" {
							backup = dir
						}
						return 0, p.fit(ctx, s, backup)
					})
				for rank, err := range errs {
					require.Error(t, err, "worker %d", rank)
					require.ErrorContains(t, err, c.here, "worker %d", rank)
					require.ErrorContains(t, err, c.there, "worker %d", rank)
					t.Log(rank, err)
				}
				require.Less(t, clock.Elapsed(), 20*time.Second)
			})
		}
	}
}
