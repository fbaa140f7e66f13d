package keras_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/cluster/clustertest"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

type serverProgram func(ctx context.Context, s *distribute.ParameterServerStrategy) error

// onParameterServers runs a program on all tasks of a job in this process, each a goroutine, and returns what the
// coordinator's gave.
func onParameterServers(t *testing.T, workers, servers int, change func(*parameterserver.Options), program serverProgram) error {
	t.Helper()
	return withFaults(t, workers, servers, change, program, nil)
}

// withFaults is onParameterServers with workers that are lost: after each of the pauses the next worker ends as if
// killed, and is restarted.
func withFaults(t *testing.T, workers, servers int, change func(*parameterserver.Options), program serverProgram, pauses []time.Duration) error {
	t.Helper()
	spec := clustertest.Jobs(t, map[string]int{"worker": workers, "ps": servers})
	run := func(task *cluster.Task) error {
		o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: 20 * time.Second, ServerTimeout: 5 * time.Second}
		if change != nil {
			change(&o)
		}
		return parameterserver.RunStrategy(t.Context(), o, program)
	}
	var wait sync.WaitGroup
	start := func(job string, n int, run func(*cluster.Task) error) {
		for i := range n {
			wait.Add(1)
			go func() {
				defer wait.Done()
				if err := run(&cluster.Task{Type: job, Index: i}); err != nil {
					t.Logf("%s:%d: %v", job, i, err)
				}
			}()
		}
	}
	over := make(chan struct{})
	kills := make([]chan struct{}, workers)
	for i := range kills {
		kills[i] = make(chan struct{}, len(pauses))
	}
	start("ps", servers, run)
	start("worker", workers, func(task *cluster.Task) error {
		for {
			ctx, cancel := context.WithCancel(t.Context())
			killed := make(chan bool, 1)
			go func() {
				select {
				case <-kills[task.Index]:
					killed <- true
					cancel()
				case <-ctx.Done():
					killed <- false
				}
			}()
			o := parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec, Task: task}, JoinTimeout: 20 * time.Second, ServerTimeout: 5 * time.Second}
			if change != nil {
				change(&o)
			}
			err := parameterserver.RunStrategy(ctx, o, program)
			cancel()
			if !<-killed {
				return err
			}
		}
	})
	wait.Add(1)
	go func() {
		defer wait.Done()
		for i, pause := range pauses {
			select {
			case <-time.After(pause):
				kills[i%workers] <- struct{}{}
			case <-over:
				return
			}
		}
	}()
	err := run(nil)
	close(over)
	wait.Wait()
	return err
}

// serverModels are models with an embedding that is looked up, one whose table a layer reads as a whole too, and one
// with moving statistics.
func serverModel(t testing.TB, kind string, strategy distribute.Strategy) *keras.Model {
	t.Helper()
	stack := []layers.Layer{&layers.Embedding{InputDim: 11, OutputDim: 3}, &layers.Flatten{}, &layers.Dense{Units: 5, Activation: "tanh"}, &layers.Dense{Units: 1}}
	if kind == "moving" {
		stack = []layers.Layer{&layers.Embedding{InputDim: 11, OutputDim: 3}, &layers.Flatten{}, &layers.BatchNormalization{Momentum: pointer(0.5)}, &layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 1}}
	}
	m, err := keras.NewSequential(stack, keras.InputShape(2), keras.Seed(3), distribute.Scope(strategy))
	require.NoError(t, err)
	return m
}

func pointer(x float64) *float64 { return &x }

const serverRows = 96

func serverData() *data.ArraySource {
	r := rand.New(rand.NewPCG(5, 5))
	ids, y := make([]int32, 2*serverRows), make([]float32, serverRows)
	for i := range serverRows {
		ids[2*i], ids[2*i+1] = int32(r.IntN(4)), int32(r.IntN(11))
		y[i] = float32(ids[2*i]%2) + 0.1*float32(ids[2*i+1])
	}
	return data.Arrays(data.Must(data.ArrayOf(ids, serverRows, 2)), data.Must(data.ArrayOf(y, serverRows, 1)))
}

