package keras

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

var (
	schedules    = flag.Int("schedules", 60, "random schedules of TestRandomSchedules")
	scheduleSeed = flag.Uint64("schedule", 0, "the one schedule to play; 0: all")
)

const (
	fleetEpochs = 3
	fleetSteps  = 4 // of an epoch
)

// fleetModel gives the same result with any number of replicas, except for the order of sums.
func fleetModel(s distribute.Strategy, execution int) (*Model, error) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "tanh"}, &layers.BatchNormalization{Synchronized: true}, &layers.Dense{Units: 2}},
		distribute.Scope(s), Seed(7), DTypePolicy("float64"), InputShape(3))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 0.02, Options: optimizers.Options{ClipNorm: new(0.7), UseEMA: true}},
		Loss:      "mse", Metrics: []metrics.Metric{&metrics.MeanAbsoluteError{}}, StepsPerExecution: execution,
	})
}

func fleetData(n int) data.Dataset {
	x, y := make([][]float64, n), make([][]float64, n)
	for i := range x {
		x[i], y[i] = []float64{float64(i%7) / 7, float64(i%11) / 11, float64(i%5) / 5}, []float64{float64(i%3) / 3, float64(i%4) / 4}
	}
	return data.Arrays(x, y)
}

// fleetLife trains twice, like a worker of a program that does.
func fleetLife(w *fleetWorker) error {
	s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
		MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0"}}, Group: w, Elastic: &distribute.Elastic{Min: w.f.min},
	})
	if err != nil {
		return err
	}
	w.strategy = s
	m, err := fleetModel(s, w.f.execution)
	if err != nil {
		return err
	}
	for range 2 {
		at := 0
		list := []callbacks.Callback{&callbacks.ReduceLROnPlateau{Monitor: "loss", Patience: 1, MinDelta: new(0.5), Factor: 0.5}, &callbacks.LambdaCallback{
			EpochBegin: func(epoch int) error { at = epoch; return nil },
			TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
				w.f.told(w, m.lastRun().recovery.machine.Calls(), at*fleetSteps+batch+1, m)
				now, err := variablesOf(m)
				if err != nil {
					return err
				}
				return w.f.check(w, int(m.steps), now)
			},
		}}
		if w.f.dir != "" {
			list = append(list, &callbacks.BackupAndRestore{BackupDir: w.f.dir})
		}
		h, err := m.Fit(context.Background(), fleetData(5*fleetSteps), BatchSize(5), Epochs(fleetEpochs), ValidationData(fleetData(7)), ValidationFrequency(2), ProgressOutput(io.Discard),
			Callbacks(list...))
		if err != nil {
			return err
		}
		w.result.history = h.Logs
		if w.f.between != nil {
			if err := w.f.between(m); err != nil {
				return err
			}
		}
		for range 2 {
			if err := m.OnChief(context.Background(), func() error { return nil }); err != nil {
				return err
			}
		}
	}
	w.result.steps = m.steps
	if w.result.values, err = variablesOf(m); err != nil {
		return err
	}
	return nil
}

// told checks that the batch that a worker reports is the one that its optimizer has counted.
func (f *fleet) told(w *fleetWorker, fit, batch int, m *Model) {
	if want := int(m.steps) - (fit-1)*fleetEpochs*fleetSteps; batch != want {
		f.fail(fmt.Errorf("worker %d is at batch %d of Fit %d after %d steps", w.index, batch, fit, m.steps))
	}
}

func newFleet(n, least int, seed uint64, plan ...fleetFault) *fleet {
	return &fleet{n: n, min: least, rng: rand.New(rand.NewPCG(seed, 3)), life: fleetLife, plan: plan, execution: 1}
}

