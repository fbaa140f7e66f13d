package keras

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// recoveryModel has all kinds of state: moving statistics, clipped and averaged updates, dropout, an embedding,
// metrics.
func recoveryModel(s distribute.Strategy) (*Model, error) {
	m, err := NewSequential([]layers.Layer{
		&layers.Embedding{InputDim: 20, OutputDim: 3}, &layers.Flatten{}, &layers.Dense{Units: 5, Activation: "relu"}, &layers.BatchNormalization{},
		&layers.Dropout{Rate: 0.2}, &layers.Dense{Units: 3},
	}, distribute.Scope(s), Seed(7), InputShape(2))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 0.02, Options: optimizers.Options{ClipNorm: new(0.7), UseEMA: true, WeightDecay: new(0.01)}},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []metrics.Metric{&metrics.SparseCategoricalAccuracy{}},
	})
}

func recoveryData(n int) data.Dataset {
	x, y := make([][]int32, n), make([]int32, n)
	for i := range x {
		x[i], y[i] = []int32{int32(i * 7 % 20), int32(i * 3 % 20)}, int32(i%3)
	}
	return data.Arrays(x, y)
}

// statefulModel has a layer that continues in each batch with the state of the previous one.
func statefulModel(s distribute.Strategy) (*Model, error) {
	m, err := NewSequential([]layers.Layer{&layers.LSTM{Units: 3, Stateful: true}, &layers.Dense{Units: 1}}, distribute.Scope(s), Seed(7), InputShape(4, 2))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(CompileConfig{Optimizer: "adam", Loss: "mse"})
}

// ownStepsModel has two optimizers and logs of all kinds.
func ownStepsModel(s distribute.Strategy) (*Model, error) {
	m, err := recoveryModel(s)
	if err != nil {
		return nil, err
	}
	c, second := m.compiled.config, &optimizers.SGD{LearningRate: 0.05, Momentum: 0.9}
	c.TrainStep = func(s *Step) StepLogs {
		yPred, all := s.Model().Call(s.Training(), s.X...), s.Model().TrainableVariables()
		loss := s.ComputeLoss(yPred)
		first := ops.NewTape(s).Gradients(loss, all[:3])
		s.Minimize(second, ops.Add(loss, s.Mean(ops.Square(yPred))), all[3:])
		s.Apply(s.Optimizer(), first)
		logs := s.ComputeMetrics(yPred)
		logs["own"] = loss
		return logs
	}
	c.TestStep = ownTestStep
	return m, m.Compile(c)
}

func statefulData(n int) data.Dataset {
	x, y := make([][][]float32, n), make([][]float32, n)
	for i := range x {
		x[i], y[i] = features(4, 2), []float32{float32(i%5) / 5}
		x[i][0][0] = float32(i) / 10
	}
	return data.Arrays(x, y)
}

// recoveryRun is the final state of one worker.
type recoveryRun struct {
	values  map[string][]float64
	history map[string][]float64
	steps   uint32
	batches int // number reported to its callbacks
	epochs  int
	err     error
}

func variablesOf(m *Model) (map[string][]float64, error) {
	names, vars, err := m.backupVariables()
	out := map[string][]float64{}
	for i, v := range vars {
		a, err := v.Value()
		if err != nil {
			return nil, err
		}
		out[names[i]] = a.Float64s()
	}
	return out, err
}

// train is one life of a worker. watch receives the variables after each batch.
func (h *hub) train(rank int, e *distribute.Elastic, watch func(map[string][]float64)) (r recoveryRun) {
	s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
		MirroredOptions: distribute.MirroredOptions{Devices: []string{h.device(rank)}}, Group: &hubWorker{h, rank}, Elastic: e,
	})
	if err != nil {
		return recoveryRun{err: err}
	}
	make, train, validation := recoveryModel, recoveryData(14), recoveryData(5)
	if h.states {
		make, train, validation = statefulModel, statefulData(12), statefulData(6)
	}
	if h.own {
		make = ownStepsModel
	}
	m, err := make(s)
	if err != nil {
		return recoveryRun{err: err}
	}
	count := &callbacks.LambdaCallback{
		TrainBatchEnd: func(int, *callbacks.Logs) error {
			r.batches++
			if watch != nil {
				now, err := variablesOf(m)
				if err != nil {
					return err
				}
				watch(now)
			}
			return nil
		},
		EpochEnd: func(int, *callbacks.Logs) error { r.epochs++; return nil },
	}
	history, err := m.Fit(context.Background(), train, BatchSize(6), Epochs(3), ValidationData(validation), ValidationFrequency(2),
		Callbacks(&callbacks.ReduceLROnPlateau{Monitor: "loss", Patience: 1, MinDelta: new(0.5), Factor: 0.5}, count))
	r.err, r.steps = err, m.steps
	if history != nil {
		r.history = history.Logs
	}
	values, failed := variablesOf(m)
	r.values, r.err = values, errors.Join(r.err, failed)
	return r
}