// serverOptimizers are all optimizers that servers implement.
var serverOptimizers = map[string]func() optimizers.Optimizer{
	"sgd":      func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.1} },
	"momentum": func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9} },
	"nesterov": func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9, Nesterov: true} },
	"adagrad":  func() optimizers.Optimizer { return &optimizers.Adagrad{LearningRate: 0.1} },
	"adam":     func() optimizers.Optimizer { return &optimizers.Adam{LearningRate: 0.01} },
	"adamw":    func() optimizers.Optimizer { return &optimizers.AdamW{LearningRate: 0.01} },
	"rmsprop":  func() optimizers.Optimizer { return &optimizers.RMSprop{LearningRate: 0.01} },
	"centered": func() optimizers.Optimizer {
		return &optimizers.RMSprop{LearningRate: 0.01, Momentum: 0.5, Centered: true}
	},
	"ftrl": func() optimizers.Optimizer {
		return &optimizers.Ftrl{LearningRate: 0.1, L1RegularizationStrength: 0.001, L2RegularizationStrength: 0.01, L2ShrinkageRegularizationStrength: 0.01, Beta: 0.1}
	},
	"schedule": func() optimizers.Optimizer {
		return &optimizers.SGD{LearningRate: &schedules.ExponentialDecay{InitialLearningRate: 0.1, DecaySteps: 3, DecayRate: 0.5}}
	},
	"clipped": func() optimizers.Optimizer {
		return &optimizers.SGD{LearningRate: 0.5, Options: optimizers.Options{GlobalClipNorm: pointer(0.1)}}
	},
}

func fitServerModel(ctx context.Context, m *keras.Model, o optimizers.Optimizer, options ...keras.FitOption) (*keras.History, error) {
	if err := m.Compile(keras.CompileConfig{Optimizer: o, Loss: "mse", Metrics: []string{"mae"}}); err != nil {
		return nil, err
	}
	return m.Fit(ctx, serverData(), append([]keras.FitOption{keras.BatchSize(16), keras.StepsPerEpoch(6), keras.Epochs(3), keras.Shuffle(false)}, options...)...)
}

func valuesOfAll(t testing.TB, vars distribute.Variables) (out [][]float64) {
	t.Helper()
	for _, v := range vars {
		a, err := v.Value()
		require.NoError(t, err)
		out = append(out, a.Float64s())
	}
	return out
}

// TestParameterServerFitIsFit: one worker with one closure at a time trains like Fit on one device, with only the
// needed rows of embeddings transferred and the optimizer on the servers, whatever the optimizer and the shards. The
// state of the optimizer comes back too.
func TestParameterServerFitIsFit(t *testing.T) {
	for name, optimizer := range serverOptimizers {
		t.Run(name, func(t *testing.T) {
			kind := "plain"
			if name == "momentum" || name == "clipped" {
				kind = "moving"
			}
			local := serverModel(t, kind, distribute.Default())
			own := optimizer()
			want, err := fitServerModel(t.Context(), local, own)
			require.NoError(t, err)
			change := func(o *parameterserver.Options) {
				o.InFlight, o.Consistency.Staleness, o.VariablePartitioner = 1, 1, partitioners.FixedShards{Shards: 2}
			}
			err = onParameterServers(t, 1, 2, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
				m, remote := serverModel(t, kind, s), optimizer()
				// All workers read data in memory in the order of their seeds; without shuffling that is the order of
				// the data.
				h, err := fitServerModel(ctx, m, remote)
				if err != nil {
					return err
				}
				for i, w := range valuesOfAll(t, local.Weights()) {
					require.InDeltaSlice(t, w, valuesOfAll(t, m.Weights())[i], 2e-5, "weight %d of worker %d", i, s.Worker())
				}
				require.InDeltaSlice(t, want.Logs["loss"], h.Logs["loss"], 1e-5)
				require.InDeltaSlice(t, want.Logs["mae"], h.Logs["mae"], 1e-5)
				if s.IsCoordinator() {
					for i, v := range own.Variables() {
						require.InDeltaSlice(t, valuesOfAll(t, own.Variables())[i], valuesOfAll(t, remote.Variables())[i], 2e-4, "%s", v.Path())
					}
				}
				return nil
			})
			require.NoError(t, err)
		})
	}
}

