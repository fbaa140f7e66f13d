package callbacks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

var (
	colours = regexp.MustCompile("\x1b\\[[0-9]*m")
	undone  = regexp.MustCompile("\x1b\\[37m(━*)\x1b\\[0m")
)

// printed is what stands for a text of Keras: on a terminal that text, elsewhere its lines without colours, each ended
// at once instead of begun with an end of line, and with another sign for what is left to do.
func printed(text string, terminal bool, verbose int) string {
	if terminal || verbose != 1 {
		return text
	}
	var lines []string
	isBar := func(line string) bool { return strings.Contains(line, "\x1b") }
	for line := range strings.SplitSeq(text, "\n") {
		if n := len(lines); isBar(line) && n > 0 && lines[n-1] == "" {
			lines = lines[:n-1]
		}
		lines = append(lines, line)
	}
	for i, line := range lines {
		line = undone.ReplaceAllStringFunc(line, func(s string) string { return strings.ReplaceAll(s, "━", "─") })
		lines[i] = strings.TrimRight(colours.ReplaceAllString(line, ""), " ")
	}
	if lines[len(lines)-1] != "" {
		lines = append(lines, "")
	}
	return strings.Join(lines, "\n")
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
				require.Equal(t, printed(u.text, c.Terminal, c.Verbose), out.String(), "update to %d", u.current)
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
				require.Equal(t, printed(h.text, c.Terminal, c.Verbose), out.String(), "%s %d", h.hook, orUnknown(h.index))
			}
		})
	}
}

// callHook calls the hook with logs as Fit makes them: sorted, and worked out when they are read.
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

// TestProgbarFitsTheTerminal: a line that is drawn over has to fit into one line of the terminal; the last one need
// not.
func TestProgbarFitsTheTerminal(t *testing.T) {
	logs := func() *callbacks.Logs {
		return callbacks.NewLogs(func(l *callbacks.Logs) error {
			for _, name := range []string{"accuracy", "auc", "loss", "precision", "recall"} {
				l.Set(name, 0.5)
			}
			return nil
		})
	}
	for _, columns := range []int{1, 20, 30, 31, 40, 80, 81, 200, 0} {
		var out bytes.Buffer
		at := &clock{now: 100}
		bar := callbacks.NewBarAt(&out, 3, 1, true, at.time)
		bar.SetColumns(columns)
		at.now++
		bar.Update(2, logs(), false)
		line := colours.ReplaceAllString(strings.TrimPrefix(out.String(), "\r"), "")
		whole := "2/3 ━━━━━━━━━━━━━━━━━━━━ 0s 500ms/step - accuracy: 0.5000 - auc: 0.5000 - loss: 0.5000 - precision: 0.5000 - recall: 0.5000"
		switch n := utf8.RuneCountInString(line); {
		case columns == 0 || columns > utf8.RuneCountInString(whole):
			require.Equal(t, whole, line)
		case columns > 30:
			require.Equal(t, columns-1, n, line)
			require.True(t, strings.HasSuffix(line, "…") && strings.HasPrefix(whole, strings.TrimSuffix(line, "…")), line)
		default: // the bar itself has no room
			require.LessOrEqual(t, n, 29, line)
		}
		out.Reset()
		at.now++
		bar.Update(3, logs(), true)
		require.Contains(t, out.String(), "recall: 0.5000", "the last line is whole")
	}
}

// wrapped is a writer around a file.
type wrapped struct {
	io.Writer
	fd uintptr
}

func (w wrapped) Fd() uintptr { return w.fd }

// TestOnTerminal: writers around a terminal are terminals, too, if they say so.
func TestOnTerminal(t *testing.T) {
	require.False(t, callbacks.OnTerminal(&bytes.Buffer{}))
	require.False(t, callbacks.OnTerminal(wrapped{io.Discard, ^uintptr(0)}))
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	require.False(t, callbacks.OnTerminal(file))
	require.False(t, callbacks.OnTerminal(wrapped{file, file.Fd()}))
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal can be made here:", err)
	}
	defer terminal.Close()
	require.True(t, callbacks.OnTerminal(terminal))
	require.True(t, callbacks.OnTerminal(wrapped{terminal, terminal.Fd()}))
	require.False(t, callbacks.OnTerminal(struct{ io.Writer }{terminal}))
}

// TestProgbarOffTerminals: a file gets a line every ten seconds and one at the end, and no colours.
func TestProgbarOffTerminals(t *testing.T) {
	at := &clock{now: 100}
	var out bytes.Buffer
	bar := callbacks.NewPacedBarAt(&out, 40, 1, false, at.time)
	for i := range 40 {
		at.now++
		bar.Update(i+1, nil, i == 39)
	}
	require.Equal(t, "10/40 ━━━━━─────────────── 30s 1s/step\n20/40 ━━━━━━━━━━────────── 20s 1s/step\n30/40 ━━━━━━━━━━━━━━━───── 10s 1s/step\n"+
		"40/40 ━━━━━━━━━━━━━━━━━━━━ 40s 1s/step\n", out.String())
}

// TestProgbarInterrupted: what is printed after a run that failed begins on a line of its own.
func TestProgbarInterrupted(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		for _, done := range []int{0, 1, 2} {
			var out bytes.Buffer
			logger := callbacks.NewLoggerAt(1, &out, terminal, (&clock{now: 100, step: 0.25}).time)
			list := callbacks.NewList([]callbacks.Callback{logger}, newFakeModel(), callbacks.Params{Verbose: 1, Epochs: 1, Steps: 2})
			require.NoError(t, logger.OnTrainBegin())
			require.NoError(t, logger.OnEpochBegin(0))
			for i := range done {
				require.NoError(t, logger.OnTrainBatchEnd(i, nil))
			}
			if done == 2 {
				require.NoError(t, logger.OnEpochEnd(0, nil))
			}
			list.Fail(errors.New("a disk is full"))
			require.NoError(t, logger.OnTrainEnd(nil))
			if done == 0 {
				require.Empty(t, out.String())
				continue
			}
			require.True(t, strings.HasSuffix(out.String(), "step\n"), "%q", out.String())
		}
	}
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
