package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// TestAUCEnds: predictions of exactly 0 and 1 lie between the outer thresholds, which are a little below 0 and above 1.
// The numbers are those of keras.metrics.AUC(thresholds=[0.2, 0.9]).
func TestAUCEnds(t *testing.T) {
	for _, c := range []struct {
		curve              metrics.Curve
		labels, prediction []float64
		want               float64
	}{
		{"ROC", []float64{1, 0, 1, 0, 1}, []float64{0, 0, 1, 1, 0.5}, 0.5},
		{"ROC", []float64{1, 1, 0}, []float64{0, 0.25, 1}, 0},
		{"PR", []float64{1, 0, 1, 0, 1}, []float64{0, 0, 1, 1, 0.5}, 0.5740804672241211},
		{"PR", []float64{1, 1, 0}, []float64{0, 0.25, 1}, 0.45069384574890137},
	} {
		m := &metrics.AUC{Thresholds: []float64{0.2, 0.9}, Curve: c.curve}
		n := len(c.labels)
		require.NoError(t, update(m, array(t, ir.Float32, []int{n}, c.labels...), array(t, ir.Float32, []int{n}, c.prediction...), nil, 0, n))
		require.InDelta(t, c.want, scalarOf(t, m), 1e-6, "%s %v %v", c.curve, c.labels, c.prediction)
	}
}
