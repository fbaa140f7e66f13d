package layers_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
)

// TestSequenceMistakes: wrong configurations and inputs of recurrent and attention layers are errors that say what was
// received.
func TestSequenceMistakes(t *testing.T) {
	x, vector, state := opstest.Normal(1, 2, 3, 4), opstest.Normal(1, 2, 4), opstest.Normal(1, 2, 5)
	deep := opstest.Normal(1, 2, 3, 2, 4)
	mask := opstest.Bools([]int{2, 2}, 1, 1, 1, 1)
	mha := func() *layers.MultiHeadAttention { return &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3} }
	type arrays = []opstest.Array
	for _, row := range []struct {
		layer  layers.Layer
		inputs arrays
		masks  arrays
		want   string
	}{
		{&layers.LSTM{}, arrays{x}, nil, "lstm/lstm_cell: Units must be positive, received 0"},
		{&layers.GRU{Units: 5, Dropout: 1.5}, arrays{x}, nil, "Dropout must be between 0 and 1, received 1.5"},
		{&layers.SimpleRNN{Units: 5, RecurrentDropout: -1}, arrays{x}, nil, "RecurrentDropout must be between 0 and 1, received -1"},
		{&layers.LSTM{Units: 5, Activation: "tan"}, arrays{x}, nil, "unknown activation"},
		{&layers.LSTM{Units: 5}, arrays{vector}, nil, "needs an input (batch, steps, features), received shape [2 4]"},
		{&layers.LSTM{Units: 5}, arrays{x, state}, nil, "takes 2 states, received 1"},
		{&layers.GRU{Units: 5}, arrays{x, vector}, nil, "state 0 must have shape [2 5], received [2 4]"},
		{&layers.GRU{Units: 5}, arrays{x}, arrays{mask}, "the mask has shape [2 2]; expected (batch, steps) of the input [2 3 4]"},
		{&layers.GRU{Units: 5}, arrays{x, state, mask}, nil, "the mask has shape [2 2]"},
		{&layers.GRUCell{Units: 5}, arrays{vector}, nil, "takes an input (batch, features) and 1 states (batch, size), received 1 tensors"},
		{&layers.GRUCell{Units: 5}, arrays{x, state}, nil, "(batch, features)"},
		{&layers.LSTMCell{Units: 5}, arrays{vector, state, vector}, nil, "state 1 must have shape [2 5], received [2 4]"},
		{&layers.RNN{}, arrays{x}, nil, "Cell is nil"},
		{&layers.RNN{Cell: &layers.StackedRNNCells{}}, arrays{x}, nil, "Cells is empty"},
		{&layers.RNN{Cell: &layers.StackedRNNCells{Cells: []layers.RNNCell{nil}}}, arrays{x}, nil, "cell 0 is nil"},
		{&layers.Bidirectional{}, arrays{x}, nil, "Layer is nil"},
		{&layers.Bidirectional{Layer: &layers.GRU{Units: 5}, MergeMode: "add"}, arrays{x}, nil, `unknown MergeMode "add"`},
		{&layers.Bidirectional{Layer: &layers.Dense{Units: 5}}, arrays{x}, nil, "Dense cannot run backwards"},
		{&layers.Bidirectional{Layer: &layers.GRU{Units: 5, GoBackwards: true}}, arrays{x}, nil, "opposite GoBackwards"},
		{&layers.Bidirectional{Layer: &layers.GRU{Units: 5}, BackwardLayer: &layers.GRU{Units: 5}}, arrays{x}, nil, "opposite GoBackwards"},
		{&layers.Bidirectional{Layer: &layers.GRU{Units: 5}, BackwardLayer: &layers.GRU{Units: 5, GoBackwards: true, ReturnState: true}}, arrays{x}, nil, "ReturnState"},
		{&layers.Bidirectional{Layer: &layers.GRU{Units: 5}}, arrays{x, state}, nil, "as many initial states for the backward"},
		{&layers.TimeDistributed{}, arrays{x}, nil, "Layer is nil"},
		{&layers.TimeDistributed{Layer: &layers.Dense{Units: 5}}, arrays{vector}, nil, "at least 3 axes"},
		{&layers.TimeDistributed{Layer: &layers.Dense{Units: 5}}, arrays{x}, arrays{mask}, "it must begin with (batch, steps)"},
		{&layers.Wrapper{}, arrays{x}, nil, "Layer is nil"},
		{&layers.ConvLSTM1D{KernelSize: []int{2}}, arrays{deep}, nil, "conv_lstm1d/conv_lstm_cell: Filters must be positive, received 0"},
		{&layers.ConvLSTM1D{Filters: 2}, arrays{deep}, nil, "KernelSize is missing"},
		{&layers.ConvLSTM1D{Filters: 2, KernelSize: []int{2}}, arrays{x}, nil, "whose steps are (batch, steps, channels), received shape [2 3 4]"},
		{&layers.ConvLSTM1D{Filters: 2, KernelSize: []int{3}}, arrays{deep}, nil, "longer than the steps [2 2 4]"},
		{&layers.ConvLSTM1D{Filters: 2, KernelSize: []int{2}, Strides: []int{2}, DilationRate: []int{2}}, arrays{deep}, nil, "cannot both be above 1"},
		{&layers.ConvLSTM1D{Filters: 2, KernelSize: []int{1}, Padding: layers.Causal}, arrays{deep}, nil, "Padding"},
		{&layers.ConvLSTM1D{Filters: 2, KernelSize: []int{1}, DataFormat: "NCL"}, arrays{deep}, nil, "unknown DataFormat"},
		{&layers.ConvLSTM1D{Filters: 2, KernelSize: []int{1}}, arrays{deep, x, x}, nil, "state 0 must have shape [2 2 2], received [2 3 4]"},

		{&layers.MultiHeadAttention{KeyDim: 3}, arrays{x, x}, nil, "NumHeads and KeyDim must be positive, received 0 and 3"},
		{mha(), arrays{x}, nil, "takes a query (batch, T, features) and a value"},
		{mha(), arrays{x, x, x, x, x}, nil, "received 5 tensors"},
		{mha(), arrays{x, deep}, nil, "takes a query (batch, T, features) and a value"},
		{mha(), arrays{vector, vector}, nil, "takes a query (batch, T, features) and a value"},
		{mha(), arrays{x, x, opstest.Normal(1, 2, 5, 4)}, nil, "key and value must have the same positions, received shapes [2 5 4] and [2 3 4]"},
		{mha(), arrays{x, x, opstest.Bools([]int{2}, 1, 1)}, nil, "the attention mask has shape [2]"},
		{mha(), arrays{x, x}, arrays{opstest.Bools([]int{2}, 1, 1)}, "the mask of the query has shape [2]; expected one of 2 axes"},
		{&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, AttentionAxes: []int{3}}, arrays{deep, deep}, nil, "AttentionAxes [3]"},
		{&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, AttentionAxes: []int{1, -3}}, arrays{deep, deep}, nil, "AttentionAxes [1 -3]"},
		{&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, UseCausalMask: true}, arrays{deep, deep}, nil, "one attention axis, there are 2"},
		{&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, SlidingWindow: 2}, arrays{deep, deep}, nil, "one attention axis, there are 2"},
		{&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, SlidingWindow: -2}, arrays{x, x}, nil, "SlidingWindow must be positive"},
		{&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3, Dropout: 2}, arrays{x, x}, nil, "Dropout must be between 0 and 1, received 2"},
		{&layers.GroupQueryAttention{NumQueryHeads: 3, NumKeyValueHeads: 2, HeadDim: 2}, arrays{x, x}, nil, "multiple of NumKeyValueHeads, received 3 and 2"},
		{&layers.GroupQueryAttention{NumQueryHeads: 2}, arrays{x, x}, nil, "must be positive, received 0, 2 and 0"},
		{&layers.GroupQueryAttention{NumQueryHeads: 2, NumKeyValueHeads: 2, HeadDim: 2}, arrays{deep, deep}, nil, "use MultiHeadAttention"},
		{&layers.Attention{ScoreMode: "cosine"}, arrays{x, x}, nil, `unknown ScoreMode "cosine"`},
		{&layers.Attention{Dropout: -0.5}, arrays{x, x}, nil, "Dropout must be between 0 and 1"},
		{&layers.Attention{}, arrays{x}, nil, "takes query, value and optionally key, received 1 tensors"},
		{&layers.AdditiveAttention{}, arrays{vector, vector}, nil, "takes a query (batch, T, features)"},
	} {
		_, err := layerCall{layer: row.layer, inputs: row.inputs, masks: row.masks}.try()
		assert.ErrorContains(t, err, row.want, "%T", row.layer)
	}
}

