package onnx_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// testCase is a model and its inputs.
type testCase struct {
	model  *keras.Model
	shapes [][]int // of one example, for each input
	vocab  int     // above 0: inputs are integers below it
}

// stack is a case of a chain of layers.
func stack(t testing.TB, shape []int, chain ...layers.Layer) testCase {
	m, err := keras.NewSequential(chain, keras.InputShape(shape...), keras.Seed(3))
	require.NoError(t, err)
	sample := slices.Clone(shape)
	for i, n := range sample {
		if n == layers.Unknown {
			sample[i] = 7 + i
		}
	}
	return testCase{model: m, shapes: [][]int{sample}}
}

// words is stack for integers.
func words(t testing.TB, length int, chain ...layers.Layer) testCase {
	m, err := keras.NewSequential(chain, keras.InputShape(length), keras.InputDType("int32"))
	require.NoError(t, err)
	if length < 0 {
		length = 7
	}
	return testCase{model: m, shapes: [][]int{{length}}, vocab: 10}
}

func functional(t testing.TB, in, out []*layers.KerasTensor, shapes ...[]int) testCase {
	m, err := keras.NewFunctional(keras.Inputs(in...), keras.Outputs(out...))
	require.NoError(t, err)
	return testCase{model: m, shapes: shapes}
}

