package metrics_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// TestGolden holds what Keras printed for the labels and predictions below.
func TestGolden(t *testing.T) {
	six, matrix, four := []int{6}, []int{2, 3}, []int{4}
	y, p := array(t, ir.Float32, six, 0, 0, 1, 1, 1, 0), array(t, ir.Float32, six, 0, .5, .3, .9, .5, .8)
	hot, scores := array(t, ir.Float32, matrix, 0, 1, 0, 0, 0, 1), array(t, ir.Float32, matrix, .05, .9, .05, .1, .6, .3)
	classes, guesses := array(t, ir.Int32, four, 0, 1, 2, 2), array(t, ir.Int32, four, 0, 2, 2, 1)
	for _, c := range []struct {
		name        string
		m           metrics.Metric
		labels, got kernels.Array
		want        []float64
	}{
		{"auc", &metrics.AUC{}, y, p, []float64{.6111111}},
		{"auc pr", &metrics.AUC{Curve: "PR"}, y, p, []float64{.68457097}},
		{"auc 3", &metrics.AUC{NumThresholds: 3}, y, p, []float64{.49999997}},
		{"precision", &metrics.Precision{}, y, p, []float64{.5}},
		{"recall", &metrics.Recall{}, y, p, []float64{.3333333}},
		{"precision at", &metrics.Precision{Thresholds: []float64{.2, .5, .85}}, y, p, []float64{.6, .5, 1}},
		{"binary accuracy", &metrics.BinaryAccuracy{}, y, p, []float64{.5}},
		{"f1", &metrics.F1Score{}, hot, scores, []float64{0, .66666657, 0}},
		{"f1 macro", &metrics.F1Score{Average: "macro"}, hot, scores, []float64{.2222222}},
		{"f1 micro", &metrics.F1Score{Average: "micro", Threshold: new(.5)}, hot, scores, []float64{.49999994}},
		{"f2 weighted", &metrics.FBetaScore{Average: "weighted", Beta: 2}, hot, scores, []float64{.4166666}},
		{"rmse", &metrics.RootMeanSquaredError{}, hot, scores, []float64{.3818813}},
		{"r2", &metrics.R2Score{}, hot, scores, []float64{.0916667}},
		{"mean iou", &metrics.MeanIoU{NumClasses: 3}, classes, guesses, []float64{.4444444}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, metrics.UpdateState(c.m, c.labels, c.got, nil))
			v, shape := resultOf(t, c.m)
			require.Equal(t, len(c.want) > 1, len(shape) == 1)
			vectors.AllClose(t, "result", v, vectors.Array{Data: c.want}, 1e-6, 1e-7)
		})
	}
}

// TestIgnoredClass: as in Keras, ignored labels count 0 in a plain mean and are left out of a weighted one.
func TestIgnoredClass(t *testing.T) {
	y, p := array(t, ir.Int32, []int{3}, 0, 1, 2), array(t, ir.Float32, []int{3, 3}, .8, .1, .1, .05, .95, 0, .1, .8, .1)
	m := &metrics.SparseCategoricalCrossentropy{IgnoreClass: new(0)}
	require.NoError(t, metrics.UpdateState(m, y, p, nil))
	require.InDelta(t, .78462, scalarOf(t, m), 1e-4)
	require.NoError(t, metrics.Reset(m))
	w := array(t, ir.Float32, []int{3}, .5, 1.5, 2)
	require.NoError(t, metrics.UpdateState(m, y, p, &w))
	require.InDelta(t, 1.33774646, scalarOf(t, m), 1e-4)
}

// TestReset: a metric that is reset has seen nothing.
func TestReset(t *testing.T) {
	y, p := array(t, ir.Float32, []int{4}, 0, 1, 1, 0), array(t, ir.Float32, []int{4}, .9, .8, .2, .1)
	m := &metrics.BinaryAccuracy{}
	require.NoError(t, metrics.Reset(m))
	require.NoError(t, metrics.UpdateState(m, y, p, nil))
	require.Equal(t, .5, scalarOf(t, m))
	require.NoError(t, metrics.Reset(m))
	require.Equal(t, 0.0, scalarOf(t, m))
	require.NoError(t, metrics.UpdateState(m, y.Slice(3, 4), p.Slice(3, 4), nil))
	require.Equal(t, 1.0, scalarOf(t, m))
}

// TestIntegersAreExact: pixel counts beyond 2^24, where float32 stops counting, are exact.
func TestIntegersAreExact(t *testing.T) {
	m := &metrics.MeanIoU{NumClasses: 2}
	require.NoError(t, m.Build(ir.Float32, ir.Type{}, ir.Type{}))
	v := m.Variables()[0]
	require.Equal(t, ir.Int64, v.Type().DType)
	require.NoError(t, v.SetValue(array(t, ir.Int64, []int{2, 2}, 1<<25, 0, 0, 1<<25)))
	one := array(t, ir.Int32, []int{1}, 1)
	require.NoError(t, metrics.UpdateState(m, one, one, nil))
	a, err := v.Value()
	require.NoError(t, err)
	require.Equal(t, []float64{1 << 25, 0, 0, 1<<25 + 1}, a.Float64s())
}

// TestRowOfZeros: a row whose scores are all 0 has no positive prediction, although 0 is its largest.
func TestRowOfZeros(t *testing.T) {
	y, p := array(t, ir.Float32, []int{2, 2}, 1, 0, 0, 1), array(t, ir.Float32, []int{2, 2}, 0, 0, 0, 1)
	m := &metrics.F1Score{}
	require.NoError(t, metrics.UpdateState(m, y, p, nil))
	v, _ := resultOf(t, m)
	require.InDeltaSlice(t, []float64{0, 1}, v, 1e-6)
	for _, variable := range m.Variables()[1:2] {
		require.Equal(t, "false_positives", variable.Name())
		a, err := variable.Value()
		require.NoError(t, err)
		require.Equal(t, []float64{0, 0}, a.Float64s())
	}
}
