package callbacks_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// traceEvent is an event of Chrome's format.
type traceEvent struct {
	Name, Cat, Ph, ID string
	Ts, Dur           float64
	Tid               int
	Args              map[string]any
}

func readTrace(t *testing.T, path string) (all []traceEvent) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct{ TraceEvents []traceEvent }
	require.NoError(t, json.Unmarshal(text, &file))
	return file.TraceEvents
}

// traced trains a deep model on two replicas, with a bucket for each gradient.
func traced(t *testing.T, cb *callbacks.Trace, options ...keras.FitOption) error {
	t.Helper()
	s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"cpu:0", "cpu:1"},
		Communication: distribute.CommunicationOptions{BytesPerPack: 1}})
	require.NoError(t, err)
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Name: "below", Units: 32, Activation: "relu"}, &layers.Dense{Units: 32, Activation: "relu"},
		&layers.Dense{Units: 1}}, keras.InputShape(8), distribute.Scope(s))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	x, y := make([][8]float32, 64), make([][1]float32, 64)
	_, err = m.Fit(t.Context(), data.Arrays(x, y), append(options, keras.BatchSize(8), keras.Epochs(4), keras.Callbacks(cb))...)
	return err
}

// The trace shows that the sum of the last layer's gradients begins before the backward pass ends, and is waited for
// after it.
func TestTraceShowsOverlap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, traced(t, &callbacks.Trace{Path: path, First: 1, Steps: 3}))
	all := readTrace(t, path)
	for replica := range 2 {
		lane := tracing.Replica(replica)
		var programs []traceEvent
		for _, e := range all {
			if e.Ph == "X" && e.Cat == "program" && e.Tid == lane {
				programs = append(programs, e)
			}
		}
		require.Len(t, programs, 3, "as many as asked for")
		for _, p := range programs {
			backward, start, end, id := 0.0, math.Inf(1), 0.0, ""
			for _, e := range all {
				if e.Tid != lane || e.Ts < p.Ts || e.Ts > p.Ts+p.Dur {
					continue
				}
				if strings.Contains(e.Name, "dot") { // the products of the optimizer's step are none
					backward = max(backward, e.Ts+e.Dur)
				}
				if e.Ph == "b" && e.Ts < start {
					start, id = e.Ts, e.ID
				}
			}
			for _, e := range all {
				if e.Ph == "e" && e.ID == id {
					end = e.Ts
				}
			}
			require.Less(t, start, backward, "the first bucket starts during the backward pass")
			require.Greater(t, end, backward, "and is waited for after it")
		}
	}
	categories := map[string]int{}
	for _, e := range all {
		require.GreaterOrEqual(t, e.Ts, 0.0)
		categories[e.Cat+e.Ph]++
	}
	require.Equal(t, categories["collectiveb"], categories["collectivee"])
	require.GreaterOrEqual(t, categories["collectiveb"], 2*3*6, "two replicas, three steps, six gradients")
	require.Equal(t, 3, categories["stepX"])
	require.NotZero(t, categories["callbackX"])
	require.NotZero(t, categories["inputX"])
}

func TestTraceEndsWithTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, traced(t, &callbacks.Trace{Path: path, First: 30}))
	steps := 0
	for _, e := range readTrace(t, path) {
		if e.Cat == "step" {
			steps++
		}
	}
	require.Equal(t, 2, steps, "32 steps from number 30 on")
	require.NoError(t, traced(t, &callbacks.Trace{Path: path + "2", First: 100}))
	require.NoFileExists(t, path+"2")
}

func TestTraceMistakes(t *testing.T) {
	require.ErrorContains(t, traced(t, &callbacks.Trace{}), `received Path ""`)
	require.ErrorContains(t, traced(t, &callbacks.Trace{Path: "x", Steps: -1}), "Steps -1")
	folder := t.TempDir()
	another := &callbacks.Trace{Path: filepath.Join(folder, "first.json")}
	require.ErrorIs(t, traced(t, another, keras.Callbacks(&callbacks.Trace{Path: filepath.Join(folder, "second.json")})), tracing.ErrActive)
	require.Error(t, traced(t, &callbacks.Trace{Path: filepath.Join(t.TempDir(), "none", "x.json")}), "no such folder")
}
