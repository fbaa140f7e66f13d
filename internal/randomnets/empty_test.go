package randomnets

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

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

// emptyModel is a layer that randomempty.py drew, with batches and what Keras makes of them.
type emptyModel struct {
	Number, Seed int
	Kind         string
	Calls        []struct {
		X, Targets []typed
		Answer     emptyAnswer
		Trained    *emptyAnswer
	}
}

type emptyAnswer struct {
	Error string
	Y     []typed
	Loss  *float64
}

// TestEmpty compares layers on axes of length 0 and 1, and on batches of no examples, with Keras's recorded answers:
// shapes and numbers, losses and what a step makes of them, on as many replicas, too, that some have nothing.
func TestEmpty(t *testing.T) { emptyModels(t, recorded.Folder(t, "testdata/empty.tar.gz")) }

// TestFreshEmpty compares layers that randomempty.py draws now.
func TestFreshEmpty(t *testing.T) {
	python := pythonOf(t)
	folder := draw(t, python, "randomempty.py", "RANDOM_EMPTY", "30")
	if os.Getenv("RANDOM_EMPTY") == "" {
		second := exec.Command(python, "randomempty.py", "--second", folder)
		second.Env = append(os.Environ(), "KERAS_BACKEND=tensorflow", "TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=")
		out, err := second.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	emptyModels(t, folder)
}

func emptyModels(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "models.json"))
	require.NoError(t, err)
	var all struct{ Models []emptyModel }
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all.Models)
	calls := 0
	for _, c := range all.Models {
		for i := range c.Calls {
			calls++
			if err := c.check(filepath.Join(folder, fmt.Sprint(c.Number)+".keras"), i); err != nil {
				var shapes []string
				for _, x := range c.Calls[i].X {
					shapes = append(shapes, fmt.Sprint(x.DType, x.Shape))
				}
				t.Errorf("model of seed %d, file %d (%s), call %d of %s: %v", c.Seed, c.Number, c.Kind, i, strings.Join(shapes, ", "), err)
			}
		}
	}
	t.Logf("%d models, %d calls", len(all.Models), calls)
}

func (c *emptyModel) check(path string, number int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	call := &c.Calls[number]
	x, err := arrays(call.X)
	if err != nil {
		return err
	}
	m, err := keras.LoadModel(path)
	if err != nil {
		return err
	}
	if err := call.Answer.matches(m, x, nil); err != nil || call.Trained == nil {
		return err
	}
	targets, err := arrays(call.Targets)
	if err != nil {
		return err
	}
	for _, replicas := range []int{1, 2, 4} {
		if replicas > 1 && apartOnReplicas(m) {
			break
		}
		m, err := loadOn(path, replicas)
		if err != nil {
			return err
		}
		if err := m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}); err != nil {
			return err
		}
		if err := call.Trained.matches(m, x, targets); err != nil {
			return fmt.Errorf("a step of %d replicas: %w", replicas, err)
		}
	}
	return nil
}

// apartOnReplicas reports whether a layer takes statistics of the part of the batch that a replica has.
func apartOnReplicas(m *keras.Model) bool {
	for _, l := range m.Layers() {
		if name := fmt.Sprintf("%T", l); strings.Contains(name, "BatchNormalization") || strings.Contains(name, "TimeDistributed") {
			return true
		}
	}
	return false
}

// matches predicts, after a step where there are targets.
func (a *emptyAnswer) matches(m *keras.Model, x, targets any) error {
	var err error
	loss := math.NaN()
	if targets != nil {
		var scores map[string]float64
		if scores, err = m.TrainOnBatch(context.Background(), data.Arrays(x, targets)); err == nil {
			loss = scores["loss"]
		}
	}
	if err == nil && a.Error == "" {
		if targets != nil && (a.Loss == nil) != (math.IsNaN(loss) || math.IsInf(loss, 0)) || a.Loss != nil && math.Abs(loss-*a.Loss) > 1e-2*max(1, math.Abs(*a.Loss)) {
			return fmt.Errorf("the loss is %g, Keras's %v", loss, show(a.Loss))
		}
		err = predicts(m, x, a.Y)
	} else if err == nil {
		_, err = m.PredictAll(context.Background(), data.Arrays(x, nil))
	}
	switch {
	case err == nil && a.Error == "":
		return nil
	case err == nil && (strings.Contains(a.Error, "out of bounds for axis 1 with size 0") || strings.Contains(a.Error, "at least one array to stack")):
		return nil // of no steps recurrent layers have their first state, and a layer for each step has no results
	case err == nil:
		return fmt.Errorf("no error; Keras says %s", a.Error)
	case a.Error == "" && strings.Contains(err.Error(), "is longer than the input"):
		return nil // windows that do not fit are refused: a mistake most likely
	case a.Error == "":
		return err
	}
	return nil
}
