package distribution_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// Models whose variables are divided over 4 CPUs have the losses, scores and weights of Keras's ModelParallel on 8.
func TestModelParallelIsKerasOnCPUs(t *testing.T) { modelParallelIsKeras(t, cpus(4)) }

func modelParallelIsKeras(t *testing.T, devices []string) {
	ran := 0
	for _, c := range tfvectors.Load(t, "testdata/keras_distribution.json.gz") {
		name, ok := strings.CutPrefix(c.ID, "keras_distribution.model_parallel_")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			shape, keys := []int{2, 2}, map[string][]string{"d1/kernel": {"", "model"}, "d1/bias": {"model"}, "d2/kernel": {"model", ""}}
			switch {
			case strings.HasPrefix(name, "1x8"):
				shape, keys = []int{1, 4}, map[string][]string{"d1.*kernel": {"", "model"}, "d1.*bias": {"model"}}
			case strings.HasPrefix(name, "4x2"):
				keys = map[string][]string{"d1/kernel": {"", "model"}}
			}
			mesh, err := distribution.NewDeviceMesh(shape, []string{"batch", "model"}, devices...)
			require.NoError(t, err)
			layouts := distribution.NewLayoutMap(mesh)
			for key, axes := range keys {
				require.NoError(t, layouts.Set(key, axes...))
			}
			d, err := distribution.NewModelParallel(layouts, "batch")
			require.NoError(t, err)
			check(t, &c, d)
		})
		ran++
	}
	require.Equal(t, 5, ran)
}

// gpt is a small language model.
type gpt struct {
	Tokens     *layers.Embedding
	Norm       *layers.LayerNormalization
	Attention  *layers.MultiHeadAttention
	Second     *layers.LayerNormalization
	Wide, Back *layers.Dense
	Out        *layers.Dense
}

func (m *gpt) Call(c *layers.Context, ids *ops.Tensor) *ops.Tensor {
	x := layers.Invoke(m.Tokens, c, ids)
	n := layers.Invoke(m.Norm, c, x)
	x = ops.Add(x, layers.Invoke(m.Attention, c, n, n))
	return layers.Invoke(m.Out, c, ops.Add(x, layers.Invoke(m.Back, c, layers.Invoke(m.Wide, c, layers.Invoke(m.Second, c, x)))))
}

// trainedGPT trains for 20 steps.
func trainedGPT(t *testing.T, s distribute.Strategy) (*keras.Model, []float64) {
	t.Helper()
	m, err := keras.NewModel(&gpt{
		Tokens: &layers.Embedding{InputDim: 16, OutputDim: 8}, Norm: &layers.LayerNormalization{}, Second: &layers.LayerNormalization{},
		// The gradient of the keys' bias consists of rounding errors only, which Adam would amplify to full steps.
		Attention: &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 4, UseCausalMask: true, NoBias: true},
		Wide:      &layers.Dense{Units: 32, Activation: "gelu"}, Back: &layers.Dense{Units: 8}, Out: &layers.Dense{Units: 16},
	}, distribute.Scope(s), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	var x, y [][]int32
	for i := range 40 {
		row := make([]int32, 7)
		for j := range row {
			row[j] = int32((i*3 + j*(i%3+1) + int(4*math.Sin(float64(i*j))) + 16) % 16)
		}
		x, y = append(x, row[:6]), append(y, row[1:])
	}
	history, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(4))
	require.NoError(t, err)
	return m, history.Logs["loss"]
}

func sameWeights(t *testing.T, want, got *keras.Model, tolerance float64, what ...any) {
	t.Helper()
	a, err := want.GetWeights()
	require.NoError(t, err)
	b, err := got.GetWeights()
	require.NoError(t, err)
	require.Len(t, b, len(a))
	for i := range a {
		require.InDeltaSlice(t, a[i].Elements(), b[i].Elements(), tolerance, "weight %d %v", i, what)
	}
}

// A GPT on 4 CPUs, with 2 parts of the batch and 2 of the weights, has the weights of one device after 20 steps. The
// variables and their slots are divided.
func TestModelParallelGPTOnCPUs(t *testing.T) {
	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, cpus(4)...)
	require.NoError(t, err)
	layouts := distribution.NewLayoutMap(mesh)
	for key, axes := range map[string][]string{
		".*embedding/embeddings": {"", "model"}, ".*(query|key|value)/kernel": {"", "model", ""}, ".*attention_output/kernel": {"model", "", ""},
		"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""},
	} {
		require.NoError(t, layouts.Set(key, axes...))
	}
	d, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	cpu, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantLoss := trainedGPT(t, cpu)
	got, loss := trainedGPT(t, d)
	require.InDeltaSlice(t, wantLoss, loss, 2e-4)
	require.Less(t, loss[3], loss[0], "it learns")
	sameWeights(t, want, got, 2e-3)
	parts := 0
	for _, v := range append(got.Weights(), got.Optimizer().Variables()...) {
		b, err := v.Buffer(0)
		require.NoError(t, err)
		size := 1
		for _, n := range b.(interface{ PartShape() []int }).PartShape() {
			size *= n
		}
		if size*2 == v.Type().Shape.Size() {
			parts++
		}
	}
	require.Equal(t, 8*3, parts, "weights and Adam's two slots")
}

