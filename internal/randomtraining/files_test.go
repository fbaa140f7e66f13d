package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
)

// written is a model that files.py trained two steps, with what Keras makes of a third and a fourth.
type written struct {
	Number, Seed  int
	Optimizer     string
	X, Y          []spec
	Kinds         []string
	Read          []result // what is predicted from an .h5 file; nil if there is none
	Third, Fourth struct {
		Loss        number
		Predictions []result
	}
}

// TestFreshFiles draws models and optimizers: Keras writes files of every kind after two steps, this program reads them
// and takes the third step, writes files, and Keras takes the fourth. RANDOM_FILES_COUNT is how many models,
// RANDOM_FILES_SEED the first seed, RANDOM_FILES a folder that was drawn before.
func TestFreshFiles(t *testing.T) { freshFiles(t, "runs", "RANDOM_FILES") }

// TestFreshRecurrentFiles draws recurrent networks instead. RANDOM_RECURRENT_FILES_COUNT is how many.
func TestFreshRecurrentFiles(t *testing.T) { freshFiles(t, "recurrent", "RANDOM_RECURRENT_FILES") }

// TestFreshStackFiles draws Sequential models without an input instead. RANDOM_STACK_FILES_COUNT is how many.
func TestFreshStackFiles(t *testing.T) { freshFiles(t, "stacks", "RANDOM_STACK_FILES") }

func freshFiles(t *testing.T, networks, name string) {
	t.Helper()
	python := freshPython(t)
	folder := os.Getenv(name)
	if folder == "" {
		folder = t.TempDir()
		out, err := exec.CommandContext(t.Context(), python, "files.py", "draw", "--networks", networks, "--count", environment(name+"_COUNT", "15"), "--seed", environment(name+"_SEED", "1000000"), "--out", folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	files := trainOn(t, folder)
	out, err := exec.CommandContext(t.Context(), python, "files.py", "check", "--out", folder).Output()
	require.NoError(t, err, "%s", out)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines[:len(lines)-1] {
		t.Error("Keras, with our file: ", line)
	}
	assert.Equal(t, fmt.Sprintf("opened %d", files), lines[len(lines)-1])
}

func environment(name, other string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return other
}

// trainOn takes the third step from each file of a folder and writes files of the same kind; it returns how many.
func trainOn(t *testing.T, folder string) (files int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	require.NoError(t, err)
	var all []written
	require.NoError(t, json.Unmarshal(text, &all))
	for _, c := range all {
		for _, kind := range c.Kinds {
			if err := c.third(t, folder, kind); err != nil {
				t.Errorf("case of seed %d, %s, %s: %v", c.Seed, c.Optimizer, kind, err)
			} else {
				files++
			}
		}
		if c.Read != nil {
			if err := c.legacy(t, folder); err != nil {
				t.Errorf("case of seed %d, h5: %v", c.Seed, err)
			}
		}
	}
	t.Logf("%d models, %d files", len(all), files)
	return files
}

func (c *written) third(t *testing.T, folder, kind string) error {
	base := filepath.Join(folder, fmt.Sprint(c.Number)) + "."
	path, weights := base+kind, strings.HasPrefix(kind, "weights")
	if weights {
		path = base + "start.keras"
	}
	m, err := keras.LoadModel(path)
	if err != nil {
		return err
	}
	ds := data.Arrays(tensors(t, c.X, inputNames(m)), tensors(t, c.Y, m.OutputNames()))
	if weights {
		if _, err := m.TrainOnBatch(context.Background(), ds); err != nil {
			return err
		}
		if err := m.LoadWeights(base + kind); err != nil {
			return err
		}
	}
	scores, err := m.TrainOnBatch(context.Background(), ds)
	if err != nil {
		return err
	}
	if got, want := scores["loss"], float64(c.Third.Loss); !(math.Abs(got-want) <= 1e-3*(math.Abs(want)+1e-2)) {
		return fmt.Errorf("the loss of the step is %g, Keras's %g", got, want)
	}
	if err := predictsLike(m, ds, c.Third.Predictions); err != nil {
		return fmt.Errorf("after the step: %w", err)
	}
	if kind == c.Kinds[0] {
		if err := m.Export(base + "onnx"); err != nil && !strings.Contains(err.Error(), "for which ONNX runtimes have no") {
			return err
		}
	}
	return c.write(m, base+"ours.", kind)
}

// legacy predicts from a file in the format of Keras 2.
func (c *written) legacy(t *testing.T, folder string) error {
	m, err := keras.LoadModel(filepath.Join(folder, fmt.Sprint(c.Number, ".h5")))
	if err != nil {
		return err
	}
	return predictsLike(m, data.Arrays(tensors(t, c.X, inputNames(m)), nil), c.Read)
}

func inputNames(m *keras.Model) (names []string) {
	for _, in := range m.Inputs() {
		names = append(names, in.Name())
	}
	return names
}

func predictsLike(m *keras.Model, ds *data.ArraySource, want []result) error {
	out, err := m.PredictAll(context.Background(), ds)
	if err != nil {
		return err
	}
	for i, y := range out {
		if text := want[i].differs(y.Shape(), y.Float64s(), trained); text != "" {
			return fmt.Errorf("prediction %d: %s", i, text)
		}
	}
	return nil
}

func (c *written) write(m *keras.Model, base, kind string) error {
	switch kind {
	case "keras":
		return m.Save(base + kind)
	case "weights.json":
		return m.SaveShardedWeights(base+kind, 600)
	case "weights.h5":
		return m.SaveWeights(base + kind)
	}
	return nil
}

// TestRecordedFiles trains on from files that were drawn and recorded before.
func TestRecordedFiles(t *testing.T) {
	require.Equal(t, 12, trainOn(t, recorded.Folder(t, "testdata/files.tar.gz")))
}