// cases are models with everything that an exported model can contain.
func cases(t testing.TB) map[string]testCase {
	c := map[string]testCase{
		"dense":            stack(t, []int{5}, &layers.Dense{Units: 4, Activation: "relu"}, &layers.Dense{Units: 3, Activation: "softmax"}),
		"dense of steps":   stack(t, []int{4, 5}, &layers.Dense{Units: 3, Activation: "gelu"}),
		"einsum dense":     stack(t, []int{4, 5}, &layers.EinsumDense{Equation: "abc,cde->abde", OutputShape: []int{layers.Unknown, 2, 4}, BiasAxes: "de", Activation: "elu"}),
		"conv1d":           stack(t, []int{9, 2}, &layers.Conv1D{Filters: 4, KernelSize: []int{3}, Padding: "causal", DilationRate: []int{2}}),
		"conv2d":           stack(t, []int{9, 8, 2}, &layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: "same", Strides: []int{2}, Activation: "swish"}, &layers.Conv2D{Filters: 4, KernelSize: []int{2}, Groups: 2}),
		"conv3d":           stack(t, []int{4, 5, 6, 2}, &layers.Conv3D{Filters: 3, KernelSize: []int{2}, Strides: []int{1, 2, 1}}),
		"channels first":   stack(t, []int{2, 9, 8}, &layers.Conv2D{Filters: 4, KernelSize: []int{3}, DataFormat: layers.ChannelsFirst}, &layers.MaxPooling2D{DataFormat: layers.ChannelsFirst}),
		"windows of one":   stack(t, []int{6, 9, 8}, &layers.Conv2D{Filters: 4, KernelSize: []int{1}, Strides: []int{2}, DataFormat: layers.ChannelsFirst}, &layers.DepthwiseConv2D{KernelSize: []int{1}, DataFormat: layers.ChannelsFirst}, &layers.Conv2D{Filters: 6, KernelSize: []int{1}, Groups: 2, DataFormat: layers.ChannelsFirst}, &layers.SeparableConv2D{Filters: 3, KernelSize: []int{2, 4}, DilationRate: []int{4, 1}, DataFormat: layers.ChannelsFirst}, &layers.AdaptiveAveragePooling2D{OutputSize: []int{1}, DataFormat: layers.ChannelsFirst}),
		"conv1d transpose": stack(t, []int{5, 2}, &layers.Conv1DTranspose{Filters: 4, KernelSize: []int{3}, Strides: []int{2}}),
		"conv2d transpose": stack(t, []int{5, 4, 2}, &layers.Conv2DTranspose{Filters: 3, KernelSize: []int{3, 2}, Strides: []int{2}, Padding: "same"}),
		"conv3d transpose": stack(t, []int{3, 2, 3, 2}, &layers.Conv3DTranspose{Filters: 2, KernelSize: []int{2}, OutputPadding: []int{1, 0, 1}, Strides: []int{2}}),
		"sparse transpose": stack(t, []int{3, 3, 2}, &layers.Conv2DTranspose{Filters: 2, KernelSize: []int{1}, Strides: []int{3}}),
		"depthwise":        stack(t, []int{6, 5, 3}, &layers.DepthwiseConv2D{KernelSize: []int{2, 3}, Strides: []int{2}, Padding: "same", DepthMultiplier: 2}),
		"separable":        stack(t, []int{6, 5, 3}, &layers.SeparableConv2D{Filters: 4, KernelSize: []int{2}}, &layers.Reshape{TargetShape: []int{20, 4}}, &layers.SeparableConv1D{Filters: 2, KernelSize: []int{3}}),
		"pooling":          stack(t, []int{7, 6, 2}, &layers.MaxPooling2D{PoolSize: []int{3, 2}, Strides: []int{2}, Padding: "same"}, &layers.AveragePooling2D{PoolSize: []int{2}, Strides: []int{1}, Padding: "same"}, &layers.GlobalAveragePooling2D{}),
		"pooling 1d":       stack(t, []int{9, 2}, &layers.AveragePooling1D{PoolSize: []int{3}, Strides: []int{1}, Padding: "same"}, &layers.MaxPooling1D{}, &layers.GlobalMaxPooling1D{}),
		"pooling 3d":       stack(t, []int{4, 6, 6, 2}, &layers.MaxPooling3D{}, &layers.AveragePooling3D{PoolSize: []int{1, 2, 3}}, &layers.Flatten{}),
		"adaptive pooling": stack(t, []int{7, 5, 2}, &layers.AdaptiveAveragePooling2D{OutputSize: []int{3, 2}}),
		"batch norm":       stack(t, []int{4, 3}, &layers.BatchNormalization{}),
		"batch norm axis":  stack(t, []int{4, 3}, &layers.BatchNormalization{Axis: 1, NoScale: true}),
		"layer norm":       stack(t, []int{4, 3}, &layers.LayerNormalization{}, &layers.LayerNormalization{Axis: []int{1, 2}}),
		"other norms":      stack(t, []int{4, 6}, &layers.GroupNormalization{Groups: 2}, &layers.RMSNormalization{}, &layers.UnitNormalization{}),
		"dropout":          stack(t, []int{4}, &layers.Dropout{Rate: 0.5}, &layers.GaussianNoise{Stddev: 1}, &layers.Dense{Units: 2}),
		"embedding":        words(t, 6, &layers.Embedding{InputDim: 10, OutputDim: 4}, &layers.GlobalAveragePooling1D{}),
		"masked embedding": words(t, 6, &layers.Embedding{InputDim: 10, OutputDim: 4, MaskZero: true}, &layers.LSTM{Units: 3}, &layers.Dense{Units: 2}),
		"lstm":             stack(t, []int{6, 4}, &layers.LSTM{Units: 3, ReturnSequences: true}, &layers.LSTM{Units: 2, GoBackwards: true}),
		"gru":              stack(t, []int{6, 4}, &layers.GRU{Units: 3, ReturnSequences: true}, &layers.GRU{Units: 2, ResetBefore: true}),
		"simple rnn":       stack(t, []int{6, 4}, &layers.SimpleRNN{Units: 3}),
		"bidirectional":    stack(t, []int{6, 4}, &layers.Bidirectional{Layer: &layers.LSTM{Units: 3, ReturnSequences: true}}, &layers.TimeDistributed{Layer: &layers.Dense{Units: 2}}),
		"conv lstm":        stack(t, []int{3, 5, 4, 2}, &layers.ConvLSTM2D{Filters: 2, KernelSize: []int{2}}),
		"reshapes":         stack(t, []int{4, 6}, &layers.Permute{Dims: []int{2, 1}}, &layers.Reshape{TargetShape: []int{-1, 8}}, &layers.ZeroPadding1D{Padding: []int{1, 2}}, &layers.Cropping1D{Cropping: []int{1}}, &layers.UpSampling1D{}, &layers.Flatten{}, &layers.RepeatVector{N: 2}),
		"up sampling":      stack(t, []int{3, 4, 2}, &layers.UpSampling2D{Size: []int{2, 3}}, &layers.ZeroPadding2D{}, &layers.Cropping2D{}),
		"open steps":       words(t, layers.Unknown, &layers.Embedding{InputDim: 10, OutputDim: 4}, &layers.GRU{Units: 3, ReturnSequences: true}, &layers.Dense{Units: 2}),
		"open images": stack(t, []int{layers.Unknown, layers.Unknown, 3}, &layers.Conv2D{Filters: 4, KernelSize: []int{3}, Strides: []int{2}, Padding: "same"},
			&layers.DepthwiseConv2D{KernelSize: []int{4}, Strides: []int{3}, Padding: "same"}, &layers.GlobalAveragePooling2D{}),
		"open steps, mean": words(t, layers.Unknown, &layers.Embedding{InputDim: 10, OutputDim: 4}, &layers.Conv1D{Filters: 3, KernelSize: []int{3}, Padding: "same"}, &layers.GlobalAveragePooling1D{}),
		"rescaling":        stack(t, []int{4}, &layers.Rescaling{Scale: []float64{0.5}, Offset: []float64{1}}),
		"normalized cell":  stack(t, []int{5, 3}, &layers.Masking{}, &layers.RNN{Cell: &normalizedCell{cell: &layers.LSTMCell{Units: 4}, norm: &layers.LayerNormalization{}}, ReturnSequences: true}, &layers.Bidirectional{Layer: &layers.LSTM{Units: 2}}),
		"images in time":   stack(t, []int{3, 6, 5, 2}, &layers.ConvLSTM2D{Filters: 2, KernelSize: []int{3}, ReturnSequences: true}, &layers.TimeDistributed{Layer: &layers.Flatten{}}, &layers.GRU{Units: 2}),
		"masking":          stack(t, []int{5, 3}, &layers.Masking{}, &layers.SimpleRNN{Units: 2, ReturnSequences: true}),
	}
	activations := []string{"elu", "selu", "softplus", "softsign", "tanh", "sigmoid", "exponential", "hard_sigmoid", "hard_silu", "leaky_relu", "relu6", "silu", "mish", "log_softmax", "log_sigmoid", "celu", "glu", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink", "squareplus", "sparse_plus", "sparse_sigmoid", "sparsemax", "linear"}
	for _, name := range activations {
		c["activation "+name] = stack(t, []int{6}, &layers.Activation{Activation: name})
	}
	for name, f := range operationCases {
		c["operation "+name] = stack(t, []int{4, 5}, &layers.Lambda{Function: f})
	}
	merges(t, c)
	nested(t, c)
	maps.Copy(c, drawn(t, 30, 1))
	return c
}

