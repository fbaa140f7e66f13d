package keras_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// exported is an ONNX model for testdata/verify_onnx.py.
type exported struct {
	Name    string  `json:"name"`
	Path    string  `json:"path"`
	Inputs  string  `json:"inputs"`
	Outputs string  `json:"outputs"`
	RTol    float64 `json:"rtol"`
}

// notExported are the reasons for which a model is refused; what is exported must run.
var notExported = []string{
	"is float64, for which ONNX runtimes have no", "is bfloat16, for which ONNX runtimes have no", "is stateful",
}

// TestRuntimeRunsFileCases exports every model of the cases that predicts, and lets ONNX Runtime compute the same.
// GOKERAS_PYTHON names a Python with onnxruntime.
func TestRuntimeRunsFileCases(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs ONNX Runtime: set GOKERAS_PYTHON to a Python that has it")
	}
	only := os.Getenv("GOKERAS_FILE_CASES_ONLY")
	dir := t.TempDir()
	var manifest []exported
	refused := 0
	for i, c := range fileCases(t) {
		if c.Group == "hostile" || !strings.Contains(c.Group+"/"+c.Name, only) {
			continue
		}
		x := pick(c.arrays(t, "inputs.npz"), "x")
		if x == nil {
			continue
		}
		m, err := keras.LoadModel(c.model())
		require.NoError(t, err, c.Name)
		e := exported{Name: c.Group + "/" + c.Name, RTol: 1e-4}
		if strings.Contains(c.Name, "float16") {
			e.RTol = 2e-3 // kernels round in other places
		}
		e.Path, e.Inputs, e.Outputs = filepath.Join(dir, fmt.Sprint(i, ".onnx")), filepath.Join(dir, fmt.Sprint(i, "in.npz")), filepath.Join(dir, fmt.Sprint(i, "out.npz"))
		all := asTensors(t, x)
		batch := all.Arrays[0].Shape()[0]
		err = m.Export(e.Path)
		if err != nil && strings.Contains(err.Error(), fmt.Sprintf("keras.ExportBatch(%d)", batch)) {
			err = m.Export(e.Path, keras.ExportBatch(batch))
		}
		if err != nil {
			refused++
			assert.True(t, slices.ContainsFunc(notExported, func(reason string) bool { return strings.Contains(err.Error(), reason) }), "%s: %v", e.Name, err)
			continue
		}
		require.NoError(t, data.SaveNPZ(e.Inputs, all))
		out, err := m.PredictAll(t.Context(), data.Arrays(x, nil), keras.BatchSize(batch))
		require.NoError(t, err, c.Name)
		var results data.Tensors
		for n, y := range out {
			results.Names, results.Arrays = append(results.Names, fmt.Sprint(n)), append(results.Arrays, y)
		}
		require.NoError(t, data.SaveNPZ(e.Outputs, results))
		manifest = append(manifest, e)
	}
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	path := filepath.Join(dir, "manifest.json")
	require.NoError(t, os.WriteFile(path, text, 0o666))
	printed, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "verify_onnx.py"), path).Output()
	require.NoError(t, err, string(printed))
	var results map[string]string
	require.NoError(t, json.Unmarshal(printed, &results))
	require.Len(t, results, len(manifest))
	for name, problem := range results {
		assert.Empty(t, problem, name)
	}
	t.Logf("%d models run, %d refused", len(manifest), refused)
}

// asTensors names one array "x".
func asTensors(t *testing.T, x any) data.Tensors {
	t.Helper()
	switch x := x.(type) {
	case data.Array:
		return data.Tensors{Names: []string{"x"}, Arrays: []data.Array{x}}
	case data.Tensors:
		return x
	}
	t.Fatalf("inputs of type %T", x)
	return data.Tensors{}
}

// Models that no runtime computes are refused, with the reason.
func TestExportRefuses(t *testing.T) {
	build := func(policy string, shape []int, stack ...layers.Layer) *keras.Model {
		m, err := keras.NewSequential(stack, keras.InputShape(shape...), keras.DTypePolicy(policy))
		require.NoError(t, err)
		return m
	}
	path := filepath.Join(t.TempDir(), "m.onnx")
	for want, m := range map[string]*keras.Model{
		"is float64, for which ONNX runtimes have no Conv;":    build("float64", []int{8, 8, 3}, &layers.Conv2D{Filters: 2, KernelSize: []int{3}}),
		"is bfloat16, for which ONNX runtimes have no MatMul;": build("mixed_bfloat16", []int{3}, &layers.Dense{Units: 2}),
		"is stateful: what it predicts depends on":             build("float32", []int{4, 3}, &layers.LSTM{Units: 2, Stateful: true}),
	} {
		require.ErrorContains(t, m.Export(path), want)
		_, err := os.Stat(path)
		require.True(t, os.IsNotExist(err), "nothing is written")
	}
	require.NoError(t, build("float64", []int{3}, &layers.Dense{Units: 2, Activation: "relu"}).Export(path))

	// A constant with a row for each example fixes the batch.
	x := keras.Input(keras.Shape(5))
	mask, err := kernels.FromFloat64s(ir.Bool, ir.Shape{4, 5}, make([]float64, 20))
	require.NoError(t, err)
	y := layers.ApplyArguments(&layers.Softmax{}, layers.Arguments{Positional: []any{x}, Keywords: layers.Keywords{"mask": mask}})[0]
	m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(y))
	require.NoError(t, err)
	require.ErrorContains(t, m.Export(path), "keras.ExportBatch(4)")
	require.NoError(t, m.Export(path, keras.ExportBatch(4)))
}
