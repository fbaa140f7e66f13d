package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// smallModel writes a compiled model of three inputs and two outputs, and data for it.
func smallModel(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2, KernelInitializer: "ones"}}, keras.InputShape(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []string{"mae"}}))
	require.NoError(t, m.Save(filepath.Join(dir, "model.keras")))
	x, err := data.ToArray([][]float32{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {0, 0, 1}})
	require.NoError(t, err)
	y, err := data.ToArray([][]float32{{6, 6}, {15, 15}, {24, 24}, {1, 2}})
	require.NoError(t, err)
	require.NoError(t, data.SaveNPY(filepath.Join(dir, "x.npy"), x))
	require.NoError(t, data.SaveNPZ(filepath.Join(dir, "both.npz"), data.Dict(map[string]data.Array{"x": x, "y": y})))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.csv"), []byte("a,b,c\n1,2,3\n4,5,6\n"), 0o644))
	return dir
}

func TestPredictReadsEveryKindOfFile(t *testing.T) {
	dir := smallModel(t)
	for _, in := range []string{"x.npy", "both.npz", "both.npz:x", "x.csv"} {
		out := filepath.Join(dir, "out.npy")
		status, stdout, stderr := execute(t, "predict", filepath.Join(dir, "model.keras"), "--x", filepath.Join(dir, in), "--output", out)
		require.Zero(t, status, stderr)
		assert.Empty(t, stdout)
		got, err := data.LoadNPY(out)
		require.NoError(t, err)
		assert.Equal(t, []float64{6, 6, 15, 15}, floats(t, got)[:4], in)
	}
}

func TestEvaluate(t *testing.T) {
	dir := smallModel(t)
	both := filepath.Join(dir, "both.npz")
	status, stdout, stderr := execute(t, "evaluate", filepath.Join(dir, "model.keras"), "--x", both, "--y", both, "--json")
	require.Zero(t, status, stderr)
	assert.Equal(t, `{"loss": 0.125, "mae": 0.125}`+"\n", stdout)
	status, stdout, stderr = execute(t, "evaluate", filepath.Join(dir, "model.keras"), "--x", both, "--y", both)
	require.Zero(t, status, stderr)
	assert.Equal(t, "loss  0.125\nmae   0.125\n", stdout)
}

