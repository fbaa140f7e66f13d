package callbacks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/tensorboard"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// board returns the model of testdata/event_files.py and data for it.
func board(t testing.TB) (*keras.Model, data.Dataset) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2, Name: "d"}, &layers.Dense{Units: 1, Name: "e"}}, keras.Name("model"), keras.InputShape(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []string{"mae"}}))
	x, y := make([][3]float32, 10), make([][1]float32, 10)
	for i := range x {
		x[i] = [3]float32{float32(i) / 10, 1 - float32(i)/20, 0.5}
		y[i][0] = x[i][0] + x[i][1] + x[i][2]
	}
	return m, data.Arrays(x, y)
}

// written is one value of an event file, without its numbers.
type written struct {
	Step    int64
	Tag     string
	Plugin  string
	Content string
	DType   int
	Shape   []int
}

// UnmarshalJSON reads a value of Keras, where the paths of a Sequential model's weights begin with the name of the
// model.
func (w *written) UnmarshalJSON(text []byte) error {
	err := tuple(text, &w.Step, &w.Tag, &w.Plugin, &w.Content, &w.DType, &w.Shape)
	w.Tag = strings.TrimPrefix(w.Tag, "model/")
	return err
}

// eventFile reads the only event file of a folder.
func eventFile(t *testing.T, dir string) []tensorboard.Event {
	names, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	require.NoError(t, err)
	require.Len(t, names, 1)
	events, err := tensorboard.ReadFile(names[0])
	require.NoError(t, err)
	require.Equal(t, "brain.Event:2", events[0].FileVersion)
	return events[1:]
}

func listed(events []tensorboard.Event) (out []written) {
	for _, e := range events {
		for _, v := range e.Values {
			w := written{Step: e.Step, Tag: v.Tag, Plugin: v.Plugin, Content: string(v.Content), DType: 7, Shape: v.Shape}
			if v.Floats != nil {
				w.DType = 1
			} else if v.Doubles != nil {
				w.DType = 2
			}
			out = append(out, w)
		}
	}
	return out
}

// numbersOf gives the values of a tag by step.
func numbersOf(events []tensorboard.Event, tag string) map[int64]float64 {
	out := map[int64]float64{}
	for _, e := range events {
		for _, v := range e.Values {
			if v.Tag == tag && len(v.Floats) == 1 {
				out[e.Step] = float64(v.Floats[0])
			}
		}
	}
	return out
}

func TestTensorBoardWritesWhatKerasWrites(t *testing.T) {
	var cases map[string]map[string][]written
	load(t, "event_files.json.gz", &cases)
	for name, c := range map[string]*callbacks.TensorBoard{
		"epoch":  {},
		"three":  {UpdateFreq: 3},
		"batch":  {UpdateFreq: 1, HistogramFreq: 1, WriteImages: true},
		"second": {HistogramFreq: 2, NoGraph: true, WriteStepsPerSecond: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.LogDir = t.TempDir()
			m, examples := board(t)
			_, err := m.Fit(t.Context(), examples, keras.BatchSize(2), keras.Epochs(3), keras.Callbacks(c), keras.ValidationData(examples))
			require.NoError(t, err)
			_, graph := any(m).(interface{ ToJSON() ([]byte, error) })
			for _, part := range []string{"train", "validation"} {
				got, want := listed(eventFile(t, filepath.Join(c.LogDir, part))), cases[name][part]
				require.NotEmpty(t, want)
				if !graph {
					want = slices.DeleteFunc(want, func(w written) bool { return w.Tag == "keras" })
				}
				if name == "three" { // Keras leaves out what does not fall on a third batch
					require.Len(t, slices.DeleteFunc(slices.Clone(got), func(w written) bool { return w.Plugin != "scalars" || strings.HasPrefix(w.Tag, "batch") }), map[string]int{"train": 9, "validation": 12}[part])
					got = slices.DeleteFunc(got, func(w written) bool {
						return !slices.ContainsFunc(want, func(x written) bool { return fmt.Sprint(x) == fmt.Sprint(w) })
					})
				}
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.Equal(t, fmt.Sprint(want[i]), fmt.Sprint(got[i]))
				}
			}
		})
	}
}

