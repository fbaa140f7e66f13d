package layers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestMistakes: wrong configurations and inputs are errors that name the layer, what was received and what to do;
// nothing panics.
func TestMistakes(t *testing.T) {
	sequence, image := opstest.Normal(1, 2, 5, 3), opstest.Normal(1, 2, 5, 4, 3)
	vector := opstest.Normal(1, 2, 3)
	for _, row := range []struct {
		layer  layers.Layer
		inputs []opstest.Array
		want   string
	}{
		{&layers.Dense{}, []opstest.Array{vector}, "dense: Units must be positive, received 0"},
		{&layers.Dense{Units: 2}, []opstest.Array{opstest.Floats([]int{2}, 1, 2)}, "(batch, ..., features)"},
		{&layers.Dense{Units: 2}, []opstest.Array{vector, vector}, "takes one input, received 2"},
		{&layers.Dense{Units: 2, Activation: "rely"}, []opstest.Array{vector}, "unknown activation"},
		{&layers.Dense{Units: 2, KernelInitializer: "nought"}, []opstest.Array{vector}, "unknown initializer"},
		{&layers.Dense{Units: 2, KernelRegularizer: "l3"}, []opstest.Array{vector}, "unknown regularizer"},
		{&layers.Dense{Units: 2, BiasConstraint: 5}, []opstest.Array{vector}, "constraints: received the number 5"},
		{&layers.Dense{Units: 2, DType: "float12"}, []opstest.Array{vector}, "unknown dtype policy"},
		{&layers.Dense{Units: 2, ActivityRegularizer: "no"}, []opstest.Array{vector}, "activity_regularizer"},
		{&layers.EinsumDense{Equation: "ab->a"}, []opstest.Array{vector}, "must have the form"},
		{&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{5, 2}}, []opstest.Array{vector}, "names 3 axes"},
		{&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{2}}, []opstest.Array{sequence}, "OutputShape [2]"},
		{&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{4, 2}}, []opstest.Array{sequence}, "length 5 in the input"},
		{&layers.EinsumDense{Equation: "abc,cd->abe", OutputShape: []int{5, 2}}, []opstest.Array{sequence}, "neither the input's nor the kernel's"},
		{&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{5, layers.Unknown}}, []opstest.Array{sequence}, "has no length"},
		{&layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{5, 2}, BiasAxes: "c"}, []opstest.Array{sequence}, "BiasAxes"},
		{&layers.Embedding{InputDim: 3}, []opstest.Array{vector}, "InputDim and OutputDim"},
		{&layers.Lambda{}, []opstest.Array{vector}, "LambdaFunc"},
		{&layers.Lambda{Function: "nobody"}, []opstest.Array{vector}, "RegisterLambda"},
		{&layers.Lambda{Function: func(*ops.Tensor) *ops.Tensor { return nil }}, []opstest.Array{vector}, "returned nil"},
		{&layers.Masking{}, []opstest.Array{opstest.Floats([]int{2}, 1, 2)}, "(batch, steps, features)"},
		{&layers.ReLU{MaxValue: new(-1.0)}, []opstest.Array{vector}, "at least 0"},
		{&layers.LeakyReLU{NegativeSlope: new(-1.0)}, []opstest.Array{vector}, "at least 0"},
		{&layers.Softmax{Axis: []int{}}, []opstest.Array{vector}, "Axis is empty; expected an axis, or nil for the last one"},
		{&layers.Discretization{NumBins: -1, BinBoundaries: []float64{0}}, []opstest.Array{vector}, "NumBins must not be negative, received -1"},
		{&layers.UpSampling2D{Size: []int{1}, Interpolation: "cubic"}, []opstest.Array{image}, `unknown Interpolation "cubic"`},
		{&layers.PReLU{SharedAxes: []int{2}}, []opstest.Array{vector}, "between 1 and 1"},

		{&layers.Conv2D{KernelSize: []int{2}}, []opstest.Array{image}, "Filters must be positive"},
		{&layers.Conv2D{Filters: 2}, []opstest.Array{image}, "KernelSize is missing"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{1, 2, 3}}, []opstest.Array{image}, "KernelSize must have 1 or 2 entries"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{0}}, []opstest.Array{image}, "at least 1"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{2}}, []opstest.Array{sequence}, "(batch, height, width, channels)"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{6}}, []opstest.Array{image}, "longer than the input"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{2}, Strides: []int{2}, DilationRate: []int{2}}, []opstest.Array{image}, "cannot both be above 1"},
		{&layers.Conv2D{Filters: 4, KernelSize: []int{2}, Groups: 2}, []opstest.Array{image}, "Groups 2 must divide"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{2}, Padding: "full"}, []opstest.Array{image}, "unknown Padding"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{2}, Padding: layers.Causal}, []opstest.Array{image}, "unknown Padding"},
		{&layers.Conv2D{Filters: 2, KernelSize: []int{2}, DataFormat: "NCHW"}, []opstest.Array{image}, "unknown DataFormat"},
		{&layers.Conv1DTranspose{Filters: 2, KernelSize: []int{2}, OutputPadding: []int{1}}, []opstest.Array{sequence}, "OutputPadding [1] must be smaller"},
		{&layers.DepthwiseConv1D{KernelSize: []int{2}, DepthMultiplier: -1}, []opstest.Array{sequence}, "DepthMultiplier"},
		{&layers.SeparableConv1D{KernelSize: []int{2}}, []opstest.Array{sequence}, "Filters must be positive"},
		{&layers.MaxPooling1D{PoolSize: []int{9}}, []opstest.Array{sequence}, "longer than the input"},
		{&layers.MaxPooling2D{}, []opstest.Array{sequence}, "expected an input of 4 axes"},
		{&layers.AveragePooling1D{}, []opstest.Array{sequence}, "PoolSize is missing"},
		{&layers.MaxPooling1D{Strides: []int{-1}}, []opstest.Array{sequence}, "Strides must have entries of at least 1"},
		{&layers.GlobalMaxPooling2D{}, []opstest.Array{sequence}, "expected an input of 4 axes"},
		{&layers.AdaptiveMaxPooling1D{}, []opstest.Array{sequence}, "OutputSize is missing"},

		{&layers.BatchNormalization{Axis: 3}, []opstest.Array{sequence}, "Axis 3 is not an axis"},
		{&layers.BatchNormalization{Renorm: true, RenormClipping: map[string]float64{"max": 1}}, []opstest.Array{vector}, "unknown limit"},
		{&layers.BatchNormalization{Renorm: true, RenormClipping: map[string]float64{"rmin": 2, "rmax": 1}}, []opstest.Array{vector}, "rmax of at least rmin"},
		{&layers.LayerNormalization{Axis: []int{3}}, []opstest.Array{sequence}, "no place"},
		{&layers.LayerNormalization{Axis: []int{1, -2}}, []opstest.Array{sequence}, "twice"},
		{&layers.GroupNormalization{Groups: 2}, []opstest.Array{sequence}, "must divide the 3 channels"},
		{&layers.SpectralNormalization{}, []opstest.Array{vector}, "Layer is missing"},
		{&layers.SpectralNormalization{Layer: &layers.ReLU{}}, []opstest.Array{vector}, "no weight named kernel"},
		{&layers.SpectralNormalization{Layer: &layers.Dense{Units: 2}, PowerIterations: -1}, []opstest.Array{vector}, "PowerIterations"},

		{&layers.Dropout{Rate: 1.5}, []opstest.Array{vector}, "between 0 and 1"},
		{&layers.Dropout{Rate: 0.5, NoiseShape: []int{2}}, []opstest.Array{vector}, "one entry for each axis"},
		{&layers.Dropout{Rate: 0.5, NoiseShape: []int{2, 2}}, []opstest.Array{vector}, "1 or the input's length"},
		{&layers.GaussianDropout{Rate: 1}, []opstest.Array{vector}, "below 1"},
		{&layers.AlphaDropout{Rate: 1}, []opstest.Array{vector}, "below 1"},
		{&layers.GaussianNoise{Stddev: 2}, []opstest.Array{vector}, "between 0 and 1"},
		{&layers.SpatialDropout2D{Rate: 0.5}, []opstest.Array{vector}, "expected an input of 4 axes"},
		{&layers.ActivityRegularization{L1: -1}, []opstest.Array{vector}, "at least 0"},

		{&layers.Reshape{TargetShape: []int{4}}, []opstest.Array{vector}, "does not hold the 3 elements"},
		{&layers.Reshape{TargetShape: []int{-1, -1}}, []opstest.Array{vector}, "at most one -1"},
		{&layers.Reshape{TargetShape: []int{-1, 2}}, []opstest.Array{vector}, "does not hold the 3 elements"},
		{&layers.Permute{Dims: []int{1, 1}}, []opstest.Array{sequence}, "from 1 to 2 once"},
		{&layers.RepeatVector{}, []opstest.Array{vector}, "N must be positive"},
		{&layers.RepeatVector{N: 2}, []opstest.Array{sequence}, "(batch, features)"},
		{&layers.ZeroPadding1D{Padding: []int{1, 2, 3}}, []opstest.Array{sequence}, "one or two entries"},
		{&layers.ZeroPadding2D{Padding: [][]int{{1}, {2}, {3}}}, []opstest.Array{image}, "1 or 2 entries"},
		{&layers.ZeroPadding2D{Padding: [][]int{{-1}}}, []opstest.Array{image}, "at least 0"},
		{&layers.Cropping1D{Cropping: []int{3, 2}}, []opstest.Array{sequence}, "leaves nothing of axis 1"},
		{&layers.UpSampling1D{Size: -1}, []opstest.Array{sequence}, "Size must be positive"},
		{&layers.UpSampling2D{Interpolation: "cubic"}, []opstest.Array{image}, "unknown Interpolation"},

		{&layers.Add{}, []opstest.Array{vector, opstest.Normal(1, 2, 4)}, "shapes that broadcast"},
		{&layers.Add{}, []opstest.Array{vector, opstest.Normal(1, 4, 3)}, "one batch size"},
		{&layers.Subtract{}, []opstest.Array{vector}, "takes two inputs, received 1"},
		{&layers.Concatenate{}, []opstest.Array{vector, sequence}, "agree on all axes but axis 1"},
		{&layers.Concatenate{Axis: new(5)}, []opstest.Array{vector}, "axis 5 is outside"},
		{&layers.Dot{}, []opstest.Array{vector, vector}, "Axes must have"},
		{&layers.Dot{Axes: []int{0}}, []opstest.Array{vector, vector}, "cannot sum over axes"},
		{&layers.Dot{Axes: []int{1}}, []opstest.Array{vector}, "takes two inputs"},

		{&layers.Rescaling{}, []opstest.Array{vector}, "Scale is missing"},
		{&layers.Rescaling{Scale: []float64{1, 2}}, []opstest.Array{vector}, "one for each channel"},
		{&layers.Normalization{Mean: []float64{1}}, []opstest.Array{vector}, "given together"},
		{&layers.Normalization{Mean: []float64{1, 2}, Variance: []float64{1, 2}}, []opstest.Array{vector}, "1 or 3 numbers"},
		{&layers.Normalization{Axis: []int{4}}, []opstest.Array{vector}, "no place"},
	} {
		_, err := layerCall{layer: row.layer, training: true, inputs: row.inputs}.try()
		assert.ErrorContains(t, err, row.want, "%T", row.layer)
		if err != nil {
			assert.Contains(t, err.Error(), layers.Name(row.layer)+": ", "the error must name the layer")
		}
	}
}

