package keras_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/metrics"
)

func TestDistributedMetricVectors(t *testing.T) {
	tfHandlers{"metrics.merge": mergedMetrics, "metrics.outside_scope": metricOutside}.run(t, "testdata/tf_metrics.json.gz")
}

// recordedMetric makes the metric of a case, and says whether it receives columns (rows, 1).
func recordedMetric(name string, keras2 bool) (m metrics.Metric, column bool) {
	switch name {
	case "Mean":
		return &metrics.Mean{}, false
	case "Sum":
		return &metrics.Sum{}, false
	case "BinaryAccuracy":
		return &metrics.BinaryAccuracy{}, true
	case "Precision":
		return &metrics.Precision{}, false
	case "Recall":
		return &metrics.Recall{}, false
	case "AUC_3":
		return &metrics.AUC{NumThresholds: 3}, false
	case "AUC_200":
		return &metrics.AUC{}, false
	case "AUC_PR":
		return &metrics.AUC{Curve: "PR"}, false
	case "MeanSquaredError":
		return &metrics.MeanSquaredError{}, true
	case "RootMeanSquaredError":
		return &metrics.RootMeanSquaredError{}, true
	case "FalsePositives":
		return &metrics.FalsePositives{}, false
	case "SensitivityAtSpecificity":
		return &metrics.SensitivityAtSpecificity{Specificity: 0.5, NumThresholds: 20}, false
	case "R2Score":
		return &metrics.R2Score{}, true
	case "F1Score":
		return &metrics.F1Score{Threshold: new(0.5)}, true
	case "MeanIoU":
		m := &metrics.MeanIoU{NumClasses: 2}
		if keras2 {
			m.DType = "float32" // Keras 3 counts in integers, even weights
		}
		return m, false
	case "CosineSimilarity":
		return &metrics.CosineSimilarity{}, true
	case "LogCoshError":
		return &metrics.LogCoshError{}, true
	}
	return nil, false
}

// updates returns a function that updates a metric with labels, predictions and weights.
func updates(s distribute.Strategy, name string, m metrics.Metric, column, weighted bool) *distribute.NestFunction {
	return distribute.NewNestFunction(s, func(_ *distribute.Replica, args ...any) any {
		y, p, w := args[0].(*ops.Tensor), args[1].(*ops.Tensor), args[2].(*ops.Tensor)
		if name == "Mean" || name == "Sum" {
			y = p
		}
		if name == "MeanIoU" {
			p = ops.Round(p)
		}
		if column {
			y, p = ops.ExpandDims(y, -1), ops.ExpandDims(p, -1)
		}
		if !weighted {
			w = nil
		}
		m.Update(y, p, w)
		return nil
	})
}

// mergedMetrics: results are those of all replicas' examples, read here or in replica code (as in Keras 2).
func mergedMetrics(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	y, p, w := tfPerReplica(t, c.Inputs["y"]), tfPerReplica(t, c.Inputs["p"]), tfPerReplica(t, c.Inputs["w"])
	for full, want := range c.Map(t) {
		name, weighted := strings.CutSuffix(full, ".weighted")
		if name == "MeanTensor" {
			continue // not in Keras 3
		}
		m, column := recordedMetric(name, strings.HasSuffix(c.ID, "keras2"))
		require.NotNil(t, m, name)
		for range 2 { // the second time after a reset
			f := updates(s, name, m, column, weighted)
			for range 2 {
				_, err := f.Run(context.Background(), y, p, w)
				require.NoError(t, err, full)
			}
			f.Close()
			result, err := metrics.ResultOf(m)
			require.NoError(t, err, full)
			c.Within(t, full, tfvectors.Get(want, "result"), result.Float64s(), 1e-6, 1e-5)
			require.NoError(t, metrics.Reset(m))
			for _, v := range m.Variables() {
				for _, x := range tfValue(t, v) {
					require.Zero(t, x, full)
				}
			}
		}
	}
}

// metricOutside: a metric adopts the strategy under which it is first used.
func metricOutside(t *testing.T, c *tfvectors.Case) {
	s := tfStrategy(t, "Mirrored", c.Replicas())
	m := &metrics.Mean{}
	p := tfPerReplica(t, c.Inputs["p"])
	_, err := updates(s, "Mean", m, false, false).Run(context.Background(), p, p, p)
	require.NoError(t, err)
	result, err := metrics.ResultOf(m)
	require.NoError(t, err)
	want := tfvectors.Number(t, c.Expected)
	require.False(t, math.IsNaN(result.Element(0)))
	require.InDelta(t, want, result.Element(0), 1e-6)
}
