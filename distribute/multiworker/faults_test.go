//go:build unix

package multiworker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// ending says how a worker's Fit ended.
type ending struct {
	Kind   string // type of the error
	Text   string
	Lost   []string
	Steps  int
	Left   string // goroutines that are left after Close
	Epochs int
}

// mlp is a small model for the tests in which numbers do not matter.
func mlp(s distribute.Strategy, list ...layers.Layer) (*keras.Model, error) {
	list = append([]layers.Layer{&layers.Dense{Units: 5, Activation: "tanh"}}, append(list, &layers.Dense{Units: 2})...)
	m, err := keras.NewSequential(list, distribute.Scope(s), keras.Seed(3), keras.InputShape(4))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse"})
}

// misfit is what one worker does differently from the others.
type misfit struct {
	layers  []layers.Layer
	options []keras.FitOption
	batch   func(m *keras.Model, step int) error
	cancel  int // step after which its context ends
}

// endless trains until something happens. Worker 1 is the misfit.
func endless(odd misfit) func(context.Context, *distribute.MultiWorkerMirroredStrategy) (any, error) {
	return trainFor(2000, odd)
}

// goOn is the file for which workers with a folder wait after 20 steps.
const goOn = "go-on"

func awaitFile(dir string) {
	for dir != "" {
		if _, err := os.Stat(filepath.Join(dir, goOn)); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// trainFor is endless for so many epochs of 5 steps.
func trainFor(epochs int, odd misfit) func(context.Context, *distribute.MultiWorkerMirroredStrategy) (any, error) {
	return func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
		if s.Rank() != 1 {
			odd = misfit{}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		m, err := mlp(s, odd.layers...)
		if err != nil {
			return nil, err
		}
		var e ending
		options := []keras.FitOption{keras.BatchSize(8), keras.Epochs(epochs), keras.Callbacks(&callbacks.LambdaCallback{
			TrainBatchEnd: func(int, *callbacks.Logs) error {
				e.Steps++
				if e.Steps == 20 {
					fmt.Println("trained")
					awaitFile(os.Getenv(dirVariable))
				}
				time.Sleep(time.Millisecond)
				if e.Steps == odd.cancel {
					cancel()
				}
				if odd.batch != nil {
					return odd.batch(m, e.Steps)
				}
				return nil
			},
		})}
		h, err := m.Fit(ctx, trainings()[0].arrays(false), append(options, odd.options...)...)
		e.describe(err)
		if h != nil {
			e.Epochs = len(h.Epoch)
		}
		_ = s.Close() // the group may have ended
		for range 100 {
			if e.Left = left(); e.Left == "" {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return e, nil
	}
}

func (e *ending) describe(err error) {
	var member *collective.MemberError
	var order *collective.OrderError
	switch {
	case err == nil:
		return
	case errors.As(err, &member):
		e.Kind = "member"
		for _, l := range member.Lost {
			e.Lost = append(e.Lost, l.Task.String())
		}
	case errors.As(err, &order):
		e.Kind = "order"
	case errors.Is(err, keras.ErrWorkerStopped):
		e.Kind = "stopped"
	case errors.Is(err, context.Canceled):
		e.Kind = "canceled"
	default:
		e.Kind = "other"
	}
	e.Text = err.Error()
}

// left returns the stacks of goroutines of the group and of Fit.
func left() string {
	var out string
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) { // gRPC's own end a little after a connection is closed
		if out = running(); out == "" || time.Now().After(end) {
			return out
		}
	}
}

// running lists goroutines of this library's jobs and of gRPC.
func running() string {
	stacks := make([]byte, 1<<20)
	var out string
	for _, s := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(s, "/distribute/collective") || strings.Contains(s, "gokeras/keras.") || strings.Contains(s, "google.golang.org/grpc") {
			out += s + "\n\n"
		}
	}
	return out
}

// A worker that dies or freezes ends Fit on all others, with an error that names it, within the deadline.
func TestLostWorker(t *testing.T) {
	for _, c := range []struct {
		name   string
		victim int
		signal syscall.Signal
		role   string
		within time.Duration
	}{
		{"killed", 1, syscall.SIGKILL, "endless", deadline + 3*time.Second},
		{"chief killed", 0, syscall.SIGKILL, "endless over the network", deadline + 3*time.Second},
		{"frozen", 2, syscall.SIGSTOP, "endless", deadline + 4*time.Second},
		{"killed with two replicas", 1, syscall.SIGKILL, "endless with two replicas", deadline + 3*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := start(t, 3, c.role, "")
			for i := range 3 {
				j.until(i, "trained")
			}
			clock := fairclock.Start()
			defer clock.Stop()
			require.NoError(t, j.workers[c.victim].Process.Signal(c.signal))
			text := ""
			for i := range 3 {
				if i == c.victim {
					continue
				}
				var e ending
				j.read(i, &e)
				require.Equal(t, "member", e.Kind, e.Text)
				require.Equal(t, []string{fmt.Sprintf("worker %d", c.victim)}, trimmed(e.Lost), e.Text)
				require.Empty(t, e.Left)
				if text == "" {
					text = e.Text[strings.Index(e.Text, "collective:"):]
				}
				require.Contains(t, e.Text, text, "all survivors get the same error")
			}
			require.Less(t, clock.Elapsed(), c.within)
		})
	}
}

// trimmed writes tasks as "worker 1", whatever their own form.
func trimmed(tasks []string) []string {
	for i, s := range tasks {
		tasks[i] = strings.NewReplacer("/", " ", ":", " ", "task ", "", "job ", "").Replace(s)
	}
	return tasks
}

// Workers that do different things, or of which one fails, all end with an error that says so.
func TestMisfit(t *testing.T) {
	for _, c := range []struct{ role, odd, others, text string }{
		{"another layer", "order", "order", "train_step"},
		{"another batch size", "order", "order", "batch size 9"},
		{"another number of epochs", "order", "order", "7 epochs"},
		{"a callback fails", "other", "order", ") failed: Fit: epoch 1: boom"},
		{"a context ends", "canceled", "stopped", "another worker"},
		{"training is stopped", "", "", ""},
	} {
		t.Run(c.role, func(t *testing.T) {
			endings := all[ending](start(t, 2, c.role, ""))
			require.Equal(t, c.odd, endings[1].Kind, endings[1].Text)
			require.Equal(t, c.others, endings[0].Kind, endings[0].Text)
			require.Contains(t, endings[0].Text, c.text)
			require.Empty(t, endings[0].Left+endings[1].Left)
			require.Equal(t, endings[1].Steps, endings[0].Steps)
			if c.odd == "order" {
				require.Equal(t, endings[0].Text, endings[1].Text, "all get the same error")
			}
		})
	}
}

func misfits() map[string]role {
	stopAt := func(m *keras.Model, step int) error {
		if step == 12 {
			m.Stop()
		}
		return nil
	}
	boom := func(_ *keras.Model, step int) error {
		if step == 3 {
			return errors.New("boom")
		}
		return nil
	}
	return map[string]role{
		"another layer":            {run: endless(misfit{layers: []layers.Layer{&layers.Dropout{Rate: 0.5}}})},
		"another batch size":       {run: endless(misfit{options: []keras.FitOption{keras.BatchSize(9)}})},
		"another number of epochs": {run: endless(misfit{options: []keras.FitOption{keras.Epochs(7)}})},
		"a callback fails":         {run: endless(misfit{batch: boom})},
		"a context ends":           {run: endless(misfit{cancel: 13})},
		"training is stopped":      {run: endless(misfit{batch: stopAt})},
	}
}

// restarted trains with a backup after every fourth batch. With crash all workers die in the middle of an epoch.
func restarted(crash bool) func(context.Context, *distribute.MultiWorkerMirroredStrategy) (any, error) {
	return func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
		m, err := mlp(s, &layers.Dropout{Rate: 0.3})
		if err != nil {
			return nil, err
		}
		if s.Rank() == 1 { // the chief's initial weights count
			weights, err := m.GetWeights()
			if err != nil {
				return nil, err
			}
			for i := range weights {
				clear(weights[i].Data)
			}
			if err := m.SetWeights(weights); err != nil {
				return nil, err
			}
		}
		dir, steps := fmt.Sprint(os.Getenv(dirVariable), "/", s.Rank()), 0
		list := []callbacks.Callback{
			&callbacks.BackupAndRestore{BackupDir: dir, SaveFreq: 4, KeepCheckpoint: true},
			&callbacks.ModelCheckpoint{FilePath: fmt.Sprintf("%s/best%d.weights.npz", os.Getenv(dirVariable), s.Rank()), SaveWeightsOnly: true},
		}
		list = append(list, &callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
			if steps++; crash && steps == 18 {
				os.Exit(3)
			}
			return nil
		}})
		_, err = m.Fit(ctx, trainings()[0].arrays(false), keras.BatchSize(8), keras.Epochs(6), keras.Callbacks(list...))
		e := ending{Steps: steps}
		if e.describe(err); e.Kind != "" {
			return e, nil
		}
		if err := m.Save(fmt.Sprintf("%s/model%d.keras", os.Getenv(dirVariable), s.Rank())); err != nil {
			return nil, err
		}
		weights, err := m.GetWeights()
		e.Text = fmt.Sprint(weights)
		return e, err
	}
}

