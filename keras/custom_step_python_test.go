package keras_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
)

// TestKerasTrainsGANOn passes a GAN with the state of both optimizers and of its metrics to real Keras, which continues
// training with the same numbers, and takes it back. GOKERAS_PYTHON names the Python.
func TestKerasTrainsGANOn(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	f := loadSteps(t)
	c := f.find(t, "gan")
	m, _ := stepModel(t, c)
	f.train(t, c, m)
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.weights.h5"), filepath.Join(dir, "theirs.weights.h5")
	require.NoError(t, m.SaveWeights(ours))
	command := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "custom_step.py"), ours, theirs)
	command.Stderr = os.Stderr
	out, err := command.Output()
	require.NoError(t, err)
	var got struct {
		Iterations int
		History    map[string][]float64
	}
	require.NoError(t, json.Unmarshal(out, &got), string(out))
	require.Equal(t, 9, got.Iterations)

	c.Epochs = 1
	h, _ := f.train(t, c, m)
	for name, want := range got.History {
		near(t, name, want, h.Logs[name], f.Tolerance)
	}
	back, _ := stepModel(t, c)
	_, err = back.TrainOnBatch(t.Context(), f.data(4))
	require.NoError(t, err)
	require.NoError(t, back.LoadWeights(theirs, keras.Report(&keras.LoadReport{})))
	for _, arrays := range []func(*keras.Model) ([][]float64, error){stepWeights, stepStates} {
		want, err := arrays(m)
		require.NoError(t, err)
		got, err := arrays(back)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			near(t, "array", want[i], got[i], f.Tolerance)
		}
	}
}

func stepWeights(m *keras.Model) (out [][]float64, err error) {
	all, err := m.GetWeights()
	for _, a := range all {
		out = append(out, a.Float64s())
	}
	return out, err
}

func stepStates(m *keras.Model) (out [][]float64, err error) {
	all, err := m.OptimizerArrays()
	for _, a := range all {
		out = append(out, a.Float64s())
	}
	return out, err
}
