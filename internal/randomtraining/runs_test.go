package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// training is a model with its configuration of Compile, data, arguments of Fit, and what Keras makes of them.
type training struct {
	Number    int
	Model     json.RawMessage
	Seed      uint64 // of the weights
	Stateful  bool
	X, Y, W   []spec
	Callbacks []struct {
		Class    string
		Settings json.RawMessage
		Values   []*number
	}
	Fit struct {
		Epochs       int
		BatchSize    int                `json:"batch_size"`
		InitialEpoch int                `json:"initial_epoch"`
		ClassWeight  map[string]float64 `json:"class_weight"`
		Split        float64            `json:"validation_split"`
		Frequency    int                `json:"validation_freq"`
		Validation   int                `json:"validation_batch_size"`
	}
	Answer struct {
		History     map[string][][]number
		Epochs      []int
		Files       []string
		Scores      map[string][]number
		Predictions []result
		More        map[string][][]number
		Then        []result
	}
}

// noise logs numbers that were drawn.
type noise struct {
	callbacks.Base
	values []*number
}

func (n *noise) OnEpochEnd(epoch int, logs *callbacks.Logs) error {
	if v := n.values[epoch]; v != nil {
		logs.Set("signal", float64(*v))
	}
	return nil
}

func (c *training) callbacks(t *testing.T, folder string) (list []callbacks.Callback) {
	t.Helper()
	for _, o := range c.Callbacks {
		var made callbacks.Callback
		switch o.Class {
		case "Noise":
			list = append(list, &noise{values: o.Values})
			continue
		case "EarlyStopping":
			made = &callbacks.EarlyStopping{}
		case "ReduceLROnPlateau":
			made = &callbacks.ReduceLROnPlateau{}
		case "ModelCheckpoint":
			made = &callbacks.ModelCheckpoint{FilePath: folder + "/at{epoch:02d}.weights.h5"}
		case "SwapEMAWeights":
			made = &callbacks.SwapEMAWeights{}
		}
		require.NoError(t, config.Decode(o.Settings, made))
		list = append(list, made)
	}
	return list
}

func (c *training) model(t *testing.T) *keras.Model {
	t.Helper()
	m, err := keras.ModelFromJSON(c.Model)
	require.NoError(t, err)
	require.NoError(t, setWeights(m, c.Seed))
	return m
}

// setWeights sets the weights as set_weights of runs.py does.
func setWeights(m *keras.Model, seed uint64) error {
	var arrays []kernels.Array
	for k, w := range m.Weights() {
		s := spec{Kind: "grid", Seed: seed + uint64(k), Shape: w.Type().Shape}
		if strings.Contains(w.Name(), "variance") || w.Name() == "gamma" {
			s.Kind = "positive"
		}
		values := s.values()
		for i, v := range values {
			if values[i] = float64(float32(v)); s.Kind == "grid" { // float32 in models of float64, too, as runs.py has them
				values[i] /= 4
			}
		}
		a, err := kernels.FromFloat64s(w.Type().DType, s.Shape, values)
		if err != nil {
			return err
		}
		arrays = append(arrays, a)
	}
	return m.SetWeights(arrays)
}

func (c *training) source(t *testing.T, m *keras.Model) *data.ArraySource {
	t.Helper()
	s := source(t, m, c.X, c.Y, c.W)
	require.NoError(t, s.Err())
	return s
}

// source has the arrays under the names of the model's inputs and outputs; w may be nil.
func source(t *testing.T, m *keras.Model, x, y, w []spec) *data.ArraySource {
	t.Helper()
	var inputs []string
	for _, in := range m.Inputs() {
		inputs = append(inputs, in.Name())
	}
	var options []data.ArrayOption
	if w != nil {
		options = append(options, data.SampleWeight(tensors(t, w, m.OutputNames())))
	}
	return data.Arrays(tensors(t, x, inputs), tensors(t, y, m.OutputNames()), options...)
}

func tensors(t *testing.T, specs []spec, names []string) any {
	t.Helper()
	var out data.Tensors
	for i, s := range specs {
		d, err := ir.ParseDType(s.DType)
		require.NoError(t, err)
		a, err := kernels.FromFloat64s(d, s.Shape, s.values())
		require.NoError(t, err)
		if len(specs) == 1 {
			return a
		}
		out.Names, out.Arrays = append(out.Names, names[i]), append(out.Arrays, a)
	}
	return out
}