// runAll trains on all workers; a worker that dies begins a new life.
func (h *hub) runAll(e *distribute.Elastic) []recoveryRun {
	out := make([]recoveryRun, h.n)
	var wait sync.WaitGroup
	for rank := range out {
		wait.Go(func() {
			defer h.leave()
			out[rank] = h.train(rank, e, nil)
			if errors.Is(out[rank].err, errDead) {
				if out[rank].err = h.regroup(rank, distribute.Standing{}); out[rank].err == nil {
					out[rank] = h.train(rank, e, nil)
					out[rank].batches = -1
				}
			}
		})
	}
	wait.Wait()
	return out
}

// A step that fails in any of its collectives, on any worker, leaves all variables as before, bit for bit.
func TestFailedCollectiveChangesNothing(t *testing.T) {
	var order []map[string][]float64 // variables of worker 0 after each batch
	var at []int                     // and the number of collectives so far
	clean := newHub(2)
	var wait sync.WaitGroup
	for rank := range 2 {
		wait.Go(func() {
			var watch func(map[string][]float64)
			if rank == 0 {
				watch = func(now map[string][]float64) {
					clean.mu.Lock()
					defer clean.mu.Unlock()
					order, at = append(order, now), append(at, clean.calls)
				}
			}
			require.NoError(t, clean.train(rank, &distribute.Elastic{}, watch).err)
		})
	}
	wait.Wait()
	require.Len(t, order, 9)
	// The collectives between the ends of the first and the second batch are: the boundary, those of the step, and the
	// exchange.
	tried := 0
	for call := at[0] + 1; call <= at[1]; call++ {
		h := newHub(2)
		h.failAt, h.fails = call, func(int) bool { return true }
		var runs [2]recoveryRun
		for rank := range 2 {
			wait.Go(func() { runs[rank] = h.trainOnce(rank) })
		}
		wait.Wait()
		for rank, r := range runs {
			require.ErrorIs(t, r.err, errLost)
			require.Equal(t, order[0], r.values, "worker %d after a failure in collective %d, %q", rank, call, clean.names[call-1])
		}
		tried++
	}
	require.Greater(t, tried, 3)
	t.Logf("collectives of a step: %q", clean.names[at[0]:at[1]])
}

// trainOnce is train for a worker that gives up when the group is lost.
func (h *hub) trainOnce(rank int) (r recoveryRun) {
	g := &givesUp{&hubWorker{h, rank}}
	s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
		MirroredOptions: distribute.MirroredOptions{Devices: []string{h.device(rank)}}, Group: g, Elastic: &distribute.Elastic{},
	})
	if err != nil {
		return recoveryRun{err: err}
	}
	m, err := recoveryModel(s)
	if err != nil {
		return recoveryRun{err: err}
	}
	_, r.err = m.Fit(context.Background(), recoveryData(14), BatchSize(6), Epochs(3), ValidationData(recoveryData(5)), ValidationFrequency(2))
	values, failed := variablesOf(m)
	r.values, r.err = values, errors.Join(r.err, failed)
	return r
}

// givesUp is a group that is not formed again.
type givesUp struct{ *hubWorker }

func (*givesUp) Lost(error) bool { return false }

