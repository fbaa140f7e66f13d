package keras_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// group is a stack of layers that real Keras opens and trains further.
type group struct {
	name   string
	shape  []int // of an example
	stack  []layers.Layer
	ints   int  // if not 0: the inputs are integers below it
	random bool // training draws numbers, so losses differ
}

func groups() []group {
	line, plane, cube := []int{6, 4}, []int{6, 6, 3}, []int{4, 4, 4, 2}
	one, two := []int{3}, []int{3, 3}
	cells := []layers.RNNCell{&layers.LSTMCell{Units: 3}, &layers.GRUCell{Units: 2}}
	all := []group{
		{name: "normalization", shape: line, stack: []layers.Layer{&layers.Normalization{Mean: []float64{1, 2, 3, 4}, Variance: []float64{1, 4, 9, 16}}, &layers.Dense{Units: 3}}},
		{name: "group normalization", shape: plane, stack: []layers.Layer{&layers.GroupNormalization{Groups: 3}, &layers.Conv2D{Filters: 2, KernelSize: two, Activation: "gelu"}}},
		{name: "rms and unit normalization", shape: line, stack: []layers.Layer{&layers.Dense{Units: 5}, &layers.RMSNormalization{}, &layers.UnitNormalization{}}},
		{name: "layer normalization", shape: line, stack: []layers.Layer{&layers.LayerNormalization{Axis: []int{1, 2}}, &layers.Dense{Units: 2}}},
		{name: "spectral normalization", shape: line, stack: []layers.Layer{&layers.SpectralNormalization{Layer: &layers.Dense{Units: 3}, PowerIterations: 2}}, random: true},
		{name: "separable 1d", shape: line, stack: []layers.Layer{&layers.SeparableConv1D{Filters: 3, KernelSize: one, Padding: "same", DepthMultiplier: 2}}},
		{name: "separable 2d", shape: plane, stack: []layers.Layer{&layers.SeparableConv2D{Filters: 3, KernelSize: two, Strides: []int{2, 2}}}},
		{name: "depthwise 1d", shape: line, stack: []layers.Layer{&layers.DepthwiseConv1D{KernelSize: one, DepthMultiplier: 2}}},
		{name: "depthwise 2d", shape: plane, stack: []layers.Layer{&layers.DepthwiseConv2D{KernelSize: two, Padding: "same"}}},
		{name: "conv 1d", shape: line, stack: []layers.Layer{&layers.Conv1D{Filters: 4, KernelSize: one, Padding: "causal", DilationRate: []int{2}}, &layers.Conv1D{Filters: 4, KernelSize: one, Groups: 2}}},
		{name: "conv 3d", shape: cube, stack: []layers.Layer{&layers.Conv3D{Filters: 2, KernelSize: []int{2, 3, 2}}}},
		{name: "transposed 1d", shape: line, stack: []layers.Layer{&layers.Conv1DTranspose{Filters: 3, KernelSize: one, Strides: []int{2}, Padding: "same"}}},
		{name: "transposed 2d", shape: plane, stack: []layers.Layer{&layers.Conv2DTranspose{Filters: 2, KernelSize: two, Strides: []int{2, 2}, OutputPadding: []int{1, 1}}}},
		{name: "transposed 3d", shape: cube, stack: []layers.Layer{&layers.Conv3DTranspose{Filters: 2, KernelSize: []int{2, 2, 2}, Strides: []int{2, 1, 1}}}},
		{name: "conv lstm 1d", shape: []int{3, 5, 2}, stack: []layers.Layer{&layers.ConvLSTM1D{Filters: 2, KernelSize: one, Padding: "same"}}},
		{name: "conv lstm 2d", shape: []int{3, 4, 4, 2}, stack: []layers.Layer{&layers.ConvLSTM2D{Filters: 2, KernelSize: two, ReturnSequences: true}}},
		{name: "recurrent", shape: line, stack: []layers.Layer{&layers.SimpleRNN{Units: 3, ReturnSequences: true}, &layers.GRU{Units: 3, ReturnSequences: true, ResetBefore: true}, &layers.LSTM{Units: 2, GoBackwards: true}}},
		{name: "stacked cells", shape: line, stack: []layers.Layer{&layers.RNN{Cell: &layers.StackedRNNCells{Cells: cells}, ReturnSequences: true}}},
		{name: "bidirectional", shape: line, stack: []layers.Layer{&layers.Masking{}, &layers.Bidirectional{Layer: &layers.GRU{Units: 2}, MergeMode: "sum"}}},
		{name: "einsum and prelu", shape: line, stack: []layers.Layer{&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{layers.Unknown, 5}, BiasAxes: "d"}, &layers.PReLU{SharedAxes: []int{1}}}},
		{name: "activations", shape: line, stack: []layers.Layer{&layers.Dense{Units: 4}, &layers.LeakyReLU{}, &layers.ELU{}, &layers.Softmax{}, &layers.Activation{Activation: "swish"}, &layers.ReLU{MaxValue: new(3.0)}}},
		{name: "embedding", shape: []int{5}, ints: 7, stack: []layers.Layer{&layers.Embedding{InputDim: 7, OutputDim: 3, MaskZero: true}, &layers.LSTM{Units: 3}}},
		{name: "shapes", shape: line, stack: []layers.Layer{&layers.Permute{Dims: []int{2, 1}}, &layers.Flatten{}, &layers.RepeatVector{N: 2}, &layers.Reshape{TargetShape: []int{4, 3, 4}}, &layers.Identity{}}},
		{name: "crop and pad 1d", shape: line, stack: []layers.Layer{&layers.ZeroPadding1D{}, &layers.Cropping1D{}, &layers.UpSampling1D{}}},
		{name: "crop and pad 2d", shape: plane, stack: []layers.Layer{&layers.ZeroPadding2D{}, &layers.Cropping2D{Cropping: [][]int{{1, 0}, {0, 2}}}, &layers.UpSampling2D{Interpolation: "bilinear"}}},
		{name: "crop and pad 3d", shape: cube, stack: []layers.Layer{&layers.ZeroPadding3D{}, &layers.Cropping3D{}, &layers.UpSampling3D{}}},
		{name: "pooling 1d", shape: line, stack: []layers.Layer{&layers.MaxPooling1D{PoolSize: []int{2}, Strides: []int{1}}, &layers.AveragePooling1D{PoolSize: []int{2}, Padding: "same"}, &layers.GlobalMaxPooling1D{KeepDims: true}}},
		{name: "pooling 2d", shape: plane, stack: []layers.Layer{&layers.AveragePooling2D{PoolSize: two, Strides: []int{1, 1}}, &layers.MaxPooling2D{PoolSize: []int{2, 2}}, &layers.GlobalAveragePooling2D{}}},
		{name: "pooling 3d", shape: cube, stack: []layers.Layer{&layers.MaxPooling3D{PoolSize: []int{2, 2, 2}}, &layers.AveragePooling3D{PoolSize: []int{2, 2, 2}, Strides: []int{1, 1, 1}}, &layers.GlobalAveragePooling3D{}}},
		{name: "adaptive pooling", shape: plane, stack: []layers.Layer{&layers.AdaptiveAveragePooling2D{OutputSize: []int{3, 2}}, &layers.AdaptiveMaxPooling2D{OutputSize: []int{1, 2}}}},
		{name: "noise", shape: line, random: true, stack: []layers.Layer{&layers.Dropout{Rate: 0.2}, &layers.GaussianNoise{Stddev: 0.1}, &layers.GaussianDropout{Rate: 0.1}, &layers.AlphaDropout{Rate: 0.1}, &layers.SpatialDropout1D{Rate: 0.2}}},
		{name: "penalties", shape: line, stack: []layers.Layer{&layers.Dense{Units: 3, KernelRegularizer: "l1l2", BiasRegularizer: "l2", ActivityRegularizer: "l1", KernelConstraint: "max_norm"}, &layers.ActivityRegularization{L1: 0.1, L2: 0.2}}},
		{name: "image numbers", shape: plane, stack: []layers.Layer{&layers.Rescaling{Scale: []float64{0.5}, Offset: []float64{1}}, &layers.Resizing{Height: 4, Width: 5}, &layers.CenterCrop{Height: 3, Width: 3}}},
		{name: "discretization", shape: []int{4}, stack: []layers.Layer{&layers.Discretization{BinBoundaries: []float64{-0.5, 0, 0.5}}, &layers.CategoryEncoding{NumTokens: 4, OutputMode: "multi_hot"}}},
		{name: "colours", shape: plane, random: true, stack: []layers.Layer{&layers.AutoContrast{}, &layers.Solarization{}, &layers.RandomBrightness{Factor: []float64{0.1}}, &layers.RandomContrast{Factor: []float64{0.1}}, &layers.RandomHue{Factor: []float64{0.1}}, &layers.RandomGaussianBlur{}}},
		{name: "moves of sound", shape: []int{64}, stack: []layers.Layer{&layers.MelSpectrogram{FFTLength: 16, SequenceStride: 8, NumMelBins: 3, SamplingRate: 100}}},
		{name: "pipeline of moves", shape: plane, stack: []layers.Layer{&layers.Pipeline{Layers: []layers.Layer{&layers.Rescaling{Scale: []float64{2}}, &layers.CenterCrop{Height: 4, Width: 5}}}}},
		{name: "moves", shape: plane, random: true, stack: []layers.Layer{&layers.RandomFlip{}, &layers.RandomRotation{Factor: []float64{0.1}}, &layers.RandomZoom{HeightFactor: []float64{0.1}}, &layers.RandomTranslation{HeightFactor: []float64{0.1}, WidthFactor: []float64{0.1}}, &layers.RandomShear{XFactor: []float64{0.1}}, &layers.RandomErasing{}}},
	}
	return all
}

