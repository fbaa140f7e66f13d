package distribution_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/partition"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// relayout doubles its input, in a layout of its own.
type relayout struct {
	layers.Base
	Name   string
	layout *distribution.TensorLayout
}

func (l *relayout) Forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.MultiplyScalar(distribution.DistributeTensor(inputs[0], l.layout), 2)}
}

// relaid is the model of a recorded case, over devices.
func relaid(t *testing.T, c *tfvectors.Case, devices []string) (*keras.Model, *distribution.ModelParallel) {
	t.Helper()
	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, devices...)
	require.NoError(t, err)
	axes := func(v any) (names []string) {
		for _, name := range v.([]any) {
			text, _ := name.(string)
			names = append(names, text)
		}
		return names
	}
	layouts := distribution.NewLayoutMap(mesh)
	for key, value := range c.Setup["keys"].(map[string]any) {
		require.NoError(t, layouts.Set(key, axes(value)...))
	}
	d, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	own, err := distribution.NewTensorLayout(mesh, axes(c.Setup["axes"])...)
	require.NoError(t, err)
	m := relaidOver(t, c, own, d)
	return m, d
}

func relaidOver(t *testing.T, c *tfvectors.Case, l *distribution.TensorLayout, s distribute.Strategy) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Name: "d1", Units: 8, Activation: "relu"}, &relayout{Name: "relayout", layout: l}, &layers.Dense{Name: "d2", Units: 3},
	}, keras.InputShape(4), distribute.Scope(s))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	var initial []kernels.Array
	for _, w := range c.Inputs["initial_weights"].([]any) {
		initial = append(initial, array(t, w))
	}
	require.NoError(t, m.SetWeights(initial))
	return m
}

// trainRelaid trains as the case says, and compares losses and weights.
func trainRelaid(t *testing.T, c *tfvectors.Case, m *keras.Model) {
	t.Helper()
	shape, numbers := tfvectors.Floats(t, c.Inputs["x"])
	x := make([][]float64, shape[0])
	for i := range x {
		x[i] = numbers[i*shape[1] : (i+1)*shape[1]]
	}
	var y []int
	for _, v := range tfvectors.Values(t, c.Inputs["y"]) {
		y = append(y, int(v))
	}
	history, err := m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(2), keras.Shuffle(false))
	require.NoError(t, err)
	c.Close(t, "loss", tfvectors.Get(c.Expected, "loss"), history.Logs["loss"])
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for i, w := range tfvectors.Get(c.Expected, "weights").([]any) {
		c.Close(t, m.Weights()[i].Path(), w, weights[i].Float64s())
	}
}

// distributeTensorIsKeras compares losses and weights with Keras's on devices.
func distributeTensorIsKeras(t *testing.T, devices []string) {
	cases := tfvectors.Load(t, "testdata/keras_distribute_tensor.json.gz")
	require.Len(t, cases, 5)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			m, _ := relaid(t, &c, devices)
			trainRelaid(t, &c, m)
		})
	}
}

// Losses and weights are those of Keras whatever the layouts, and each device has the same parts as in Keras: of
// variables, and of tensors to which a layer gives a layout.
func TestDistributeTensorIsKerasOnCPUs(t *testing.T) {
	distributeTensorIsKeras(t, cpus(4))
	for _, c := range tfvectors.Load(t, "testdata/keras_distribute_tensor.json.gz") {
		m, d := relaid(t, &c, cpus(4))
		p, err := m.TrainingProgram(t.Context(), data.Arrays(make([][4]float32, 8), make([]int32, 8)))
		require.NoError(t, err)
		at, err := d.InputLayouts(p)
		require.NoError(t, err)
		own, err := partition.Program(p, []int{2, 2}, at)
		require.NoError(t, err)
		parts := c.Map(t)["parts"].(map[string]any)
		shape := func(name string) (s ir.Shape) {
			for _, n := range parts[name].([]any) {
				s = append(s, int(n.(float64)))
			}
			return s
		}
		for _, in := range own.Inputs {
			if _, known := parts[in.Name]; known {
				require.Equal(t, shape(in.Name), own.Type(in.Value).Shape, "%s: %s", c.ID, in.Name)
			}
		}
		found := false
		for i := range own.Nodes {
			n := &own.Nodes[i]
			if n.Op == ir.Mul && strings.HasSuffix(n.Scope, "relayout") && own.Type(n.Outputs[0]).DType.IsFloat() {
				require.Equal(t, shape("relayout/output"), own.Type(n.Outputs[0]).Shape, c.ID)
				found = true
				break
			}
		}
		require.True(t, found, c.ID)
	}
}

