//go:build unix

package multiworker_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// oddRun is what a worker does: train, evaluate, train again. One of the workers does something else.
type oddRun struct {
	policy       string
	units        int
	rows, steps  int // of the data; 0 steps: all
	tested       int // rows
	onTrain      func(batch int) error
	onTest       func(batch int) error
	onBatch      func(m *keras.Model, step int) error
	onEpoch      func(epoch int) error
	between      func(m *keras.Model) error
	evaluations  int
	validation   int // rows
	onValidation func(batch int) error
	context      func(context.Context) context.Context
}

// rowsOf makes batches of 6 rows by a generator that does what it is told before each of them.
func rowsOf(n int, before func(batch int) error) data.Dataset {
	all := trainings()[0].arrays(false).All()
	return data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			for at := 0; at < n; at += 6 {
				if before != nil {
					if err := before(at / 6); err != nil {
						yield(data.Batch{}, err)
						return
					}
				}
				cut := func(t data.Tensors) data.Tensors { return data.List(t.Arrays[0].Slice(at, min(at+6, n))) }
				if !yield(data.Batch{X: cut(all.X), Y: cut(all.Y)}, nil) {
					return
				}
			}
		}
	})
}

// at does something once, at one of the calls.
func at(n int, f func() error) func(int) error {
	calls := 0
	return func(int) error {
		if calls++; calls == n {
			return f()
		}
		return nil
	}
}

// oddities is what one worker does differently, drawn.
var oddities = []struct {
	name string
	draw func(r *oddRun, rng *rand.Rand)
	fine bool // the job may end well
}{
	{"fewer batches", func(r *oddRun, rng *rand.Rand) { r.rows -= 6 * (1 + rng.IntN(3)) }, false},
	{"more batches", func(r *oddRun, rng *rand.Rand) { r.rows += 6 }, false},
	{"a batch of another size", func(r *oddRun, rng *rand.Rand) { r.rows -= 1 + rng.IntN(4) }, false},
	{"no batches", func(r *oddRun, rng *rand.Rand) { r.rows = 0 }, false},
	{"a failing dataset", func(r *oddRun, rng *rand.Rand) { r.onTrain = at(1+rng.IntN(12), boom) }, false},
	{"a panicking dataset", func(r *oddRun, rng *rand.Rand) { r.onTrain = at(1+rng.IntN(12), bang) }, false},
	{"a slow dataset", func(r *oddRun, rng *rand.Rand) { r.onTrain = at(1+rng.IntN(12), doze) }, true},
	{"a failing callback", func(r *oddRun, rng *rand.Rand) { r.onEpoch = at(1+rng.IntN(4), boom) }, false},
	{"a panicking callback", func(r *oddRun, rng *rand.Rand) { r.onEpoch = at(1+rng.IntN(4), bang) }, false},
	{"a callback that exits", func(r *oddRun, rng *rand.Rand) {
		r.onEpoch = at(1+rng.IntN(4), func() error { runtime.Goexit(); return nil })
	}, false},
	{"a slow callback", func(r *oddRun, rng *rand.Rand) { r.onEpoch = at(1+rng.IntN(4), doze) }, true},
	{"a panicking batch callback", func(r *oddRun, rng *rand.Rand) {
		f := at(1+rng.IntN(15), bang)
		r.onBatch = func(_ *keras.Model, step int) error { return f(step) }
	}, false},
	{"evaluates fewer batches", func(r *oddRun, rng *rand.Rand) { r.tested -= 6 * (1 + rng.IntN(2)) }, false},
	{"evaluates more batches", func(r *oddRun, rng *rand.Rand) { r.tested += 6 }, false},
	{"evaluates not", func(r *oddRun, rng *rand.Rand) { r.evaluations = 0 }, false},
	{"evaluates twice", func(r *oddRun, rng *rand.Rand) { r.evaluations = 2 }, false},
	{"fails while it evaluates", func(r *oddRun, rng *rand.Rand) { r.onTest = at(1+rng.IntN(3), boom) }, false},
	{"panics while it evaluates", func(r *oddRun, rng *rand.Rand) { r.onTest = at(1+rng.IntN(3), bang) }, false},
	{"validates fewer batches", func(r *oddRun, rng *rand.Rand) { r.validation -= 6 }, false},
	{"validates not", func(r *oddRun, rng *rand.Rand) { r.validation = 0 }, false},
	{"fails while it validates", func(r *oddRun, rng *rand.Rand) { r.onValidation = at(1+rng.IntN(4), boom) }, false},
	{"panics while it validates", func(r *oddRun, rng *rand.Rand) { r.onValidation = at(1+rng.IntN(4), bang) }, false},
	{"fails between two runs", func(r *oddRun, rng *rand.Rand) { r.between = func(*keras.Model) error { return boom() } }, false},
	{"panics between two runs", func(r *oddRun, rng *rand.Rand) { r.between = func(*keras.Model) error { return bang() } }, false},
	{"another shape", func(r *oddRun, rng *rand.Rand) { r.units = 6 }, false},
	{"another policy", func(r *oddRun, rng *rand.Rand) {
		r.policy = []string{"float64", "mixed_bfloat16", "bfloat16", "float16"}[rng.IntN(4)]
	}, false},
	{"a context that ends", func(r *oddRun, rng *rand.Rand) {
		limit := time.Duration(rng.IntN(60)) * time.Millisecond
		r.context = func(ctx context.Context) context.Context {
			ctx, cancel := context.WithTimeout(ctx, limit)
			_ = context.AfterFunc(ctx, cancel)
			return ctx
		}
	}, true},
}