// TestBuiltForOtherInputs: a layer that has weights rejects inputs that do not fit them.
func TestBuiltForOtherInputs(t *testing.T) {
	for _, row := range []struct {
		layer         layers.Layer
		first, second opstest.Array
	}{
		{&layers.Dense{Units: 2}, opstest.Normal(1, 2, 3), opstest.Normal(1, 2, 4)},
		{&layers.Conv1D{Filters: 2, KernelSize: []int{2}}, opstest.Normal(1, 2, 5, 3), opstest.Normal(1, 2, 5, 4)},
		{&layers.Conv1DTranspose{Filters: 2, KernelSize: []int{2}}, opstest.Normal(1, 2, 5, 3), opstest.Normal(1, 2, 5, 4)},
		{&layers.DepthwiseConv1D{KernelSize: []int{2}}, opstest.Normal(1, 2, 5, 3), opstest.Normal(1, 2, 5, 4)},
	} {
		invoke(t, row.layer, false, row.first)
		_, err := layerCall{layer: row.layer, inputs: []opstest.Array{row.second}}.try()
		assert.ErrorContains(t, err, "the layer was built with", "%T", row.layer)
	}
}

// TestEmbeddingRange: numbers outside the table are an error at run time, and do not select other rows.
func TestEmbeddingRange(t *testing.T) {
	for _, number := range []float64{3, -1, 1000} {
		l := &layers.Embedding{InputDim: 3, OutputDim: 2}
		_, err := layerCall{layer: l, inputs: []opstest.Array{opstest.Ints([]int{1, 2}, 0, number)}}.try()
		assert.ErrorContains(t, err, "embedding")
	}
}

