package estimator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/kernels"
)

const (
	globalStepName = "global_step"
	stateFile      = "checkpoint"   // names the checkpoints of a folder, as in TensorFlow
	extension      = ".safetensors" // of a checkpoint file
	stateLimit     = 1 << 20        // maximum size of a state file in bytes
)

// checkpointState is the content of the file "checkpoint": TensorFlow's CheckpointState in text form. Names have no
// extension.
type checkpointState struct {
	latest string
	all    []string // oldest first
}

// parseState reads a state file. Names must be those of files in the same folder.
func parseState(r io.Reader) (checkpointState, error) {
	var s checkpointState
	lines := bufio.NewScanner(io.LimitReader(r, stateLimit))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		key, value, found := strings.Cut(line, ":")
		if line == "" {
			continue
		}
		name, err := strconv.Unquote(strings.TrimSpace(value))
		if key != "model_checkpoint_path" && key != "all_model_checkpoint_paths" && found {
			continue // time stamps
		}
		if !found || err != nil {
			return s, fmt.Errorf("the line %q is not of the form model_checkpoint_path: \"model.ckpt-1\"", line)
		}
		if name == "" || name != filepath.Base(name) || name == "." || name == ".." {
			return s, fmt.Errorf("the checkpoint %q is not the name of a file in the folder", name)
		}
		if key == "model_checkpoint_path" {
			s.latest = name
		} else if s.all = append(s.all, name); len(s.all) > 1<<16 {
			return s, errors.New("it names more checkpoints than can be")
		}
	}
	if err := lines.Err(); err != nil {
		return s, err
	}
	if s.latest == "" {
		return s, errors.New("it names no model_checkpoint_path")
	}
	return s, nil
}

// String returns the text form.
func (s checkpointState) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model_checkpoint_path: %q\n", s.latest)
	for _, name := range s.all {
		fmt.Fprintf(&b, "all_model_checkpoint_paths: %q\n", name)
	}
	return b.String()
}

// readState returns the state of a folder, or an empty one if there is no state file.
func readState(dir string) (checkpointState, error) {
	f, err := os.Open(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return checkpointState{}, nil
	}
	if err != nil {
		return checkpointState{}, fmt.Errorf("estimator: %w", err)
	}
	defer f.Close()
	s, err := parseState(f)
	if err != nil {
		return s, fmt.Errorf("estimator: reading %s: %w", f.Name(), err)
	}
	return s, nil
}

// LatestCheckpoint returns the path of the newest checkpoint in a folder, without the extension of its file, as
// tf.train.latest_checkpoint does, or "" if there is none.
func LatestCheckpoint(dir string) (string, error) {
	s, err := readState(dir)
	if err != nil || s.latest == "" {
		return "", err
	}
	return filepath.Join(dir, s.latest), nil
}

// checkpointName returns the name of the checkpoint of a step.
func checkpointName(step int64) string { return fmt.Sprint("model.ckpt-", step) }

// saveCheckpoint writes a checkpoint, adds it to the state file and removes surplus ones. Each file is replaced
// atomically, the state file last, so a crash leaves a usable folder.
func saveCheckpoint(dir string, step int64, variables distribute.Variables, keep int) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("estimator: %w", err)
	}
	atomicfile.Sweep(dir)
	name := checkpointName(step)
	path := filepath.Join(dir, name)
	if err := atomicfile.Write(path+extension, func(w io.Writer) error { return saving.WriteSafetensors(w, variables) }); err != nil {
		return "", fmt.Errorf("estimator: saving %s: %w", path, err)
	}
	s, err := readState(dir)
	if err != nil {
		return "", err
	}
	s.latest = name
	s.all = append(slices.DeleteFunc(s.all, func(n string) bool { return n == name }), name)
	var old []string
	if n := len(s.all) - keep; keep > 0 && n > 0 {
		old, s.all = s.all[:n], s.all[n:]
	}
	err = atomicfile.Write(filepath.Join(dir, stateFile), func(w io.Writer) error { _, err := io.WriteString(w, s.String()); return err })
	if err != nil {
		return "", fmt.Errorf("estimator: saving %s: %w", path, err)
	}
	for _, n := range old {
		if err := os.Remove(filepath.Join(dir, n+extension)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("estimator: removing an old checkpoint: %w", err)
		}
	}
	return path, nil
}

// openCheckpoint opens the checkpoint at path (without extension) and passes it to f.
func openCheckpoint(path string, f func(*saving.Safetensors) error) error {
	file, err := os.Open(path + extension)
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	s, err := saving.OpenSafetensors(file, info.Size())
	if err == nil {
		err = f(s)
	}
	if err != nil {
		return fmt.Errorf("estimator: reading checkpoint %s: %w", path, err)
	}
	return nil
}

// restore sets variables to their values in the checkpoint at path. All must be in it with their types; otherwise
// nothing is changed.
func restore(path string, variables distribute.Variables) error {
	return openCheckpoint(path, func(s *saving.Safetensors) error {
		values := make([]kernels.Array, len(variables))
		var mistakes []string
		for i, v := range variables {
			at := slices.Index(s.Names, v.Path())
			if at < 0 {
				mistakes = append(mistakes, fmt.Sprintf("Key %s not found in checkpoint", v.Path()))
				continue
			}
			a, err := s.Value(at)
			if err != nil {
				return fmt.Errorf("variable %s: %w", v.Path(), err)
			}
			if t := v.Type(); a.Type.DType != t.DType || !a.Type.Shape.Equal(t.Shape) {
				mistakes = append(mistakes, fmt.Sprintf("%s is %v in the checkpoint and %v in the model", v.Path(), a.Type, t))
			}
			values[i] = a
		}
		if len(mistakes) > 0 {
			return fmt.Errorf("the model does not fit: %s; give the model another ModelDir, or make it as it was", strings.Join(mistakes, "; "))
		}
		for i, v := range variables {
			if err := v.SetValue(values[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// readStep returns the global step in a checkpoint.
func readStep(path string) (int64, error) {
	a, err := readVariable(path, globalStepName)
	if err != nil {
		return 0, err
	}
	if a.Type.Shape.Size() != 1 {
		return 0, fmt.Errorf("estimator: checkpoint %s: the global step has shape %v; expected a scalar", path, a.Type.Shape)
	}
	return int64(a.Element(0)), nil
}

// readVariable returns one variable of a checkpoint.
func readVariable(path, name string) (kernels.Array, error) {
	var a kernels.Array
	err := openCheckpoint(path, func(s *saving.Safetensors) error {
		at := slices.Index(s.Names, name)
		if at < 0 {
			return fmt.Errorf("there is no variable %q; it has %s", name, strings.Join(s.Names, ", "))
		}
		var err error
		a, err = s.Value(at)
		return err
	})
	return a, err
}