// TestFitGoesOn: two epochs in one run, and one epoch in each of two runs, give the same model and the same history.
func TestFitGoesOn(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	fit := func(model, out, history string, more ...string) {
		args := append([]string{"fit", path(model), "--x", path("both.npz"), "--y", path("both.npz"), "--batch-size", "2", "--no-shuffle", "--verbose", "0",
			"--output", path(out), "--history", path(history)}, more...)
		status, _, stderr := execute(t, args...)
		require.Zero(t, status, stderr)
	}
	fit("model.keras", "two.keras", "two.json", "--epochs", "2")
	fit("model.keras", "one.keras", "one.json")
	fit("one.keras", "again.keras", "again.json", "--initial-epoch", "1", "--epochs", "2")
	fit("model.keras", "mirrored.keras", "mirrored.json", "--epochs", "2", "--strategy", "mirrored", "--devices", "cpu:0,cpu:1")
	fit("model.keras", "cores.keras", "cores.json", "--epochs", "2", "--strategy", "tpu", "--devices", "cpu:0,cpu:1,cpu:2")
	want := storedArrays(t, path("two.keras"))
	assert.Equal(t, want, storedArrays(t, path("again.keras")))
	for name, a := range storedArrays(t, path("cores.keras")) {
		assert.InDeltaSlice(t, want[name].values, a.values, 1e-5, name)
	}
	for name, a := range storedArrays(t, path("mirrored.keras")) {
		assert.InDeltaSlice(t, want[name].values, a.values, 1e-5, name)
	}
	var whole, second map[string][]float64
	readJSON(t, path("two.json"), &whole)
	readJSON(t, path("again.json"), &second)
	assert.Equal(t, whole["loss"][1:], second["loss"])
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

func TestSummaryAsJSON(t *testing.T) {
	dir := smallModel(t)
	status, stdout, stderr := execute(t, "summary", filepath.Join(dir, "model.keras"), "--json")
	require.Zero(t, status, stderr)
	var s modelSummary
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	assert.Equal(t, 8, s.TotalParams)
	assert.Equal(t, 8, s.TrainableParams)
	assert.Equal(t, "Dense", s.Layers[0].ClassName)
	assert.Nil(t, s.Inputs[0].Shape[0])
	assert.Equal(t, 3, *s.Inputs[0].Shape[1])
}

func TestDevices(t *testing.T) {
	status, stdout, _ := execute(t, "devices", "--json")
	assert.Zero(t, status)
	assert.Contains(t, stdout, `"cpu:0"`)
}

func TestConvertThereAndBack(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	model := path("model.keras")
	for _, ending := range []string{".weights.h5", ".safetensors", ".npz"} {
		status, _, stderr := execute(t, "convert", model, path("weights"+ending))
		require.Zero(t, status, stderr)
		status, _, stderr = execute(t, "convert", model, path("again.keras"), "--weights", path("weights"+ending))
		require.Zero(t, status, stderr)
		again := storedArrays(t, path("again.keras"))
		for name, want := range storedArrays(t, model) {
			assert.Equal(t, want, again[name], "%s %s", ending, name)
		}
	}
	status, _, stderr := execute(t, "convert", model, path("model.json"))
	require.Zero(t, status, stderr)
	status, _, stderr = execute(t, "convert", path("model.json"), path("again.keras"), "--weights", path("weights.npz"))
	require.Zero(t, status, stderr)
}

// TestMistakes: one line that says what was received and what was expected, and the exit status.
func TestMistakes(t *testing.T) {
	dir := smallModel(t)
	model, x := filepath.Join(dir, "model.keras"), filepath.Join(dir, "x.npy")
	out, both, trained, folder := filepath.Join(dir, "out.npy"), filepath.Join(dir, "both.npz"), filepath.Join(dir, "trained.keras"), filepath.Join(dir, "folder.keras")
	require.NoError(t, os.Mkdir(folder, 0o755))
	for _, c := range []struct {
		args   []string
		status int
		words  string
	}{
		{nil, 2, "no command"},
		{[]string{"predcit"}, 2, "predict"},
		{[]string{"predict"}, 2, "MODEL"},
		{[]string{"predict", model}, 2, "--x is missing"},
		{[]string{"predict", model, "--y", x}, 2, "unknown flag: --y"},
		{[]string{"predict", model, "--x", x, "--output", "out.txt"}, 2, ".npy, .npz or .csv"},
		{[]string{"predict", model, "--x", x, "--output", out, "--batch-size", "many"}, 2, "many"},
		{[]string{"predict", model, "--x", x, "--output", out, "--batch-size", "-1"}, 2, "-1"},
		{[]string{"predict", model, "--x", x, "--output", out, "--strategy", "mirored"}, 2, "mirored"},
		{[]string{"predict", model, "--x", x, "--output", out, "--devices", "cpu:0,cpu:1"}, 2, "mirrored"},
		{[]string{"predict", model, "--x", x, "--output", out, "--strategy", "tpu"}, 1, "go build -tags pjrt"},
		{[]string{"compile", model}, 2, "--target names the devices"},
		{[]string{"compile", model, "--target", "v5e:2x2", "--mode", "sing"}, 2, "expected train or predict"},
		{[]string{"compile", model, "--target", "v5e:2x2", "--batch-size", "0"}, 2, "expected a positive number"},
		{[]string{"compile", model, "--target", "v5e:2x2"}, 1, "go build -tags pjrt"},
		{[]string{"predict", model, "--x", x, "--output", out, "--strategy", "tpu", "--devices", "cpu:0,gpu:1"}, 2, "run on one kind"},
		{[]string{"predict", model, "--x", x, "--output", out, "--strategy", "tpu", "--devices", "cpu:0,cpu:0"}, 1, "assigned twice"},
		{[]string{"predict", model, "--x", x, "--output", out, "--strategy", "mirrored", "--devices", "gpu:0"}, 1, "gpu"},
		{[]string{"predict", model, "--x", filepath.Join(dir, "nowhere.npy"), "--output", out}, 1, "nowhere.npy"},
		{[]string{"predict", model, "--x", filepath.Join(dir, "both.npz") + ":z", "--output", out}, 1, "it has x, y"},
		{[]string{"predict", filepath.Join(dir, "nowhere.keras"), "--x", x, "--output", out}, 1, "nowhere.keras"},
		{[]string{"predict", x, "--x", x, "--output", out}, 1, "x.npy"},
		{[]string{"evaluate", model, "--x", x}, 1, "target"},
		{[]string{"fit", model, "--x", x, "--y", x, "--output", "trained.h5"}, 2, ".keras"},
		{[]string{"fit", model, "--x", x, "--y", x, "--output", "trained.keras", "--class-weight", "5"}, 2, "--class-weight"},
		{[]string{"fit", model, "--x", x, "--y", x, "--output", "trained.keras", "--validation-x", x}, 2, "--validation-y"},
		{[]string{"convert", model, "model.pb"}, 2, ".onnx"},
		{[]string{"plot", model, "model.gif"}, 2, ".svg, .png or .dot"},
		{[]string{"plot", model, dir}, 2, "unknown kind"},
		{[]string{"devices", "cpu:0"}, 2, "expected none"},
		{[]string{"predict", model, "--x", x, "--output", filepath.Join(dir, "no", "out.npy")}, 2, "there is no folder " + filepath.Join(dir, "no")},
		{[]string{"predict", model, "--x", x, "--output", filepath.Join(x, "out.npy")}, 2, "is a file"},
		{[]string{"convert", model, filepath.Join(dir, "no", "out.onnx")}, 2, "no folder"},
		{[]string{"plot", model, filepath.Join(dir, "no", "out.svg")}, 2, "no folder"},
		{[]string{"fit", model, "--x", both, "--y", both, "--output", filepath.Join(dir, "no", "trained.keras")}, 2, "no folder"},
		{[]string{"fit", model, "--x", both, "--y", both, "--output", trained, "--history", filepath.Join(dir, "no", "h.json")}, 2, "--history"},
		{[]string{"fit", model, "--x", both, "--y", both, "--output", trained, "--trace", filepath.Join(dir, "no", "t.json")}, 2, "--trace"},
		{[]string{"fit", model, "--x", both, "--y", both, "--output", folder}, 2, "is a folder"},
	} {
		status, _, stderr := execute(t, c.args...)
		assert.Equal(t, c.status, status, "%v: %s", c.args, stderr)
		assert.Contains(t, stderr, c.words, c.args)
		assert.True(t, strings.HasPrefix(stderr, "keras: ") && strings.Count(stderr, "\n") == 1, stderr)
	}
	assert.NoFileExists(t, out)
}

// TestChiefWriterIsItsFile: the bar of keras fit has to know a terminal, which it does by the file's number.
func TestChiefWriterIsItsFile(t *testing.T) {
	always := func() bool { return true }
	require.Equal(t, os.Stdout.Fd(), chiefWriter{os.Stdout, always}.Fd())
	require.Equal(t, ^uintptr(0), chiefWriter{io.Discard, always}.Fd())
}

// TestArraysOfOtherNames: arrays of an archive go to the inputs by name; by order only where no name says otherwise.
func TestArraysOfOtherNames(t *testing.T) {
	dir := t.TempDir()
	a, b := keras.Input(keras.Shape(1), keras.InputName("a")), keras.Input(keras.Shape(1), keras.InputName("b"))
	m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Subtract{}, a, b)))
	require.NoError(t, err)
	model := filepath.Join(dir, "model.keras")
	require.NoError(t, m.Save(model))
	five, three := must(data.ToArray([][]float32{{5}})), must(data.ToArray([][]float32{{3}}))
	for _, c := range []struct {
		names  [2]string
		status int
	}{
		{[2]string{"b", "a"}, 0},
		{[2]string{"arr_0", "arr_1"}, 0},
		{[2]string{"b", "c"}, 1},
		{[2]string{"x.b", "x.c"}, 1},
	} {
		in, out := filepath.Join(dir, "in.npz"), filepath.Join(dir, "out.npy")
		require.NoError(t, data.SaveNPZ(in, data.Tensors{Names: c.names[:], Arrays: []data.Array{five, three}}))
		status, _, stderr := execute(t, "predict", model, "--x", in, "--output", out)
		assert.Equal(t, c.status, status, "%v: %s", c.names, stderr)
		if status != 0 {
			assert.Contains(t, stderr, "expected a, b")
			continue
		}
		got, err := data.LoadNPY(out)
		require.NoError(t, err)
		want := 2.0
		if c.names[0] == "b" {
			want = -2
		}
		assert.Equal(t, []float64{want}, floats(t, got), c.names)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestHelp: every command shows an example.
func TestHelp(t *testing.T) {
	status, stdout, _ := execute(t, "--help")
	assert.Zero(t, status)
	for _, c := range newCommand().Commands() {
		assert.Contains(t, stdout, c.Name())
		status, help, stderr := execute(t, c.Name(), "--help")
		assert.Zero(t, status, stderr)
		assert.Contains(t, help, "Examples:\n  keras "+c.Name())
	}
}

// TestPredictCSV: a line for each example under the names of the outputs, with numbers that read back the same.
func TestPredictCSV(t *testing.T) {
	dir := smallModel(t)
	model, both := filepath.Join(dir, "model.keras"), filepath.Join(dir, "both.npz")
	for _, file := range []string{"y.csv", "y.npy"} {
		status, _, stderr := execute(t, "predict", model, "--x", both, "--output", filepath.Join(dir, file))
		require.Zero(t, status, stderr)
	}
	want, err := data.LoadNPY(filepath.Join(dir, "y.npy"))
	require.NoError(t, err)
	table, err := data.LoadCSV(filepath.Join(dir, "y.csv"))
	require.NoError(t, err)
	assert.Equal(t, floats(t, want), floats(t, table.X))
}

// TestFitCallbacks: a rate of its own, a stop after epochs without a better loss, the best model and what TensorBoard
// reads.
func TestFitCallbacks(t *testing.T) {
	dir := smallModel(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	fit := func(more ...string) (int, string) {
		status, _, stderr := execute(t, append([]string{"fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--verbose", "0", "--output", path("out.keras")}, more...)...)
		return status, stderr
	}
	status, stderr := fit("--epochs", "9", "--learning-rate", "1e-30", "--early-stopping", "2", "--checkpoint", path("best.keras"), "--tensorboard", path("logs"), "--history", path("h.json"))
	require.Zero(t, status, stderr)
	history, err := os.ReadFile(path("h.json"))
	require.NoError(t, err)
	var h map[string][]float64
	require.NoError(t, json.Unmarshal(history, &h))
	assert.Len(t, h["loss"], 3, "nothing moves at that rate, so it stops after two epochs that are no better")
	assert.FileExists(t, path("best.keras"))
	assert.DirExists(t, path("logs"))
	for _, bad := range [][]string{{"--learning-rate", "-1"}, {"--early-stopping", "soon"}, {"--early-stopping", "3:"}, {"--checkpoint", path("best.txt")}} {
		status, stderr = fit(bad...)
		assert.Equal(t, 2, status, stderr)
		assert.Contains(t, stderr, bad[0])
	}
}