// A job of which all workers died in the middle of an epoch and that is started again ends with the same bits as one
// that was not interrupted. Only the chief has a backup, and writes files.
func TestRestart(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	want := all[ending](start(t, 2, "train with backup", whole))
	require.Equal(t, []int{30, 30}, []int{want[0].Steps, want[1].Steps})
	require.Empty(t, want[0].Kind, want[0].Text)
	require.Equal(t, want[0].Text, want[1].Text)
	for file, there := range map[string]bool{"0": true, "1": false, "model0.keras": true, "model1.keras": false, "best0.weights.npz": true, "best1.weights.npz": false} {
		_, err := os.Stat(whole + "/" + file)
		require.Equal(t, there, err == nil, file)
	}

	j := start(t, 2, "crash with backup", dir)
	for i := range 2 {
		var exit *exec.ExitError
		require.ErrorAs(t, j.wait(i), &exit)
		require.Equal(t, 3, exit.ExitCode(), j.output[i])
	}

	got := all[ending](start(t, 2, "train with backup", dir))
	require.Equal(t, []int{14, 14}, []int{got[0].Steps, got[1].Steps}, "goes on after the backup of step 16")
	require.Equal(t, want[0].Text, got[0].Text)
	require.Equal(t, want[0].Text, got[1].Text)
}

