package randomtraining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fit is a run of callbacks.py, with what Keras makes of it.
type fit struct {
	Number    int
	Model     json.RawMessage
	Seed      uint64
	NaN       *int
	X         spec
	V         *spec
	Y, VY     []spec
	Callbacks []struct {
		Class    string
		Settings json.RawMessage
	}
	Backup    json.RawMessage
	Interrupt *int
	Fit       fitArguments
	Answer    struct {
		Error   string
		History map[string][][]number
		Epochs  []int
		Calls   []string
		Weights []result
		Saved   map[string][]result
		Rate    float64
		Files   []string
		Log     []string
	}
}

// fitArguments are some of the arguments of fit.
type fitArguments struct {
	Epochs       int
	BatchSize    int             `json:"batch_size"`
	InitialEpoch int             `json:"initial_epoch"`
	Steps        int             `json:"steps_per_epoch"`
	Split        float64         `json:"validation_split"`
	Frequency    json.RawMessage `json:"validation_freq"`
	Checked      int             `json:"validation_steps"`
	InBatches    int             `json:"validation_batch_size"`
}

// calls records what is called, as the class of this name in callbacks.py.
type calls struct {
	callbacks.Base
	text []string
}

func (c *calls) note(format string, a ...any) error {
	c.text = append(c.text, fmt.Sprintf(format, a...))
	return nil
}

func names(l *callbacks.Logs) string {
	return strings.Join(slices.Sorted(slices.Values(l.Names())), " ")
}

func (c *calls) OnEpochBegin(epoch int) error { return c.note("e%d", epoch) }
func (c *calls) OnEpochEnd(epoch int, l *callbacks.Logs) error {
	return c.note("E%d:%s", epoch, names(l))
}
func (c *calls) OnTrainBatchEnd(batch int, _ *callbacks.Logs) error { return c.note("b%d", batch) }
func (c *calls) OnTestBatchEnd(batch int, _ *callbacks.Logs) error  { return c.note("t%d", batch) }
func (c *calls) OnTestBegin() error                                 { return c.note("T") }
func (c *calls) OnTrainEnd(l *callbacks.Logs) error                 { return c.note("end:%s", names(l)) }

var errInterrupted = errors.New("interrupted")

// interrupt fails at the end of a batch, counted from 0.
type interrupt struct {
	callbacks.Base
	at, seen int
}

func (i *interrupt) OnTrainBatchEnd(int, *callbacks.Logs) error {
	if i.seen++; i.seen > i.at {
		return errInterrupted
	}
	return nil
}

// TestCallbacks runs fits with callbacks that were drawn by callbacks.py. RANDOM_CALLBACKS is another file of cases.
func TestCallbacks(t *testing.T) {
	checkAll[*fit](t, "RANDOM_CALLBACKS", "testdata/callbacks.json.gz")
}

// TestFreshCallbacks has callbacks.py draw.
func TestFreshCallbacks(t *testing.T) {
	checkFresh[*fit](t, "callbacks.py", "RANDOM_CALLBACKS", "20")
}

func (c *fit) number() int { return c.Number }

func (c *fit) network(t *testing.T) *keras.Model {
	t.Helper()
	m, err := keras.ModelFromJSON(c.Model)
	require.NoError(t, err)
	var arrays []kernels.Array
	for k, w := range m.Weights() {
		s := spec{Kind: "grid", Seed: c.Seed + uint64(k), Shape: w.Type().Shape}
		if strings.Contains(w.Name(), "variance") || w.Name() == "gamma" {
			s.Kind = "positive"
		}
		a, err := kernels.FromFloat64s(w.Type().DType, s.Shape, s.values())
		require.NoError(t, err)
		arrays = append(arrays, a)
	}
	require.NoError(t, m.SetWeights(arrays))
	return m
}

func (c *fit) options(t *testing.T, m *keras.Model, folder string, more ...callbacks.Callback) ([]keras.FitOption, error) {
	t.Helper()
	f := &c.Fit
	list, err := c.callbacks(folder)
	if err != nil {
		return nil, err
	}
	options := []keras.FitOption{keras.Shuffle(false), keras.Epochs(f.Epochs), keras.BatchSize(f.BatchSize), keras.InitialEpoch(f.InitialEpoch), keras.ValidationSplit(f.Split),
		keras.Callbacks(append(list, more...)...)}
	if f.Steps > 0 {
		options = append(options, keras.StepsPerEpoch(f.Steps))
	}
	if f.InBatches > 0 {
		options = append(options, keras.ValidationBatchSize(f.InBatches))
	}
	if f.Checked > 0 {
		options = append(options, keras.ValidationSteps(f.Checked))
	}
	if c.V != nil {
		options = append(options, keras.ValidationData(data.Arrays(tensors(t, []spec{*c.V}, []string{""}), tensors(t, c.VY, m.OutputNames()))))
	}
	var n int
	var epochs []int
	if json.Unmarshal(f.Frequency, &n) == nil {
		options = append(options, keras.ValidationFrequency(n))
	} else if json.Unmarshal(f.Frequency, &epochs) == nil {
		options = append(options, keras.ValidationEpochs(epochs...))
	}
	return options, nil
}