const oddDeadline = 600 * time.Millisecond

func boom() error { return errors.New("boom") }
func bang() error { panic("bang") }
func doze() error { time.Sleep(2 * oddDeadline); return nil }

func (r *oddRun) run(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy, backup string) ([][]float64, error) {
	if r.context != nil {
		ctx = r.context(ctx)
	}
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: r.units, Activation: "tanh"}, &layers.Dense{Units: 2}}, distribute.Scope(s), keras.DTypePolicy(r.policy), keras.Seed(3), keras.InputShape(4))
	if err != nil {
		return nil, err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse"}); err != nil {
		return nil, err
	}
	step := 0
	hooks := &callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error {
		if r.onEpoch == nil {
			return nil
		}
		return r.onEpoch(epoch)
	}}
	if r.onBatch != nil {
		hooks.TrainBatchEnd = func(int, *callbacks.Logs) error { step++; return r.onBatch(m, step) }
	}
	for i := range 2 {
		list := []callbacks.Callback{hooks}
		if backup != "" {
			list = append(list, &callbacks.BackupAndRestore{BackupDir: filepath.Join(backup, fmt.Sprint(i))})
		}
		options := []keras.FitOption{keras.Epochs(2), keras.StepsPerEpoch(r.steps), keras.Callbacks(list...)}
		if r.validation > 0 {
			options = append(options, keras.ValidationData(rowsOf(r.validation, r.onValidation)))
		}
		if _, err := m.Fit(ctx, rowsOf(r.rows, r.onTrain), options...); err != nil {
			return nil, err
		}
		for range r.evaluations {
			if _, err := m.Evaluate(ctx, rowsOf(r.tested, r.onTest)); err != nil {
				return nil, err
			}
		}
		if r.between != nil {
			if err := r.between(m); err != nil {
				return nil, err
			}
		}
	}
	return valuesOfWeights(m)
}

func valuesOfWeights(m *keras.Model) (out [][]float64, err error) {
	for _, v := range m.Weights() {
		a, err := v.Value()
		if err != nil {
			return nil, err
		}
		out = append(out, a.Float64s())
	}
	return out, nil
}

