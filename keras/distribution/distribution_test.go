package distribution_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

func cpus(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("cpu:", i)
	}
	return names
}

func array(t *testing.T, v any) kernels.Array {
	t.Helper()
	shape, values := tfvectors.Floats(t, v)
	a, err := kernels.FromFloat64s(ir.Float32, ir.Shape(shape), values)
	require.NoError(t, err)
	return a
}

// Data parallel training has the losses, scores and weights of Keras's DataParallel. For batches that do not divide
// evenly, which Keras refuses, it has those of one device.
func TestDataParallelIsKeras(t *testing.T) {
	ran := 0
	for _, c := range tfvectors.Load(t, "testdata/keras_distribution.json.gz") {
		if !strings.HasPrefix(c.ID, "keras_distribution.data_parallel") {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			n := 8
			switch {
			case strings.Contains(c.ID, "data_parallel_2"):
				n = 2
			case strings.Contains(c.ID, "mesh_4"):
				n = 4
			}
			mesh, err := distribution.NewDeviceMesh([]int{n}, []string{"batch"}, cpus(n)...)
			require.NoError(t, err)
			d, err := distribution.NewDataParallel(mesh)
			require.NoError(t, err)
			require.Equal(t, n, d.NumReplicasInSync())
			check(t, &c, d)
		})
		ran++
	}
	require.Equal(t, 5, ran)
}

// check trains the model of a case and compares.
func check(t *testing.T, c *tfvectors.Case, s distribute.Strategy) {
	t.Helper()
	var optimizer optimizers.Optimizer = &optimizers.SGD{LearningRate: 0.1}
	if strings.HasSuffix(c.ID, "adam") {
		optimizer = &optimizers.Adam{LearningRate: 0.01}
	}
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Name: "d1", Units: 8, Activation: "relu"}, &layers.Dense{Name: "d2", Units: 3},
	}, keras.InputShape(4), distribute.Scope(s))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	var initial []kernels.Array
	for _, w := range c.Inputs["initial_weights"].([]any) {
		initial = append(initial, array(t, w))
	}
	require.NoError(t, m.SetWeights(initial))
	shape, numbers := tfvectors.Floats(t, c.Inputs["x"])
	x := make([][]float64, shape[0])
	for i := range x {
		x[i] = numbers[i*shape[1] : (i+1)*shape[1]]
	}
	var y []int
	for _, v := range tfvectors.Values(t, c.Inputs["y"]) {
		y = append(y, int(v))
	}
	history, err := m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(16), keras.Shuffle(false))
	require.NoError(t, err)
	right := c.Right()
	c.Close(t, "loss", tfvectors.Get(right, "history", "loss"), history.Logs["loss"])
	c.Close(t, "accuracy", tfvectors.Get(right, "history", "accuracy"), history.Logs["accuracy"])
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for i, steps := range tfvectors.Get(right, "weights_each_step").([]any) {
		all := steps.([]any)
		c.Close(t, fmt.Sprint("weight ", i), all[len(all)-1], weights[i].Float64s())
	}
	scores, err := m.Evaluate(context.Background(), data.Arrays(x, y), keras.BatchSize(16))
	require.NoError(t, err)
	c.Close(t, "evaluated loss", tfvectors.Get(right, "evaluate", "loss"), []float64{scores["loss"]})
}