// callbacks makes the callbacks of a case anew.
func (c *fit) callbacks(folder string) (list []callbacks.Callback, err error) {
	for _, o := range c.Callbacks {
		var made callbacks.Callback
		switch o.Class {
		case "EarlyStopping":
			made = &callbacks.EarlyStopping{}
		case "ReduceLROnPlateau":
			made = &callbacks.ReduceLROnPlateau{}
		case "ModelCheckpoint":
			made = &callbacks.ModelCheckpoint{}
		case "SwapEMAWeights":
			made = &callbacks.SwapEMAWeights{}
		case "CSVLogger":
			made = &callbacks.CSVLogger{}
		case "TerminateOnNaN":
			made = &callbacks.TerminateOnNaN{}
		case "LearningRateScheduler":
			var s struct{ Rates []any }
			if err := json.Unmarshal(o.Settings, &s); err != nil {
				return nil, err
			}
			list = append(list, &callbacks.LearningRateScheduler{Schedule: func(epoch int, rate float64) float64 {
				switch v := s.Rates[epoch].(type) {
				case float64:
					return v
				case string:
					if v == "half" {
						return rate / 2
					}
				}
				return rate
			}})
			continue
		}
		if err := config.Decode(o.Settings, made); err != nil {
			return nil, err
		}
		switch m := made.(type) {
		case *callbacks.ModelCheckpoint:
			m.FilePath = folder + "/" + m.FilePath
		case *callbacks.CSVLogger:
			m.Filename = folder + "/" + m.Filename
		}
		list = append(list, made)
	}
	if c.Interrupt != nil {
		b := &callbacks.BackupAndRestore{}
		if err := config.Decode(c.Backup, b); err != nil {
			return nil, err
		}
		b.BackupDir = folder + "/backup"
		list = append(list, b)
	}
	return list, nil
}

func (c *fit) run(t *testing.T, folder string) (m *keras.Model, h *keras.History, seen *calls, interrupted bool, err error) {
	t.Helper()
	seen = &calls{}
	for {
		m = c.network(t)
		more := []callbacks.Callback{seen}
		if c.Interrupt != nil && !interrupted {
			more = append(more, &interrupt{at: *c.Interrupt})
		}
		options, err := c.options(t, m, folder, more...)
		if err != nil {
			return m, nil, seen, interrupted, err
		}
		x := c.X.values()
		if c.NaN != nil {
			for i := range c.X.Shape[1] {
				x[*c.NaN*c.X.Shape[1]+i] = math.NaN()
			}
		}
		a, err := kernels.FromFloat64s(ir.Float32, c.X.Shape, x)
		require.NoError(t, err)
		h, err = m.Fit(context.Background(), data.Arrays(a, tensors(t, c.Y, m.OutputNames())), options...)
		if errors.Is(err, errInterrupted) && !interrupted {
			interrupted = true
			_ = seen.note("again")
			continue
		}
		return m, h, seen, interrupted, err
	}
}

func (c *fit) check(t *testing.T) string {
	folder := t.TempDir()
	m, h, seen, interrupted, err := c.run(t, folder)
	want := &c.Answer
	if want.Error != "" {
		if err == nil {
			return "Keras refuses: " + want.Error
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if interrupted { // what was before is in the history of the first run
		if n := len(want.Epochs) - len(h.Epoch); n > 0 {
			want.Epochs = want.Epochs[n:]
		}
		for name, v := range want.History {
			want.History[name] = v[len(v)-min(len(v), len(h.Logs[name])):]
		}
	} else if !slices.Equal(seen.text, want.Calls) {
		return fmt.Sprintf("calls\n%q, not\n%q", seen.text, want.Calls)
	}
	if text := differs(h, want.History); text != "" {
		return fmt.Sprintf("history (interrupted %t): %s", interrupted, text)
	}
	if !slices.Equal(h.Epoch, want.Epochs) {
		return fmt.Sprintf("epochs %v, not %v", h.Epoch, want.Epochs)
	}
	if text := c.weighs(m, want.Weights); text != "" {
		return text
	}
	rate, err := m.LearningRate()
	require.NoError(t, err)
	if text := near([]float64{rate}, []number{number(want.Rate)}, 1e-4); text != "" {
		return "learning rate: " + text
	}
	return c.files(t, folder)
}

func (c *fit) weighs(m *keras.Model, want []result) string {
	weights, err := m.GetWeights()
	if err != nil {
		return err.Error()
	}
	for i, a := range weights {
		if text := want[i].differs(a.Shape(), a.Float64s(), trained); text != "" {
			return fmt.Sprintf("weight %d: %s", i, text)
		}
	}
	return ""
}

func (c *fit) files(t *testing.T, folder string) string {
	var files []string
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		files = append(files, e.Name())
	}
	sort.Strings(files)
	if !slices.Equal(files, c.Answer.Files) {
		return fmt.Sprintf("files %v, not %v", files, c.Answer.Files)
	}
	for f, want := range c.Answer.Saved {
		m := c.network(t)
		require.NoError(t, m.LoadWeights(filepath.Join(folder, f)))
		if text := c.weighs(m, want); text != "" {
			return f + ": " + text
		}
	}
	if c.Answer.Log == nil {
		return ""
	}
	content, err := os.ReadFile(filepath.Join(folder, "log.csv"))
	require.NoError(t, err)
	lines := strings.Split(string(content), "\n")
	if len(lines) != len(c.Answer.Log) {
		return fmt.Sprintf("log %q, not %q", lines, c.Answer.Log)
	}
	for i, line := range lines {
		split := func(r rune) bool { return r == ',' || r == ';' || r == '\t' || r == '\r' }
		got, want := strings.FieldsFunc(line, split), strings.FieldsFunc(c.Answer.Log[i], split)
		same := len(got) == len(want)
		for k := 0; same && k < len(got); k++ {
			var x, y number
			if json.Unmarshal([]byte(got[k]), &x) == nil && json.Unmarshal([]byte(want[k]), &y) == nil {
				same = near([]float64{float64(x)}, []number{y}, trained) == ""
			} else {
				same = got[k] == want[k]
			}
		}
		if !same {
			return fmt.Sprintf("line %d of the log is %q, not %q", i, line, c.Answer.Log[i])
		}
	}
	return ""
}