// TestParameterServerFitGoesOn: a model that was trained elsewhere continues with the state of its optimizer.
func TestParameterServerFitGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.keras")
	m := serverModel(t, "plain", distribute.Default())
	_, err := fitServerModel(t.Context(), m, &optimizers.Adam{LearningRate: 0.05})
	require.NoError(t, err)
	require.NoError(t, m.Save(path))
	more := func(ctx context.Context, s distribute.Strategy) (*keras.Model, error) {
		m, err := keras.LoadModel(path, distribute.Scope(s))
		if err != nil {
			return nil, err
		}
		_, err = m.Fit(ctx, serverData(), keras.BatchSize(16), keras.StepsPerEpoch(6), keras.Shuffle(false))
		return m, err
	}
	local, err := more(t.Context(), distribute.Default())
	require.NoError(t, err)
	require.NoError(t, onParameterServers(t, 1, 2, oneAtATime, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		m, err := more(ctx, s)
		if err != nil {
			return err
		}
		for i, w := range valuesOfAll(t, local.Weights()) {
			require.InDeltaSlice(t, w, valuesOfAll(t, m.Weights())[i], 2e-5, "weight %d", i)
		}
		if s.IsCoordinator() {
			require.EqualValues(t, 24, valuesOfAll(t, distribute.Variables{m.Optimizer().(*optimizers.Adam).Iterations()})[0][0])
		}
		return nil
	}))
}

// TestSynchronousRoundsKeepTheirBits: a round is the mean of the gradients of its batches, whoever computes them. So
// runs whose workers die and come back, and runs with another number of workers, end with the bits of an undisturbed
// run.
func TestSynchronousRoundsKeepTheirBits(t *testing.T) {
	run := func(workers int, pauses []time.Duration) (weights [][]float64) {
		change := func(o *parameterserver.Options) {
			o.Consistency = parameterserver.Consistency{Synchronous: true, Replicas: 3}
			o.Deadline, o.VariablePartitioner = time.Second, partitioners.FixedShards{Shards: 2}
		}
		err := withFaults(t, workers, 2, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m := serverModel(t, "plain", s)
			h, err := fitServerModel(ctx, m, &optimizers.Adam{LearningRate: 0.01}, keras.StepsPerEpoch(40), keras.Shuffle(true))
			if err == nil && s.IsCoordinator() {
				weights = valuesOfAll(t, m.Weights())
				require.Less(t, h.Logs["loss"][2], h.Logs["loss"][0])
			}
			return err
		}, pauses)
		require.NoError(t, err)
		return weights
	}
	want := run(3, nil)
	require.Equal(t, want, run(1, nil))
	require.Equal(t, want, run(3, []time.Duration{50 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond, 40 * time.Millisecond}))
}

// TestBackupWorkers: of four closures of a round the first three count.
func TestBackupWorkers(t *testing.T) {
	change := func(o *parameterserver.Options) {
		o.Consistency = parameterserver.Consistency{Synchronous: true, Replicas: 2, Backups: 1}
	}
	err := onParameterServers(t, 3, 1, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		optimizer := &optimizers.SGD{LearningRate: 0.1}
		h, err := fitServerModel(ctx, serverModel(t, "plain", s), optimizer)
		if err == nil && s.IsCoordinator() {
			n, err := optimizer.Updates()
			require.NoError(t, err)
			require.EqualValues(t, 18, n)
			require.Less(t, h.Logs["loss"][2], h.Logs["loss"][0])
		}
		return err
	})
	require.NoError(t, err)
}

// TestAsynchronousFaults: workers come and go, and Fit learns as well.
func TestAsynchronousFaults(t *testing.T) {
	pauses := make([]time.Duration, 12)
	for i := range pauses {
		pauses[i] = 40 * time.Millisecond
	}
	err := withFaults(t, 3, 2, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		optimizer := &optimizers.SGD{LearningRate: 0.05}
		h, err := fitServerModel(ctx, serverModel(t, "plain", s), optimizer, keras.StepsPerEpoch(300))
		if err == nil && s.IsCoordinator() {
			n, err := optimizer.Updates()
			require.NoError(t, err)
			require.EqualValues(t, 900, n, "no step is lost or doubled")
			require.Less(t, h.Logs["loss"][2], h.Logs["loss"][0])
		}
		return err
	}, pauses)
	require.NoError(t, err)
}

