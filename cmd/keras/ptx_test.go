//go:build cudafake && linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	_ "github.com/gokeras/gokeras/kernels/cuda"
	"github.com/gokeras/gokeras/layers"
)

// drawModel saves a random model for images of 6 by 6 in three classes, with random examples.
func drawModel(t *testing.T, dir string, r *rand.Rand) (policy string) {
	pick := func(names ...string) string { return names[r.IntN(len(names))] }
	policy = pick("float32", "float32", "mixed_bfloat16", "mixed_float16", "float64")
	channels := 1 + r.IntN(2)
	list := []layers.Layer{&layers.Conv2D{Filters: 1 + r.IntN(5), KernelSize: []int{1 + r.IntN(3)}, Activation: pick("relu", "tanh", "gelu")}}
	for range r.IntN(3) {
		switch r.IntN(5) {
		case 0:
			list = append(list, &layers.BatchNormalization{})
		case 1:
			list = append(list, &layers.MaxPooling2D{Padding: "same"})
		case 2:
			list = append(list, &layers.Dropout{Rate: 0.3})
		case 3:
			list = append(list, &layers.LayerNormalization{})
		default:
			list = append(list, &layers.RandomFlip{}, &layers.RandomTranslation{HeightFactor: []float64{0.2}, WidthFactor: []float64{0.2}})
		}
	}
	list = append(list, &layers.Flatten{}, &layers.Dense{Units: 3, Activation: "softmax"})
	m, err := keras.NewSequential(list, keras.InputShape(6, 6, channels), keras.Seed(r.Uint64()), keras.DTypePolicy(policy))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{
		Optimizer: pick("sgd", "adam", "rmsprop", "adamw", "lion"), Loss: "sparse_categorical_crossentropy", Metrics: []string{"accuracy"}}))
	require.NoError(t, m.Save(filepath.Join(dir, "model.keras")))
	n := 10 + r.IntN(20)
	x, y := make([][]float32, n), make([]int32, n)
	for i := range x {
		x[i] = make([]float32, 36*channels)
		for j := range x[i] {
			x[i][j] = float32(r.NormFloat64())
		}
		y[i] = int32(r.IntN(3))
	}
	a, err := data.ToArray(x)
	require.NoError(t, err)
	a, err = a.Reshape(n, 6, 6, channels)
	require.NoError(t, err)
	labels, err := data.ToArray(y)
	require.NoError(t, err)
	require.NoError(t, data.SaveNPZ(filepath.Join(dir, "both.npz"), data.Dict(map[string]data.Array{"x": a, "y": labels})))
	return policy
}

// fit, evaluate and predict come to the numbers of the CPU on a device with interpreted kernels, for random models.
func TestCommandsOnPTX(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 17))
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			policy := drawModel(t, dir, r)
			tolerance := map[string]float64{"float32": 2e-3, "float64": 1e-6, "mixed_bfloat16": 6e-2, "mixed_float16": 2e-2}[policy]
			both := path("both.npz")
			options := []string{"--batch-size", fmt.Sprint(1 + r.IntN(12)), "--epochs", "2", "--seed", "5", "--verbose", "0"}
			if r.IntN(2) == 0 {
				options = append(options, "--validation-split", "0.3")
			}
			if r.IntN(3) == 0 {
				options = append(options, "--class-weight", `{"0": 1, "1": 3}`)
			}
			results := map[string][][]float64{}
			for _, device := range []string{"cpu:0", "ptx:0"} {
				on := []string{"--devices", device}
				out, history := path("out.keras"), path("history.json")
				status, _, stderr := execute(t, append(append([]string{"fit", path("model.keras"), "--x", both, "--y", both, "--output", out, "--history", history}, options...), on...)...)
				require.Zero(t, status, stderr)
				text, err := os.ReadFile(history)
				require.NoError(t, err)
				_, values := members(t, text)
				status, stdout, stderr := execute(t, append([]string{"evaluate", out, "--x", both, "--y", both, "--json"}, on...)...)
				require.Zero(t, status, stderr)
				_, scores := members(t, []byte(stdout))
				status, _, stderr = execute(t, append([]string{"predict", out, "--x", both, "--output", path("out.npy")}, on...)...)
				require.Zero(t, status, stderr)
				predicted, err := data.LoadNPY(path("out.npy"))
				require.NoError(t, err)
				results[device] = append(append(values, scores...), floats(t, predicted))
			}
			want, got := results["cpu:0"], results["ptx:0"]
			require.Len(t, got, len(want))
			for i := range want {
				assert.InDeltaSlice(t, want[i], got[i], tolerance, "%s: list %d of history, scores and predictions", policy, i)
			}
		})
	}
}

// bench and profile measure, and a trace has the kernels.
func TestMeasuresOnPTX(t *testing.T) {
	dir := t.TempDir()
	drawModel(t, dir, rand.New(rand.NewPCG(3, 17)))
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, mode := range []string{"train", "predict"} {
		status, stdout, stderr := execute(t, "bench", path("model.keras"), "--mode", mode, "--devices", "ptx:0", "--seconds", "0.2", "--json")
		require.Zero(t, status, stderr)
		var b benchmark
		require.NoError(t, json.Unmarshal([]byte(stdout), &b))
		assert.Positive(t, b.StepsPerSecond)
		status, stdout, stderr = execute(t, "profile", path("model.keras"), "--mode", mode, "--devices", "ptx:0", "--seconds", "0.2", "--json")
		require.Zero(t, status, stderr)
		var table callbacks.ProfileTable
		require.NoError(t, json.Unmarshal([]byte(stdout), &table))
		require.NotEmpty(t, table)
		for _, row := range table {
			assert.Positive(t, row.Megabytes, row.Name)
		}
	}
	status, _, stderr := execute(t, "fit", path("model.keras"), "--x", path("both.npz"), "--y", path("both.npz"), "--output", path("o.keras"), "--devices", "ptx:0", "--trace", path("trace.json"), "--verbose", "0")
	require.Zero(t, status, stderr)
	text, err := os.ReadFile(path("trace.json"))
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(text), `"name":"conv`) || strings.Contains(string(text), "conv+"), "kernels are in the trace")
}

// What a user of a GPU may get wrong is said before anything is computed.
func TestMistakesOnPTX(t *testing.T) {
	dir := t.TempDir()
	drawModel(t, dir, rand.New(rand.NewPCG(1, 17)))
	for _, c := range []struct{ devices, want string }{
		{"ptx:7", "there is no device ptx:7: the driver has 1 of them, counted from 0"},
		{"cuda:0", "NVIDIA's driver is not installed"},
		{"gpu:0", "NVIDIA's driver is not installed"},
		{"ptx", ""},
		{"ptx:0,cpu:0", "add --strategy mirrored"},
	} {
		status, _, stderr := execute(t, "predict", filepath.Join(dir, "model.keras"), "--x", filepath.Join(dir, "both.npz"), "--output", filepath.Join(dir, "o.npy"), "--devices", c.devices)
		if c.want == "" {
			assert.Zero(t, status, stderr)
			continue
		}
		assert.NotZero(t, status, c.devices)
		assert.Contains(t, stderr, c.want)
	}
}