// TestRuns trains, evaluates and predicts; then it trains on, with a model that was read from a file. RANDOM_RUNS is
// another file of cases.
func TestRuns(t *testing.T) {
	checkAll[*training](t, "RANDOM_RUNS", "testdata/runs.json.gz")
}

// TestFreshRuns has runs.py draw.
func TestFreshRuns(t *testing.T) { checkFresh[*training](t, "runs.py", "RANDOM_RUNS", "20") }

func (c *training) number() int { return c.Number }

const trained = 2e-3

func (c *training) check(t *testing.T) string {
	m, folder, ctx := c.model(t), t.TempDir(), context.Background()
	ds := c.source(t, m)
	options := []keras.FitOption{keras.Shuffle(false), keras.Epochs(c.Fit.Epochs), keras.BatchSize(c.Fit.BatchSize), keras.InitialEpoch(c.Fit.InitialEpoch),
		keras.ValidationSplit(c.Fit.Split), keras.ValidationBatchSize(c.Fit.Validation), keras.Callbacks(c.callbacks(t, folder)...)}
	if c.Fit.Frequency > 0 {
		options = append(options, keras.ValidationFrequency(c.Fit.Frequency))
	}
	if c.Fit.ClassWeight != nil {
		weights := map[int]float64{}
		for k, v := range c.Fit.ClassWeight {
			weights[int(k[0]-'0')] = v
		}
		options = append(options, keras.ClassWeight(weights))
	}
	h, err := m.Fit(ctx, ds, options...)
	require.NoError(t, err)
	if text := differs(h, c.Answer.History); text != "" {
		return "history: " + text
	}
	if !slices.Equal(h.Epoch, c.Answer.Epochs) {
		return fmt.Sprintf("epochs %v, not %v", h.Epoch, c.Answer.Epochs)
	}
	var files []string
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		files = append(files, e.Name())
	}
	if !slices.Equal(files, c.Answer.Files) {
		return fmt.Sprintf("files %v, not %v", files, c.Answer.Files)
	}
	scores, err := m.EvaluateLogs(ctx, ds, keras.BatchSize(c.Fit.BatchSize))
	require.NoError(t, err)
	for name, want := range c.Answer.Scores {
		if text := near(scores.Vector(name), want, trained); text != "" {
			return "score " + name + ": " + text
		}
	}
	if text := c.predicts(t, m, ds, c.Answer.Predictions); text != "" {
		return "predictions: " + text
	}
	return c.goesOn(t, m, ds)
}

func (c *training) goesOn(t *testing.T, m *keras.Model, ds *data.ArraySource) string {
	if !c.Stateful { // whose states are no part of a file
		path := filepath.Join(t.TempDir(), "model.keras")
		require.NoError(t, m.Save(path))
		var err error
		m, err = keras.LoadModel(path)
		require.NoError(t, err)
	}
	h, err := m.Fit(context.Background(), ds, keras.Shuffle(false), keras.BatchSize(c.Fit.BatchSize))
	require.NoError(t, err)
	if text := differs(h, c.Answer.More); text != "" {
		return "from a file, history: " + text
	}
	if text := c.predicts(t, m, ds, c.Answer.Then); text != "" {
		return "from a file, predictions: " + text
	}
	return ""
}

func (c *training) predicts(t *testing.T, m *keras.Model, ds *data.ArraySource, want []result) string {
	out, err := m.PredictAll(context.Background(), ds, keras.BatchSize(c.Fit.BatchSize))
	require.NoError(t, err)
	require.Len(t, out, len(want))
	for i, y := range out {
		f, ok := y.Elements().([]float32)
		require.True(t, ok)
		var got []float64
		for _, v := range f {
			got = append(got, float64(v))
		}
		if text := want[i].differs(y.Shape(), got, trained); text != "" {
			return text
		}
	}
	return ""
}

func differs(h *keras.History, want map[string][][]number) string {
	if got := slices.Sorted(maps.Keys(h.Logs)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) && len(got)+len(want) > 0 {
		return fmt.Sprintf("names %v, not %v", got, slices.Sorted(maps.Keys(want)))
	}
	for name, values := range want {
		got := h.Logs[name]
		if v := h.Vectors[name]; v != nil {
			got = slices.Concat(v...)
		}
		if text := near(got, slices.Concat(values...), trained); text != "" {
			return name + ": " + text
		}
	}
	return ""
}
