package layers_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/layertest"
)

// normal and distinct are inputs away from kinks: those of a rectifier, and those of a maximum.
func normal(shape ...int) []opstest.Array { return []opstest.Array{opstest.Normal(5, shape...)} }
func distinct(shape ...int) []opstest.Array {
	return []opstest.Array{opstest.Distinct(5, 0.03, shape...)}
}

func several(arrays ...[]opstest.Array) []opstest.Array {
	var out []opstest.Array
	for i, a := range arrays {
		out = append(out, opstest.Normal(5+i, a[0].Shape...))
	}
	return out
}

// steps is a mask (2, 3) in which steps are missing in the middle and at the end.
var steps = []opstest.Array{opstest.Bools([]int{2, 3}, 1, 0, 1, 1, 1, 0)}

func init() {
	layers.RegisterLambda("test_square", func(_ *layers.Context, in []*ops.Tensor) *ops.Tensor { return ops.Square(in[0]) })
}

// conformance has one or more cases for each class.
var conformance = map[string][]layertest.Case{
	"Dense": {
		{New: func() layers.Layer { return &layers.Dense{Units: 4} }, Inputs: normal(2, 3), Output: []int{2, 4}, Weights: 2, Trainable: 2},
		{New: func() layers.Layer {
			return &layers.Dense{Units: 4, NoBias: true, Activation: "tanh", ActivityRegularizer: "l2"}
		}, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1, Masks: steps, PassesMask: true},
	},
	"EinsumDense": {
		{New: func() layers.Layer {
			return &layers.EinsumDense{Equation: "abc,cde->abde", OutputShape: []int{layers.Unknown, 2, 4}, BiasAxes: "de", Activation: "relu"}
		}, Inputs: normal(2, 3, 5), Output: []int{2, 3, 2, 4}, Weights: 2, Trainable: 2, Masks: steps},
		{New: func() layers.Layer { return &layers.EinsumDense{Equation: "...x,xy->...y", OutputShape: []int{4}} }, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1},
	},
	"Embedding": {{
		New:    func() layers.Layer { return &layers.Embedding{InputDim: 5, OutputDim: 3, MaskZero: true} },
		Inputs: []opstest.Array{opstest.Ints([]int{2, 3}, 1, 0, 4, 2, 2, 0)}, Output: []int{2, 3, 3}, Weights: 1, Trainable: 1, Masks: steps, PassesMask: true,
	}},
	"ReversibleEmbedding": {
		{
			New:    func() layers.Layer { return &layers.ReversibleEmbedding{InputDim: 5, OutputDim: 3, MaskZero: true} },
			Inputs: []opstest.Array{opstest.Ints([]int{2, 3}, 1, 0, 4, 2, 2, 0)}, Output: []int{2, 3, 3}, Weights: 1, Trainable: 1, Masks: steps, PassesMask: true,
		},
		{
			New: func() layers.Layer {
				return &layers.ReversibleEmbedding{InputDim: 5, OutputDim: 3, UntiedWeights: true, LogitSoftCap: new(2.0)}
			},
			Inputs: []opstest.Array{opstest.Ints([]int{2}, 1, 4)}, Output: []int{2, 3}, Weights: 2, Trainable: 2,
		},
	},
	"InputLayer": {{New: func() layers.Layer { return &layers.InputLayer{Shape: []int{3}} }, Inputs: normal(2, 3), Output: []int{2, 3}, NotCast: true}},
	"Identity":   {{New: func() layers.Layer { return &layers.Identity{} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"Activation": {{New: func() layers.Layer { return &layers.Activation{Activation: "softmax"} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"Lambda": {
		{New: func() layers.Layer { return &layers.Lambda{Function: "test_square"} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps},
		{New: func() layers.Layer { return &layers.Lambda{Function: ops.Tanh} }, Inputs: normal(2, 3), Output: []int{2, 3}, NotSaved: true},
	},
	"Masking":   {{New: func() layers.Layer { return &layers.Masking{MaskValue: 9} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"ReLU":      {{New: func() layers.Layer { return &layers.ReLU{MaxValue: new(1.0), NegativeSlope: 0.1, Threshold: 0.02} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"LeakyReLU": {{New: func() layers.Layer { return &layers.LeakyReLU{} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"ELU":       {{New: func() layers.Layer { return &layers.ELU{Alpha: new(0.5)} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"PReLU": {
		{New: func() layers.Layer { return &layers.PReLU{SharedAxes: []int{1}} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1, Masks: steps, PassesMask: true},
	},
	"Softmax": {
		{New: func() layers.Layer { return &layers.Softmax{} }, Inputs: normal(2, 3), Output: []int{2, 3}, Masks: steps, PassesMask: true},
		{New: func() layers.Layer { return &layers.Softmax{Axis: []int{1, 2}} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}},
	},

	"Conv1D": {
		{New: func() layers.Layer { return &layers.Conv1D{Filters: 4, KernelSize: []int{2}, Padding: layers.Causal} }, Inputs: normal(2, 3, 2), Output: []int{2, 3, 4}, Weights: 2, Trainable: 2, Masks: steps},
		{New: func() layers.Layer {
			return &layers.Conv1D{Filters: 4, KernelSize: []int{2}, Strides: []int{2}, DataFormat: layers.ChannelsFirst, Activation: "softmax"}
		}, Inputs: normal(2, 3, 6), Output: []int{2, 4, 3}, Weights: 2, Trainable: 2},
	},
	"Conv2D": {
		{New: func() layers.Layer { return &layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: layers.Same} }, Inputs: normal(2, 5, 4, 2), Output: []int{2, 5, 4, 4}, Weights: 2, Trainable: 2},
		{New: func() layers.Layer {
			return &layers.Conv2D{Filters: 4, KernelSize: []int{2, 3}, Groups: 2, NoBias: true, DilationRate: []int{2, 1}, ActivityRegularizer: "l1"}
		}, Inputs: normal(2, 5, 4, 2), Output: []int{2, 3, 2, 4}, Weights: 1, Trainable: 1},
	},
	"Conv3D": {{New: func() layers.Layer { return &layers.Conv3D{Filters: 3, KernelSize: []int{2}, Strides: []int{1, 2, 1}} }, Inputs: normal(2, 3, 4, 2, 2), Output: []int{2, 2, 2, 1, 3}, Weights: 2, Trainable: 2}},
	"Conv1DTranspose": {{New: func() layers.Layer {
		return &layers.Conv1DTranspose{Filters: 4, KernelSize: []int{3}, Strides: []int{2}}
	}, Inputs: normal(2, 3, 2), Output: []int{2, 7, 4}, Weights: 2, Trainable: 2}},
	"Conv2DTranspose": {{New: func() layers.Layer {
		return &layers.Conv2DTranspose{Filters: 3, KernelSize: []int{3, 2}, Strides: []int{2}, Padding: layers.Same, DataFormat: layers.ChannelsFirst}
	}, Inputs: normal(2, 2, 3, 2), Output: []int{2, 3, 6, 4}, Weights: 2, Trainable: 2}},
	"Conv3DTranspose": {{New: func() layers.Layer {
		return &layers.Conv3DTranspose{Filters: 2, KernelSize: []int{2}, OutputPadding: []int{1, 0, 1}, Strides: []int{2}}
	}, Inputs: normal(1, 2, 1, 2, 2), Output: []int{1, 5, 2, 5, 2}, Weights: 2, Trainable: 2}},
	"DepthwiseConv1D": {{New: func() layers.Layer { return &layers.DepthwiseConv1D{KernelSize: []int{2}, DepthMultiplier: 2} }, Inputs: normal(2, 4, 3), Output: []int{2, 3, 6}, Weights: 2, Trainable: 2}},
	"DepthwiseConv2D": {{New: func() layers.Layer {
		return &layers.DepthwiseConv2D{KernelSize: []int{2, 3}, Strides: []int{2}, Padding: layers.Same}
	}, Inputs: normal(2, 4, 5, 3), Output: []int{2, 2, 3, 3}, Weights: 2, Trainable: 2}},
	"SeparableConv1D": {{New: func() layers.Layer { return &layers.SeparableConv1D{Filters: 4, KernelSize: []int{2}} }, Inputs: normal(2, 4, 3), Output: []int{2, 3, 4}, Weights: 3, Trainable: 3}},
	"SeparableConv2D": {{New: func() layers.Layer {
		return &layers.SeparableConv2D{Filters: 4, KernelSize: []int{2}, NoBias: true, DepthMultiplier: 2}
	}, Inputs: normal(2, 4, 3, 2), Output: []int{2, 3, 2, 4}, Weights: 2, Trainable: 2}},
	"MaxPooling1D": {{New: func() layers.Layer { return &layers.MaxPooling1D{} }, Inputs: distinct(2, 5, 3), Output: []int{2, 2, 3}}},
	"MaxPooling2D": {{New: func() layers.Layer {
		return &layers.MaxPooling2D{PoolSize: []int{3, 2}, Strides: []int{2}, Padding: layers.Same}
	}, Inputs: distinct(2, 5, 4, 3), Output: []int{2, 3, 2, 3}}},
	"MaxPooling3D": {{New: func() layers.Layer { return &layers.MaxPooling3D{DataFormat: layers.ChannelsFirst} }, Inputs: distinct(2, 3, 4, 2, 3), Output: []int{2, 3, 2, 1, 1}}},
	"AveragePooling1D": {{New: func() layers.Layer {
		return &layers.AveragePooling1D{PoolSize: []int{3}, Strides: []int{1}, Padding: layers.Same}
	}, Inputs: normal(2, 5, 3), Output: []int{2, 5, 3}}},
	"AveragePooling2D": {{New: func() layers.Layer {
		return &layers.AveragePooling2D{PoolSize: []int{2}, DataFormat: layers.ChannelsFirst}
	}, Inputs: normal(2, 3, 4, 5), Output: []int{2, 3, 2, 2}}},
	"AveragePooling3D": {{New: func() layers.Layer { return &layers.AveragePooling3D{PoolSize: []int{2, 1, 3}} }, Inputs: normal(2, 4, 2, 3, 2), Output: []int{2, 2, 2, 1, 2}}},

	"GlobalMaxPooling1D": {{New: func() layers.Layer { return &layers.GlobalMaxPooling1D{} }, Inputs: distinct(2, 5, 3), Output: []int{2, 3}}},
	"GlobalMaxPooling2D": {{New: func() layers.Layer { return &layers.GlobalMaxPooling2D{KeepDims: true} }, Inputs: distinct(2, 5, 4, 3), Output: []int{2, 1, 1, 3}}},
	"GlobalMaxPooling3D": {{New: func() layers.Layer { return &layers.GlobalMaxPooling3D{DataFormat: layers.ChannelsFirst} }, Inputs: distinct(2, 3, 2, 4, 3), Output: []int{2, 3}}},
	"GlobalAveragePooling1D": {
		{New: func() layers.Layer { return &layers.GlobalAveragePooling1D{} }, Inputs: normal(2, 3, 4), Output: []int{2, 4}, Masks: steps},
		{New: func() layers.Layer {
			return &layers.GlobalAveragePooling1D{DataFormat: layers.ChannelsFirst, KeepDims: true}
		}, Inputs: normal(2, 4, 3), Output: []int{2, 4, 1}, Masks: steps},
	},
	"GlobalAveragePooling2D":   {{New: func() layers.Layer { return &layers.GlobalAveragePooling2D{} }, Inputs: normal(2, 3, 4, 2), Output: []int{2, 2}}},
	"GlobalAveragePooling3D":   {{New: func() layers.Layer { return &layers.GlobalAveragePooling3D{KeepDims: true} }, Inputs: normal(2, 3, 1, 4, 2), Output: []int{2, 1, 1, 1, 2}}},
	"AdaptiveMaxPooling1D":     {{New: func() layers.Layer { return &layers.AdaptiveMaxPooling1D{OutputSize: []int{3}} }, Inputs: distinct(2, 5, 2), Output: []int{2, 3, 2}}},
	"AdaptiveMaxPooling2D":     {{New: func() layers.Layer { return &layers.AdaptiveMaxPooling2D{OutputSize: []int{3, 2}} }, Inputs: distinct(2, 5, 3, 2), Output: []int{2, 3, 2, 2}}},
	"AdaptiveMaxPooling3D":     {{New: func() layers.Layer { return &layers.AdaptiveMaxPooling3D{OutputSize: []int{2}} }, Inputs: distinct(1, 3, 2, 4, 2), Output: []int{1, 2, 2, 2, 2}}},
	"AdaptiveAveragePooling1D": {{New: func() layers.Layer { return &layers.AdaptiveAveragePooling1D{OutputSize: []int{3}} }, Inputs: normal(2, 5, 2), Output: []int{2, 3, 2}}},
	"AdaptiveAveragePooling2D": {{New: func() layers.Layer {
		return &layers.AdaptiveAveragePooling2D{OutputSize: []int{3, 2}, DataFormat: layers.ChannelsFirst}
	}, Inputs: normal(2, 2, 5, 3), Output: []int{2, 2, 3, 2}}},
	"AdaptiveAveragePooling3D": {{New: func() layers.Layer { return &layers.AdaptiveAveragePooling3D{OutputSize: []int{2}} }, Inputs: normal(1, 3, 2, 4, 2), Output: []int{1, 2, 2, 2, 2}}},

	"BatchNormalization": {
		{New: func() layers.Layer { return &layers.BatchNormalization{} }, Inputs: normal(4, 3), Output: []int{4, 3}, Weights: 4, Trainable: 2},
		{New: func() layers.Layer { return &layers.BatchNormalization{Axis: 1, NoScale: true, Momentum: new(0.5)} }, Inputs: normal(3, 2, 4), Output: []int{3, 2, 4}, Weights: 3, Trainable: 1},
		{New: func() layers.Layer { return &layers.BatchNormalization{NoCenter: true, Synchronized: true} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 3, Trainable: 1, Masks: steps, PassesMask: true},
		{New: func() layers.Layer {
			return &layers.BatchNormalization{Renorm: true, RenormClipping: map[string]float64{"rmax": 1.5, "rmin": 0.5, "dmax": 1}}
		}, Inputs: normal(5, 3), Output: []int{5, 3}, Weights: 7, Trainable: 2, NoGradient: true},
	},
	"LayerNormalization": {
		{New: func() layers.Layer { return &layers.LayerNormalization{} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 2, Trainable: 2, Masks: steps, PassesMask: true},
		{New: func() layers.Layer { return &layers.LayerNormalization{Axis: []int{1, 2}, NoScale: true} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1},
		{New: func() layers.Layer { return &layers.LayerNormalization{Axis: []int{1}, NoCenter: true} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1},
		{New: func() layers.Layer { return &layers.LayerNormalization{Axis: []int{1, 3}} }, Inputs: normal(2, 3, 2, 4), Output: []int{2, 3, 2, 4}, Weights: 2, Trainable: 2},
	},
	"GroupNormalization": {
		{New: func() layers.Layer { return &layers.GroupNormalization{Groups: 2} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 2, Trainable: 2, Masks: steps, PassesMask: true},
		{New: func() layers.Layer { return &layers.GroupNormalization{Groups: -1, Axis: 1, NoCenter: true} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1},
	},
	"RMSNormalization":  {{New: func() layers.Layer { return &layers.RMSNormalization{Axis: []int{1, 2}} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1, Masks: steps}},
	"UnitNormalization": {{New: func() layers.Layer { return &layers.UnitNormalization{Axis: []int{1}} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},
	"SpectralNormalization": {{
		New: func() layers.Layer {
			return &layers.SpectralNormalization{Layer: &layers.Dense{Units: 4}, PowerIterations: 2}
		},
		Inputs: normal(2, 3), Output: []int{2, 4}, Weights: 3, Trainable: 2, NoGradient: true,
	}},

	"Dropout": {
		{New: func() layers.Layer { return &layers.Dropout{Rate: 0.5} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true, Random: true},
		{New: func() layers.Layer {
			return &layers.Dropout{Rate: 0.4, NoiseShape: []int{layers.Unknown, 1, 4}, Seed: new(3)}
		}, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Random: true},
		{New: func() layers.Layer { return &layers.Dropout{Rate: 1} }, Inputs: normal(2, 3), Output: []int{2, 3}, Random: true},
	},
	"AlphaDropout":           {{New: func() layers.Layer { return &layers.AlphaDropout{Rate: 0.5} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true, Random: true}},
	"SpatialDropout1D":       {{New: func() layers.Layer { return &layers.SpatialDropout1D{Rate: 0.5} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true, Random: true}},
	"SpatialDropout2D":       {{New: func() layers.Layer { return &layers.SpatialDropout2D{Rate: 0.5, DataFormat: layers.ChannelsFirst} }, Inputs: normal(2, 4, 3, 2), Output: []int{2, 4, 3, 2}, Random: true}},
	"SpatialDropout3D":       {{New: func() layers.Layer { return &layers.SpatialDropout3D{Rate: 0.5} }, Inputs: normal(2, 2, 3, 2, 5), Output: []int{2, 2, 3, 2, 5}, Random: true}},
	"GaussianNoise":          {{New: func() layers.Layer { return &layers.GaussianNoise{Stddev: 0.5} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true, Random: true}},
	"GaussianDropout":        {{New: func() layers.Layer { return &layers.GaussianDropout{Rate: 0.5} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true, Random: true}},
	"ActivityRegularization": {{New: func() layers.Layer { return &layers.ActivityRegularization{L1: 0.2, L2: 0.1} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true}},

	"Flatten":       {{New: func() layers.Layer { return &layers.Flatten{DataFormat: layers.ChannelsFirst} }, Inputs: normal(2, 3, 4), Output: []int{2, 12}, Masks: steps}},
	"Reshape":       {{New: func() layers.Layer { return &layers.Reshape{TargetShape: []int{-1, 2}} }, Inputs: normal(2, 3, 4), Output: []int{2, 6, 2}, Masks: steps}},
	"Permute":       {{New: func() layers.Layer { return &layers.Permute{Dims: []int{3, 1, 2}} }, Inputs: normal(2, 3, 4, 5), Output: []int{2, 5, 3, 4}, Masks: steps}},
	"RepeatVector":  {{New: func() layers.Layer { return &layers.RepeatVector{N: 3} }, Inputs: normal(2, 4), Output: []int{2, 3, 4}}},
	"ZeroPadding1D": {{New: func() layers.Layer { return &layers.ZeroPadding1D{Padding: []int{1, 2}} }, Inputs: normal(2, 3, 4), Output: []int{2, 6, 4}, Masks: steps}},
	"ZeroPadding2D": {
		{New: func() layers.Layer { return &layers.ZeroPadding2D{Padding: [][]int{{1, 2}, {3}}} }, Inputs: normal(2, 3, 4, 2), Output: []int{2, 6, 10, 2}},
		{New: func() layers.Layer { return &layers.ZeroPadding2D{} }, Inputs: normal(2, 3, 4, 2), Output: []int{2, 5, 6, 2}},
	},
	"ZeroPadding3D": {{New: func() layers.Layer { return &layers.ZeroPadding3D{DataFormat: layers.ChannelsFirst} }, Inputs: normal(2, 2, 3, 4, 2), Output: []int{2, 2, 5, 6, 4}}},
	"Cropping1D":    {{New: func() layers.Layer { return &layers.Cropping1D{Cropping: []int{1, 0}} }, Inputs: normal(2, 3, 4), Output: []int{2, 2, 4}}},
	"Cropping2D":    {{New: func() layers.Layer { return &layers.Cropping2D{Cropping: [][]int{{1, 0}, {0, 2}}} }, Inputs: normal(2, 3, 4, 2), Output: []int{2, 2, 2, 2}}},
	"Cropping3D":    {{New: func() layers.Layer { return &layers.Cropping3D{} }, Inputs: normal(2, 3, 4, 5, 2), Output: []int{2, 1, 2, 3, 2}}},
	"UpSampling1D":  {{New: func() layers.Layer { return &layers.UpSampling1D{Size: 3} }, Inputs: normal(2, 3, 4), Output: []int{2, 9, 4}}},
	"UpSampling2D": {
		{New: func() layers.Layer { return &layers.UpSampling2D{} }, Inputs: normal(2, 3, 4, 2), Output: []int{2, 6, 8, 2}},
		{New: func() layers.Layer {
			return &layers.UpSampling2D{Size: []int{3, 2}, Interpolation: "bilinear", DataFormat: layers.ChannelsFirst}
		}, Inputs: normal(2, 2, 3, 4), Output: []int{2, 2, 9, 8}},
	},
	"UpSampling3D": {{New: func() layers.Layer { return &layers.UpSampling3D{Size: []int{1, 2, 3}} }, Inputs: normal(2, 3, 2, 2, 2), Output: []int{2, 3, 4, 6, 2}}},

	"Add":      {{New: func() layers.Layer { return &layers.Add{} }, Inputs: several(normal(2, 3, 4), normal(2, 1, 4), normal(2, 4)), Output: []int{2, 3, 4}}},
	"Subtract": {{New: func() layers.Layer { return &layers.Subtract{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 4)), Output: []int{2, 3, 4}, Masks: append(steps, steps...), PassesMask: true}},
	"Multiply": {
		{New: func() layers.Layer { return &layers.Multiply{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 4)), Output: []int{2, 3, 4}, Masks: append(steps, steps...), PassesMask: true},
		{New: func() layers.Layer { return &layers.Multiply{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 4)), Output: []int{2, 3, 4}, Masks: steps},
	},
	"Average": {{New: func() layers.Layer { return &layers.Average{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 4)), Output: []int{2, 3, 4}, Masks: append(steps, steps...), PassesMask: true}},
	"Maximum": {{New: func() layers.Layer { return &layers.Maximum{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 4)), Output: []int{2, 3, 4}, Masks: steps}},
	"Minimum": {{New: func() layers.Layer { return &layers.Minimum{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 4)), Output: []int{2, 3, 4}}},
	"Concatenate": {
		{New: func() layers.Layer { return &layers.Concatenate{Axis: new(1)} }, Inputs: several(normal(2, 3, 4), normal(2, 1, 4)), Output: []int{2, 4, 4}, Masks: steps, PassesMask: true},
		{New: func() layers.Layer { return &layers.Concatenate{} }, Inputs: several(normal(2, 3, 4), normal(2, 3, 1)), Output: []int{2, 3, 5}, Masks: append(steps, steps...), PassesMask: true},
	},
	"Dot": {
		{New: func() layers.Layer { return &layers.Dot{Axes: []int{2, 1}, Normalize: true} }, Inputs: several(normal(2, 3, 4), normal(2, 4, 5)), Output: []int{2, 3, 5}, Masks: append(steps, opstest.Bools([]int{2, 4}, 1, 1, 1, 1, 1, 1, 1, 1))},
		{New: func() layers.Layer { return &layers.Dot{Axes: []int{1}} }, Inputs: several(normal(2, 4), normal(2, 4)), Output: []int{2, 1}},
	},
	"Rescaling": {
		{New: func() layers.Layer { return &layers.Rescaling{Scale: []float64{0.5}, Offset: []float64{-1}} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Masks: steps, PassesMask: true},
		{New: func() layers.Layer { return &layers.Rescaling{Scale: []float64{0.5, 2, 3}} }, Inputs: []opstest.Array{opstest.Ints([]int{2, 3}, 1, 2, 3, 4, 5, 6)}, Output: []int{2, 3}},
	},
	"Normalization": {
		{New: func() layers.Layer { return &layers.Normalization{} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 3, Masks: steps, PassesMask: true},
		{New: func() layers.Layer { return &layers.Normalization{Axis: []int{}, Invert: true} }, Inputs: normal(2, 3, 4), Output: []int{2, 3, 4}, Weights: 3},
		{New: func() layers.Layer {
			return &layers.Normalization{Mean: []float64{1, 2, 3}, Variance: []float64{4, 5, 6}}
		}, Inputs: normal(2, 3), Output: []int{2, 3}},
	},
}

func TestConformance(t *testing.T) {
	for _, name := range layers.ClassNames() {
		t.Run(name, func(t *testing.T) {
			for i, c := range conformance[name] {
				t.Run(string(rune('a'+i)), func(t *testing.T) {
					assert.Equal(t, name, config.ClassName(c.New()))
					layertest.Run(t, c)
				})
			}
		})
	}
}

// TestEveryLayerIsCovered: every registered layer has a case, and every case has a registered layer.
func TestEveryLayerIsCovered(t *testing.T) {
	for _, name := range layers.ClassNames() {
		if l, err := layers.New(name); err == nil {
			if _, host := layers.AsHostLayer(l); host {
				continue // these are not part of a program; TestKerasLookups covers them
			}
		}
		assert.NotEmpty(t, conformance[name], "layer %s has no case in the conformance table", name)
	}
	for name := range conformance {
		assert.True(t, slices.Contains(layers.ClassNames(), name), "%s is not registered", name)
	}
}