// If a lost worker does not come back, the wait for it ends with an error that names it.
func TestLostForGood(t *testing.T) {
	j := start(t, 2, "endless and patient", "")
	for i := range 2 {
		j.until(i, "trained")
	}
	require.NoError(t, j.workers[1].Process.Signal(syscall.SIGKILL))
	var e ending
	j.read(0, &e)
	require.Contains(t, e.Text, "no group of at least 2 workers within 4s")
	require.Contains(t, e.Text, "127.0.0.1:")
	require.Equal(t, []string{"worker 1"}, trimmed(e.Lost), e.Text)
	require.Empty(t, e.Left)
}

// limitFiles sets the size beyond which no file of this process grows.
func limitFiles(size uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	now.Cur = min(size, now.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now)
}

// diskFull trains until files cannot grow any more.
func diskFull(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
	m, err := mlp(s)
	if err != nil {
		return nil, err
	}
	signal.Ignore(syscall.SIGXFSZ)
	e, epochs := ending{}, 0
	full := &callbacks.LambdaCallback{EpochEnd: func(int, *callbacks.Logs) error {
		if epochs++; epochs == 3 {
			return limitFiles(100)
		}
		return nil
	}}
	_, err = m.Fit(ctx, trainings()[0].arrays(false), keras.BatchSize(8), keras.Epochs(9), keras.Callbacks(full, &callbacks.BackupAndRestore{BackupDir: os.Getenv(dirVariable)}))
	e.describe(err)
	e.Epochs = epochs
	_ = s.Close() // the group has ended
	if err := limitFiles(1 << 30); err != nil {
		return nil, err
	}
	return e, nil
}

// A backup for which the disk has no room ends training on all workers with an error that says so; the backup before it
// stays as it was, and nothing else does.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	endings := all[ending](start(t, 2, "disk full", dir))
	require.Contains(t, endings[0].Text, "BackupAndRestore")
	require.Contains(t, endings[0].Text, "file too large")
	require.Equal(t, "order", endings[1].Kind, endings[1].Text)
	require.Regexp(t, `worker:0 \(127\.0\.0\.1:\d+\) failed`, endings[1].Text)
	require.Contains(t, endings[1].Text, "file too large", "the cause on all workers")
	require.Equal(t, []int{3, 3}, []int{endings[0].Epochs, endings[1].Epochs})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"latest.weights.npz", "training_metadata.json"}, names)
	text, err := os.ReadFile(dir + "/training_metadata.json")
	require.NoError(t, err)
	require.Equal(t, `{"epoch": 2, "batch": 0}`, string(text))
	m, err := mlp(distribute.Default())
	require.NoError(t, err)
	at, err := m.LoadBackup(dir + "/latest.weights.npz")
	require.NoError(t, err)
	require.Equal(t, 2, at.Epoch)
}
