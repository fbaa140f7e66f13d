package keras_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// TestParameterServerWholeTables: if a large table is transferred as a whole, the worker reports it once, with the
// remedy.
func TestParameterServerWholeTables(t *testing.T) {
	rows := func(s *keras.Step) keras.StepLogs {
		y := s.Model().Call(s.Training(), s.X[0])
		s.Minimize(s.Optimizer(), s.ComputeLoss(y), s.Model().TrainableVariables())
		return s.ComputeMetrics(y)
	}
	whole := func(s *keras.Step) keras.StepLogs {
		y := s.Model().Call(s.Training(), s.X[0])
		gradients := ops.NewTape(s).Gradients(s.ComputeLoss(y), s.Model().TrainableVariables())
		gradients.Values[0] = ops.Add(gradients.Values[0], s.Read(s.Model().TrainableVariables()[0]))
		s.Apply(s.Optimizer(), gradients)
		return s.ComputeMetrics(y)
	}
	for _, c := range []struct {
		step  keras.StepFunc
		check bool
		size  int
		want  string
	}{
		{nil, false, 70000, ""}, {rows, false, 70000, ""}, {whole, false, 1000, ""},
		{whole, false, 70000, "table/embeddings, of 1.1 MB, to the worker and its gradient to the parameter servers as a whole: TrainStep reads it, or does more with its gradient than scale and clip it; call Minimize"},
		{rows, true, 70000, ""},
	} {
		var mu sync.Mutex
		said := ""
		require.NoError(t, onParameterServers(t, 1, 1, nil, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{Name: "table", InputDim: c.size, OutputDim: 4}, &layers.Flatten{}, &layers.Dense{Units: 1}}, keras.InputShape(2), distribute.Scope(s))
			if err != nil {
				return err
			}
			if err := m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", TrainStep: c.step, CheckNumerics: c.check}); err != nil {
				return err
			}
			var out bytes.Buffer
			x, y := [][]float32{{1, 2}, {3, 4}, {5, 6}, {7, 8}}, [][]float32{{1}, {2}, {3}, {4}}
			_, err = m.Fit(ctx, data.Arrays(x, y), keras.BatchSize(2), keras.StepsPerEpoch(2), keras.Epochs(2), keras.Verbose(0), keras.ProgressOutput(&out))
			mu.Lock()
			defer mu.Unlock()
			said += out.String()
			return err
		}))
		require.Contains(t, said, c.want)
		if want := min(len(c.want), 1); strings.Count(said, "Every step transfers") != want {
			require.Fail(t, said)
		}
	}
}
