package metrics_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/metrics"
)

// metricOf makes the metric of a case. Keras leaves the axis of CosineSimilarity out of its configuration; it is in the
// name.
func metricOf(t testing.TB, c vectors.Case) metrics.Metric {
	t.Helper()
	m, err := metrics.New(c.Class)
	require.NoError(t, err)
	require.NoError(t, config.Decode(c.Config, m))
	if cosine, ok := m.(*metrics.CosineSimilarity); ok && strings.Contains(c.Name, "axis=0") {
		cosine.Axis = new(0)
	}
	return m
}

// inputsOf returns labels, predictions and weights (nil for none). Mean and Sum have values for both.
func inputsOf(t testing.TB, c vectors.Case) (yTrue, yPred kernels.Array, weight *kernels.Array) {
	if v, ok := c.Inputs.Get("values"); ok {
		yTrue = fromVector(t, v)
		yPred = yTrue
	} else {
		yTrue, yPred = fromVector(t, c.Input(t, "y_true")), fromVector(t, c.Input(t, "y_pred"))
	}
	if w, ok := c.Inputs.Get("sample_weight"); ok {
		a := fromVector(t, w)
		weight = &a
	}
	return yTrue, yPred, weight
}

// looserIoU widens the tolerance of float64 cases of intersection over union, whose results Keras computes in float32.
func looserIoU(c *vectors.Case) {
	if c.DType == "float64" && strings.Contains(c.Class, "IoU") {
		c.RTol, c.ATol = 1e-6, 1e-6
	}
}

func TestAgainstKeras(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range vectors.Load(t, "metrics").Cases {
		seen[c.Class] = true
		t.Run(c.Name, func(t *testing.T) {
			looserIoU(&c)
			var extra struct {
				BatchSizes []int `json:"batch_sizes"`
			}
			c.DecodeExtra(t, &extra)
			m := metricOf(t, c)
			require.NoError(t, testdevice.Place(m.Variables()))
			if want, ok := c.Outputs.Get("initial"); ok && len(want.Shape) == 0 {
				c.Close(t, "initial", []float64{scalarOf(t, m)}, nil, want)
			}
			yTrue, yPred, weight := inputsOf(t, c)
			want := c.Output(t, "result")
			var got []float64
			at := 0
			for _, n := range extra.BatchSizes {
				require.NoError(t, update(m, yTrue, yPred, weight, at, at+n))
				at += n
				v, shape := resultOf(t, m)
				require.Equal(t, want.Shape[1:], append([]int{}, shape...))
				got = append(got, v...)
			}
			c.Close(t, "result", got, want.Shape, want)
			vars := m.Variables()
			require.Len(t, vars, len(c.Weights))
			for i, w := range c.Weights {
				require.Equal(t, w.Name, vars[i].Name())
				a, err := vars[i].Value()
				require.NoError(t, err)
				c.Close(t, w.Name, a.Float64s(), a.Type.Shape, w)
			}
		})
	}
	for _, class := range metrics.ClassNames() {
		require.True(t, seen[class] || class == "Custom>hits", "there is no case of %s", class)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, c := range vectors.Load(t, "metrics").Cases {
		got, err := config.Encode(metricOf(t, c))
		require.NoError(t, err)
		if c.Class == "CosineSimilarity" {
			delete(got, "axis")
		}
		want := map[string]any{}
		c.DecodeConfig(t, &want)
		if o, ok := want["label_weights"].(map[string]any); ok { // Keras writes a tensor here, which it cannot read back
			want["label_weights"] = o["config"].(map[string]any)["value"]
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		wantText, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(wantText), string(text), c.Name)
	}
}