// TestWrongFeatures: a built layer accepts only inputs with its number of features.
func TestWrongFeatures(t *testing.T) {
	l := &layers.LSTM{Units: 2}
	buildFor(t, l, 2, 3, 4)
	_, err := layerCall{layer: l, inputs: []opstest.Array{opstest.Normal(1, 2, 3, 5)}}.try()
	assert.ErrorContains(t, err, "expected inputs with 4 features, as the layer was built for, received 5")
}

// TestSequenceConfigMistakes: files with wrong parts are errors.
func TestSequenceConfigMistakes(t *testing.T) {
	for _, row := range []struct{ object, want string }{
		{`{"class_name":"StackedRNNCells","config":{"cells":{}}}`, "expected a list of cells"},
		{`{"class_name":"StackedRNNCells","config":{"cells":[{"class_name":"Dense","config":{"units":2}}]}}`, "cell 0 is a Dense, which is not a cell"},
		{`{"class_name":"StackedRNNCells","config":{"cells":[{"class_name":"LSTMCel","config":{}}]}}`, `cell 0: unknown class "LSTMCel"`},
		{`{"class_name":"RNN","config":{"cell":{"class_name":"Dense","config":{"units":2}}}}`, "cell"},
		{`{"class_name":"LSTM","config":{"units":2,"time_major":true}}`, "time_major"},
		{`{"class_name":"Bidirectional","config":{"layer":{"class_name":"LSTM","config":{"unit":2}}}}`, `unknown key "unit"`},
	} {
		_, err := layers.FromObject(json.RawMessage(row.object))
		assert.ErrorContains(t, err, row.want)
	}
	l, err := layers.FromObject(json.RawMessage(`{"class_name":"LSTM","config":{"units":2,"time_major":false,"implementation":2,"use_cudnn":"auto","unroll":true}}`))
	require.NoError(t, err)
	assert.Equal(t, 2, l.(*layers.LSTM).Units)
	l, err = layers.FromObject(json.RawMessage(`{"class_name":"Bidirectional","config":{"merge_mode":null,"layer":{"class_name":"GRU","config":{"units":2}}}}`))
	require.NoError(t, err)
	assert.Equal(t, layers.MergeNone, l.(*layers.Bidirectional).MergeMode)
}