func TestTensorBoardValues(t *testing.T) {
	dir := t.TempDir()
	m, examples := board(t)
	c := &callbacks.TensorBoard{LogDir: dir, UpdateFreq: 1, HistogramFreq: 1, WriteStepsPerSecond: true}
	history, err := m.Fit(t.Context(), examples, keras.BatchSize(2), keras.Epochs(3), keras.Callbacks(c), keras.ValidationData(examples))
	require.NoError(t, err)
	train, validation := eventFile(t, filepath.Join(dir, "train")), eventFile(t, filepath.Join(dir, "validation"))
	for tag, values := range map[string][]float64{"epoch_loss": history.Logs["loss"], "epoch_mae": history.Logs["mae"]} {
		got := numbersOf(train, tag)
		require.Len(t, got, 3)
		for i, v := range values {
			require.Equal(t, float64(float32(v)), got[int64(i)])
			require.Equal(t, float64(float32(history.Logs["val_"+strings.TrimPrefix(tag, "epoch_")][i])), numbersOf(validation, tag)[int64(i)])
		}
	}
	require.Equal(t, numbersOf(validation, "epoch_loss")[2], numbersOf(validation, "evaluation_loss_vs_iterations")[15], "5 batches an epoch")
	require.Equal(t, numbersOf(train, "epoch_loss")[2], numbersOf(train, "batch_loss")[15], "the mean of the epoch after its last batch")
	require.Equal(t, float64(float32(0.01)), numbersOf(train, "epoch_learning_rate")[0])
	for _, v := range numbersOf(train, "epoch_steps_per_second") {
		require.Greater(t, v, 1.0)
	}
	weights, err := m.GetWeights()
	require.NoError(t, err)
	last := slices.IndexFunc(train, func(e tensorboard.Event) bool { return e.Step == 2 && e.Values[0].Tag == "d/kernel/histogram" })
	require.Equal(t, tensorboard.Histogram(weights[0].Float64s()), train[last].Values[0].Doubles)

	// An evaluation of its own writes a file of its own, at the steps made so far; the same callback serves it.
	c.LogDir = t.TempDir()
	scores, err := m.Evaluate(t.Context(), examples, keras.Callbacks(c))
	require.NoError(t, err)
	require.Equal(t, float64(float32(scores["mae"])), numbersOf(eventFile(t, filepath.Join(c.LogDir, "validation")), "evaluation_mae_vs_iterations")[15])
}

func TestTensorBoardEmbeddings(t *testing.T) {
	dir := t.TempDir()
	m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: 4, OutputDim: 2, Name: "words"}, &layers.Flatten{}, &layers.Dense{Units: 1}}, keras.InputShape(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	examples := data.Arrays(make([][3]int32, 4), make([][1]float32, 4))
	c := &callbacks.TensorBoard{LogDir: dir, EmbeddingsFreq: 1, EmbeddingsMetadata: map[string]string{"words": "words.tsv"}}
	_, err = m.Fit(t.Context(), examples, keras.Callbacks(c))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "projector_config.pbtxt"))
	require.NoError(t, err)
	require.Contains(t, string(text), `metadata_path: "words.tsv"`)
	table, err := os.ReadFile(filepath.Join(dir, "embeddings", "words_embeddings.tsv"))
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(string(table)), "\n"), 4)
	require.Contains(t, string(text), `tensor_path: "embeddings/words_embeddings.tsv"`)
	c.EmbeddingsMetadata = map[string]string{"none": "x"}
	_, err = m.Fit(t.Context(), examples, keras.Callbacks(c))
	require.ErrorContains(t, err, `"none"`)
}

func TestTensorBoardProfile(t *testing.T) {
	dir := t.TempDir()
	m, examples := board(t)
	c := &callbacks.TensorBoard{LogDir: dir, ProfileBatch: []int{2, 3}}
	fit := func() (string, error) {
		var out bytes.Buffer
		_, err := m.Fit(t.Context(), examples, keras.BatchSize(2), keras.Callbacks(c), keras.ProgressOutput(&out))
		return out.String(), err
	}
	_, err := fit()
	require.NoError(t, err)
	profile, err := os.ReadFile(filepath.Join(dir, "train", "batches_2_3.pprof"))
	require.NoError(t, err)
	require.Equal(t, []byte{0x1f, 0x8b}, profile[:2], "a gzip file")
	c.ProfileBatch = []int{1, 100} // ends with the run
	_, err = fit()
	require.NoError(t, err)
	profile, err = os.ReadFile(filepath.Join(dir, "train", "batches_1_100.pprof"))
	require.NoError(t, err)
	require.NotEmpty(t, profile)
	for _, bad := range [][]int{{0}, {3, 2}, {1, 2, 3}} {
		c.ProfileBatch = bad
		_, err = fit()
		require.ErrorContains(t, err, "ProfileBatch")
	}
}

