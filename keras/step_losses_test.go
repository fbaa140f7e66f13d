package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// penaltyHolder calls a layer that its model does not find.
type penaltyHolder struct {
	layers.Base
	penalty *layers.ActivityRegularization
}

func (l *penaltyHolder) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{layers.Invoke(l.penalty, c, in[0])}
}

// TestLossesOfTheLastCall: in a step that calls a model twice, the losses that its layers add count once, even if a
// layer adds one inside another layer that does not expose it.
func TestLossesOfTheLastCall(t *testing.T) {
	for name, l := range map[string]layers.Layer{"held": &penaltyHolder{penalty: &layers.ActivityRegularization{L2: 1}}, "plain": &layers.ActivityRegularization{L2: 1}} {
		m := sequential(t, nil, l)
		added := func(times int) float64 {
			compile(t, m, keras.CompileConfig{TestStep: func(s *keras.Step) keras.StepLogs {
				for range times {
					s.Model().Call(s.Inference(), s.X[0])
				}
				return keras.StepLogs{"added": s.AddedLosses()}
			}})
			scores, err := m.Evaluate(t.Context(), data.Arrays(grid(5, 3), nil))
			require.NoError(t, err)
			return scores["added"]
		}
		once := added(1)
		require.Positive(t, once, name)
		require.Equal(t, once, added(2), name)
	}
}