func TestUnreadableConfigs(t *testing.T) {
	for text, want := range map[string]string{
		`{"class_name":"Dens","config":{}}`:             "unknown class",
		`{"class_name":"LayerScale","config":{}}`:       `import _ "github.com/gokeras/gokeras/keras/applications"`,
		`{"class_name":"CustomScaleLayer","config":{}}`: `import _ "github.com/gokeras/gokeras/keras/applications"`,
		`{"config":{}}`: "class_name",
		`{"class_name":"Dense","config":{"unit":3}}`:                                                 `unknown key "unit"`,
		`{"class_name":"Dense","config":{"units":2,"quantization_config":{"a":1}}}`:                  "received an object without a class_name; expected the name of a mode",
		`{"class_name":"Dense","config":{"units":2.5}}`:                                              "whole number",
		`{"class_name":"Dense","config":{"kernel_initializer":{"class_name":"X","config":{}}}}`:      "unknown initializer",
		`{"class_name":"Lambda","config":{"function":{"class_name":"__lambda__","config":{}}}}`:      "Python code",
		`{"class_name":"Lambda","config":{"function":["4wEAAA==",null,null]}}`:                       "Python code",
		`{"class_name":"Lambda","config":{"arguments":{"a":1}}}`:                                     "arguments",
		`{"class_name":"SpectralNormalization","config":{"layer":{"class_name":"Nope"}}}`:            "unknown class",
		`{"class_name":"SpectralNormalization","config":{"layer":3}}`:                                "expected a layer",
		`{"class_name":"InputLayer","config":{"batch_shape":[]}}`:                                    "batch axis",
		`{"class_name":"InputLayer","config":{"batch_shape":[null,3],"dtype":"float32","sparse":1}}`: "not supported",
	} {
		_, err := layers.FromObject(json.RawMessage(text))
		assert.ErrorContains(t, err, want, text)
	}
}

