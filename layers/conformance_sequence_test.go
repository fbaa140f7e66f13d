package layers_test

import (
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/layertest"
)

func init() {
	for class, cases := range map[string][]layertest.Case{
		"SimpleRNN": {
			{New: func() layers.Layer { return &layers.SimpleRNN{Units: 4} }, Inputs: normal(2, 3, 5), Output: []int{2, 4}, Weights: 3, Trainable: 3, Masks: steps},
			{New: func() layers.Layer { return &layers.SimpleRNN{Units: 4, ReturnSequences: true, ReturnState: true} }, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 3, Trainable: 3, Masks: steps, PassesMask: true},
		},
		"LSTM": {
			{New: func() layers.Layer { return &layers.LSTM{Units: 4} }, Inputs: normal(2, 3, 5), Output: []int{2, 4}, Weights: 3, Trainable: 3, Masks: steps},
			{New: func() layers.Layer {
				return &layers.LSTM{Units: 4, ReturnSequences: true, GoBackwards: true, Dropout: 0.3, RecurrentDropout: 0.4}
			}, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 3, Trainable: 3, Random: true},
		},
		"GRU": {
			{New: func() layers.Layer { return &layers.GRU{Units: 4} }, Inputs: normal(2, 3, 5), Output: []int{2, 4}, Weights: 3, Trainable: 3, Masks: steps},
			{New: func() layers.Layer { return &layers.GRU{Units: 4, ResetBefore: true, ReturnSequences: true} }, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 3, Trainable: 3},
		},
		"RNN":           {{New: func() layers.Layer { return &layers.RNN{Cell: &layers.GRUCell{Units: 4}, ReturnSequences: true} }, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 3, Trainable: 3}},
		"SimpleRNNCell": {{New: func() layers.Layer { return &layers.SimpleRNNCell{Units: 4} }, Inputs: several(normal(2, 5), normal(2, 4)), Output: []int{2, 4}, Weights: 3, Trainable: 3}},
		"GRUCell":       {{New: func() layers.Layer { return &layers.GRUCell{Units: 4} }, Inputs: several(normal(2, 5), normal(2, 4)), Output: []int{2, 4}, Weights: 3, Trainable: 3}},
		"LSTMCell":      {{New: func() layers.Layer { return &layers.LSTMCell{Units: 4} }, Inputs: several(normal(2, 5), normal(2, 4), normal(2, 4)), Output: []int{2, 4}, Weights: 3, Trainable: 3}},
		"StackedRNNCells": {{New: func() layers.Layer {
			return &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.GRUCell{Units: 3}, &layers.SimpleRNNCell{Units: 4}}}
		}, Inputs: several(normal(2, 5), normal(2, 3), normal(2, 4)), Output: []int{2, 4}, Weights: 6, Trainable: 6}},
		"Bidirectional": {
			{New: func() layers.Layer {
				return &layers.Bidirectional{Layer: &layers.LSTM{Units: 4, ReturnSequences: true}}
			}, Inputs: normal(2, 3, 5), Output: []int{2, 3, 8}, Weights: 6, Trainable: 6, Masks: steps, PassesMask: true},
			{New: func() layers.Layer { return &layers.Bidirectional{Layer: &layers.GRU{Units: 4}, MergeMode: "sum"} }, Inputs: normal(2, 3, 5), Output: []int{2, 4}, Weights: 6, Trainable: 6},
		},
		"ConvLSTM1D": {
			{New: func() layers.Layer { return &layers.ConvLSTM1D{Filters: 2, KernelSize: []int{2}} }, Inputs: normal(2, 3, 4, 2), Output: []int{2, 3, 2}, Weights: 3, Trainable: 3, Masks: steps},
			{New: func() layers.Layer {
				return &layers.ConvLSTM1D{Filters: 2, KernelSize: []int{3}, Padding: layers.Same, ReturnSequences: true, Dropout: 0.3, RecurrentDropout: 0.3, NoUnitForgetBias: true}
			}, Inputs: normal(2, 3, 4, 2), Output: []int{2, 3, 4, 2}, Weights: 3, Trainable: 3, Masks: steps, PassesMask: true, Random: true},
		},
		"ConvLSTM2D": {
			{New: func() layers.Layer {
				return &layers.ConvLSTM2D{Filters: 3, KernelSize: []int{2, 3}, Strides: []int{2, 1}, DataFormat: layers.ChannelsFirst, ReturnState: true, NoBias: true, ZeroOutputForMask: true}
			}, Inputs: several(normal(2, 2, 2, 4, 3), normal(2, 3, 2, 1), normal(2, 3, 2, 1)), Output: []int{2, 3, 2, 1}, Weights: 2, Trainable: 2},
			{New: func() layers.Layer {
				return &layers.ConvLSTM2D{Filters: 2, KernelSize: []int{2}, DataFormat: layers.ChannelsFirst, ReturnSequences: true, GoBackwards: true, Dropout: 0.2, ActivityRegularizer: "l2"}
			}, Inputs: normal(2, 3, 2, 3, 3), Output: []int{2, 3, 2, 2, 2}, Weights: 3, Trainable: 3, Masks: steps, PassesMask: true, Random: true},
		},
		"ConvLSTM3D": {{New: func() layers.Layer { return &layers.ConvLSTM3D{Filters: 2, KernelSize: []int{1, 2, 1}} }, Inputs: normal(2, 2, 2, 2, 1, 2), Output: []int{2, 2, 1, 1, 2}, Weights: 3, Trainable: 3}},
		"TimeDistributed": {
			{New: func() layers.Layer { return &layers.TimeDistributed{Layer: &layers.Dense{Units: 4}} }, Inputs: normal(2, 3, 5), Output: []int{2, 3, 4}, Weights: 2, Trainable: 2, Masks: steps, PassesMask: true},
		},
		"Wrapper":           {{New: func() layers.Layer { return &layers.Wrapper{Layer: &layers.Dense{Units: 4}} }, Inputs: normal(2, 3), Output: []int{2, 4}, Weights: 2, Trainable: 2}},
		"Attention":         {{New: func() layers.Layer { return &layers.Attention{UseScale: true} }, Inputs: several(normal(2, 3, 4), normal(2, 5, 4)), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1, Masks: steps, PassesMask: true}},
		"AdditiveAttention": {{New: func() layers.Layer { return &layers.AdditiveAttention{} }, Inputs: several(normal(2, 3, 4), normal(2, 5, 4)), Output: []int{2, 3, 4}, Weights: 1, Trainable: 1, Masks: steps, PassesMask: true}},
		"MultiHeadAttention": {
			{New: func() layers.Layer { return &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3} }, Inputs: several(normal(2, 3, 4), normal(2, 5, 4)), Output: []int{2, 3, 4}, Weights: 8, Trainable: 8, Masks: steps, PassesMask: true},
			{New: func() layers.Layer { return &layers.MultiHeadAttention{NumHeads: 1, KeyDim: 3, Dropout: 0.5} }, Inputs: several(normal(2, 3, 4), normal(2, 5, 4)), Output: []int{2, 3, 4}, Weights: 8, Trainable: 8, Random: true},
		},
		"GroupQueryAttention": {{New: func() layers.Layer {
			return &layers.GroupQueryAttention{HeadDim: 2, NumQueryHeads: 4, NumKeyValueHeads: 2}
		}, Inputs: several(normal(2, 3, 4), normal(2, 5, 4)), Output: []int{2, 3, 4}, Weights: 8, Trainable: 8, Masks: steps, PassesMask: true}},
	} {
		conformance[class] = append(conformance[class], cases...)
	}
}
