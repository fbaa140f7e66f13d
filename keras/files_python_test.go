package keras_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// written is a file for real Keras to open; see testdata/verify_files.py.
type written struct {
	Name      string `json:"name"`
	Original  string `json:"original"`
	Written   string `json:"written"`
	Inputs    string `json:"inputs"`
	BatchSize int    `json:"batch_size"`
	Fit       bool   `json:"fit"`

	Weights  []string `json:"weights"`
	Expected string   `json:"expected"`
}

// TestKerasOpensFiles writes every model of the cases again and lets real Keras compare the two. GOKERAS_PYTHON names
// the Python.
func TestKerasOpensFiles(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	only := os.Getenv("GOKERAS_FILE_CASES_ONLY")
	var manifest []written
	for _, c := range fileCases(t) {
		if c.Group == "hostile" || !strings.Contains(c.Group+"/"+c.Name, only) {
			continue
		}
		original := c.model()
		if strings.HasPrefix(c.Name, "keras2_") || c.Name == "legacy_h5_written_by_keras3" || c.Name == "written_by_torch_resume_adam" {
			original = "" // Keras 3.15.1 cannot open it itself; it can open ours
		}
		m, err := keras.LoadModel(c.model())
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "written.keras")
		if err := m.Save(path); err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		manifest = append(manifest, written{Name: c.Group + "/" + c.Name, Original: original, Written: path, Inputs: filepath.Join(c.dir, "inputs.npz"), BatchSize: c.Args.BatchSize, Fit: c.Command == "fit"})
	}
	runVerifier(t, python, manifest)
}

// Subclassed has a twin of the same name in testdata/verify_files.py.
type Subclassed struct {
	Conv1  *layers.Dense
	Out    *layers.Dense
	Blocks []any
	D      map[string]*layers.Dense
}

// Call applies all layers, one after the other.
func (s *Subclassed) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = layers.Invoke(s.Conv1, c, x)
	x = layers.Invoke(s.Blocks[0].(layers.Layer), c, x)
	x = layers.Invoke(s.Blocks[1].([]layers.Layer)[0], c, x)
	return layers.Invoke(s.Out, c, layers.Invoke(s.D["a"], c, layers.Invoke(s.D["b"], c, x)))
}

// TestKerasOpensWeights lets real Keras load weights files of every format that it supports.
func TestKerasOpensWeights(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	three := func() *layers.Dense { return &layers.Dense{Units: 3} }
	subclassed, err := keras.NewModel(&Subclassed{
		Conv1: three(), Out: &layers.Dense{Units: 1}, Blocks: []any{three(), []layers.Layer{three()}}, D: map[string]*layers.Dense{"a": three(), "b": three()},
	})
	require.NoError(t, err)
	require.NoError(t, subclassed.Build([]int{-1, 15}))
	trained := everyKind(t, 1)
	trainOn(t, trained)
	x := make([]float32, 8*15)
	for i := range x {
		x[i] = float32(i*29%23)/11 - 1
	}
	var manifest []written
	for name, m := range map[string]*keras.Model{"subclass": subclassed, "every kind": trained} {
		dir := t.TempDir()
		w := written{Name: name, Inputs: filepath.Join(dir, "x.npz"), Expected: filepath.Join(dir, "y.npz")}
		shape := []int{8, 15}
		if m == trained {
			w.Written, shape = filepath.Join(dir, "m.keras"), []int{8, 5, 3}
			require.NoError(t, m.Save(w.Written))
		}
		in := data.Must(data.ArrayOf(x, shape...))
		out, err := m.Predict(t.Context(), data.Arrays(in, nil))
		require.NoError(t, err)
		require.NoError(t, data.SaveNPZ(w.Inputs, data.Tensors{Names: []string{"x"}, Arrays: []data.Array{in}}))
		require.NoError(t, data.SaveNPZ(w.Expected, data.Tensors{Names: []string{"y"}, Arrays: []data.Array{out}}))
		w.Weights = []string{filepath.Join(dir, "a.weights.h5"), filepath.Join(dir, "b.weights.json")}
		require.NoError(t, m.SaveWeights(w.Weights[0]))
		require.NoError(t, m.SaveShardedWeights(w.Weights[1], 1000))
		manifest = append(manifest, w)
	}
	runVerifier(t, python, manifest)
}

func runVerifier(t *testing.T, python string, manifest []written) {
	t.Helper()
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "manifest.json")
	require.NoError(t, os.WriteFile(path, text, 0o666))
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "verify_files.py"), path).Output()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}
