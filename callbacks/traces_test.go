package callbacks_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/internal/config"
)

type tracesFile struct {
	Cases   []traceCase
	History []historyCase
	Hooks   []hooksCase
}

// traceCase is a callback with scripted logs, and what Keras made of it; see testdata/traces.py.
type traceCase struct {
	Class    string
	Name     string
	Config   json.RawMessage
	Script   []scriptStep
	Trace    []json.RawMessage
	Text     string
	Warnings []string
	Error    *string
	Restored float64
	File     string
}

type scriptStep struct {
	hook  string
	index *int
	logs  *ordered
}

func (s *scriptStep) UnmarshalJSON(text []byte) error { return tuple(text, &s.hook, &s.index, &s.logs) }

// play calls one hook.
func (s scriptStep) play(c callbacks.Callback, m *fakeModel, logs *callbacks.Logs) error {
	switch s.hook {
	case "begin":
		return c.OnTrainBegin()
	case "end":
		return c.OnTrainEnd(logs)
	case "on_epoch_begin":
		return c.OnEpochBegin(*s.index)
	case "on_epoch_end":
		return c.OnEpochEnd(*s.index, logs)
	case "on_train_batch_end":
		return c.OnTrainBatchEnd(*s.index, logs)
	case "on_test_begin":
		return c.OnTestBegin()
	case "on_test_end":
		return c.OnTestEnd(logs)
	case "train":
		m.weight++
		m.average += 10
		return nil
	}
	panic("unknown hook " + s.hook)
}

// traceOf runs a case of the given class: make returns the callback, and state what to compare with the trace of Keras.
func traceOf(t *testing.T, c traceCase, callback callbacks.Callback, dir string, state func(m *fakeModel, logs *callbacks.Logs) any) *fakeModel {
	t.Helper()
	ours := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "DIR/", dir+"/"), ".weights.h5", ".weights.npz")
	}
	require.NoError(t, config.Decode(json.RawMessage(ours(string(c.Config))), callback), "the tags are Keras's names")
	m := newFakeModel()
	m.ema = c.Name != "without averages"
	list := callbacks.NewList([]callbacks.Callback{callback}, m, callbacks.Params{Epochs: 3, Steps: 5})
	// Keras has options checked when the callback is made, ours are when training begins.
	failed := error(nil)
	if c.Error != nil && len(c.Script) > 0 && c.Script[0].hook != "begin" {
		failed = callback.OnTrainBegin()
	}
	steps := 0
	for i, s := range c.Script {
		m.weight, m.saved = weightAt(c, i, m), nil
		logs := s.logs.logs()
		if failed = s.play(callback, m, logs); failed != nil {
			break
		}
		if steps++; steps > len(c.Trace) {
			break
		}
		got, err := json.Marshal(state(m, logs))
		require.NoError(t, err)
		require.JSONEq(t, ours(strings.ToLower(string(c.Trace[i]))), strings.ToLower(string(got)), "step %d: %s %d", i, s.hook, orUnknown(s.index))
		if m.stopped {
			break
		}
	}
	if c.Error != nil {
		require.Error(t, failed, "Keras: %s", *c.Error)
		t.Log(failed)
	} else {
		require.NoError(t, failed)
	}
	require.Equal(t, len(c.Trace), steps, "stopped too late or too early")
	if c.Class == "EarlyStopping" {
		if failed != nil {
			list.Fail(failed)
		}
		require.NoError(t, callback.OnTrainEnd(nil))
	}
	checkOutput(t, m.out.String(), ours(c.Text), c)
	return m
}

// weightAt numbers the steps through the weight, where the class is about that.
func weightAt(c traceCase, i int, m *fakeModel) float64 {
	if c.Class == "EarlyStopping" {
		return float64(i)
	}
	return m.weight
}

// checkOutput compares what was printed: each warning once a run, and the text of Keras.
func checkOutput(t *testing.T, out, text string, c traceCase) {
	t.Helper()
	runs := 0
	for _, s := range c.Script {
		if s.hook == "begin" {
			runs++
		}
	}
	for _, w := range slices.Compact(slices.Sorted(slices.Values(c.Warnings))) {
		if head, _, vector := strings.Cut(w, "Received: ["); vector {
			// numpy writes arrays in its own way, and each of them is one more warning
			require.Equal(t, 1, strings.Count(out, head))
			return
		}
		require.Equal(t, runs, strings.Count(out, w+"\n"), w)
		out = strings.ReplaceAll(out, w+"\n", "")
	}
	require.Equal(t, text, out)
}

func casesOf(t *testing.T, class string, atLeast int) []traceCase {
	t.Helper()
	var file tracesFile
	load(t, "traces.json.gz", &file)
	cases := slices.DeleteFunc(file.Cases, func(c traceCase) bool { return c.Class != class })
	require.GreaterOrEqual(t, len(cases), atLeast)
	return cases
}

// finite is a number as the trace has it.
func finite(x float64, ok bool) any {
	if !ok {
		return nil
	}
	if text, err := json.Marshal(x); err == nil {
		return json.RawMessage(text)
	}
	s, _ := callbacks.FormatValue(x, "")
	return s
}

func TestEarlyStoppingIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "EarlyStopping", 70) {
		t.Run(c.Name, func(t *testing.T) {
			cb := &callbacks.EarlyStopping{}
			m := traceOf(t, c, cb, "", func(m *fakeModel, _ *callbacks.Logs) any {
				best, ok := cb.Best()
				return map[string]any{"wait": cb.Wait(), "best": finite(best, ok), "best_epoch": cb.BestEpoch(), "stop": m.stopped}
			})
			require.Equal(t, c.Restored, m.weight)
		})
	}
}