// TestRoundsOfEqualBatches: a round of equal batches equals the step of one device on that batch: gradients, and
// changes of moving statistics, are means. A second model of the same job trains like the first.
func TestRoundsOfEqualBatches(t *testing.T) {
	const rows, batches = 8, 6
	r := rand.New(rand.NewPCG(7, 7))
	x, y := make([]float32, 0, 2*rows*batches), make([]float32, 0, rows*batches)
	for i := range rows * batches {
		if i < rows {
			x, y = append(x, r.Float32(), 3*r.Float32()), append(y, r.Float32())
		} else {
			x, y = append(x, x[2*(i-rows):2*(i-rows)+2]...), append(y, y[i-rows])
		}
	}
	train := func(ctx context.Context, s distribute.Strategy) ([][]float64, error) {
		var all [][]float64
		for range 2 {
			stack := []layers.Layer{&layers.BatchNormalization{Momentum: pointer(0.5)}, &layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dense{Units: 1}}
			m, err := keras.NewSequential(stack, keras.InputShape(2), keras.Seed(3), distribute.Scope(s))
			if err != nil {
				return nil, err
			}
			if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9}, Loss: "mse"}); err != nil {
				return nil, err
			}
			src := data.Arrays(data.Must(data.ArrayOf(x, rows*batches, 2)), data.Must(data.ArrayOf(y, rows*batches, 1)))
			if _, err := m.Fit(ctx, src, keras.BatchSize(rows), keras.StepsPerEpoch(6), keras.Epochs(2), keras.Shuffle(false)); err != nil {
				return nil, err
			}
			all = append(all, valuesOfAll(t, m.Weights())...)
		}
		return all, nil
	}
	want, err := train(t.Context(), distribute.Default())
	require.NoError(t, err)
	change := func(o *parameterserver.Options) {
		o.Consistency, o.VariablePartitioner = parameterserver.Consistency{Synchronous: true, Replicas: 3}, partitioners.FixedShards{Shards: 2}
	}
	err = onParameterServers(t, 2, 2, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		got, err := train(ctx, s)
		if err != nil {
			return err
		}
		for i := range want {
			require.InDeltaSlice(t, want[i], got[i], 1e-5, "weight %d", i)
		}
		return nil
	})
	require.NoError(t, err)
}

// batchCounter has the hooks of batches, as any callback that embeds callbacks.Base.
type batchCounter struct {
	callbacks.Base
	begun, ended []int
	losses       []float64
}

func (c *batchCounter) OnTrainBatchBegin(batch int) error {
	c.begun = append(c.begun, batch)
	return nil
}

func (c *batchCounter) OnTrainBatchEnd(batch int, logs *callbacks.Logs) error {
	loss, _ := logs.Get("loss")
	c.ended, c.losses = append(c.ended, batch), append(c.losses, loss)
	return logs.Err()
}

// TestParameterServerBatchCallbacks: the hooks of batches are called on the coordinator, in order, with the metrics so
// far.
func TestParameterServerBatchCallbacks(t *testing.T) {
	local := &batchCounter{}
	_, err := fitServerModel(t.Context(), serverModel(t, "plain", distribute.Default()), &optimizers.SGD{LearningRate: 0.1}, keras.Callbacks(local))
	require.NoError(t, err)
	for name, consistency := range map[string]parameterserver.Consistency{"stale": {Staleness: 1}, "rounds": {Synchronous: true, Replicas: 1}} {
		t.Run(name, func(t *testing.T) {
			change := func(o *parameterserver.Options) { o.InFlight, o.Consistency = 1, consistency }
			err := onParameterServers(t, 1, 1, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
				counter := &batchCounter{}
				_, err := fitServerModel(ctx, serverModel(t, "plain", s), &optimizers.SGD{LearningRate: 0.1}, keras.Callbacks(counter))
				if err != nil {
					return err
				}
				if !s.IsCoordinator() {
					require.Empty(t, counter.begun)
					return nil
				}
				require.Equal(t, local.begun, counter.begun)
				require.Equal(t, local.ended, counter.ended)
				require.InDeltaSlice(t, local.losses, counter.losses, 1e-5)
				return nil
			})
			require.NoError(t, err)
		})
	}
}