func TestTensorBoardOptions(t *testing.T) {
	m, examples := board(t)
	_, err := m.Fit(t.Context(), examples, keras.Callbacks(&callbacks.TensorBoard{UpdateFreq: -1}))
	require.ErrorContains(t, err, "UpdateFreq")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err = m.Fit(t.Context(), examples, keras.Callbacks(&callbacks.TensorBoard{LogDir: file}))
	require.ErrorContains(t, err, "TensorBoard")

	var c callbacks.TensorBoard
	require.NoError(t, config.Decode(json.RawMessage(`{"log_dir":"x","histogram_freq":2,"write_graph":false,"write_images":true,"write_steps_per_second":true,"update_freq":"batch","profile_batch":[10,20],"embeddings_freq":1,"embeddings_metadata":null}`), &c))
	require.Equal(t, callbacks.TensorBoard{LogDir: "x", HistogramFreq: 2, NoGraph: true, WriteImages: true, WriteStepsPerSecond: true, UpdateFreq: 1, ProfileBatch: []int{10, 20}, EmbeddingsFreq: 1}, c)
	c = callbacks.TensorBoard{}
	require.NoError(t, config.Decode(json.RawMessage(`{"update_freq":"epoch","profile_batch":0}`), &c))
	require.Equal(t, callbacks.TensorBoard{}, c)
	require.NoError(t, config.Decode(json.RawMessage(`{"profile_batch":"3,4"}`), &c))
	require.Equal(t, []int{3, 4}, c.ProfileBatch)
	require.False(t, (&callbacks.TensorBoard{HistogramFreq: 1, WriteStepsPerSecond: true}).WantsBatches(), "batches cost nothing")
	require.True(t, (&callbacks.TensorBoard{UpdateFreq: 2}).WantsBatches())
}

// A run that fails leaves whole files behind, and vectors and NaN are written.
func TestTensorBoardAtTheEdges(t *testing.T) {
	dir := t.TempDir()
	c := &callbacks.TensorBoard{LogDir: dir}
	m := newFakeModel()
	c.SetModel(m)
	require.NoError(t, c.OnTrainBegin())
	logs := callbacks.NewLogs(func(l *callbacks.Logs) error {
		l.Set("loss", math.NaN())
		l.Set("f1", 0.25, 0.5)
		return nil
	})
	require.NoError(t, c.OnEpochEnd(0, logs))
	broken := callbacks.NewLogs(func(*callbacks.Logs) error { return errors.New("boom") })
	require.ErrorContains(t, c.OnEpochEnd(1, broken), "boom")
	c.SetParams(callbacks.Params{Err: errors.New("boom")})
	require.NoError(t, c.OnTrainEnd(nil))
	events := eventFile(t, filepath.Join(dir, "train"))
	require.Equal(t, 0.25, numbersOf(events, "epoch_f1_0")[0])
	require.Equal(t, 0.5, numbersOf(events, "epoch_f1_1")[0])
	require.True(t, math.IsNaN(numbersOf(events, "epoch_loss")[0]))
	require.NoDirExists(t, filepath.Join(dir, "validation"))
}

// TensorBoard's own reader finds the same values. It needs Python with TensorBoard: GOKERAS_PYTHON names the
// interpreter.
func TestTensorBoardReadsTheFiles(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("GOKERAS_PYTHON is not set; it names a Python interpreter that has TensorBoard")
	}
	dir := t.TempDir()
	m, examples := board(t)
	history, err := m.Fit(t.Context(), examples, keras.BatchSize(2), keras.Epochs(2), keras.ValidationData(examples),
		keras.Callbacks(&callbacks.TensorBoard{LogDir: dir, UpdateFreq: 1, HistogramFreq: 1, WriteImages: true}))
	require.NoError(t, err)
	out, err := exec.Command(python, filepath.Join("testdata", "read_events.py"), filepath.Join(dir, "train")).Output()
	if err != nil && strings.Contains(errorText(err), "No module named") {
		t.Skip("the interpreter has no TensorBoard: pip install tensorboard")
	}
	require.NoError(t, err, errorText(err))
	var got struct {
		Scalars    map[string][][2]float64
		Histograms map[string]int
		Images     map[string][2]int
		Graph      []string
		Operations map[string][]string
		Shapes     map[string][]int
	}
	require.NoError(t, json.Unmarshal(out, &got), string(out))
	require.Equal(t, [][2]float64{{0, float64(float32(history.Logs["loss"][0]))}, {1, float64(float32(history.Logs["loss"][1]))}}, got.Scalars["epoch_loss"])
	require.Len(t, got.Scalars["batch_mae"], 10)
	require.Equal(t, 6, got.Histograms["d/kernel/histogram"], "all elements are counted")
	require.Equal(t, [2]int{3, 2}, got.Images["d/kernel/image"])
	if _, ok := any(m).(interface{ ToJSON() ([]byte, error) }); ok {
		require.Contains(t, got.Graph, "model/d")
	}
	require.Contains(t, got.Operations["d/dot"], "d/kernel")
	require.Equal(t, []int{-1, 2}, got.Shapes["d/dot"])
	require.Equal(t, []int{3, 2}, got.Shapes["d/kernel"])
}

func errorText(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return fmt.Sprint(err)
}