// withLogs adds what the callback put into the logs of a step, where it had any.
func withLogs(state map[string]any, s scriptStep, logs *callbacks.Logs) map[string]any {
	state["logged"], state["names"] = nil, nil
	if s.logs != nil {
		logged, ok := logs.Get("learning_rate")
		state["logged"], state["names"] = finite(logged, ok), logs.Names()
	}
	return state
}

func TestReduceLROnPlateauIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "ReduceLROnPlateau", 15) {
		t.Run(c.Name, func(t *testing.T) {
			cb := &callbacks.ReduceLROnPlateau{}
			step := -1
			traceOf(t, c, cb, "", func(m *fakeModel, logs *callbacks.Logs) any {
				step++
				return withLogs(map[string]any{"rate": m.rate, "wait": cb.Wait(), "cooldown": cb.CooldownLeft()}, c.Script[step], logs)
			})
		})
	}
}

func TestLearningRateSchedulerIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "LearningRateScheduler", 2) {
		t.Run(c.Name, func(t *testing.T) {
			cb := &callbacks.LearningRateScheduler{Schedule: func(epoch int, rate float64) float64 {
				if epoch < 2 {
					return rate
				}
				return rate * 0.5
			}}
			step := -1
			traceOf(t, c, cb, "", func(m *fakeModel, logs *callbacks.Logs) any {
				step++
				return withLogs(map[string]any{"rate": m.rate}, c.Script[step], logs)
			})
		})
	}
}

func TestCSVLoggerIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "CSVLogger", 15) {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			traceOf(t, c, &callbacks.CSVLogger{}, dir, func(*fakeModel, *callbacks.Logs) any { return nil })
			got, err := os.ReadFile(filepath.Join(dir, "log.csv"))
			require.NoError(t, err)
			require.Equal(t, c.File, string(got))
		})
	}
}

func TestModelCheckpointIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "ModelCheckpoint", 20) {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			m := traceOf(t, c, &callbacks.ModelCheckpoint{}, dir, func(m *fakeModel, _ *callbacks.Logs) any {
				files := []string{}
				for _, path := range m.saved {
					require.FileExists(t, path)
					name, err := filepath.Rel(dir, path)
					require.NoError(t, err)
					files = append(files, name)
				}
				return files
			})
			require.Nil(t, m.loadError)
		})
	}
}

func TestTerminateOnNaNIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "TerminateOnNaN", 9) {
		t.Run(c.Name, func(t *testing.T) {
			traceOf(t, c, &callbacks.TerminateOnNaN{}, "", func(m *fakeModel, _ *callbacks.Logs) any {
				return map[string]any{"stop": m.stopped}
			})
		})
	}
}

func TestSwapEMAWeightsIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "SwapEMAWeights", 6) {
		t.Run(c.Name, func(t *testing.T) {
			traceOf(t, c, &callbacks.SwapEMAWeights{}, "", func(m *fakeModel, _ *callbacks.Logs) any { return m.weight })
		})
	}
}

func TestBackupAndRestoreIsKerass(t *testing.T) {
	for _, c := range casesOf(t, "BackupAndRestore", 4) {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			traceOf(t, c, &callbacks.BackupAndRestore{}, dir, func(*fakeModel, *callbacks.Logs) any {
				text, err := os.ReadFile(filepath.Join(dir, "backup", "training_metadata.json"))
				if err != nil {
					require.ErrorIs(t, err, os.ErrNotExist)
					return nil
				}
				return string(text)
			})
			require.NoDirExists(t, filepath.Join(dir, "backup"))
		})
	}
}

// What Keras writes for a callback's options is what the fields stand for.
func TestConfigDefaultsAreKerass(t *testing.T) {
	for _, c := range []struct {
		callback callbacks.Callback
		want     map[string]any
	}{
		{&callbacks.EarlyStopping{}, map[string]any{"monitor": "val_loss", "min_delta": 0.0, "patience": int64(0), "verbose": int64(0), "mode": "auto", "baseline": nil, "restore_best_weights": false, "start_from_epoch": int64(0)}},
		{&callbacks.ModelCheckpoint{FilePath: "p"}, map[string]any{"filepath": "p", "monitor": "val_loss", "verbose": int64(0), "save_best_only": false, "save_weights_only": false, "mode": "auto", "save_freq": "epoch", "initial_value_threshold": nil}},
		{&callbacks.ReduceLROnPlateau{}, map[string]any{"monitor": "val_loss", "factor": 0.1, "patience": int64(10), "verbose": int64(0), "mode": "auto", "min_delta": 1e-4, "cooldown": int64(0), "min_lr": 0.0}},
		{&callbacks.CSVLogger{Filename: "f"}, map[string]any{"filename": "f", "separator": ",", "append": false}},
		{&callbacks.TerminateOnNaN{}, map[string]any{"raise_error": false}},
		{&callbacks.SwapEMAWeights{}, map[string]any{"swap_on_epoch": false}},
		{&callbacks.BackupAndRestore{BackupDir: "d"}, map[string]any{"backup_dir": "d", "save_freq": "epoch", "double_checkpoint": false, "delete_checkpoint": true}},
		{&callbacks.RemoteMonitor{}, map[string]any{"root": "http://localhost:9000", "path": "/publish/epoch/end/", "field": "data", "send_as_json": false}},
	} {
		got, err := config.Encode(c.callback)
		require.NoError(t, err)
		delete(got, "headers")
		require.Equal(t, c.want, got, "%v", slices.Sorted(maps.Keys(got)))
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, config.Decode(text, c.callback))
	}
}
