//go:build unix

package callbacks_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/tensorboard"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

var (
	kills    = flag.Int("kills", 12, "how often TestKilledWhileSaving kills its process")
	killSeed = flag.Uint64("kill-seed", 0, "of the moments at which TestKilledWhileSaving kills; 0: another one in each run")
	bySystem = flag.Bool("kill-at-calls", false, "kill at random system calls, with strace")
)

const savingVariable = "GOKERAS_TEST_SAVING"

const (
	savingEpochs = 4
	savingBatch  = 16
)

func savingModel() (*keras.Model, error) {
	stack := []layers.Layer{&layers.Dense{Units: 96, Activation: "tanh"}, &layers.Dense{Units: 48, Activation: "tanh"}, &layers.Dropout{Rate: 0.1}, &layers.Dense{Units: 1}}
	m, err := keras.NewSequential(stack, keras.InputShape(32), keras.Seed(3))
	if err != nil {
		return nil, err
	}
	return m, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse", Metrics: []any{"mae"}})
}

func savingData() *data.ArraySource {
	r := rand.New(rand.NewPCG(2, 3))
	x, y := make([]float32, 48*32), make([]float32, 48)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for i := range y {
		y[i] = x[32*i] - x[32*i+5]
	}
	return data.Arrays(data.Must(data.ArrayOf(x, 48, 32)), data.Must(data.ArrayOf(y, 48, 1)))
}

// digestOf tells the weights of a model.
func digestOf(m *keras.Model) (string, error) {
	list, err := m.GetWeights()
	h := sha256.New()
	for _, a := range list {
		h.Write(a.Data)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// saveAll trains and writes files of every kind after each step; each is told the weights.
func saveAll(t *testing.T, dir string, each func(digest string)) (final string, err error) {
	t.Helper()
	m, err := savingModel()
	if err != nil {
		return "", err
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	h, err := m.Fit(t.Context(), savingData(), keras.BatchSize(savingBatch), keras.Epochs(savingEpochs), keras.Verbose(0), keras.ValidationData(savingData()), keras.Callbacks(
		&callbacks.ModelCheckpoint{FilePath: path("whole.keras"), SaveFreq: 1},
		&callbacks.ModelCheckpoint{FilePath: path("epochs/{epoch}.keras")},
		&callbacks.ModelCheckpoint{FilePath: path("h5/last.weights.h5"), SaveWeightsOnly: true, SaveFreq: 1},
		&callbacks.TensorBoard{LogDir: path("logs"), UpdateFreq: 1, HistogramFreq: 1},
		&callbacks.CSVLogger{Filename: path("log.csv")},
		&callbacks.LambdaCallback{TrainBatchEnd: func(int, *callbacks.Logs) error {
			digest, err := digestOf(m)
			if err != nil {
				return err
			}
			each(digest)
			if err := m.SaveShardedWeights(path("set.weights.json"), 20_000); err != nil {
				return err
			}
			if err := m.SaveWeights(path("arrays.weights.npz")); err != nil {
				return err
			}
			return m.SaveWeights(path("tensors.safetensors"))
		}},
		&callbacks.ReduceLROnPlateau{Monitor: "mae", Factor: 0.5, Patience: 1, MinDelta: new(0.05)},
		&callbacks.BackupAndRestore{BackupDir: path("backup"), SaveFreq: 1, DoubleCheckpoint: true},
	))
	if err != nil {
		return "", err
	}
	final, err = digestOf(m)
	return fmt.Sprint(final, " ", h.Logs), err
}

// TestSavingProcess is the process that TestKilledWhileSaving kills.
func TestSavingProcess(t *testing.T) {
	dir := os.Getenv(savingVariable)
	if dir == "" {
		t.Skip("a part of TestKilledWhileSaving")
	}
	fmt.Println("begun")
	final, err := saveAll(t, dir, func(string) {})
	require.NoError(t, err)
	fmt.Println("ended", final)
}

// TestKilledWhileSaving kills a process that does hardly anything else than write files, at random moments, and starts
// it again until it ends: after each kill every file that is there is whole, with the weights after one step, and at
// the end the weights, the history of all epochs, and the files are those of a run without kills.
func TestKilledWhileSaving(t *testing.T) {
	if os.Getenv(savingVariable) != "" {
		t.Skip("this is the process that is killed")
	}
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	wanted, known := t.TempDir(), map[string]bool{}
	began := time.Now()
	want, err := saveAll(t, wanted, func(digest string) { known[digest] = true })
	require.NoError(t, err)
	took := time.Since(began)
	left := *kills
	if testing.Short() {
		left = min(left, 3)
	}
	for left > 0 {
		dir := t.TempDir()
		for ; ; left-- {
			final, ended := savingProcess(t, dir, r, took, left > 0)
			checkSaved(t, dir, known)
			if ended {
				require.Equal(t, want, final, "weights and history after kills")
				break
			}
		}
		require.Equal(t, filesBelow(t, wanted), filesBelow(t, dir))
	}
}

// savingProcess runs the process, and kills it at some moment if it is to die; it may have ended by then.
func savingProcess(t *testing.T, dir string, r *rand.Rand, took time.Duration, dies bool) (final string, ended bool) {
	t.Helper()
	args := []string{os.Args[0], "-test.run=^TestSavingProcess$", "-test.v"}
	if *bySystem && dies {
		args = append([]string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=openat,write,fsync,renameat,unlinkat,close,flock:signal=SIGKILL:when=" + fmt.Sprint(1+r.IntN(200))}, args...)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), savingVariable+"="+dir)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	var text strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Fprintln(&text, lines.Text())
		if lines.Text() == "begun" && dies && !*bySystem {
			go func(pause time.Duration) {
				time.Sleep(pause)
				_ = c.Process.Kill() // it may have ended
			}(time.Duration(r.Int64N(int64(took))))
		}
		if word, digest, ok := strings.Cut(lines.Text(), " "); ok && word == "ended" {
			final, ended = digest, true
		}
	}
	err = c.Wait()
	if !dies && !ended {
		t.Fatalf("%v: %s", err, &text)
	}
	return final, ended
}

// checkSaved reads all files that are there.
func checkSaved(t *testing.T, dir string, known map[string]bool) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".tmp") || strings.Contains(path, "set_") {
			return err
		}
		var m *keras.Model
		switch name := filepath.Base(path); {
		case strings.HasSuffix(name, ".keras"):
			m, err = keras.LoadModel(path)
		case strings.Contains(path, "backup"):
			if strings.Contains(name, ".npz") {
				_, err = data.LoadNPZ(path)
			}
		case strings.Contains(name, ".weights.") || strings.HasSuffix(name, ".safetensors"):
			if m, err = savingModel(); err == nil {
				err = m.LoadWeights(path)
			}
		case strings.Contains(name, "tfevents"):
			if _, err = tensorboard.ReadFile(path); errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil // what was being written
			}
		}
		require.NoError(t, err, path)
		if m != nil {
			digest, err := digestOf(m)
			require.NoError(t, err)
			require.True(t, known[digest], "%s has weights that are those after no step", path)
		}
		return nil
	}))
}

// filesBelow lists the files; those of TensorBoard have the time and the process in their names.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "tfevents") {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}