// TestCallArguments: fields that are arguments of the call in Keras.
func TestCallArguments(t *testing.T) {
	l := &layers.MultiHeadAttention{UseCausalMask: true}
	assert.Equal(t, map[string]any{"use_causal_mask": true}, layers.CallArguments(l))
	require.NoError(t, layers.SetCallArgument(l, "return_attention_scores", true))
	assert.True(t, l.ReturnAttentionScores)
	assert.ErrorContains(t, layers.SetCallArgument(l, "use_causal_mask", "yes"), `call argument "use_causal_mask" must be a bool, received yes`)
	assert.ErrorContains(t, layers.SetCallArgument(l, "use_causal_mask", nil), "must be a bool")
	require.NoError(t, layers.SetCallArgument(l, "use_causal_mask", 1.0)) // as in Python
	require.Equal(t, true, layers.CallArguments(l)["use_causal_mask"])
	require.NoError(t, layers.SetCallArgument(l, "use_causal_mask", 0.0))
	require.NotContains(t, layers.CallArguments(l), "use_causal_mask")
	assert.ErrorContains(t, layers.SetCallArgument(l, "attention_mask", true), "has no call argument \"attention_mask\"; known: [return_attention_scores, use_causal_mask]")
	assert.ErrorContains(t, layers.SetCallArgument(&layers.Dense{}, "mask", true), "known: []")
}
