package keras_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestApplyWithTakesWhatApplyDoes: inputs by position are those of Apply, even if Keras's call has a mask or a list in
// their place, and files store them.
func TestApplyWithTakesWhatApplyDoes(t *testing.T) {
	x, state := keras.Shape(3, 4), keras.Shape(5)
	values, vector := keras.Shape(2, 4), keras.Shape(4)
	two := func() layers.Layer {
		a, b := keras.Input(keras.Shape(4)), keras.Input(keras.Shape(4))
		m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Subtract{}, a, b)))
		require.NoError(t, err)
		return m
	}
	for name, c := range map[string]struct {
		layer  func() layers.Layer
		inputs []keras.InputOption
	}{
		"LSTM":              {func() layers.Layer { return &layers.LSTM{Units: 5, ReturnSequences: true} }, []keras.InputOption{x, state, state}},
		"GRU":               {func() layers.Layer { return &layers.GRU{Units: 5} }, []keras.InputOption{x, state}},
		"SimpleRNN":         {func() layers.Layer { return &layers.SimpleRNN{Units: 5} }, []keras.InputOption{x, state}},
		"RNN":               {func() layers.Layer { return &layers.RNN{Cell: &layers.LSTMCell{Units: 5}} }, []keras.InputOption{x, state, state}},
		"Bidirectional":     {func() layers.Layer { return &layers.Bidirectional{Layer: &layers.LSTM{Units: 5}} }, []keras.InputOption{x, state, state, state, state}},
		"LSTMCell":          {func() layers.Layer { return &layers.LSTMCell{Units: 5} }, []keras.InputOption{vector, state, state}},
		"Attention":         {func() layers.Layer { return &layers.Attention{} }, []keras.InputOption{x, values, values}},
		"AdditiveAttention": {func() layers.Layer { return &layers.AdditiveAttention{} }, []keras.InputOption{x, values}},
		"MultiHead":         {func() layers.Layer { return &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3} }, []keras.InputOption{x, values, values, keras.Shape(3, 2)}},
		"GroupQuery": {func() layers.Layer {
			return &layers.GroupQueryAttention{HeadDim: 3, NumQueryHeads: 4, NumKeyValueHeads: 2}
		}, []keras.InputOption{x, values}},
		"Add":        {func() layers.Layer { return &layers.Subtract{} }, []keras.InputOption{x, x}},
		"Functional": {two, []keras.InputOption{vector, vector}},
	} {
		t.Run(name, func(t *testing.T) {
			var in []*layers.KerasTensor
			var arrays []data.Array
			for i, shape := range c.inputs {
				in = append(in, keras.Input(shape))
				n := in[i].Shape().Clone()
				n[0] = 2
				numbers := make([]float64, n.Size())
				for j := range numbers {
					numbers[j] = float64((7*j+5*i)%11)/8 - 0.5
				}
				a, err := kernels.FromFloat64s(ir.Float32, n, numbers)
				require.NoError(t, err)
				arrays = append(arrays, a)
			}
			model := func(y *layers.KerasTensor) *keras.Model {
				m, err := keras.NewFunctional(keras.Inputs(in...), keras.Outputs(y))
				require.NoError(t, err)
				return m
			}
			predict := func(m *keras.Model) []float64 {
				y, err := m.Predict(context.Background(), data.Arrays(arrays, nil))
				require.NoError(t, err)
				return y.Float64s()
			}
			applied, with := model(layers.Apply(c.layer(), in...)), model(layers.ApplyWith(c.layer(), layers.Keywords{"training": false}, in...))
			want := predict(applied)
			require.Equal(t, want, predict(with))
			document, err := with.ToJSON()
			require.NoError(t, err)
			read, err := keras.ModelFromJSON(document)
			require.NoError(t, err)
			weights, err := with.GetWeights() // a document does not store the initial values of inner layers
			require.NoError(t, err)
			require.NoError(t, read.SetWeights(weights))
			require.Equal(t, want, predict(read))
		})
	}
	in := []*layers.KerasTensor{keras.Input(x), keras.Input(state)}
	err := layers.ApplyWith(&layers.GRU{Units: 5}, layers.Keywords{"initial_state": in[1]}, in...).Err()
	require.ErrorContains(t, err, `its argument "initial_state" is given by position and by name`)
	mask := keras.Input(keras.Shape(3, 4), keras.DType("bool")) // Apply takes no masks, so this is Keras's second argument
	require.NoError(t, layers.ApplyWith(&layers.Softmax{}, nil, in[0], mask).Err())
}

// TestApplyWithSettlesArgumentsOfCalls: an argument that Keras passes in the call and that is a field here may be given
// either way. With a causal mask a position does not depend on later ones.
func TestApplyWithSettlesArgumentsOfCalls(t *testing.T) {
	for _, attend := range []layers.Layer{
		&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3},
		&layers.GroupQueryAttention{HeadDim: 3, NumQueryHeads: 2, NumKeyValueHeads: 1},
		&layers.Attention{UseScale: true}, &layers.AdditiveAttention{},
	} {
		in := keras.Input(keras.Shape(3, 2))
		causal := layers.Keywords{"use_causal_mask": true}
		y := layers.ApplyWith(attend, causal, in, in)
		require.NoError(t, y.Err())
		require.Equal(t, map[string]any{"use_causal_mask": true}, layers.CallArguments(attend))
		require.Equal(t, layers.Keywords{"use_causal_mask": true}, causal, "the caller's")
		require.NoError(t, layers.ApplyWith(attend, causal, in, in).Err())
		require.ErrorContains(t, layers.ApplyWith(attend, layers.Keywords{"use_causal_mask": false}, in, in).Err(),
			"use_causal_mask=false, but a call before had true, which holds for all calls of a layer; use another layer for this one")
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(y))
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "causal.keras")
		require.NoError(t, m.Save(path))
		m, err = keras.LoadModel(path)
		require.NoError(t, err)
		a, err := m.Predict(context.Background(), data.Arrays([][][]float32{{{1, 2}, {3, 5}, {4, 1}}, {{1, 2}, {3, 5}, {-7, 9}}}, nil))
		require.NoError(t, err)
		p := a.Float64s()
		n := len(p) / 6 // features of a position
		require.Equal(t, p[:2*n], p[3*n:5*n])
		require.NotEqual(t, p[2*n:3*n], p[5*n:])
	}
	in := keras.Input(keras.Shape(3, 2))
	require.ErrorContains(t, layers.ApplyWith(&layers.Attention{}, layers.Keywords{"use_causal_mask": "yes"}, in, in).Err(), "must be a bool, received yes")
	require.ErrorContains(t, layers.ApplyWith(&layers.Attention{}, layers.Keywords{"use_casual_mask": true}, in, in).Err(),
		`takes no argument "use_casual_mask", received true; did you mean "use_causal_mask"?`)
	open := &layers.Attention{UseCausalMask: true}
	require.NoError(t, layers.ApplyWith(open, layers.Keywords{"use_causal_mask": false}, in, in).Err())
	require.False(t, open.UseCausalMask)
}