// On one device, and under strategies without a mesh, a layout has no effect; a batch that does not divide evenly stays
// whole.
func TestDistributeTensorWithoutMesh(t *testing.T) {
	c := tfvectors.Load(t, "testdata/keras_distribute_tensor.json.gz")[0]
	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, cpus(4)...)
	require.NoError(t, err)
	l, err := distribution.NewTensorLayout(mesh, "batch", "model")
	require.NoError(t, err)
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	trainRelaid(t, &c, relaidOver(t, &c, l, one))
	two, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	trainRelaid(t, &c, relaidOver(t, &c, l, two))
	m, _ := relaid(t, &c, cpus(4))
	x := [][]float32{{1, 2, 3, 4}, {0, -1, 2, 1}, {3, 1, 0, 1}}
	got, err := m.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(3))
	require.NoError(t, err)
	want, err := relaidOver(t, &c, l, one).Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(3))
	require.NoError(t, err)
	require.InDeltaSlice(t, want.Float64s(), got.Float64s(), 1e-6)
}

func TestDistributeTensorMistakes(t *testing.T) {
	c := tfvectors.Load(t, "testdata/keras_distribute_tensor.json.gz")[0]
	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, cpus(4)...)
	require.NoError(t, err)
	other, err := distribution.NewDeviceMesh([]int{4}, []string{"batch"}, cpus(4)...)
	require.NoError(t, err)
	predict := func(l *distribution.TensorLayout, keys map[string][]string) error {
		layouts := distribution.NewLayoutMap(mesh)
		for key, axes := range keys {
			require.NoError(t, layouts.Set(key, axes...))
		}
		d, err := distribution.NewModelParallel(layouts, "")
		require.NoError(t, err)
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Name: "d1", Units: 8}, &relayout{Name: "relayout", layout: l}}, keras.InputShape(4), distribute.Scope(d))
		if err != nil {
			return err
		}
		_, err = m.Predict(t.Context(), data.Arrays([][]float32{{1, 2, 3, 4}, {1, 2, 3, 5}}, nil))
		return err
	}
	short, err := distribution.NewTensorLayout(mesh, "batch")
	require.NoError(t, err)
	foreign, err := distribution.NewTensorLayout(other, "batch", "")
	require.NoError(t, err)
	fits, err := distribution.NewTensorLayout(mesh, "batch", "model")
	require.NoError(t, err)
	require.NoError(t, predict(fits, nil))
	require.ErrorContains(t, predict(nil, nil), "the layout is nil")
	require.ErrorContains(t, predict(short, nil), `the layout names 1 axes, ["batch"]; the tensor has the shape`)
	require.ErrorContains(t, predict(foreign, nil), "a layout for a mesh of shape [4] in a program for one of shape [2 2]")
	require.ErrorContains(t, predict(fits, map[string][]string{"d1/output": {"model"}}), `the layout of d1/output names 1 axes, ["model"]; the output has the shape`)
	m, d := relaid(t, &c, cpus(4))
	v := m.Weights()[0]
	require.ErrorContains(t, d.DistributeVariable(nil, fits), "expected both")
	require.ErrorContains(t, d.DistributeVariable(v, short), "the variable d1/kernel has the shape [4 8]")
	require.ErrorContains(t, d.DistributeVariable(v, foreign), "the distribution has DeviceMesh(shape [2 2]")
}

// A variable's own layout overrides that of the map, for its slots too; results stay those of Keras.
func TestDistributeVariable(t *testing.T) {
	c := tfvectors.Load(t, "testdata/keras_distribute_tensor.json.gz")[0]
	m, d := relaid(t, &c, cpus(4))
	rows, err := distribution.NewTensorLayout(d.DeviceMesh(), "model", "")
	require.NoError(t, err)
	require.NoError(t, d.DistributeVariable(m.Weights()[0], rows))
	l, err := d.VariableLayout("d1/kernel", 2)
	require.NoError(t, err)
	require.Equal(t, []string{"model", ""}, l.Axes())
	trainRelaid(t, &c, m)
}