// TestOlderConfigs: names from older versions are read.
func TestOlderConfigs(t *testing.T) {
	l, err := layers.FromObject(json.RawMessage(`{"class_name":"LeakyReLU","config":{"alpha":0.25}}`))
	require.NoError(t, err)
	assert.Equal(t, 0.25, *l.(*layers.LeakyReLU).NegativeSlope)
	for _, text := range []string{
		`{"class_name":"MaxPool2D","config":{"pool_size":[2,2]}}`,
		`{"class_name":"Convolution2D","config":{"filters":3,"kernel_size":[3,3]}}`,
		`{"class_name":"BatchNormalization","config":{"fused":null}}`,
		`{"class_name":"Embedding","config":{"input_dim":3,"output_dim":2,"input_length":7}}`,
		`{"class_name":"InputLayer","config":{"batch_input_shape":[null,3],"dtype":"float32","sparse":false,"ragged":false}}`,
		`{"class_name":"Normalization","config":{"axis":null,"mean":[[1.0,2.0]],"variance":[[1.0,2.0]]}}`,
	} {
		_, err := layers.FromObject(json.RawMessage(text))
		assert.NoError(t, err, text)
	}
}

// A transposed convolution may produce a single cell.
func TestTransposedConvolutionOfOneCell(t *testing.T) {
	for _, l := range []layers.Layer{&layers.Conv1DTranspose{Filters: 1, KernelSize: []int{1}, KernelInitializer: "ones"},
		&layers.Conv1DTranspose{Filters: 1, KernelSize: []int{1}, Padding: layers.Same, KernelInitializer: "ones"}} {
		y, err := evaluate(l, false, []tensor{in(ir.Shape{1, 1, 1}, 3)})
		require.NoError(t, err)
		require.Equal(t, ir.Shape{1, 1, 1}, y.Type.Shape)
		require.Equal(t, 3.0, y.At(0))
	}
}
