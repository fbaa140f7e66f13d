package layers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// languageModel looks numbers up, transforms the vectors, and converts them to scores with the same layer.
func languageModel(t *testing.T, table *layers.ReversibleEmbedding) *keras.Model {
	t.Helper()
	ids := keras.Input(keras.Shape(5), keras.InputName("ids"), keras.DType("int32"))
	h := layers.Apply(&layers.Dense{Units: 6, Activation: "tanh"}, layers.Apply(table, ids))
	m, err := keras.NewFunctional(keras.Inputs(ids), keras.Outputs(table.ApplyReverse(layers.Apply(&layers.Dense{Units: 4}, h))), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
	return m
}

// augmentedModel applies layers one after the other to images of 6 × 5 cells.
func augmentedModel(t *testing.T, stack ...layers.Layer) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential(stack, keras.InputShape(6, 5, 3))
	require.NoError(t, err)
	return m
}

// mixingModel mixes images, labels and masks.
func mixingModel(t *testing.T) *keras.Model {
	t.Helper()
	images, labels, masks := keras.Input(keras.Shape(6, 5, 3), keras.InputName("images")), keras.Input(keras.Shape(4), keras.InputName("labels")), keras.Input(keras.Shape(6, 5, 1), keras.InputName("masks"))
	y := layers.ApplyAll(&layers.MixUp{Seed: new(2)}, images, labels, masks)
	y = layers.ApplyAll(&layers.CutMix{Factor: []float64{0.3, 0.9}}, y[0], y[1], y[2])
	m, err := keras.NewFunctional(keras.Inputs(images, labels, masks), keras.Outputs(y[0], y[1], y[2]))
	require.NoError(t, err)
	return m
}

// quantizedModel is a quantized perceptron.
func quantizedModel(t *testing.T, mode string) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 6, Activation: "tanh"}, &layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{5, 7}, BiasAxes: "d"}},
		keras.InputShape(5, 8), keras.Seed(4))
	require.NoError(t, err)
	require.NoError(t, m.Quantize(mode))
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.5, Momentum: 0.9}, Loss: "mse"}))
	return m
}

// boxesModel mixes images together with their boxes, labels and masks.
func boxesModel(t *testing.T) *keras.Model {
	t.Helper()
	images, boxes, classes := keras.Input(keras.Shape(6, 5, 3), keras.InputName("images")), keras.Input(keras.Shape(2, 4), keras.InputName("boxes")), keras.Input(keras.Shape(2), keras.InputName("classes"))
	labels, masks := keras.Input(keras.Shape(4), keras.InputName("labels")), keras.Input(keras.Shape(6, 5, 1), keras.InputName("masks"))
	y := layers.ApplyAll(&layers.MixUp{BoundingBoxFormat: "rel_xywh"}, images, boxes, classes, labels, masks)
	m, err := keras.NewFunctional(keras.Inputs(images, boxes, classes, labels, masks), keras.Outputs(y[0], y[1], y[2], y[3], y[4]))
	require.NoError(t, err)
	return m
}

// waves is an array of numbers of order 1.
func waves(shape ...int) data.Array {
	values := make([]float32, ir.Shape(shape).Size())
	for i := range values {
		values[i] = float32(math.Sin(float64(3*i + 1)))
	}
	return data.Must(data.ArrayOf(values, shape...))
}

