package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// network is embedded in the model, and its layer in turn embeds another: neither type is exported.
type network struct {
	Body      *twoNamedParts
	Optimizer optimizers.Optimizer
}

type embedsNetwork struct {
	network
	Head *layers.Dense
}

func (m *embedsNetwork) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(m.Head, c, layers.Invoke(m.Body, c, x))
}

func (m *embedsNetwork) TrainStep(s *keras.Step) keras.StepLogs {
	loss := losses.Compute(&losses.MeanSquaredError{}, s.Y[0], m.Call(s.Training(), s.X[0]), nil)
	s.Minimize(m.Optimizer, loss, s.Model().TrainableVariables())
	return keras.StepLogs{"loss": loss}
}

// Fields of embedded structs are fields, as in encoding/json, even if the embedded type is not exported.
func TestLayersOfEmbeddedTypes(t *testing.T) {
	parts := func() *twoNamedParts {
		return &twoNamedParts{twoParts{Attention1: &layers.Dense{Units: 3}, Rest: &layers.Dense{Units: 3}}}
	}
	model := func() *keras.Model {
		return built(t, &embedsNetwork{network{Body: parts(), Optimizer: &optimizers.Adam{}}, &layers.Dense{Units: 1}})
	}
	m := model()
	require.Equal(t, 2*12+4, m.CountParams())
	var paths []string
	for _, w := range m.Weights() {
		paths = append(paths, w.Path())
	}
	require.Len(t, paths, 6)
	require.NoError(t, m.Compile(keras.CompileConfig{}))
	_, err := m.Fit(context.Background(), data.Arrays([][]float32{{1, 2, 3}}, [][]float32{{1}}))
	require.NoError(t, err)

	path := t.TempDir() + "/m.weights.h5"
	require.NoError(t, m.SaveWeights(path))
	other := model()
	var report keras.LoadReport
	require.NoError(t, other.LoadWeights(path, keras.Report(&report)))
	require.Len(t, report.Matched, 6)
	require.Contains(t, report.Unused, "optimizer/vars/0", "the optimizer's name is that of its field")

	sequential, err := keras.NewSequential([]layers.Layer{parts()}, keras.InputShape(3))
	require.NoError(t, err)
	require.Equal(t, 24, sequential.CountParams())
}