func merges(t testing.TB, c map[string]testCase) {
	for name, l := range map[string]layers.Layer{
		"add": &layers.Add{}, "subtract": &layers.Subtract{}, "multiply": &layers.Multiply{}, "average": &layers.Average{},
		"maximum": &layers.Maximum{}, "minimum": &layers.Minimum{}, "concatenate": &layers.Concatenate{}, "dot": &layers.Dot{Axes: []int{2, 2}},
	} {
		a, b := keras.Input(keras.Shape(3, 4), keras.InputName("a")), keras.Input(keras.Shape(3, 4), keras.InputName("b"))
		c["merge "+name] = functional(t, []*layers.KerasTensor{a, b}, []*layers.KerasTensor{layers.Apply(l, a, b)}, []int{3, 4}, []int{3, 4})
	}
	x := keras.Input(keras.Shape(6, 8), keras.InputName("x"))
	h := layers.Apply(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 4}, x, x)
	h = layers.Apply(&layers.LayerNormalization{}, layers.Apply(&layers.Add{}, x, h))
	out := layers.Apply(&layers.Dense{Units: 2}, h)
	c["attention"] = functional(t, []*layers.KerasTensor{x}, []*layers.KerasTensor{out, h}, []int{6, 8})
	q, v := keras.Input(keras.Shape(layers.Unknown, 4), keras.InputName("q")), keras.Input(keras.Shape(layers.Unknown, 4), keras.InputName("v"))
	c["open attention"] = functional(t, []*layers.KerasTensor{q, v}, []*layers.KerasTensor{layers.Apply(&layers.Attention{}, q, v)}, []int{5, 4}, []int{5, 4})
	causal := keras.Input(keras.Shape(5, 8), keras.InputName("x"))
	c["causal attention"] = functional(t, []*layers.KerasTensor{causal}, []*layers.KerasTensor{layers.Apply(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 4, UseCausalMask: true}, causal, causal)}, []int{5, 8})
}