// TestKerasTrainsGroupsOn writes models with layers of all kinds, and lets real Keras open them, predict, and train
// them further in parallel with Go. GOKERAS_PYTHON names the Python.
func TestKerasTrainsGroupsOn(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	dir := t.TempDir()
	var manifest []map[string]any
	only := os.Getenv("GOKERAS_FILE_CASES_ONLY")
	for i, g := range groups() {
		if !strings.Contains(g.name, only) {
			continue
		}
		stack := append(g.stack, &layers.Flatten{}, &layers.Dense{Units: 2})
		dtype := "float32"
		if g.ints > 0 {
			dtype = "int32"
		}
		m, err := keras.NewSequential(stack, keras.InputShape(g.shape...), keras.InputDType(dtype), keras.Seed(uint64(i)))
		require.NoError(t, err, g.name)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}), g.name)
		shape := append([]int{4}, g.shape...)
		var x data.Array
		if g.ints > 0 {
			values := make([]int32, ir.Shape(shape).Size())
			for k := range values {
				values[k] = int32(k * 5 % g.ints)
			}
			x = shaped(values, shape...)
		} else {
			values := make([]float32, ir.Shape(shape).Size())
			for k := range values {
				values[k] = float32(math.Sin(float64(3*k + i)))
			}
			x = shaped(values, shape...)
		}
		manifest = append(manifest, handOver(t, dir, g.name, m, []data.Array{x}, !g.random))
	}
	manifest = append(manifest, operationsForKeras(t, dir)...)
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	path := filepath.Join(dir, "manifest.json")
	require.NoError(t, os.WriteFile(path, text, 0o666))
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "verify_groups.py"), path).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

