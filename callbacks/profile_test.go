package callbacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
)

// profiled trains a small model for 16 steps with the callback.
func profiled(t *testing.T, m *keras.Model, cb *callbacks.Profile, options ...keras.FitOption) error {
	t.Helper()
	x, y := make([][8]float32, 64), make([][1]float32, 64)
	_, err := m.Fit(t.Context(), data.Arrays(x, y), append(options, keras.BatchSize(8), keras.Epochs(2), keras.Verbose(0), keras.Callbacks(cb))...)
	return err
}

func profileModel(t *testing.T, options ...keras.Option) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Name: "below", Units: 32, Activation: "relu"}, &layers.Dense{Name: "above", Units: 1}},
		append(options, keras.InputShape(8))...)
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	return m
}

// products adds up the calls of products in a step.
func products(table callbacks.ProfileTable) (calls float64) {
	for _, r := range table {
		if strings.HasPrefix(r.Name, "dot") {
			calls += r.Calls
		}
	}
	return calls
}

// A step has five products: two forward, two for the gradients of weights, one for that of the hidden layer. They are
// found in a model that has been compiled before, too, and in one step for several.
func TestProfile(t *testing.T) {
	m := profileModel(t)
	for _, options := range [][]keras.FitOption{nil, nil, {keras.Epochs(1), keras.StepsPerEpoch(5)}} {
		path := filepath.Join(t.TempDir(), "profile.json")
		var b strings.Builder
		cb := &callbacks.Profile{First: 1, Steps: 3, Output: &b, Path: path}
		require.NoError(t, profiled(t, m, cb, options...))
		assert.Equal(t, 5.0, products(cb.Table))
		percent := 0.0
		for i, r := range cb.Table {
			percent += r.Percent
			assert.True(t, i == 0 || r.Percent <= cb.Table[i-1].Percent)
		}
		assert.InDelta(t, 100, percent, 1e-6)
		assert.Contains(t, b.String(), "sequential/below", "the layer is named")
		assert.Contains(t, b.String(), "%peak")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var written callbacks.ProfileTable
		require.NoError(t, json.Unmarshal(text, &written))
		assert.Equal(t, cb.Table, written)
	}
}

func TestProfileOfReplicas(t *testing.T) {
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	cb := &callbacks.Profile{Steps: 4, Output: io.Discard}
	require.NoError(t, profiled(t, profileModel(t, distribute.Scope(s)), cb))
	assert.Equal(t, 10.0, products(cb.Table), "of both replicas")
}

// A run that is shorter than the profile, or fails, prints what there is.
func TestProfileOfShortRuns(t *testing.T) {
	cb := &callbacks.Profile{First: 14, Output: io.Discard}
	require.NoError(t, profiled(t, profileModel(t), cb))
	assert.Equal(t, 5.0, products(cb.Table), "two steps")
	var b strings.Builder
	cb = &callbacks.Profile{First: 100, Output: &b}
	require.NoError(t, profiled(t, profileModel(t), cb))
	assert.Nil(t, cb.Table)
	assert.Equal(t, "Profile: nothing was measured: the run ended after 16 steps, the profile begins with step 100\n", b.String())
}

// Two models that are profiled and traced at once do not see each other: the second trains within a step of the first.
func TestModelsAreApart(t *testing.T) {
	folder := t.TempDir()
	model := func(name string) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Name: name, Units: 32, Activation: "relu"}, &layers.Dense{Units: 1}}, keras.InputShape(8), keras.Name(name+"_model"))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		return m
	}
	outer, inner := model("outer"), model("inner")
	var profiles [2]callbacks.Profile
	var traces [2]callbacks.Trace
	for i, name := range []string{"outer", "inner"} {
		profiles[i] = callbacks.Profile{Steps: 6, Output: io.Discard}
		traces[i] = callbacks.Trace{Path: filepath.Join(folder, name), Steps: 6}
	}
	nested := &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
		if batch != 2 {
			return nil
		}
		return profiled(t, inner, &profiles[1], keras.Callbacks(&traces[1]))
	}}
	require.NoError(t, profiled(t, outer, &profiles[0], keras.Callbacks(&traces[0], nested)))
	for i, names := range [][2]string{{"outer", "inner"}, {"inner", "outer"}} {
		assert.Equal(t, 5.0, products(profiles[i].Table), names[0])
		text, err := json.Marshal(profiles[i].Table)
		require.NoError(t, err)
		trace, err := os.ReadFile(traces[i].Path)
		require.NoError(t, err)
		for _, s := range []string{string(text), string(trace)} {
			assert.True(t, strings.Contains(s, names[0]+"_model"), names[0])
			assert.False(t, strings.Contains(s, names[1]+"_model"), names[0])
		}
	}
}

func TestProfileMistakes(t *testing.T) {
	m := profileModel(t)
	require.ErrorContains(t, profiled(t, m, &callbacks.Profile{First: -1, Output: io.Discard}), "received First -1, Steps 0")
	require.ErrorContains(t, profiled(t, m, &callbacks.Profile{Steps: -2, Output: io.Discard}), "Steps -2")
	two := keras.Callbacks(&callbacks.Profile{Output: io.Discard})
	require.ErrorIs(t, profiled(t, m, &callbacks.Profile{Output: io.Discard}, two), cpu.ErrMeasuring)
	require.Error(t, profiled(t, m, &callbacks.Profile{Path: filepath.Join(t.TempDir(), "none", "x.json"), Output: io.Discard}), "no such folder")
	require.NoError(t, profiled(t, m, &callbacks.Profile{Output: io.Discard}), "nothing is left under way")
}

func ExampleProfile() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 64, Activation: "relu"}, &layers.Dense{Units: 1}}, keras.InputShape(32))
	if err == nil {
		err = model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	x, y := make([][32]float32, 320), make([][1]float32, 320)
	profile := &callbacks.Profile{First: 5, Steps: 3, Output: io.Discard} // without Output the table is printed
	_, err = model.Fit(context.Background(), data.Arrays(x, y), keras.Verbose(0), keras.Callbacks(profile))
	for _, row := range profile.Table {
		if row.Name == "dot+add+relu" {
			fmt.Println(row.Layer, row.Calls, err)
		}
	}
	// Output: sequential/dense 1 <nil>
}

func ExampleProfileTable() {
	table := callbacks.NewProfileTable([]cpu.ProgramProfile{{Program: "train_step", Ops: []cpu.OpProfile{
		{Name: "dot+add+relu", Scope: "sequential/dense", Calls: 20, Time: 10e6, Bytes: 1e6, FLOPs: 5e7},
		{Name: "optimizer_update", Scope: "sgd", Calls: 20, Time: 2e6, Bytes: 2e5},
	}}}, 20, 200e9)
	for _, row := range table {
		fmt.Printf("%s: %.0f µs, %.0f %% of the step, %.0f %% of peak\n", row.Name, row.Microseconds, row.Percent, row.PercentOfPeak)
	}
	// Output:
	// dot+add+relu: 500 µs, 83 % of the step, 50 % of peak
	// optimizer_update: 100 µs, 17 % of the step, 0 % of peak
}