// nested adds nested models, shared layers, and a model of user code.
func nested(t testing.TB, c map[string]testCase) {
	inner := stack(t, []int{4}, &layers.Dense{Units: 4, Activation: "tanh"}, &layers.BatchNormalization{}).model
	x, y := keras.Input(keras.Shape(4), keras.InputName("left")), keras.Input(keras.Shape(4), keras.InputName("right"))
	shared := &layers.Dense{Units: 3}
	a, b := layers.Apply(shared, layers.Apply(inner, x)), layers.Apply(shared, layers.Apply(inner, y))
	c["shared and nested"] = functional(t, []*layers.KerasTensor{x, y}, []*layers.KerasTensor{layers.Apply(&layers.Subtract{}, a, b), a}, []int{4}, []int{4})
	own, err := keras.NewModel(&residual{First: &layers.Dense{Units: 4, Activation: "relu"}, Second: &layers.Dense{Units: 4}})
	require.NoError(t, err)
	require.NoError(t, own.Build([]int{layers.Unknown, 4}))
	c["subclass"] = testCase{model: own, shapes: [][]int{{4}}}
	half, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "relu"}, &layers.Dense{Units: 2}}, keras.InputShape(3), keras.DTypePolicy("float64"))
	require.NoError(t, err)
	c["u-net"] = testCase{model: uNet(t), shapes: [][]int{{16, 16, 3}}}
	c["float64"] = testCase{model: half, shapes: [][]int{{3}}}
}

// residual is a model of user code.
type residual struct{ First, Second *layers.Dense }

func (r *residual) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return ops.Add(x, layers.Invoke(r.Second, c, layers.Invoke(r.First, c, x)))
}

// sample draws inputs for n examples.
func (c testCase) sample(n int) []data.Array {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var out []data.Array
	for _, shape := range c.shapes {
		full := append([]int{n}, shape...)
		size := 1
		for _, d := range full {
			size *= d
		}
		if c.vocab > 0 {
			values := make([]int32, size)
			for i := range values {
				values[i] = int32(r.IntN(c.vocab))
			}
			out = append(out, data.Must(data.ArrayOf(values, full...)))
			continue
		}
		values := make([]float32, size)
		for i := range values {
			values[i] = float32(r.NormFloat64())
		}
		out = append(out, data.Must(data.ArrayOf(values, full...)))
	}
	return out
}

