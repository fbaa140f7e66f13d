package callbacks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/tensorboard"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// graphOf returns the graph in an event file; there must be no more than one.
func graphOf(t *testing.T, dir string) []tensorboard.GraphNode {
	var found []tensorboard.GraphNode
	for _, e := range eventFile(t, filepath.Join(dir, "train")) {
		if e.Graph != nil {
			require.Nil(t, found, "a second graph")
			found = e.Graph
		}
	}
	return found
}

// TestTensorBoardGraph: every operation stands in the box of its layer, beside the layer's variables, and edges go to
// nodes that exist.
func TestTensorBoardGraph(t *testing.T) {
	built, ds := board(t)
	later, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2, Name: "d"}, &layers.Dense{Units: 1, Name: "e"}}, keras.Name("model"))
	require.NoError(t, err)
	require.NoError(t, later.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	for _, m := range []*keras.Model{built, later} {
		dir := t.TempDir()
		_, err := m.Fit(t.Context(), ds, keras.Epochs(2), keras.Callbacks(&callbacks.TensorBoard{LogDir: dir}))
		require.NoError(t, err)
		nodes := map[string]tensorboard.GraphNode{}
		for _, n := range graphOf(t, dir) {
			require.NotContains(t, nodes, n.Name)
			nodes[n.Name] = n
			for _, in := range n.Inputs {
				in, _, _ = strings.Cut(in, ":")
				require.Contains(t, nodes, in, "an input of %s", n.Name)
			}
		}
		for _, name := range []string{"d/kernel", "d/bias", "e/kernel", "e/bias"} {
			assert.Equal(t, "Variable", nodes[name].Op, name)
		}
		assert.Contains(t, nodes["d/dot"].Inputs, "d/kernel")
		assert.Contains(t, nodes["e/dot"].Inputs, "e/kernel")
		outputs := 0
		for name := range nodes {
			if strings.HasPrefix(name, "outputs/") {
				outputs++
			}
		}
		assert.Equal(t, 1, outputs)
	}
	dir := t.TempDir()
	_, err = built.Fit(t.Context(), ds, keras.Callbacks(&callbacks.TensorBoard{LogDir: dir, NoGraph: true}))
	require.NoError(t, err)
	assert.Nil(t, graphOf(t, dir))
}

// TestInferenceProgram: what is drawn is what is computed.
func TestInferenceProgram(t *testing.T) {
	m, _ := board(t)
	p, err := m.InferenceProgram(4)
	require.NoError(t, err)
	assert.Equal(t, "model", p.Name)
	assert.Equal(t, []int{4, 1}, []int(p.Type(p.Outputs[0].Value).Shape))
	assert.Len(t, p.Inputs, 5)
	_, err = m.InferenceProgram(-1)
	assert.ErrorContains(t, err, "or 0 for any")
	m, err = keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}})
	require.NoError(t, err)
	_, err = m.InferenceProgram(1)
	assert.ErrorContains(t, err, "not built")
	_, err = m.Predict(t.Context(), data.Arrays([][]float32{{1, 2}}, nil))
	require.NoError(t, err)
	_, err = m.InferenceProgram(1)
	require.NoError(t, err)
}