// A worker is lost in each of the collectives of a run in turn, on one worker, on the others or on all; it comes back
// at once or as a new process. The run ends like an uninterrupted one: variables, counts, history and the calls of
// callbacks.
func TestRecoveryFromEachCollective(t *testing.T) {
	if testing.Short() {
		t.Skip("trains some hundred times: not with -short")
	}
	clean := newHub(3)
	want := clean.runAll(&distribute.Elastic{})
	for _, r := range want {
		require.NoError(t, r.err)
		require.Equal(t, want[0].values, r.values)
		require.Equal(t, uint32(9), r.steps)
	}
	for range 3 {
		again := newHub(3).runAll(&distribute.Elastic{})
		require.Equal(t, want[0].values, again[0].values)
	}
	patterns := map[string]func(int) bool{
		"on one":  func(r int) bool { return r == 1 },
		"on two":  func(r int) bool { return r != 0 },
		"on all":  func(int) bool { return true },
		"on last": func(r int) bool { return r == 2 },
	}
	names := []string{"on one", "on two", "on all", "on last"}
	for call := 2; call <= clean.calls; call++ { // the first is in the constructor
		for k := range 1 + call%2 {
			h := newHub(3)
			pattern := names[(2*call+k+call/2)%len(names)]
			h.failAt, h.fails = call, patterns[pattern]
			what := fmt.Sprintf("collective %d of %d, %q, %s", call, clean.calls, clean.names[call-1], pattern)
			if (call+k)%3 == 0 && call < clean.calls { // after the last one the others are gone
				h.dies = call % 3
				what += fmt.Sprintf(", worker %d comes back as a new process", h.dies)
			}
			for rank, got := range h.runAll(&distribute.Elastic{}) {
				require.NoError(t, got.err, what)
				require.Equal(t, want[rank].values, got.values, "%s: worker %d", what, rank)
				require.Equal(t, want[rank].history, got.history, "%s: worker %d", what, rank)
				require.Equal(t, want[rank].steps, got.steps, "%s: worker %d", what, rank)
				if got.batches >= 0 { // otherwise it was not there for all
					require.Equal(t, want[rank].batches, got.batches, "%s: worker %d", what, rank)
					require.Equal(t, want[rank].epochs, got.epochs, "%s: worker %d", what, rank)
				}
			}
		}
	}
}

// recoversAtEach makes a collective fail on two of three workers: every stepth one, from the second on. Every other
// time one of them dies. It returns the results of the run without faults, with which the others agree.
func recoversAtEach(t *testing.T, step int, prepare func(*hub)) []recoveryRun {
	t.Helper()
	clean := newHub(3)
	prepare(clean)
	want := clean.runAll(&distribute.Elastic{})
	require.NoError(t, want[0].err)
	for call := 2; call <= clean.calls; call += step {
		h := newHub(3)
		prepare(h)
		h.failAt, h.fails = call, func(r int) bool { return r != call%3 }
		if call%2 == 0 && call < clean.calls { // after the last one the others are gone
			h.dies = (call + 1) % 3
		}
		for rank, got := range h.runAll(&distribute.Elastic{}) {
			what := fmt.Sprintf("collective %d of %d, %q: worker %d, dies %v", call, clean.calls, clean.names[call-1], rank, call%2 == 0)
			require.NoError(t, got.err, what)
			require.Equal(t, want[rank].values, got.values, what)
			require.Equal(t, want[rank].history, got.history, what)
		}
	}
	return want
}

// The same with layers that keep a state between batches, which each replica has for its own rows: others have a copy
// when the worker is lost.
func TestRecoveryOfStatefulLayers(t *testing.T) {
	if testing.Short() {
		t.Skip("trains some fifty times: not with -short")
	}
	recoversAtEach(t, 1, func(h *hub) { h.states = true })
	m, err := statefulModel(distribute.Default())
	require.NoError(t, err)
	s := shared{Replicas: 2, Size: 40, Metrics: 16}
	require.ErrorContains(t, s.fits(m), "cannot go on with 1 replicas where it had 2")
}

// And with custom steps: all optimizers are transferred, and the metrics of the steps so far.
func TestRecoveryOfOwnSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("trains some fifty times: not with -short")
	}
	want := recoversAtEach(t, 3, func(h *hub) { h.own = true })
	require.Len(t, want[0].history["own"], 3)
	require.Len(t, want[0].history["val_loss"], 1)
}

// What a worker receives as state is checked.
func TestLengthOfState(t *testing.T) {
	h := newHub(2)
	var wait sync.WaitGroup
	wait.Go(func() {
		length := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{1}})
		binary.LittleEndian.PutUint64(length.Data, 1<<40)
		_ = (&hubWorker{h, 0}).Broadcast(context.Background(), distribute.WorkerCall{}, 0, []kernels.Array{length})
	})
	_, err := broadcastBytes(context.Background(), &hubWorker{h, 1}, 0, nil)
	wait.Wait()
	require.ErrorContains(t, err, "has a state of 1099511627776 bytes")
}
