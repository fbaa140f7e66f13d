package callbacks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// zeroModel has one weight, which stays 0 on zeros: its loss is 0 by construction.
func zeroModel(t *testing.T, stepsPerExecution int) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "zeros"}}, keras.InputShape(1))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []string{"mae"}, StepsPerExecution: stepsPerExecution}))
	return m
}

func zeros(n int) data.Dataset { return data.Arrays(make([][1]float64, n), make([][1]float64, n)) }

func (o runOptions) fit() []keras.FitOption {
	out := []keras.FitOption{keras.BatchSize(o.BatchSize), keras.Shuffle(false)}
	if o.Epochs > 0 {
		out = append(out, keras.Epochs(o.Epochs))
	}
	if o.ValidationSplit > 0 {
		out = append(out, keras.ValidationSplit(o.ValidationSplit))
	}
	if o.ValidationFreq > 0 {
		out = append(out, keras.ValidationFrequency(o.ValidationFreq))
	}
	if o.InitialEpoch > 0 {
		out = append(out, keras.InitialEpoch(o.InitialEpoch))
	}
	if o.StepsPerEpoch > 0 {
		out = append(out, keras.StepsPerEpoch(o.StepsPerEpoch))
	}
	return out
}

// call runs the method that a case names, on 11 examples.
func call(t *testing.T, m *keras.Model, method string, options runOptions, cb callbacks.Callback) {
	t.Helper()
	var err error
	switch method {
	case "fit":
		_, err = m.Fit(t.Context(), zeros(11), append(options.fit(), keras.Callbacks(cb))...)
	case "evaluate":
		_, err = m.Evaluate(t.Context(), zeros(11), keras.BatchSize(options.BatchSize), keras.Callbacks(cb))
	case "predict":
		_, err = m.Predict(t.Context(), data.Arrays(make([][1]float64, 11), nil), keras.BatchSize(options.BatchSize), keras.Callbacks(cb))
	}
	require.NoError(t, err)
}

func TestPrintsWhatKerasPrints(t *testing.T) {
	var file barsFile
	load(t, "bars.json.gz", &file)
	require.Greater(t, len(file.Runs), 20)
	for _, c := range file.Runs {
		t.Run(fmt.Sprintf("%s,verbose=%d,terminal=%v", c.Name, c.Verbose, c.Terminal), func(t *testing.T) {
			var out bytes.Buffer
			at := &clock{now: 1000, step: 0.25}
			call(t, zeroModel(t, 1), c.Method, c.Options, callbacks.NewLoggerAt(c.Verbose, &out, c.Terminal, at.time))
			require.Equal(t, printed(c.Text, c.Terminal, c.Verbose), out.String())
		})
	}
}

// recorder lists the hooks as the file does.
type recorder struct{ calls []hookCall }

func (r *recorder) SetModel(callbacks.Model)   {}
func (r *recorder) SetParams(callbacks.Params) {}

func (r *recorder) add(hook string, index int, logs *callbacks.Logs) error {
	c := hookCall{hook: hook, names: append([]string{}, logs.Names()...)}
	if index >= 0 {
		c.index = &index
	}
	r.calls = append(r.calls, c)
	return logs.Err()
}

func (r *recorder) OnTrainBegin() error                { return r.add("on_train_begin", -1, nil) }
func (r *recorder) OnTrainEnd(l *callbacks.Logs) error { return r.add("on_train_end", -1, l) }
func (r *recorder) OnEpochBegin(i int) error           { return r.add("on_epoch_begin", i, nil) }
func (r *recorder) OnEpochEnd(i int, l *callbacks.Logs) error {
	return r.add("on_epoch_end", i, l)
}
func (r *recorder) OnTrainBatchBegin(i int) error { return r.add("on_train_batch_begin", i, nil) }
func (r *recorder) OnTrainBatchEnd(i int, l *callbacks.Logs) error {
	return r.add("on_train_batch_end", i, l)
}
func (r *recorder) OnTestBegin() error                { return r.add("on_test_begin", -1, nil) }
func (r *recorder) OnTestEnd(l *callbacks.Logs) error { return r.add("on_test_end", -1, l) }
func (r *recorder) OnTestBatchBegin(i int) error      { return r.add("on_test_batch_begin", i, nil) }
func (r *recorder) OnTestBatchEnd(i int, l *callbacks.Logs) error {
	return r.add("on_test_batch_end", i, l)
}
func (r *recorder) OnPredictBegin() error           { return r.add("on_predict_begin", -1, nil) }
func (r *recorder) OnPredictEnd() error             { return r.add("on_predict_end", -1, nil) }
func (r *recorder) OnPredictBatchBegin(i int) error { return r.add("on_predict_batch_begin", i, nil) }
func (r *recorder) OnPredictBatchEnd(i int) error   { return r.add("on_predict_batch_end", i, nil) }

func TestHooksComeInKerassOrder(t *testing.T) {
	var file tracesFile
	load(t, "traces.json.gz", &file)
	require.GreaterOrEqual(t, len(file.Hooks), 8)
	for i, c := range file.Hooks {
		t.Run(fmt.Sprintf("%d %s", i, c.Method), func(t *testing.T) {
			r := &recorder{}
			call(t, zeroModel(t, c.StepsPerExecution), c.Method, c.Options, r)
			require.Equal(t, len(c.Calls), len(r.calls))
			for j, want := range c.Calls {
				require.Equal(t, want, r.calls[j], "call %d", j)
			}
		})
	}
}

func TestHistoryIsKerass(t *testing.T) {
	var file tracesFile
	load(t, "traces.json.gz", &file)
	require.GreaterOrEqual(t, len(file.History), 5)
	for i, c := range file.History {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			options := []keras.FitOption{keras.Epochs(c.Options.Epochs), keras.InitialEpoch(c.Options.InitialEpoch), keras.BatchSize(4), keras.ValidationSplit(0.2)}
			var every int
			var list []int
			if json.Unmarshal(c.Options.ValidationFreq, &every) == nil {
				options = append(options, keras.ValidationFrequency(every))
			} else if json.Unmarshal(c.Options.ValidationFreq, &list) == nil {
				options = append(options, keras.ValidationEpochs(list...))
			}
			if c.Scheduler {
				options = append(options, keras.Callbacks(&callbacks.LearningRateScheduler{Schedule: func(_ int, rate float64) float64 { return rate }}))
			}
			// The metrics of the model in the file; "plain" is one without direction.
			m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(1))
			require.NoError(t, err)
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []string{"accuracy", "mae"}}))
			history, err := m.Fit(t.Context(), zeros(10), options...)
			require.NoError(t, err)
			require.Equal(t, c.Epoch, history.Epoch)
			got := map[string]int{}
			for name, values := range history.Logs {
				got[name] = len(values)
			}
			maps.DeleteFunc(c.Lengths, func(name string, _ int) bool { return strings.HasSuffix(name, "plain") })
			require.Equal(t, c.Lengths, got)
		})
	}
}