// drawnNetwork is a random network of one of three kinds, determined by the seed, with data for it.
func drawnNetwork(t *testing.T, seed uint64, s distribute.Strategy) (*keras.Model, *data.ArraySource) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	of := func(list ...layers.Layer) layers.Layer { return list[rng.IntN(len(list))] }
	units := func() int { return 4 * (1 + rng.IntN(4)) }
	activation := func() string { return []string{"relu", "tanh", "gelu", "softmax", "linear"}[rng.IntN(5)] }
	var list []layers.Layer
	var x any
	var shape []int
	const rows = 24
	switch seed % 3 {
	case 0: // tables
		shape = []int{12}
		v := make([][]float32, rows)
		for i := range v {
			for range 12 {
				v[i] = append(v[i], float32(rng.NormFloat64()))
			}
		}
		x = v
		for range 2 + rng.IntN(4) {
			list = append(list, of(&layers.Dense{Units: units(), Activation: activation()}, &layers.Dropout{Rate: 0.3}, &layers.BatchNormalization{}, &layers.LayerNormalization{}, &layers.PReLU{}))
		}
	case 1: // images
		shape = []int{6, 6, 4}
		v := make([][][][]float32, rows)
		for i := range v {
			for range 6 {
				var line [][]float32
				for range 6 {
					line = append(line, []float32{float32(rng.NormFloat64()), float32(rng.NormFloat64()), float32(rng.NormFloat64()), float32(rng.NormFloat64())})
				}
				v[i] = append(v[i], line)
			}
		}
		x = v
		for range 1 + rng.IntN(3) {
			list = append(list, of(
				&layers.Conv2D{Filters: units(), KernelSize: []int{3}, Padding: "same", Activation: activation()}, &layers.DepthwiseConv2D{KernelSize: []int{3}, Padding: "same"},
				&layers.BatchNormalization{}, &layers.GroupNormalization{Groups: 2}, &layers.MaxPooling2D{PoolSize: []int{2}, Strides: []int{1}}, &layers.AveragePooling2D{PoolSize: []int{2}, Strides: []int{1}},
				&layers.Conv2DTranspose{Filters: units(), KernelSize: []int{3}}, &layers.SpatialDropout2D{Rate: 0.3}))
		}
		list = append(list, of(&layers.Flatten{}, &layers.GlobalAveragePooling2D{}, &layers.GlobalMaxPooling2D{}))
	default: // texts
		shape = []int{6}
		v := make([][]int32, rows)
		for i := range v {
			for range 6 {
				v[i] = append(v[i], int32(rng.IntN(16)))
			}
		}
		x = v
		list = append(list, &layers.Embedding{InputDim: 16, OutputDim: units(), MaskZero: rng.IntN(2) == 0})
		for range 1 + rng.IntN(3) {
			list = append(list, of(
				&layers.LSTM{Units: units(), ReturnSequences: true}, &layers.GRU{Units: units(), ReturnSequences: true}, &layers.SimpleRNN{Units: units(), ReturnSequences: true},
				&layers.Dense{Units: units(), Activation: activation()}, &layers.LayerNormalization{}, &layers.Dropout{Rate: 0.3}))
		}
		list = append(list, &layers.GlobalAveragePooling1D{})
	}
	list = append(list, &layers.Dense{Units: 4})
	m, err := keras.NewSequential(list, keras.InputShape(shape...), distribute.Scope(s), keras.Seed(seed))
	require.NoError(t, err)
	var optimizer optimizers.Optimizer = &optimizers.SGD{LearningRate: 0.05, Momentum: 0.9, Nesterov: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		optimizer = &optimizers.Adam{LearningRate: 0.01, Epsilon: new(1e-2), Options: optimizers.Options{GlobalClipNorm: new(1.0)}}
	}
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}))
	y := make([]int32, rows)
	for i := range y {
		y[i] = int32(rng.IntN(4))
	}
	return m, data.Arrays(x, y)
}

// Random networks with random layouts of their variables train as on one device.
func TestRandomNetworksInParts(t *testing.T) {
	if testing.Short() {
		randomNetworksInParts(t, cpus(4), 9)
		return
	}
	randomNetworksInParts(t, cpus(4), 30)
}

