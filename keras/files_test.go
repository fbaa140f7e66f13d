package keras_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
)

// TestFiles loads files that Keras wrote, computes what Keras computed, writes the model, and loads that again.
func TestFiles(t *testing.T) {
	only := os.Getenv("GOKERAS_FILE_CASES_ONLY")
	for _, c := range fileCases(t) {
		name := c.Group + "/" + c.Name
		if !strings.Contains(name, only) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			switch {
			case c.Group == "hostile":
				c.runHostile(t)
			case c.Command == "predict" || c.Command == "convert":
				c.runPredict(t)
			case c.Command == "fit":
				c.runFit(t)
			case c.Command == "evaluate":
				c.runEvaluate(t)
			}
		})
	}
}

// load reads the case's model, with the weights of another file if the case says so.
func (c *fileCase) load(t *testing.T) *keras.Model {
	t.Helper()
	var report keras.LoadReport
	m, err := keras.LoadModel(c.model(), keras.Report(&report))
	require.NoError(t, err)
	got := map[string]bool{}
	for _, match := range report.Matched {
		got[match.Variable] = true
	}
	for _, v := range m.Weights() {
		require.True(t, got[v.Path()], "%s: %s", v.Path(), report.String())
	}
	if c.Args.Weights != "" {
		require.NoError(t, m.LoadWeights(filepath.Join(c.dir, c.Args.Weights)))
	}
	return m
}

func (c *fileCase) runPredict(t *testing.T) {
	m := c.load(t)
	if pick(c.arrays(t, "inputs.npz"), "x") == nil {
		saveAndLoad(t, m)
		return
	}
	got := c.predict(t, m)
	if c.Command == "predict" {
		c.checkOutputs(t, m, got)
	}
	again := saveAndLoad(t, m)
	for i, d := range c.predict(t, again) {
		require.Equal(t, got[i].Elements(), d.Elements(), "predictions of the model that was written")
	}
}

// saveAndLoad writes a model and loads the file; the documents of both must be equal.
func saveAndLoad(t *testing.T, m *keras.Model) *keras.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "again.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.JSONEq(t, document(t, m), document(t, again))
	return again
}

func document(t *testing.T, m *keras.Model) string {
	t.Helper()
	text, err := m.ToJSON()
	require.NoError(t, err)
	return string(text)
}

func (c *fileCase) runFit(t *testing.T) {
	m := c.load(t)
	history, err := m.Fit(t.Context(), c.source(t, ""), c.fit(t, c.Args.Epochs)...)
	require.NoError(t, err)
	for name, want := range c.jsonFile(t, "expected.json")["history"].(map[string]any) {
		got := history.Logs[name]
		if v := history.Vectors[name]; v != nil {
			got = slices.Concat(v...)
		}
		c.compare(t, "history/"+name, got, numbers(want))
	}
	path := filepath.Join(t.TempDir(), "trained.keras")
	require.NoError(t, m.Save(path))
	c.checkFile(t, path)
	c.checkOutputs(t, m, c.predict(t, m))

	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	for _, model := range []*keras.Model{m, again} { // the state of the optimizer is in the file
		_, err := model.Fit(t.Context(), c.source(t, ""), c.fit(t, 1)...)
		require.NoError(t, err)
	}
	want, err := m.GetWeights()
	require.NoError(t, err)
	got, err := again.GetWeights()
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, want[i].Elements(), got[i].Elements(), "%s after a step more", m.Weights()[i].Path())
	}
}

func (c *fileCase) runEvaluate(t *testing.T) {
	m := c.load(t)
	logs, err := m.EvaluateLogs(t.Context(), c.source(t, ""), keras.BatchSize(c.Args.BatchSize))
	require.NoError(t, err)
	for name, want := range c.jsonFile(t, "expected.json")["evaluate"].(map[string]any) {
		c.compare(t, "evaluate/"+name, logs.Vector(name), numbers(want))
	}
	saveAndLoad(t, m)
}

// runHostile expects a clear error.
func (c *fileCase) runHostile(t *testing.T) {
	m, err := keras.LoadModel(c.model())
	if err == nil && c.Name == "input_shape_mismatch" {
		_, err = m.PredictAll(t.Context(), c.source(t, ""))
	}
	if err == nil && c.Expect.MaySucceed {
		return
	}
	require.Error(t, err)
	require.NotContains(t, err.Error(), "goroutine")
	for _, word := range c.Expect.Messages {
		if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
			return
		}
	}
	require.Fail(t, "unclear", "%v contains none of %q", err, c.Expect.Messages)
}

// A missing file or folder is named once.
func TestMissingFileIsNamedOnce(t *testing.T) {
	m := classifier(t, keras.InputShape(4))
	once := func(err error, path string) {
		t.Helper()
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Equal(t, 1, strings.Count(err.Error(), path), "%v", err)
	}
	for _, name := range []string{"none.keras", "none.weights.h5", "none.npz", "none.weights.json", "none.safetensors"} {
		path := filepath.Join(t.TempDir(), name)
		once(m.LoadWeights(path), path)
		_, err := keras.LoadModel(path)
		once(err, path)
	}
	path := filepath.Join(t.TempDir(), "none", "x.npz")
	err := m.SaveWeights(path)
	once(err, path)
	require.EqualError(t, err, "keras: SaveWeights: cannot write "+path+": the folder "+filepath.Dir(path)+" does not exist")
}
