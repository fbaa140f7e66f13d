package saving_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
)

// paths lists the groups with variables.
func paths(m *keras.Model) []string {
	var out []string
	for _, o := range saving.Objects(m) {
		if len(o.Variables) > 0 {
			out = append(out, o.Path)
		}
	}
	return out
}

// The expected paths are those in files that Keras 3.15.1 wrote for the same models.
func TestPathsOfFunctional(t *testing.T) {
	in := keras.Input(keras.Shape(5, 6))
	x := layers.Apply(&layers.Bidirectional{Layer: &layers.LSTM{Units: 2, ReturnSequences: true}}, in)
	x = layers.Apply(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3}, x, x)
	x = layers.Apply(&layers.RNN{Cell: &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.GRUCell{Units: 2}, &layers.GRUCell{Units: 2}}}, ReturnSequences: true}, x)
	x = layers.Apply(&layers.TimeDistributed{Layer: &layers.Dense{Units: 2}}, x)
	inner, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}, &layers.Dense{Units: 3, Name: "called"}})
	require.NoError(t, err)
	x = layers.Apply(inner, x)
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(x))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"layers/bidirectional/forward_layer/cell", "layers/bidirectional/backward_layer/cell",
		"layers/multi_head_attention/query_dense", "layers/multi_head_attention/key_dense",
		"layers/multi_head_attention/value_dense", "layers/multi_head_attention/output_dense",
		"layers/rnn/cell/cells/gru_cell", "layers/rnn/cell/cells/gru_cell_1", "layers/time_distributed/layer",
		"layers/sequential/layers/dense", "layers/sequential/layers/dense_1",
	}, paths(m))
}

// subclassed has the attributes of this Python class:
//
//	self.conv1 = Dense(3); self.out = Dense(1); self.blocks = [Dense(3), [Dense(3)]]; self.d = {"b": Dense(3), "a": Dense(3)}
type subclassed struct {
	Conv1  *layers.Dense
	Out    *layers.Dense
	Blocks []any
	D      map[string]*layers.Dense
}

func (s *subclassed) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = layers.Invoke(s.Conv1, c, x)
	x = layers.Invoke(s.Blocks[0].(layers.Layer), c, x)
	x = layers.Invoke(s.Blocks[1].([]layers.Layer)[0], c, x)
	return layers.Invoke(s.Out, c, layers.Invoke(s.D["a"], c, layers.Invoke(s.D["b"], c, x)))
}

func TestPathsOfSubclass(t *testing.T) {
	three := func() *layers.Dense { return &layers.Dense{Units: 3} }
	m, err := keras.NewModel(&subclassed{
		Conv1: three(), Out: &layers.Dense{Units: 1}, Blocks: []any{three(), []layers.Layer{three()}}, D: map[string]*layers.Dense{"a": three(), "b": three()},
	})
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{-1, 4}))
	require.Equal(t, []string{"blocks/dense", "blocks/container/dense", "conv1", "d/dense", "d/dense_1", "layers/dense_1"}, paths(m))
	require.ErrorContains(t, m.Save(t.TempDir()+"/x.keras"), "SaveWeights")
}

// A layer that is found twice is written once.
func TestSharedLayerIsWrittenOnce(t *testing.T) {
	shared := &layers.Dense{Units: 4}
	a, b := keras.Input(keras.Shape(4)), keras.Input(keras.Shape(4))
	m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Add{}, layers.Apply(shared, a), layers.Apply(shared, b))))
	require.NoError(t, err)
	require.Equal(t, []string{"layers/dense"}, paths(m))
}
