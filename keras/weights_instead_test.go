package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// twoParts has a field whose name Python would write as attention_1.
type twoParts struct {
	layers.Base
	Attention1, Rest *layers.Dense
}

func (l *twoParts) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{layers.Invoke(l.Rest, c, layers.Invoke(l.Attention1, c, in[0]))}
}

// twoNamedParts is the same layer with the names of its parts in Python.
type twoNamedParts struct{ twoParts }

func (l *twoNamedParts) MemberAttributes() []string { return []string{"attention_1", "rest"} }

// holder is a layer with a part, under its name in Python.
type holder struct {
	layers.Base
	Parts layers.Layer
}

func (l *holder) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.InvokeAll(l.Parts, c, in...)
}

func built(t *testing.T, value any) *keras.Model {
	t.Helper()
	m, err := keras.NewModel(value)
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{1, 3}))
	return m
}

// An error about weights missing in a file says what is there instead.
func TestMissingWeightsSayWhatIsThere(t *testing.T) {
	model := func(stack ...layers.Layer) *keras.Model {
		m, err := keras.NewSequential(stack, keras.InputShape(3))
		require.NoError(t, err)
		return m
	}
	dense := func() *layers.Dense { return &layers.Dense{Units: 3} }
	path := filepath.Join(t.TempDir(), "m.weights.h5")
	require.NoError(t, model(&holder{Parts: &twoNamedParts{twoParts{Attention1: dense(), Rest: dense()}}}).SaveWeights(path))
	err := model(&holder{Parts: &twoParts{Attention1: dense(), Rest: dense()}}).LoadWeights(path)
	require.ErrorContains(t, err, `the file has 0 at layers/holder/parts/attention1/vars`)
	require.ErrorContains(t, err, `; the file has no "attention1" in layers/holder/parts, but ["attention_1" "rest"]; the method MemberAttributes`)

	require.NoError(t, model(dense(), dense()).SaveWeights(path))
	err = model(dense(), dense(), dense()).LoadWeights(path)
	require.ErrorContains(t, err, `the file has no "dense_2" in layers, but ["dense" "dense_1"]`)
	require.NotContains(t, err.Error(), "MemberAttributes")
}
