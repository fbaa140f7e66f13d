//go:build linux

package pjrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/hlo"
	"github.com/gokeras/gokeras/layers"
)

// meshStep is a training step on a mesh.
type meshStep struct {
	mesh  []int
	keys  map[string][]string
	build func(s distribute.Strategy) (*keras.Model, *data.ArraySource)
}

// meshSteps are the models of internal/vectors/gen/jax_mesh_steps.py, by the name of the file that it writes.
func meshSteps(t *testing.T) map[string]meshStep {
	transformer := map[string][]string{
		".*embedding/embeddings": {"", "model"}, ".*(query|key|value)/kernel": {"", "model", ""}, ".*attention_output/kernel": {"model", "", ""},
		"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""},
	}
	columns := map[string][]string{"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""}}
	stack := func(x data.Array, rows int, input []int, list ...layers.Layer) func(distribute.Strategy) (*keras.Model, *data.ArraySource) {
		return func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
			m, err := keras.NewSequential(list, keras.InputShape(input...), distribute.Scope(s))
			require.NoError(t, err)
			return m, data.Arrays(x, zeros(ir.Int32, rows))
		}
	}
	language := func(s distribute.Strategy) (*keras.Model, *data.ArraySource) {
		m, err := keras.NewModel(newGPT(), distribute.Scope(s))
		require.NoError(t, err)
		return m, data.Arrays(zeros(ir.Int32, 8, 6), zeros(ir.Int32, 8, 6))
	}
	return map[string]meshStep{
		"gpt_2x2": {[]int{2, 2}, transformer, language}, "gpt_4x1": {[]int{4, 1}, transformer, language}, "gpt_1x4": {[]int{1, 4}, columns, language},
		"mlp_2x2": {[]int{2, 2}, columns, stack(zeros(ir.Float32, 8, 16), 8, []int{16}, &layers.Dense{Units: 32, Activation: "relu"}, &layers.Dense{Units: 32, Activation: "relu"}, &layers.Dense{Units: 8})},
		"cnn_4x1": {[]int{4, 1}, nil, stack(zeros(ir.Float32, 16, 8, 8, 3), 16, []int{8, 8, 3}, &layers.Conv2D{Filters: 8, KernelSize: []int{3}, Activation: "relu"}, &layers.BatchNormalization{}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dense{Units: 16})},
		"lstm_2x2": {[]int{2, 2}, map[string][]string{".*embeddings": {"", "model"}, "dense/kernel": {"", "model"}, "dense/bias": {"model"}},
			stack(zeros(ir.Int32, 16, 6), 16, []int{6}, &layers.Embedding{InputDim: 20, OutputDim: 8}, &layers.LSTM{Units: 8}, &layers.Dense{Units: 16})},
	}
}

// collectivesOf compiles a module for four devices of the plugin for CPUs and counts what they exchange in a step.
func collectivesOf(t *testing.T, client *capi.Client, text string) (total int, counts map[string]int) {
	t.Helper()
	code, err := client.Compile([]byte(text), capi.CompileOptions{Replicas: 1, Partitions: 4, Devices: []int{0, 1, 2, 3}, Shardy: pjrt.TakesShardy(client.Plugin)})
	require.NoError(t, err)
	return collectivesIn(t, code)
}

// collectivesIn counts what a step exchanges.
func collectivesIn(t *testing.T, code *capi.Executable) (total int, counts map[string]int) {
	t.Helper()
	defer func() { require.NoError(t, code.Close()) }()
	program, format, err := code.Optimized()
	require.NoError(t, err)
	counts, _, err = hlo.Collectives(program, format) // what indices that are out of range cost is in a branch
	require.NoError(t, err)
	for _, n := range counts {
		total += n
	}
	return total, counts
}

// A training step whose variables lie in parts has no more operations between devices than what XLA puts into JAX's
// step of Keras's model with the same layouts.
func TestCollectivesJAX(t *testing.T) {
	plugin, err := capi.Open(plugin(t))
	require.NoError(t, err)
	client, err := plugin.NewClient(nil, capi.Option{Name: "cpu_device_count", Value: int64(4)})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for name, step := range meshSteps(t) {
		if testing.Short() && name != "gpt_2x2" && name != "mlp_2x2" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, layouts := divided(t, step.mesh, step.keys, step.build)
			text, err := pjrt.MeshText(client.Plugin, p, step.mesh, layouts)
			require.NoError(t, err)
			total, ours := collectivesOf(t, client, text)
			most, theirs := collectivesOf(t, client, jaxStep(t, name))
			t.Logf("ours %d: %v; JAX's %d: %v", total, ours, most, theirs)
			require.NotZero(t, total)
			require.LessOrEqual(t, total, most, "ours %v, JAX's %v", ours, theirs)
		})
	}
}

// The same for four TPUs: the passes of their compiler before the partitioner are others.
func TestTargetCollectivesJAX(t *testing.T) {
	path := libtpu(t)
	target, err := pjrt.NewTarget(path, "v5e:2x2") // which tells libtpu that there is no TPU
	require.NoError(t, err)
	require.NoError(t, target.Close())
	plugin, err := capi.Open(path)
	require.NoError(t, err)
	topology, err := plugin.NewTopology("v5e:2x2")
	require.NoError(t, err)
	defer func() { require.NoError(t, topology.Close()) }()
	devices, err := topology.Devices()
	require.NoError(t, err)
	var ids []int
	for _, d := range devices {
		ids = append(ids, d.ID)
	}
	for name, step := range meshSteps(t) {
		if testing.Short() && name != "cnn_4x1" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, layouts := divided(t, step.mesh, step.keys, step.build)
			text, err := pjrt.MeshText(plugin, p, step.mesh, layouts)
			require.NoError(t, err)
			var totals []int
			for _, module := range []string{text, jaxStep(t, name)} {
				code, err := topology.Compile([]byte(module), capi.CompileOptions{Replicas: 1, Partitions: 4, Devices: ids, Shardy: true})
				require.NoError(t, err)
				total, counts := collectivesIn(t, code)
				t.Logf("%d: %v", total, counts)
				totals = append(totals, total)
			}
			require.NotZero(t, totals[0])
			require.LessOrEqual(t, totals[0], totals[1])
		})
	}
}