// disturb sets all weights to other values than the initial ones, because statistics begin with 0 and 1.
func disturb(t testing.TB, m *keras.Model) {
	weights, err := m.GetWeights()
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 7))
	for i, w := range weights {
		values := w.Float64s()
		for j := range values {
			values[j] += 0.1 * math.Abs(r.NormFloat64())
		}
		weights[i], err = fromFloats(w, values)
		require.NoError(t, err)
	}
	require.NoError(t, m.SetWeights(weights))
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	for name, c := range cases(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".onnx")
			require.NoError(t, c.model.Export(path))
			first, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, c.model.Export(path))
			again, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, first, again, "the same model gives the same bytes")
			m := parse(t, first)
			require.Len(t, m.inputs, len(c.shapes))
			for _, axes := range m.inputs {
				require.Equal(t, "batch", axes[0])
			}
			for _, axes := range m.outputs {
				if !strings.HasPrefix(name, "operation") { // some of these have other results
					require.Equal(t, "batch", axes[0])
				}
			}
			for _, v := range c.model.Weights() {
				if !v.Spec().Frozen || strings.Contains(v.Path(), "moving") {
					require.Equal(t, append([]int{}, v.Type().Shape...), m.weights[v.Path()], v.Path())
				}
			}
		})
	}
}

func TestExportReadsWell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	c := stack(t, []int{5}, &layers.Dense{Units: 4, Activation: "relu", Name: "hidden"}, &layers.Dense{Units: 3, Activation: "softmax", Name: "scores"})
	require.NoError(t, c.model.Export(path, keras.ExportDescription("a test")))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	m := parse(t, raw)
	require.Equal(t, map[string][]string{"input_layer": {"batch", "5"}}, m.inputs)
	require.Equal(t, map[string][]string{"scores": {"batch", "3"}}, m.outputs)
	require.Equal(t, []string{
		"sequential/hidden/MatMul: MatMul", "sequential/hidden/Add: Add", "sequential/hidden/Relu: Relu",
		"sequential/scores/MatMul: MatMul", "sequential/scores/Add: Add", "sequential/scores/Softmax: Softmax", "output/scores: Identity",
	}, m.nodes)
	require.Equal(t, "a test", decode(t, raw).text(6))
	require.NoError(t, c.model.Export(path, keras.ExportBatch(2)))
	raw, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"input_layer": {"2", "5"}}, parse(t, raw).inputs)
}

func TestExportRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	open, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	require.NoError(t, err)
	require.ErrorContains(t, open.Export(path), "not built")
	good := stack(t, []int{3}, &layers.Dense{Units: 1})
	require.ErrorContains(t, good.model.Export(filepath.Join(dir, "m.pb")), ".onnx")
	require.ErrorContains(t, good.model.Export(path, keras.ExportBatch(-1)), "ExportBatch")
	require.ErrorIs(t, good.model.Export(filepath.Join(dir, "none", "m.onnx")), os.ErrNotExist)
	for text, l := range map[string]layers.Layer{
		"lgamma":               &layers.Lambda{Function: lgamma, Name: "special"},
		"draws random numbers": &layers.Lambda{Function: noise, Name: "special"},
		"does other things":    &layers.Lambda{Function: squareOfBatch, Name: "special"},
		"fix the batch":        &layers.Lambda{Function: tableOfBatch, Name: "special"},
		"other things":         &layers.Lambda{Function: oddBatch, Name: "special"},
	} {
		c := stack(t, []int{3}, l)
		err := c.model.Export(path)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, "special", "the layer is named")
	}
	_, err = os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is written after an error")
}

// tensorJSON is an array for the script.
type tensorJSON struct {
	Shape  []int     `json:"shape"`
	DType  string    `json:"dtype"`
	Values []float64 `json:"values"`
}

func asJSON(d data.Array) tensorJSON {
	out := tensorJSON{Shape: slices.Clone(d.Shape()), DType: d.DType().String()}
	switch values := d.Elements().(type) {
	case []float32:
		for _, v := range values {
			out.Values = append(out.Values, float64(v))
		}
	case []float64:
		out.Values = values
	case []int32:
		for _, v := range values {
			out.Values = append(out.Values, float64(v))
		}
	}
	return out
}