// handOver trains a model a little, writes it, and computes what real Keras must reproduce.
func handOver(t *testing.T, dir, name string, m *keras.Model, x []data.Array, train bool) map[string]any {
	t.Helper()
	inputs := make([]any, len(x))
	saved := data.Tensors{}
	add := func(key string, a data.Array) {
		saved.Names, saved.Arrays = append(saved.Names, key), append(saved.Arrays, a)
	}
	for i, a := range x {
		inputs[i] = a
		add(fmt.Sprint("x", i), a)
	}
	y := shaped([]float32{1, 0, -1, 2, 0.5, 0, 1, 1}, 4, 2)
	ds := data.Arrays(inputs, y)
	step := func() float64 {
		scores, err := m.TrainOnBatch(t.Context(), ds)
		require.NoError(t, err, name)
		return scores["loss"]
	}
	if m.Optimizer() != nil {
		step()
		add("y", y)
	}
	path := filepath.Join(dir, fmt.Sprint(name, ".keras"))
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
	if train && m.Optimizer() != nil {
		losses = append(losses, step(), step())
	}
	return map[string]any{"name": name, "model": path, "document": string(document), "data": path + ".npz", "losses": losses}
}

// operationsForKeras are models of operation layers.
func operationsForKeras(t *testing.T, dir string) (manifest []map[string]any) {
	images := make([]float32, 4*6*6*3)
	for i := range images {
		images[i] = float32(i*7%31) / 31
	}
	matrices := make([]float32, 4*4*3)
	for i := range matrices {
		matrices[i] = float32(math.Cos(float64(i * i)))
	}
	for name, build := range map[string]func(x *layers.KerasTensor) []*layers.KerasTensor{
		"colours of operations": func(x *layers.KerasTensor) []*layers.KerasTensor {
			return []*layers.KerasTensor{layers.Op("rgb_to_hsv", x), layers.Op("hsv_to_rgb", x)}
		},
		"patches": func(x *layers.KerasTensor) []*layers.KerasTensor {
			return []*layers.KerasTensor{layers.Op("extract_patches", x, []int{2, 3}), layers.Op("extract_patches", x, 2, layers.Keywords{"strides": 1, "padding": "same"}),
				layers.Op("unfold", x, 2, layers.Keywords{"padding": 1}), layers.Op("fold", layers.Op("unfold", x, 2), []int{6, 3}, 2)}
		},
		"crops": func(x *layers.KerasTensor) []*layers.KerasTensor {
			return []*layers.KerasTensor{layers.Op("pad_images", x, 1, 2, layers.Keywords{"target_height": 9, "target_width": 8}),
				layers.Op("crop_images", x, 1, layers.Keywords{"right_cropping": 2, "target_height": 3, "target_width": 4})}
		},
		"blurs": func(x *layers.KerasTensor) []*layers.KerasTensor {
			return []*layers.KerasTensor{layers.Op("sobel_edges", x, layers.Keywords{"data_format": "channels_last"}), layers.Op("gaussian_blur", x, []int{3, 5}, []float64{0.5, 1.5}, "channels_last")}
		},
	} {
		in := keras.Input(keras.Shape(6, 6, 3), keras.InputName("images"))
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(build(in)...))
		require.NoError(t, err, name)
		manifest = append(manifest, handOver(t, dir, name, m, []data.Array{shaped(images, 4, 6, 6, 3)}, false))
	}
	in := keras.Input(keras.Shape(4, 3), keras.InputName("matrices"))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.OpAll("svd", in)[1], layers.Op("svd", in, false, false), layers.Op("pinv", in), layers.OpAll("lu_factor", in)[0],
		layers.OpAll("eigh", layers.Op("matmul", layers.Op("transpose", in, []int{0, 2, 1}), in))[0]))
	require.NoError(t, err)
	return append(manifest, handOver(t, dir, "factors", m, []data.Array{shaped(matrices, 4, 4, 3)}, false))
}