// requireTogether runs a schedule. Afterwards all workers have the same bits, equal to those of a run without faults
// except for the order of sums.
func (f *fleet) requireTogether(t *testing.T, want []*fleetWorker) {
	t.Helper()
	got := f.run()
	story := func() string { return strings.Join(f.log, "\n") }
	if f.failed != nil {
		t.Fatalf("%v\n%s", f.failed, story())
	}
	var first *fleetWorker
	for _, w := range got {
		if w.dead {
			continue // and it did not come back before the end
		}
		if errors.Is(w.err, distribute.ErrLeft) {
			continue // the others had finished when it came back
		}
		require.NoError(t, w.err, story())
		if first == nil {
			first = w
		}
		require.Equal(t, first.result.values, w.result.values, "worker %d\n%s", w.index, story())
		require.Equal(t, first.result.history, w.result.history, "worker %d\n%s", w.index, story())
		require.Equal(t, want[0].result.steps, w.result.steps, "worker %d\n%s", w.index, story())
	}
	require.NotNil(t, first, story())
	for name, values := range want[0].result.values {
		require.InDeltaSlice(t, values, first.result.values[name], 1e-7, "%s\n%s", name, story())
	}
	for name, values := range want[0].result.history {
		require.InDeltaSlice(t, values, first.result.history[name], 1e-7, "%s\n%s", name, story())
	}
}

func unbroken(t *testing.T, n, execution int) (*fleet, []*fleetWorker) {
	t.Helper()
	f := newFleet(n, 1, 0)
	f.execution = execution
	want := f.run()
	require.NoError(t, f.failed)
	require.Equal(t, uint32(2*fleetEpochs*fleetSteps), want[0].result.steps)
	return f, want
}

// Two of four workers die in each of the collectives of a run in turn and come back together, in the middle of an
// epoch, at its ends and in a validation. While they catch up, one of them is excluded for a moment, while the others
// continue for some collectives, or dies again.
func TestTwoNewcomers(t *testing.T) {
	clean, want := unbroken(t, 4, 1)
	step := 1
	if testing.Short() {
		step = 7
	}
	for call := 3; call < clean.calls*3/4; call += step {
		t.Run(fmt.Sprintf("%d %s", call, clean.names[call-1]), func(t *testing.T) {
			back := call + 1 + call%7
			f := newFleet(4, 1, uint64(call), fleetFault{call: call, workers: []int{1, 3}, dies: true, for_: back - call, whole: uint(call % 16)},
				fleetFault{call: back + 2 + call%23, workers: []int{1}, dies: call%5 == 0, for_: 1 + call%12, whole: uint(call * 7 % 16)})
			if call%2 == 0 {
				f.dir = t.TempDir()
			}
			f.requireTogether(t, want)
		})
	}
}

// All workers are lost at once, one of them just after it received the state; they restart from the backup.
func TestAllLostAtOnce(t *testing.T) {
	clean, want := unbroken(t, 3, 1)
	for call := 10; call < clean.calls*2/5; call += 3 {
		f := newFleet(3, 1, uint64(call), fleetFault{call: call - 5, workers: []int{2}, dies: true, for_: 2}, fleetFault{call: call, workers: []int{0, 1, 2}, dies: true, for_: 1, whole: uint(call % 8)})
		f.dir, f.lossy = t.TempDir(), true
		f.requireTogether(t, want)
		require.Equal(t, 2, f.job, strings.Join(f.log, "\n"))
	}
}

// Workers are lost and come back by random schedules: as new processes or the same ones, one or two at once, in any
// collective, and again before they have caught up.
func TestRandomSchedules(t *testing.T) {
	clean := map[int]*fleet{}
	want := map[int][]*fleetWorker{}
	for n := 2; n <= 5; n++ {
		clean[n], want[n] = unbroken(t, n, 1)
	}
	seeds := []uint64{212, 279, 294} // where a worker is left out until the others are in the next Fit
	random := *schedules
	if testing.Short() {
		random = min(random, 15)
	}
	for seed := range uint64(random) {
		seeds = append(seeds, seed+1)
	}
	if *scheduleSeed != 0 {
		seeds = []uint64{*scheduleSeed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := randomSchedule(seed, func(n int) int { return clean[n].calls })
			if seed%3 == 0 {
				f.dir = t.TempDir()
			}
			f.requireTogether(t, want[f.n])
		})
	}
}

