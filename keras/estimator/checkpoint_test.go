package estimator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestCheckpointState(t *testing.T) {
	s, err := parseState(strings.NewReader("model_checkpoint_path: \"model.ckpt-7\"\nall_model_checkpoint_paths: \"model.ckpt-5\"\n" +
		"all_model_checkpoint_paths: \"model.ckpt-7\"\nall_model_checkpoint_timestamps: 1700000000.5\n\n"))
	require.NoError(t, err)
	require.Equal(t, checkpointState{"model.ckpt-7", []string{"model.ckpt-5", "model.ckpt-7"}}, s)
	for text, want := range map[string]string{
		"":                                       "names no model_checkpoint_path",
		"model_checkpoint_path: 7":               "is not of the form",
		"nonsense":                               "is not of the form",
		"model_checkpoint_path: \"/etc/passwd\"": "is not the name of a file",
		"model_checkpoint_path: \"..\"":          "is not the name of a file",
		"model_checkpoint_path: \"\"":            "is not the name of a file",
		strings.Repeat("x", 2*stateLimit) + ": 1": "token too long",
	} {
		_, err := parseState(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// As many checkpoints are kept as requested; 0 keeps all.
func TestKeepCheckpoints(t *testing.T) {
	v := distribute.NewVariable(distribute.VariableSpec{Name: "v", Shape: ir.Shape{2}, DType: ir.Float32})
	for keep, want := range map[int]int{2: 2, 0: 4} {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		for step := range int64(4) {
			a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{2}, []float64{float64(step), 1})
			require.NoError(t, err)
			require.NoError(t, v.SetValue(a))
			_, err = saveCheckpoint(dir, step, distribute.Variables{v}, keep)
			require.NoError(t, err)
		}
		found, err := filepath.Glob(filepath.Join(dir, "model.ckpt-*"))
		require.NoError(t, err)
		require.Len(t, found, want)
		latest, err := LatestCheckpoint(dir)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, "model.ckpt-3"), latest)
		a, err := readVariable(latest, "v")
		require.NoError(t, err)
		require.Equal(t, []float64{3, 1}, a.Float64s())
		_, err = readVariable(latest, "w")
		require.ErrorContains(t, err, `there is no variable "w"`)
		left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	latest, err := LatestCheckpoint(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, latest)
}

// Arbitrary bytes cause no panic, and what is read can be written and read again.
func FuzzCheckpointState(f *testing.F) {
	for _, text := range []string{"model_checkpoint_path: \"a\"\n", "model_checkpoint_path: \"a\"\nall_model_checkpoint_paths: \"b\"\n", "x", "\"", ": \"\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseState(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := parseState(strings.NewReader(s.String()))
		require.NoError(t, err)
		require.Equal(t, s, again)
		for _, name := range append(s.all, s.latest) {
			require.NotContains(t, name, string(os.PathSeparator))
		}
	})
}
