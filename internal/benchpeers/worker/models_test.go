package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestDrawnModels: every network that is published can be made, written, exported, used and trained.
func TestDrawnModels(t *testing.T) {
	folder, classes := t.TempDir(), map[string]bool{}
	for number := range uint64(30) {
		d, err := draw(number)
		require.NoError(t, err, number)
		again, err := draw(number)
		require.NoError(t, err)
		assert.Equal(t, d.model.CountParams(), again.model.CountParams(), number)
		for _, l := range d.model.Layers() {
			classes[reflect.TypeOf(l).Elem().Name()] = true
		}
		x, err := inputsFor(d.model, 2)
		require.NoError(t, err)
		y, err := d.model.PredictAll(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err, number)
		assert.Equal(t, 2, y[0].Shape()[0])
	}
	for _, name := range []string{"LSTM", "GRU", "MultiHeadAttention", "Conv2D", "Conv1D", "DepthwiseConv2D", "SeparableConv2D", "BatchNormalization", "Embedding", "Dropout"} {
		assert.True(t, classes[name], "no network has a layer %s", name)
	}

	var out bytes.Buffer
	require.NoError(t, makeModels(&out, folder, []string{"drawn-3"}))
	var line made
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	assert.FileExists(t, line.ONNX)
	require.NoError(t, makeModels(&out, folder, []string{line.Keras}))
	assert.Error(t, makeModels(&out, folder, []string{"drawn-x"}))
	checkDouble(t, folder)
	assert.ErrorContains(t, makeModels(&out, folder, []string{"Other"}), "ResNet50V2")
	for _, variant := range []string{"predict", line.Optimizer} {
		j, err := newJob(line.Keras + "@b2:" + variant)
		require.NoError(t, err)
		m, err := j.measure(0.001)
		require.NoError(t, err)
		assert.Positive(t, m.Least)
	}
	for _, key := range []string{line.Keras + "@b0:predict", line.Keras + "@b2:other", filepath.Join(folder, "none.keras@b1:predict")} {
		_, err := newJob(key)
		assert.Error(t, err, key)
	}
}

// checkDouble: a network under a policy is the same one in other numbers, and is not exported.
func checkDouble(t *testing.T, folder string) {
	var out bytes.Buffer
	require.NoError(t, makeModels(&out, folder, []string{"drawn-7:float64"}))
	var line made
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	assert.Empty(t, line.ONNX)
	assert.Equal(t, "drawn-7-float64.keras", filepath.Base(line.Keras))
	double, err := keras.LoadModel(line.Keras, keras.WithoutCompile())
	require.NoError(t, err)
	single, err := draw(7)
	require.NoError(t, err)
	assert.Equal(t, single.model.CountParams(), double.CountParams())
	x, err := inputsFor(double, 2)
	require.NoError(t, err)
	y, err := double.PredictAll(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	assert.Equal(t, ir.Float64, y[0].DType())
	assert.Error(t, makeModels(&out, folder, []string{"drawn-7:float65"}))
}

// TestCompareOps: what is printed are ops that take longer than they may, all of them here, and steps' ratios.
func TestCompareOps(t *testing.T) {
	defer func(before context.Context) { runs = before }(runs)
	var out bytes.Buffer
	c := opsCompared{policy: "float64", secs: 1e-6, rounds: 1}
	require.NoError(t, c.compareOps(&out, 7, 1))
	assert.Regexp(t, `\| drawn-7 \| train8 \| .*dot.* \| [0-9.]+ \| [0-9.]+ \|`, out.String())
	assert.Contains(t, out.String(), "| 8 | 1 |")
	c.most = 1e9
	out.Reset()
	require.NoError(t, c.compareOps(&out, 7, 1))
	assert.NotContains(t, out.String(), "drawn-7")
	assert.Error(t, opsCompared{policy: "float65"}.compareOps(&out, 7, 1))
}

func TestApplicationNames(t *testing.T) { assert.Len(t, applicationNames(), 40) }

// TestCompiledSteps: a model is trained and evaluated as its file says, with the arrays beside it, and training alone
// changes it.
func TestCompiledSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.keras")
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(4))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "lion", Loss: "huber", Metrics: []string{"mae"}}))
	require.NoError(t, m.Save(path))
	_, err = newJob(path + "@b2:step")
	require.ErrorContains(t, err, "part.x.npy")
	for name, width := range map[string]int{"x": 4, "y": 3} {
		a, err := data.ToArray([][]float32{slices.Repeat([]float32{1}, width), make([]float32, width)})
		require.NoError(t, err)
		require.NoError(t, data.SaveNPY(strings.TrimSuffix(path, "keras")+name+".npy", a))
	}
	for _, variant := range []string{"step", "evaluate"} {
		j, err := newJob(path + "@b2:" + variant)
		require.NoError(t, err)
		measured, err := j.measure(0.001)
		require.NoError(t, err)
		assert.Positive(t, measured.Least)
	}
	read, examples, err := compiledModel(path)
	require.NoError(t, err)
	before, err := read.GetWeights()
	require.NoError(t, err)
	for _, trains := range []bool{false, true} {
		require.NoError(t, asCompiled(read, examples, trains)())
		after, err := read.GetWeights()
		require.NoError(t, err)
		assert.Equal(t, trains, !assert.ObjectsAreEqual(before[1].Float32s(), after[1].Float32s()), "the bias after a step, which trains: %v", trains)
	}
}