// Layout maps find the same layouts as Keras's, and refuse what Keras refuses.
func TestLayoutMapIsKeras(t *testing.T) {
	cases := tfvectors.Load(t, "testdata/keras_distribution.json.gz")
	want := cases[len(cases)-1].Map(t)
	mesh, err := distribution.NewDeviceMesh([]int{2, 4}, []string{"batch", "model"}, cpus(8)...)
	require.NoError(t, err)
	m := distribution.NewLayoutMap(mesh)
	require.NoError(t, m.Set("d1/kernel", "", "model"))
	require.NoError(t, m.Set("d2.*kernel", "model", ""))
	require.NoError(t, m.Set(".*bias", "model"))
	get := func(path string) any {
		l, err := m.Get(path)
		require.NoError(t, err)
		if l == nil {
			return nil
		}
		var axes []any
		for _, name := range l.Axes() {
			if name == "" {
				axes = append(axes, nil)
			} else {
				axes = append(axes, name)
			}
		}
		return axes
	}
	require.Equal(t, want["match_exact"], get("d1/kernel"))
	require.Equal(t, want["bias"], get("sequential/d1/bias"))
	require.Equal(t, want["no_match"], get("other/kernel"))
	require.Nil(t, get("sequential/d2/kernel"), "an expression matches a whole path")
	require.Equal(t, []any{"model", nil}, get("d2/kernel"))
	require.EqualValues(t, want["length"], m.Len())
	var keys []any
	for _, k := range m.Keys() {
		keys = append(keys, k)
	}
	require.Equal(t, want["keys"], keys)
	require.ErrorContains(t, m.Set("d1/kernel", "model"), `has the key "d1/kernel" already`)
	require.ErrorContains(t, m.Set("a", "nope"), `names the axis "nope"; the mesh has ["batch" "model"]`)
	require.ErrorContains(t, m.Set("a", "model", "model"), "twice")
	require.ErrorContains(t, m.Set("(", "model"), "no regular expression")
	require.NoError(t, m.Set("a.*", "model"))
	require.NoError(t, m.Set(".*kernel", "batch"))
	_, err = m.Get("a/kernel")
	require.ErrorContains(t, err, `the path "a/kernel" matches the keys ["a.*" ".*kernel"]`)
	m.Delete("a.*")
	require.Equal(t, []any{"batch"}, get("a/kernel"))
	require.Same(t, mesh, m.Mesh())
	_, err = distribution.NewModelParallel(m, "nope")
	require.ErrorContains(t, err, `the batch axis "nope" is none of the mesh's`)
	_, err = distribution.NewModelParallel(nil, "")
	require.ErrorContains(t, err, "needs a layout map")
	_, err = distribution.NewDataParallel(nil)
	require.ErrorContains(t, err, "needs a mesh")
	_, err = distribution.NewTensorLayout(nil)
	require.ErrorContains(t, err, "needs a mesh")
}

func TestMeshMistakes(t *testing.T) {
	for _, c := range []struct {
		shape   []int
		names   []string
		devices []string
		message string
	}{
		{nil, nil, nil, "cannot be empty"},
		{[]int{2, 4}, []string{"a"}, cpus(8), "expected one name for each axis"},
		{[]int{2, 4}, []string{"a", "b"}, cpus(4), "has 8 places; received 4 devices"},
		{[]int{2, 2}, []string{"a", "a"}, cpus(4), "expected different names"},
		{[]int{0}, []string{"a"}, cpus(1), "expected positive numbers"},
		{[]int{2}, []string{"a"}, []string{"cpu:0", "cpu:0"}, "is in the mesh twice"},
		{[]int{2}, []string{"a"}, []string{"cpu:0", "gpu:0"}, "of different kinds"},
		{[]int{1}, []string{"a"}, []string{"cpu:x"}, "must be a number"},
	} {
		_, err := distribution.NewDeviceMesh(c.shape, c.names, c.devices...)
		require.ErrorContains(t, err, c.message)
	}
	mesh, err := distribution.NewDeviceMesh([]int{1}, []string{"batch"})
	require.NoError(t, err, "without devices: those that there are")
	require.Equal(t, distribution.ListDevices("cpu"), []string{mesh.Devices()[0].String()})
	_, err = distribution.NewDeviceMesh([]int{1}, []string{"batch"}, distribution.ListDevices("nowhere")...)
	require.ErrorContains(t, err, "a mesh of shape [1] without devices", "not the CPU, which nobody asked for")
	gone, err := distribution.NewDeviceMesh([]int{1}, []string{"batch"}, "nowhere:0")
	require.NoError(t, err)
	_, err = distribution.NewDataParallel(gone)
	require.ErrorContains(t, err, `no backend for device kind "nowhere"`)
}