func randomNetworksInParts(t *testing.T, devices []string, networks uint64) {
	t.Helper()
	if text := os.Getenv("PARTS_NETWORKS"); text != "" {
		fmt.Sscan(text, &networks)
	}
	cpu, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	for seed := range networks {
		rng := rand.New(rand.NewPCG(seed, 6))
		shape := [][]int{{2, 2}, {1, 4}, {4, 1}, {2, 1}}[rng.IntN(4)]
		mesh, err := distribution.NewDeviceMesh(shape, []string{"batch", "model"}, devices[:shape[0]*shape[1]]...)
		require.NoError(t, err)
		layouts := distribution.NewLayoutMap(mesh)
		want, source := drawnNetwork(t, seed, cpu)
		divided := []string{fmt.Sprint(seed, shape)}
		for _, v := range want.Weights() {
			axes := make([]string, len(v.Type().Shape))
			for _, axis := range rng.Perm(2) {
				if i := rng.IntN(len(axes) + 1); i < len(axes) && axes[i] == "" && v.Type().Shape[i]%shape[axis] == 0 {
					axes[i] = []string{"batch", "model"}[axis]
				}
			}
			require.NoError(t, layouts.Set(regexp.QuoteMeta(v.Path()), axes...))
			divided = append(divided, fmt.Sprint(v.Path(), v.Type().Shape, axes))
		}
		d, err := distribution.NewModelParallel(layouts, "batch")
		require.NoError(t, err)
		got, _ := drawnNetwork(t, seed, d)
		var losses [2][]float64
		for i, m := range []*keras.Model{want, got} {
			history, err := m.Fit(t.Context(), source, keras.BatchSize(8), keras.Epochs(2))
			require.NoError(t, err, "%v", divided)
			losses[i] = append(history.Logs["loss"], history.Logs["accuracy"]...)
		}
		require.InDeltaSlice(t, losses[0], losses[1], 2e-3, "%v", divided)
		sameWeights(t, want, got, 5e-3, divided)
	}
}

// Recurrent loops, embeddings divided by rows and attention whose heads are on several devices have the weights of one
// device after training, on meshes of one and of two axes.
func TestModelParallelLoopsAndRows(t *testing.T) {
	train := func(s distribute.Strategy) (*keras.Model, []float64) {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Embedding{InputDim: 16, OutputDim: 8}, &layers.LSTM{Units: 8, ReturnSequences: true}, &layers.GRU{Units: 4}, &layers.Dense{Units: 3},
		}, keras.InputShape(5), distribute.Scope(s), keras.Seed(3))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
		x, y := make([][]int32, 24), make([]int32, 24)
		for i := range x {
			x[i], y[i] = []int32{int32(i % 16), int32(i * 3 % 16), int32(i * 7 % 16), int32(i * i % 16), 1}, int32(i%3)
		}
		history, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(3), keras.Shuffle(false))
		require.NoError(t, err)
		return m, history.Logs["loss"]
	}
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, wantLoss := train(one)
	for _, shape := range [][]int{{1, 4}, {2, 2}, {4, 1}} {
		mesh, err := distribution.NewDeviceMesh(shape, []string{"batch", "model"}, cpus(4)...)
		require.NoError(t, err)
		layouts := distribution.NewLayoutMap(mesh)
		for key, axes := range map[string][]string{
			"embedding/embeddings": {"model", ""}, ".*lstm.*/kernel": {"", "model"}, ".*lstm.*/recurrent_kernel": {"", "model"}, ".*lstm.*/bias": {"model"},
			".*gru.*/kernel": {"model", ""}, "dense/kernel": {"model", ""},
		} {
			require.NoError(t, layouts.Set(key, axes...))
		}
		d, err := distribution.NewModelParallel(layouts, "batch")
		require.NoError(t, err)
		got, loss := train(d)
		require.InDeltaSlice(t, wantLoss, loss, 1e-5, "%v", shape)
		sameWeights(t, want, got, 1e-4)
		cut := 0
		for _, v := range got.Weights() {
			l, err := layouts.Get(v.Path())
			require.NoError(t, err)
			if l != nil {
				cut++
			}
		}
		require.Equal(t, 6, cut, "the keys name variables: %v", got.Weights())
	}
}

// Attention with heads that a mesh does not divide evenly is an error that names the variable, its axis and the mesh.
func TestModelParallelHeads(t *testing.T) {
	mesh, err := distribution.NewDeviceMesh([]int{1, 2}, []string{"batch", "model"}, cpus(2)...)
	require.NoError(t, err)
	layouts := distribution.NewLayoutMap(mesh)
	require.NoError(t, layouts.Set(".*(query|key|value)/kernel", "", "model", ""))
	d, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	in := keras.Input(keras.Shape(4, 6))
	attention := &layers.MultiHeadAttention{NumHeads: 3, KeyDim: 2}
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(attention, in, in)), distribute.Scope(d))
	require.NoError(t, err)
	_, err = m.Predict(t.Context(), data.Arrays(make([][4][6]float32, 2), nil))
	require.ErrorContains(t, err, "cannot be divided into 2 equal parts")
	require.ErrorContains(t, err, "query/kernel has length 3")
}
