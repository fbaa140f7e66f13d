package keras_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/saving"
)

// fileTolerance says how far a value may be off: |got-want| <= rtol*|want| + atol*max|want| + abs.
type fileTolerance struct {
	Rtol float64 `json:"rtol"`
	Atol float64 `json:"atol"`
	Abs  float64 `json:"abs"`
	Skip bool    `json:"skip"`
}

// fileCase is a file that Keras wrote, with inputs and what Keras computes from them.
type fileCase struct {
	dir       string
	Name      string `json:"name"`
	Group     string `json:"group"`
	Command   string `json:"command"`
	ModelFile string `json:"model_file"`
	Args      struct {
		BatchSize       int                `json:"batch_size"`
		Epochs          int                `json:"epochs"`
		ValidationSplit float64            `json:"validation_split"`
		ClassWeight     map[string]float64 `json:"class_weight"`
		Weights         string             `json:"weights"`
	} `json:"args"`
	Tolerance fileTolerance            `json:"tolerance"`
	Overrides map[string]fileTolerance `json:"tolerance_overrides"`
	Expect    struct {
		Messages   []string `json:"message_any"`
		MaySucceed bool     `json:"may_succeed"`
	} `json:"expect"`
}

// caseArchives contain the cases: those of every kind of file, random calls with constants and masks, and random graphs
// with layers that are called several times (call_arguments.py writes the last two).
var caseArchives = []string{"files.zip", "call_arguments.zip", "layer_order.zip"}

// fileCases lists the cases in the archives, or in the folder that GOKERAS_FILE_CASES names.
func fileCases(t *testing.T) []fileCase {
	t.Helper()
	root := os.Getenv("GOKERAS_FILE_CASES")
	if root == "" {
		root = unpackCases(t)
	}
	var out []fileCase
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "case.json" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		c := fileCase{dir: filepath.Dir(path), ModelFile: "model.keras"}
		require.NoError(t, json.Unmarshal(text, &c))
		out = append(out, c)
		return nil
	}))
	require.NotEmpty(t, out)
	return out
}

func unpackCases(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range caseArchives {
		unpackArchive(t, name, root)
	}
	return root
}

func unpackArchive(t *testing.T, name, root string) {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer archive.Close()
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content, 0o666))
	}
}

func (c *fileCase) model() string { return filepath.Join(c.dir, c.ModelFile) }

// arrays reads a .npz file of the case; nil where there is none.
func (c *fileCase) arrays(t *testing.T, name string) data.Tensors {
	t.Helper()
	path := filepath.Join(c.dir, name)
	if _, err := os.Stat(path); err != nil {
		return data.Tensors{}
	}
	a, err := data.LoadNPZ(path)
	require.NoError(t, err)
	return a
}

// pick collects what belongs to a role: the array of that name, or those named role.<name>.
func pick(a data.Tensors, role string) any {
	if d := a.Get(role); !d.IsZero() {
		return d
	}
	var named data.Tensors
	for i, name := range a.Names {
		if rest, ok := strings.CutPrefix(name, role+"."); ok {
			named.Names, named.Arrays = append(named.Names, rest), append(named.Arrays, a.Arrays[i])
		}
	}
	if named.Len() == 0 {
		return nil
	}
	return named
}

func (c *fileCase) source(t *testing.T, prefix string) *data.ArraySource {
	t.Helper()
	in := c.arrays(t, "inputs.npz")
	x := pick(in, prefix+"x")
	if x == nil {
		return nil
	}
	var options []data.ArrayOption
	if w := pick(in, prefix+"sample_weight"); w != nil {
		options = append(options, data.SampleWeight(w))
	}
	s := data.Arrays(x, pick(in, prefix+"y"), options...)
	require.NoError(t, s.Err())
	return s
}

// fit returns the options of the case's training run.
func (c *fileCase) fit(t *testing.T, epochs int) []keras.FitOption {
	t.Helper()
	options := []keras.FitOption{keras.Epochs(epochs), keras.BatchSize(c.Args.BatchSize), keras.Shuffle(false), keras.ValidationSplit(c.Args.ValidationSplit)}
	if s := c.source(t, "val_"); s != nil {
		options = append(options, keras.ValidationData(s))
	}
	if c.Args.ClassWeight != nil {
		weights := map[int]float64{}
		for k, v := range c.Args.ClassWeight {
			class, err := strconv.Atoi(k)
			require.NoError(t, err)
			weights[class] = v
		}
		options = append(options, keras.ClassWeight(weights))
	}
	return options
}

