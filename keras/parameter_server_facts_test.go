package keras_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// factsProgram is what a process trains.
type factsProgram struct {
	units            int
	activation, name string
	policy, loss     string
	optimizer        optimizers.Optimizer
	seed, shuffled   uint64
	batch, steps     int
	epochs           int
	ordered          bool
	weights          map[int]float64
	first            float32 // number of the data
}

// aFactsProgram is what the tests change.
func aFactsProgram() *factsProgram {
	return &factsProgram{units: 5, activation: "tanh", name: "one", policy: "float32", loss: "mse", seed: 3, shuffled: 7, batch: 8, steps: 4, epochs: 2,
		weights: map[int]float64{0: 1, 1: 2}, optimizer: &optimizers.SGD{LearningRate: 0.1}}
}

func (p *factsProgram) fit(ctx context.Context, s *distribute.ParameterServerStrategy) error {
	stack := []layers.Layer{&layers.Dense{Units: p.units, Activation: p.activation}, &layers.Dense{Units: 1}}
	m, err := keras.NewSequential(stack, keras.Name(p.name), keras.InputShape(2), keras.Seed(p.seed), keras.DTypePolicy(p.policy), distribute.Scope(s))
	if err != nil {
		return err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: p.optimizer, Loss: p.loss}); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(5, 5))
	x, y := make([]float32, 2*serverRows), make([]float32, serverRows)
	for i := range y {
		x[2*i], x[2*i+1], y[i] = r.Float32(), r.Float32(), float32(r.IntN(2))
	}
	x[0] = p.first
	_, err = m.Fit(ctx, data.Arrays(data.Must(data.ArrayOf(x, serverRows, 2)), data.Must(data.ArrayOf(y, serverRows, 1))), keras.BatchSize(p.batch), keras.StepsPerEpoch(p.steps),
		keras.Epochs(p.epochs), keras.Shuffle(!p.ordered), keras.ShuffleSeed(p.shuffled), keras.ClassWeight(p.weights), keras.Verbose(0))
	return err
}

// TestServersOtherProgram: if workers run another program, all processes end with an error that shows both programs'
// facts, before a weight was trained.
func TestServersOtherProgram(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(p *factsProgram)
		here       string // a part of what the odd one has
		there      string
		rounds, ok bool
	}{
		"batch size":        {change: func(p *factsProgram) { p.batch = 16 }, here: `"batches of 16"`, there: `"batches of 8"`},
		"batches of rounds": {change: func(p *factsProgram) { p.batch = 16 }, here: `"batches of 16"`, there: `"batches of 8"`, rounds: true},
		"steps":             {change: func(p *factsProgram) { p.steps = 5 }, here: "5 steps", there: "4 steps"},
		"epochs":            {change: func(p *factsProgram) { p.epochs = 3 }, here: "3 epochs", there: "2 epochs"},
		"seed":              {change: func(p *factsProgram) { p.seed = 4 }, here: "seed 4", there: "seed 3"},
		"seed of the data":  {change: func(p *factsProgram) { p.shuffled = 4 }, here: "seed 4", there: "seed 7", rounds: true},
		"order of the data": {change: func(p *factsProgram) { p.ordered = true }, here: "shuffle false", there: "shuffle true", rounds: true},
		"data":              {change: func(p *factsProgram) { p.first = 9 }, here: "96 examples, checksum", there: "96 examples, checksum", rounds: true},
		"own data":          {change: func(p *factsProgram) { p.first = 9 }, ok: true},
		"class weights":     {change: func(p *factsProgram) { p.weights = map[int]float64{0: 2, 1: 1} }, here: "map[0:2 1:1]", there: "map[0:1 1:2]"},
		"activation":        {change: func(p *factsProgram) { p.activation = "relu" }, here: "relu", there: "tanh"},
		"width":             {change: func(p *factsProgram) { p.units = 6 }, here: "6", there: "5"},
		"name":              {change: func(p *factsProgram) { p.name = "other" }, here: `model \"other\"`, there: `model \"one\"`},
		"loss":              {change: func(p *factsProgram) { p.loss = "mae" }, here: "mae", there: "mse"},
		"policy":            {change: func(p *factsProgram) { p.policy = "mixed_bfloat16" }, here: "mixed_bfloat16", there: "float32"},
		"optimizer":         {change: func(p *factsProgram) { p.optimizer = &optimizers.Adam{LearningRate: 0.1} }, here: "Adam", there: "SGD"},
		"momentum":          {change: func(p *factsProgram) { p.optimizer = &optimizers.SGD{LearningRate: 0.1, Momentum: 0.5} }, here: "Momentum:0.5", there: "Momentum:0 "},
		"learning rate":     {change: func(p *factsProgram) { p.optimizer = &optimizers.SGD{LearningRate: 0.2} }, here: "0.2", there: "0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := func(o *parameterserver.Options) {
				o.JoinTimeout = time.Hour
				o.Consistency.Synchronous = c.rounds
			}
			clock := fairclock.Start()
			defer clock.Stop()
			var mu sync.Mutex
			var failed []error
			ended := make(chan error, 1)
			go func() {
				ended <- onParameterServers(t, 2, 1, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
					p := aFactsProgram()
					if !s.IsCoordinator() { // one of two may come when all is done
						c.change(p)
					}
					err := p.fit(ctx, s)
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, err)
					return err
				})
			}()
			err := fairclock.Receive(t, clock, time.Minute, ended, "the end of the job")
			mu.Lock()
			defer mu.Unlock()
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, ": this process has")
			require.Len(t, failed, 3)
			for _, err := range failed {
				require.ErrorContains(t, err, c.here)
				require.ErrorContains(t, err, c.there)
			}
		})
	}
}

// TestServersWhyEnded: a worker that arrives after another one's program has ended the job is told the reason.
func TestServersWhyEnded(t *testing.T) {
	spec := clustertest.Jobs(t, map[string]int{"worker": 2, "ps": 1})
	run := func(task *cluster.Task) error {
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: time.Minute}
		return parameterserver.RunStrategy(t.Context(), o, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			p := aFactsProgram()
			if !s.IsCoordinator() {
				p.units = 6
			}
			return p.fit(ctx, s)
		})
	}
	servers, first := make(chan error, 1), make(chan error, 1)
	go func() { servers <- run(&cluster.Task{Type: "ps"}) }()
	go func() { first <- run(&cluster.Task{Type: "worker"}) }()
	failed := run(nil)
	late := run(&cluster.Task{Type: "worker", Index: 1})
	require.ErrorContains(t, failed, ": this process has")
	require.ErrorContains(t, late, ": this process has")
	require.Equal(t, (<-first).Error(), late.Error())
	require.NoError(t, <-servers)
}
