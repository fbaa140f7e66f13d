package keras_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
)

// Metrics that count in integers truncate sample weights, as Keras's do, which is reported once if a weight is not an
// integer. The numbers are Keras's, from keras.metrics.MeanIoU(2) and MeanIoU(2, dtype="float32").
func TestWeightsThatAreCut(t *testing.T) {
	x, y := [][]float32{{0}, {1}, {1}, {1}}, [][]float32{{0}, {1}, {0}, {1}}
	for _, c := range []struct {
		name    string
		metric  metrics.Metric
		weights []float32
		want    float64
		said    string
	}{
		{"fractions", &metrics.MeanIoU{NumClasses: 2}, []float32{0.5, 1, 1.7, 2}, 0.375, `element 0 of sample weight 0 of shape (4,) is no whole number: metric "mean_io_u" counts in integers`},
		{"float32", &metrics.MeanIoU{NumClasses: 2, DType: "float32"}, []float32{0.5, 1, 1.7, 2}, 0.4327853322, ""},
		{"whole", &metrics.MeanIoU{NumClasses: 2}, []float32{0, 1, 1, 2}, 0.375, ""},
		{"two classes", &metrics.BinaryIoU{}, []float32{0, 1, 1.7, 2}, 0.375, `element 2 of sample weight 0 of shape (4,)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := sequential(t, []keras.Option{keras.InputShape(1)}, &layers.Identity{})
			compile(t, m, keras.CompileConfig{Loss: "mse", Optimizer: "sgd", WeightedMetrics: []any{c.metric}})
			set := data.Arrays(x, y, data.SampleWeight(c.weights))
			var said bytes.Buffer
			scores, err := m.Evaluate(context.Background(), set, keras.BatchSize(4), keras.Verbose(0), keras.ProgressOutput(&said))
			require.NoError(t, err)
			require.InDelta(t, c.want, scores[c.metric.MetricName()], 1e-6)
			if c.said == "" {
				require.Empty(t, said.String())
				return
			}
			require.Contains(t, said.String(), c.said)
			require.Equal(t, 1, strings.Count(said.String(), "\n"))
		})
	}
}

// TestLargeWholeWeights: numbers far beyond the range of int64 are integers.
func TestLargeWholeWeights(t *testing.T) {
	m := sequential(t, []keras.Option{keras.InputShape(1)}, &layers.Identity{})
	compile(t, m, keras.CompileConfig{Loss: "mse", Optimizer: "sgd", WeightedMetrics: []any{&metrics.MeanIoU{NumClasses: 2}}})
	var said bytes.Buffer
	set := data.Arrays([][]float32{{0}, {1}}, [][]float32{{0}, {1}}, data.SampleWeight([]float32{1e30, 1}))
	_, err := m.Evaluate(context.Background(), set, keras.BatchSize(2), keras.Verbose(0), keras.ProgressOutput(&said))
	require.NoError(t, err)
	require.Empty(t, said.String())
}