// predict computes all outputs for x.
func (c *fileCase) predict(t *testing.T, m *keras.Model) []data.Array {
	t.Helper()
	in := c.arrays(t, "inputs.npz")
	out, err := m.PredictAll(t.Context(), data.Arrays(pick(in, "x"), nil), keras.BatchSize(c.Args.BatchSize))
	require.NoError(t, err)
	return out
}

func (c *fileCase) toleranceOf(name string) fileTolerance {
	if t, ok := c.Overrides[name]; ok {
		return t
	}
	return c.Tolerance
}

// checkOutputs compares predictions with what Keras computed.
func (c *fileCase) checkOutputs(t *testing.T, m *keras.Model, got []data.Array) {
	t.Helper()
	want := c.arrays(t, "expected.npz")
	if d := want.Get("output"); !d.IsZero() {
		require.Len(t, got, 1)
		c.compare(t, "output", float64s(t, got[0]), float64s(t, d))
		return
	}
	names := m.OutputNames()
	require.Len(t, got, len(names))
	for i, name := range names {
		d := want.Get("output." + name)
		require.False(t, d.IsZero(), "expected output %q of %q", name, want.Names)
		c.compare(t, "output."+name, float64s(t, got[i]), float64s(t, d))
	}
}

func (c *fileCase) compare(t *testing.T, name string, got, want []float64) {
	t.Helper()
	tol := c.toleranceOf(name)
	if tol.Skip {
		return
	}
	require.Len(t, got, len(want), name)
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if limit := tol.Rtol*math.Abs(w) + tol.Atol*largest + tol.Abs; !(math.Abs(got[i]-w) <= limit) && !(math.IsNaN(w) && math.IsNaN(got[i])) {
			t.Fatalf("%s[%d] = %v; want %v within %v", name, i, got[i], w, limit)
		}
	}
}

func float64s(t *testing.T, d data.Array) []float64 {
	t.Helper()
	switch v := d.Elements().(type) {
	case []float32:
		return widen(v)
	case []float64:
		return v
	case []int32:
		return widen(v)
	case []int64:
		return widen(v)
	case []bool:
		out := make([]float64, len(v))
		for i, b := range v {
			if b {
				out[i] = 1
			}
		}
		return out
	case float32:
		return []float64{float64(v)}
	case float64:
		return []float64{v}
	case int32:
		return []float64{float64(v)}
	case int64:
		return []float64{float64(v)}
	}
	require.Fail(t, "type", "%T", d.Elements())
	return nil
}

func widen[T float32 | int32 | int64](in []T) []float64 {
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}

// checkFile compares every dataset of a written file with what Keras's own file has.
func (c *fileCase) checkFile(t *testing.T, path string) {
	t.Helper()
	archive, err := saving.OpenArchive(path)
	require.NoError(t, err)
	defer archive.Close()
	r, size, err := archive.Member(saving.WeightsFile)
	require.NoError(t, err)
	source, err := saving.OpenWeights(r, size)
	require.NoError(t, err)
	have, err := source.Datasets()
	require.NoError(t, err)
	want := c.arrays(t, "expected.npz")
	for i, name := range want.Names {
		path, ok := strings.CutPrefix(name, "file/")
		if !ok || c.toleranceOf(name).Skip || strings.Contains(name, "seed_generator") {
			continue
		}
		require.True(t, slices.Contains(have, path), "the file has no %s; it has %q", path, have)
		object, index, _ := strings.Cut(path, "vars/")
		datasets, err := source.Vars(strings.TrimSuffix(object, "/"))
		require.NoError(t, err)
		n, err := strconv.Atoi(index)
		require.NoError(t, err)
		values, err := datasets[n].Float64s()
		require.NoError(t, err)
		c.compare(t, name, values, float64s(t, want.Arrays[i]))
	}
}

// jsonFile reads a JSON file of the case.
func (c *fileCase) jsonFile(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// numbers flattens nested lists of numbers.
func numbers(v any) []float64 {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case nil:
		return []float64{math.NaN()}
	case string:
		x, _ := strconv.ParseFloat(v, 64)
		return []float64{x}
	case []any:
		var out []float64
		for _, e := range v {
			out = append(out, numbers(e)...)
		}
		return out
	}
	panic(fmt.Sprintf("unexpected %T", v))
}