// TestKerasOpensNewLayers writes models, and lets real Keras open them, compare their documents, predict, and continue
// training alongside Go. GOKERAS_PYTHON names the Python.
func TestKerasOpensNewLayers(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	dir := t.TempDir()
	ids := data.Must(data.ArrayOf([]int32{1, 2, 0, 3, 6, 6, 5, 4, 1, 1, 2, 2, 3, 0, 0, 5, 1, 0, 2, 4}, 4, 5))
	images, labels, masks := waves(4, 6, 5, 3), waves(4, 4), waves(4, 6, 5, 1)
	var manifest []map[string]any
	for _, c := range []struct {
		name   string
		model  *keras.Model
		inputs []data.Array
	}{
		{"tied", languageModel(t, &layers.ReversibleEmbedding{InputDim: 7, OutputDim: 4, MaskZero: true}), []data.Array{ids}},
		{"untied", languageModel(t, &layers.ReversibleEmbedding{InputDim: 7, OutputDim: 4, UntiedWeights: true, LogitSoftCap: new(0.5), ReverseDType: "float32", EmbeddingsRegularizer: "l2"}), []data.Array{ids}},
		{"augmented", augmentedModel(t, &layers.MixUp{}, &layers.CutMix{}, &layers.RandAugment{}, &layers.AugMix{}, &layers.RandomPerspective{}, &layers.RandomElasticTransform{}), []data.Array{images}},
		{"int8", quantizedModel(t, "int8"), []data.Array{waves(4, 5, 8)}},
		{"int4", quantizedModel(t, "int4"), []data.Array{waves(4, 5, 8)}},
		{"float8", quantizedModel(t, "float8"), []data.Array{waves(4, 5, 8)}},
		{"boxes", boxesModel(t), []data.Array{images, waves(4, 2, 4), waves(4, 2), waves(4, 4), waves(4, 6, 5, 1)}},
		{"augmented otherwise", augmentedModel(t, &layers.MixUp{Alpha: new(0.5)}, &layers.CutMix{Factor: []float64{0.5}}, &layers.RandAugment{NumOps: 3, Factor: []float64{0.1, 0.9}, ValueRange: []float64{0, 1}, Seed: new(4)},
			&layers.AugMix{NumChains: 1, ChainDepth: 2, NoColorOps: true, Alpha: new(2.0)}, &layers.RandomPerspective{Factor: []float64{0.5}, Scale: new(0.0), FillValue: 3, Interpolation: "nearest"},
			&layers.RandomElasticTransform{Factor: []float64{0.3, 0.5}, Scale: []float64{0.2}, FillMode: "mirror", ValueRange: []float64{0, 1}}), []data.Array{images}},
		{"mixing", mixingModel(t), []data.Array{images, labels, masks}},
	} {
		manifest = append(manifest, handOver(t, dir, c.name, c.model, c.inputs))
	}
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	path := filepath.Join(dir, "manifest.json")
	require.NoError(t, os.WriteFile(path, text, 0o666))
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("..", "keras", "testdata", "verify_groups.py"), path).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

// handOver trains a compiled model a little, writes it, and computes what Keras must reproduce.
func handOver(t *testing.T, dir, name string, m *keras.Model, x []data.Array) map[string]any {
	t.Helper()
	inputs, saved := make([]any, len(x)), data.Tensors{}
	add := func(key string, a data.Array) {
		saved.Names, saved.Arrays = append(saved.Names, key), append(saved.Arrays, a)
	}
	for i, a := range x {
		inputs[i] = a
		add(fmt.Sprint("x", i), a)
	}
	y := waves(4, 5, 7)
	step := func() float64 {
		scores, err := m.TrainOnBatch(t.Context(), data.Arrays(inputs, y))
		require.NoError(t, err, name)
		return scores["loss"]
	}
	if m.Optimizer() != nil {
		step()
		add("y", y)
	}
	path := filepath.Join(dir, name+".keras")
	require.NoError(t, m.Save(path), name)
	document, err := m.ToJSON()
	require.NoError(t, err, name)
	predicted, err := m.PredictAll(t.Context(), data.Arrays(inputs, nil))
	require.NoError(t, err, name)
	for i, p := range predicted {
		add(fmt.Sprint("p", i), p)
	}
	require.NoError(t, data.SaveNPZ(path+".npz", saved))
	losses := []float64{}
	if m.Optimizer() != nil {
		losses = append(losses, step(), step())
	}
	return map[string]any{"name": name, "model": path, "document": string(document), "data": path + ".npz", "losses": losses}
}