// TestOddWorker: where one worker has other data, or a dataset, callback or evaluation of its own that fails, panics or
// takes long, or another model, all workers end in time with an error that names it or what is different, or train what
// they would have trained. Nobody takes a worker that panicked for one that left in good order, and no backup is torn.
func TestOddWorker(t *testing.T) {
	draws := max(40, *faults*10)
	if testing.Short() {
		draws = len(oddities)
	}
	var want [][]float64
	_, errs := workers(t, 2, nil, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) ([][]float64, error) {
		r := plainRun()
		out, err := r.run(ctx, s, "")
		if s.Rank() == 0 {
			want = out
		}
		return nil, err
	})
	require.NoError(t, errors.Join(errs...))
	for draw := range draws {
		rng := rand.New(rand.NewPCG(*schedule, uint64(draw)))
		odd, kind, n := oddities[draw%len(oddities)], []string{"plain", "elastic", "shrinking", "backup"}[rng.IntN(4)], 2+rng.IntN(2)
		who := rng.IntN(n)
		t.Run(fmt.Sprintf("%d %s %s worker %d of %d", draw, odd.name, kind, who, n), func(t *testing.T) {
			t.Parallel()
			playOdd(t, want, odd.fine, kind, n, who, func(r *oddRun) { odd.draw(r, rng) })
		})
	}
}

func plainRun() *oddRun {
	return &oddRun{policy: "float32", units: 5, rows: 30, tested: 18, validation: 12, evaluations: 1}
}

func playOdd(t *testing.T, want [][]float64, fine bool, kind string, n, who int, change func(r *oddRun)) {
	backups := ""
	if kind == "backup" {
		backups = t.TempDir()
	}
	clock := fairclock.Start()
	defer clock.Stop()
	died := ""
	weights, errs := workers(t, n, func(rank int, o *multiworker.Options) {
		o.Deadline, o.JoinTimeout = oddDeadline, 5*time.Second
		switch kind {
		case "elastic":
			o.Elastic = &distribute.Elastic{}
		case "shrinking":
			o.Elastic = &distribute.Elastic{Min: 1, Patience: 100 * time.Millisecond}
		}
	}, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (out [][]float64, err error) {
		r := plainRun()
		odd := s.Rank() == who
		if odd {
			change(r)
		}
		over := make(chan struct{})
		go func() { // which may end by Goexit
			defer close(over)
			defer func() {
				if v := recover(); v != nil {
					died = fmt.Sprint("panic: ", v)
					err = errors.New(died)
				} else if out == nil && err == nil {
					died = "runtime.Goexit"
					err = errors.New(died)
				}
			}()
			defer s.Close()
			out, err = r.run(ctx, s, backups)
		}()
		<-over
		return out, err
	})
	t.Log(clock.Elapsed().Round(time.Millisecond))
	require.Less(t, clock.Elapsed(), 14*time.Second)
	for rank, err := range errs {
		t.Log(rank, err)
		if rank == who && err != nil && !fine {
			continue
		}
		if err == nil {
			if died != "" && kind == "shrinking" || rank == who {
				continue
			}
			require.True(t, fine || kind == "shrinking", "worker %d has trained as if nothing were", rank)
			for i, w := range want {
				require.InDeltaSlice(t, w, weights[rank][i], 1e-5, "worker %d, weight %d", rank, i)
			}
			continue
		}
		if died != "" {
			require.Contains(t, err.Error(), died, "worker %d", rank)
			require.NotContains(t, err.Error(), "good order", "worker %d", rank)
		}
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, keras.ErrWorkerStopped) {
			require.Regexp(t, namesWorker, err.Error(), "worker %d", rank)
		}
	}
	if backups != "" {
		requireWholeBackups(t, backups)
	}
}

// requireWholeBackups checks that what is left of backups can be read, and that nothing else is left.
func requireWholeBackups(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, ".npz"):
			_, err := data.LoadNPZ(name)
			require.NoError(t, err)
		default:
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Regexp(t, `^\{"epoch": \d+, "batch": -?\d+\}$`, string(text))
			require.Equal(t, "training_metadata.json", filepath.Base(name))
		}
	}
}