// A worker admitted between the steps of an execution reaches its end with the others.
func TestSchedulesOfExecutions(t *testing.T) {
	clean, want := unbroken(t, 3, 3)
	for seed := range uint64(min(*schedules, 20)) {
		f := randomSchedule(seed, func(int) int { return clean.calls })
		f.n, f.min, f.execution = 3, 1, 3
		for i := range f.plan {
			f.plan[i].workers = slices.DeleteFunc(f.plan[i].workers, func(w int) bool { return w >= f.n })
		}
		f.requireTogether(t, want)
	}
}

// Between the two Fits a layer is frozen or unfrozen, with or without Compile, and weights are changed. Workers
// restarted meanwhile train the same as the others, although they have not made a step before.
func TestSchedulesOfFrozenLayers(t *testing.T) {
	for name, between := range map[string]func(m *Model) error{
		"without Compile": func(m *Model) error {
			layers.SetTrainable(m.Layers()[0], false)
			layers.SetTrainable(m.Layers()[1], false)
			return nil
		},
		"with the same Compile": func(m *Model) error {
			return m.Compile(CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.02, Options: optimizers.Options{ClipNorm: new(0.7), UseEMA: true}}, Loss: "mse", Metrics: []string{"mae"}})
		},
		"with Compile": func(m *Model) error {
			layers.SetTrainable(m.Layers()[0], false)
			return m.Compile(CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.02, Options: optimizers.Options{ClipNorm: new(0.7), UseEMA: true}}, Loss: "mse", Metrics: []string{"mae"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			clean := newFleet(3, 1, 0)
			clean.between = between
			want := clean.run()
			require.NoError(t, clean.failed)
			random := min(*schedules, 12)
			if testing.Short() {
				random = min(random, 4)
			}
			for seed := range uint64(random) {
				f := randomSchedule(seed+*scheduleSeed+100, func(int) int { return clean.calls })
				f.n, f.min, f.between = 3, 1, between
				for i := range f.plan {
					f.plan[i].workers = slices.DeleteFunc(f.plan[i].workers, func(w int) bool { return w >= f.n })
				}
				f.requireTogether(t, want)
			}
		})
	}
}

// A worker that comes back with other layers ends the job with an error that names them, although all sizes are equal.
func TestNewcomerWithOtherLayers(t *testing.T) {
	f := newFleet(2, 1, 1, fleetFault{call: 20, workers: []int{1}, dies: true, for_: 3})
	f.life = func(w *fleetWorker) error {
		s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
			MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0"}}, Group: w, Elastic: &distribute.Elastic{Min: 1},
		})
		if err != nil {
			return err
		}
		w.strategy = s
		names := []string{"one", "two"}
		if w.newcomer {
			slices.Reverse(names)
		}
		m, err := NewSequential([]layers.Layer{&layers.Dense{Name: names[0], Units: 3}, &layers.Dense{Name: names[1], Units: 3}, &layers.Dense{Units: 2}}, distribute.Scope(s), Seed(7), InputShape(3))
		if err == nil {
			err = m.Compile(CompileConfig{Optimizer: "sgd", Loss: "mse"})
		}
		if err == nil {
			_, err = m.Fit(context.Background(), fleetData(20), BatchSize(5), Epochs(6), ProgressOutput(io.Discard))
		}
		return err
	}
	f.run()
	require.ErrorContains(t, f.failed, "number 0 is two/kernel of float32[3 3] where worker 0 has one/kernel of float32[3 3]; run the same program on all")
}

// randomSchedule draws a schedule.
func randomSchedule(seed uint64, calls func(n int) int) *fleet {
	r := rand.New(rand.NewPCG(seed, 9))
	n := 2 + r.IntN(4)
	f := newFleet(n, 1+r.IntN(n), seed)
	last := calls(n) * 3 / 4
	call := 3
	for range 1 + r.IntN(8) {
		if call += r.IntN(2 + r.IntN(40)); call > last {
			break
		}
		fault := fleetFault{call: call, dies: r.IntN(2) == 0, for_: 1 + r.IntN(1+r.IntN(40)), whole: uint(r.IntN(1 << n))}
		for range min(n-1, r.IntN(3)) { // somebody keeps the state
			fault.workers = append(fault.workers, r.IntN(n))
		}
		f.plan = append(f.plan, fault)
	}
	return f
}
