package callbacks_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
)

type barsFile struct {
	Bars    []barCase
	Loggers []loggerCase
	Runs    []runCase
}

type barCase struct {
	Name     string
	Terminal bool
	Target   *int
	Width    int
	Unit     string
	Verbose  int
	Averaged *[]string // nil: all
	Start    float64
	Updates  []barUpdate
}

type barUpdate struct {
	now      float64
	current  int
	values   ordered
	finalize bool
	text     string
}

// tuple reads a list into variables.
func tuple(text []byte, into ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	for i, v := range into {
		if err := json.Unmarshal(parts[i], v); err != nil {
			return err
		}
	}
	return nil
}

func (u *barUpdate) UnmarshalJSON(text []byte) error {
	return tuple(text, &u.now, &u.current, &u.values, &u.finalize, &u.text)
}

type loggerCase struct {
	Name     string
	Terminal bool
	Verbose  int
	Epochs   int
	Steps    *int
	Hooks    []loggerHook
}

type loggerHook struct {
	now   float64
	hook  string
	index *int
	logs  *ordered
	text  string
}

func (h *loggerHook) UnmarshalJSON(text []byte) error {
	return tuple(text, &h.now, &h.hook, &h.index, &h.logs, &h.text)
}

// clock stands still until it is set; with step it advances at each reading.
type clock struct {
	now  float64
	step float64
}

func (c *clock) time() time.Time {
	at := time.Unix(0, 0).Add(time.Duration(c.now * 1e9))
	c.now += c.step
	return at
}

func orUnknown(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func TestProgbarIsKerass(t *testing.T) {
	var file barsFile
	load(t, "bars.json.gz", &file)
	require.Greater(t, len(file.Bars), 50)
	for _, c := range file.Bars {
		name := c.Name
		if c.Terminal {
			name += " on a terminal"
		}
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			at := &clock{now: c.Start}
			bar := callbacks.NewBarAt(&out, orUnknown(c.Target), c.Verbose, c.Terminal, at.time)
			bar.Width, bar.Unit = c.Width, c.Unit
			if c.Averaged == nil {
				bar.Averaged = func(string) bool { return true }
			} else if len(*c.Averaged) > 0 {
				bar.Averaged = func(name string) bool { return slices.Contains(*c.Averaged, name) }
			}
			for _, u := range c.Updates {
				at.now = u.now
				out.Reset()
				bar.Update(u.current, u.values.logs(), u.finalize)
				require.Equal(t, u.text, out.String(), "update to %d", u.current)
			}
		})
	}
}

func TestProgbarLoggerIsKerass(t *testing.T) {
	var file barsFile
	load(t, "bars.json.gz", &file)
	require.Greater(t, len(file.Loggers), 30)
	for _, c := range file.Loggers {
		name := c.Name
		if c.Terminal {
			name += " on a terminal"
		}
		if c.Verbose == 2 {
			name += ", verbose 2"
		}
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			at := &clock{}
			logger := callbacks.NewLoggerAt(c.Verbose, &out, c.Terminal, at.time)
			params := callbacks.Params{Verbose: c.Verbose, Epochs: c.Epochs, Steps: orUnknown(c.Steps)}
			// Batch hooks are only called if a callback wants them, as in Fit.
			batches := callbacks.NewList([]callbacks.Callback{logger}, newFakeModel(), params).WantsBatches()
			for _, h := range c.Hooks {
				at.now = h.now
				out.Reset()
				require.NoError(t, callHook(logger, h, batches))
				require.Equal(t, h.text, out.String(), "%s %d", h.hook, orUnknown(h.index))
			}
		})
	}
}

// callHook calls the hook with logs as Fit makes them: sorted, and worked out when they are looked at.
func callHook(c callbacks.Callback, h loggerHook, batches bool) error {
	logs := callbacks.NewLogs(func(l *callbacks.Logs) error {
		if h.logs != nil {
			for _, name := range h.logs.names {
				l.Set(name, float64(h.logs.values[name][0]))
			}
		}
		return nil
	})
	switch h.hook {
	case "on_train_begin":
		return c.OnTrainBegin()
	case "on_train_end":
		return c.OnTrainEnd(logs)
	case "on_epoch_begin":
		return c.OnEpochBegin(*h.index)
	case "user":
		logs.Append("learning_rate", 0.0009765625)
		return c.OnEpochEnd(*h.index, logs)
	case "on_train_batch_end":
		if batches {
			return c.OnTrainBatchEnd(*h.index, logs)
		}
	case "on_test_begin":
		return c.OnTestBegin()
	case "on_test_end":
		return c.OnTestEnd(logs)
	case "on_test_batch_end":
		if batches {
			return c.OnTestBatchEnd(*h.index, logs)
		}
	case "on_predict_begin":
		return c.OnPredictBegin()
	case "on_predict_end":
		return c.OnPredictEnd()
	case "on_predict_batch_end":
		return c.OnPredictBatchEnd(*h.index)
	}
	return nil
}

func TestProgbarLeavesLogsAlone(t *testing.T) {
	at := &clock{now: 100}
	var out bytes.Buffer
	bar := callbacks.NewBarAt(&out, 10, 1, true, at.time)
	looked := 0
	logs := func() *callbacks.Logs {
		return callbacks.NewLogs(func(l *callbacks.Logs) error { looked++; return nil })
	}
	bar.Update(1, logs(), false)
	require.Equal(t, 1, looked)
	at.now += 0.01
	bar.Update(2, logs(), false)
	require.Equal(t, 1, looked, "values that are not shown are not worked out")
	at.now += 0.05
	bar.Update(3, logs(), false)
	require.Equal(t, 2, looked)
}

func TestProgbarAdd(t *testing.T) {
	at := &clock{now: 100, step: 0.25}
	var out bytes.Buffer
	bar := callbacks.NewBarAt(&out, 3, 2, false, at.time)
	bar.Add(2, nil)
	require.Empty(t, out.String())
	bar.Add(1, nil)
	require.Equal(t, "3/3 - 0s - 167ms/step\n", out.String())
}