// uNet is a small one of separable convolutions and group normalization, with a Dice loss.
func uNet(t testing.TB) *keras.Model {
	t.Helper()
	block := func(x *layers.KerasTensor, filters int) *layers.KerasTensor {
		for range 2 {
			x = layers.Apply(&layers.SeparableConv2D{Filters: filters, KernelSize: []int{3}, Padding: "same"}, x)
			x = layers.Apply(&layers.Activation{Activation: "relu"}, layers.Apply(&layers.GroupNormalization{Groups: 2}, x))
		}
		return x
	}
	in := keras.Input(keras.Shape(16, 16, 3))
	one := block(in, 4)
	two := block(layers.Apply(&layers.MaxPooling2D{}, one), 8)
	low := block(layers.Apply(&layers.MaxPooling2D{}, two), 8)
	up := layers.Apply(&layers.Conv2DTranspose{Filters: 8, KernelSize: []int{2}, Strides: []int{2}}, low)
	x := block(layers.Apply(&layers.Concatenate{}, up, two), 8)
	x = block(layers.Apply(&layers.Concatenate{}, layers.Apply(&layers.UpSampling2D{Interpolation: "bilinear"}, x), one), 4)
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Conv2D{Filters: 1, KernelSize: []int{1}, Activation: "sigmoid"}, x)))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "dice"}))
	return m
}

// task is a file for the script, with inputs and expected outputs.
type task struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Runs []run  `json:"runs"`
}

type run struct {
	Inputs  []tensorJSON `json:"inputs"`
	Outputs []tensorJSON `json:"outputs"`
}

func newTask(t *testing.T, name string, c testCase, dir string) task {
	disturb(t, c.model)
	out := task{Name: name, Path: filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".onnx")}
	require.NoError(t, c.model.Export(out.Path), name)
	for _, n := range []int{1, 3, 4} {
		inputs := c.sample(n)
		arrays := make([]any, len(inputs))
		var r run
		for i, in := range inputs {
			arrays[i] = in
			r.Inputs = append(r.Inputs, asJSON(in))
		}
		var x any = arrays
		if len(arrays) == 1 {
			x = arrays[0]
		}
		outputs, err := c.model.PredictAll(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err, name)
		for _, y := range outputs {
			r.Outputs = append(r.Outputs, asJSON(y))
		}
		out.Runs = append(out.Runs, r)
	}
	return out
}

// The ONNX checker accepts each model, and onnxruntime computes what Predict does, for batches of several sizes. It
// needs Python with onnx and onnxruntime: GOKERAS_PYTHON names the interpreter.
func TestRuntimePredictsTheSame(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("GOKERAS_PYTHON is not set; it names a Python interpreter that has onnx and onnxruntime")
	}
	var tasks []task
	dir := t.TempDir()
	all := cases(t)
	for name, c := range all {
		tasks = append(tasks, newTask(t, name, c, dir))
	}
	manifest, err := json.Marshal(tasks)
	require.NoError(t, err)
	file := filepath.Join(dir, "manifest.json")
	require.NoError(t, os.WriteFile(file, manifest, 0o666))
	out, err := exec.Command(python, filepath.Join("testdata", "run_models.py"), file).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if strings.Contains(string(exit.Stderr), "No module named") {
			t.Skip("the interpreter has no onnx or onnxruntime: pip install onnx onnxruntime")
		}
		t.Fatal(string(exit.Stderr))
	}
	require.NoError(t, err)
	var results map[string]struct {
		Error string
		Worst float64
	}
	require.NoError(t, json.Unmarshal(out, &results), string(out))
	require.Len(t, results, len(tasks))
	names := make([]string, 0, len(results))
	for name := range results {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, results[name].Error)
			if !(results[name].Worst <= 2e-5) {
				t.Errorf("differs by %g", results[name].Worst)
			}
		})
	}
}

// TestExportBesideDecomposed: whether a composite is written whole is decided by the current program, not by the one
// before other operations were decomposed.
func TestExportBesideDecomposed(t *testing.T) {
	c := stack(t, []int{8, 8, 3}, &layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: "same"}, &layers.GroupNormalization{Groups: 2},
		&layers.Conv2DTranspose{Filters: 3, KernelSize: []int{2}, Strides: []int{2}})
	require.NoError(t, c.model.Export(filepath.Join(t.TempDir(), "model.onnx")))
}
