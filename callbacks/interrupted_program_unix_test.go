//go:build unix

package callbacks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

const (
	interruptedFolder = "GOKERAS_TEST_INTERRUPTED" // where the program of the test writes
	interruptedStatus = 75
)

// interruptedProgram trains as the documentation says: Ctrl-C ends its context. It has random layers, weights of the
// optimizer, a data order that changes with each epoch, and files of every callback that writes some.
func interruptedProgram(folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.GaussianNoise{Stddev: 0.1}, &layers.Dense{Units: 16, Activation: "relu"}, &layers.BatchNormalization{}, &layers.Dropout{Rate: 0.3}, &layers.Dense{Units: 1},
	}, keras.InputShape(4), keras.Seed(3))
	if err != nil {
		return err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse", Metrics: []string{"mae"}}); err != nil {
		return err
	}
	x, y := make([][]float32, 203), make([][]float32, 203)
	for i := range x {
		x[i], y[i] = []float32{float32(i % 7), float32(i % 5), float32(i % 3), 1}, []float32{float32(i % 11)}
	}
	slow := &callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error { // so that signals come in the middle
		if os.Getenv("GOKERAS_TEST_FAST") == "" {
			time.Sleep(200 * time.Microsecond)
		}
		return nil
	}}
	h, err := m.Fit(ctx, data.Arrays(x, y), keras.Epochs(12), keras.BatchSize(8), keras.ValidationSplit(0.2), keras.ProgressOutput(io.Discard), keras.Callbacks(slow,
		&callbacks.BackupAndRestore{BackupDir: filepath.Join(folder, "backup")},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(folder, "best.keras"), SaveBestOnly: true},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(folder, "steps.weights.h5"), SaveWeightsOnly: true, SaveFreq: 7},
		&callbacks.CSVLogger{Filename: filepath.Join(folder, "log.csv"), Append: true},
		&callbacks.ReduceLROnPlateau{Patience: 1}))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "history"), []byte(fmt.Sprint(h.Epoch, h.Logs)), 0o600); err != nil {
		return err
	}
	return m.SaveWeights(filepath.Join(folder, "end.weights.h5"))
}

// TestInterruptedProgram sends SIGINT to a program at any moment and starts it again, until it ends. All that it then
// has written is, but for dates, what it writes without a signal, and files are whole at any time.
func TestInterruptedProgram(t *testing.T) {
	if folder := os.Getenv(interruptedFolder); folder != "" {
		switch err := interruptedProgram(folder); {
		case errors.Is(err, context.Canceled):
			os.Exit(interruptedStatus)
		case err != nil:
			t.Fatal(err)
		}
		return
	}
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	start := func(folder string, environment ...string) *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run", "^TestInterruptedProgram$")
		c.Env = append(append(os.Environ(), interruptedFolder+"="+folder), environment...)
		c.Stdout, c.Stderr = t.Output(), t.Output()
		require.NoError(t, c.Start())
		return c
	}
	whole := t.TempDir()
	require.NoError(t, start(whole, "GOKERAS_TEST_FAST=1").Wait())
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	broken, interrupted := t.TempDir(), 0
	wait := 30 * time.Millisecond
	for done := false; !done; wait += wait / 8 { // a slow machine gets on at last
		c := start(broken)
		time.Sleep(wait + time.Duration(rng.IntN(100))*time.Millisecond) // the first ones may come before the program listens
		signalled := c.Process.Signal(os.Interrupt)
		switch err := c.Wait(); {
		case err == nil:
			done = true
		case c.ProcessState.ExitCode() == interruptedStatus:
			interrupted++
		default:
			require.NoError(t, signalled)
			require.Equal(t, "signal: interrupt", err.Error(), "before it listens for signals")
		}
		for _, entry := range names(t, broken) {
			require.Contains(t, append(names(t, whole), "backup"), entry, "what is left after a signal")
			if filepath.Ext(entry) == ".keras" {
				_, err := keras.LoadModel(filepath.Join(broken, entry))
				require.NoError(t, err)
			}
		}
	}
	require.Greater(t, interrupted, 1)
	require.Equal(t, names(t, whole), names(t, broken))
	for _, name := range []string{"history", "log.csv", "end.weights.h5", "steps.weights.h5"} {
		want, err := os.ReadFile(filepath.Join(whole, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(broken, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
	best := make([]*keras.Model, 2)
	for i, folder := range []string{whole, broken} {
		m, err := keras.LoadModel(filepath.Join(folder, "best.keras"))
		require.NoError(t, err)
		best[i] = m
	}
	require.Equal(t, weights(t, best[0]), weights(t, best[1]))
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	slices.Sort(out)
	return out
}
