package layers_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func batch(t *testing.T, shape ir.Shape, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(ir.Float64, shape, values)
	require.NoError(t, err)
	return a
}

func weightValues(t *testing.T, l layers.Layer) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for _, v := range layers.Weights(l) {
		a, err := v.Value()
		require.NoError(t, err)
		out[v.Name()] = a.Float64s()
	}
	return out
}

// TestAdapt: mean and variance over all axes but the kept ones, in one array or in batches of different sizes.
func TestAdapt(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 18} // (3, 2, 2)
	for _, row := range []struct {
		axis           []int
		mean, variance []float64
	}{
		{nil, []float64{38.0 / 6, 8}, []float64{131.0 / 9, 80.0 / 3}},
		{[]int{1}, []float64{34.0 / 6, 52.0 / 6}, []float64{12.2222222, 25.8888889}},
		{[]int{}, []float64{86.0 / 12}, []float64{21.3055556}},
		{[]int{2, 1}, []float64{16.0 / 3, 6, 22.0 / 3, 10}, []float64{13.5555556, 10.6666667, 13.5555556, 34.6666667}},
	} {
		whole, cut := &layers.Normalization{Axis: row.axis}, &layers.Normalization{Axis: row.axis}
		require.NoError(t, whole.Adapt(batch(t, ir.Shape{3, 2, 2}, values...)))
		require.NoError(t, cut.Adapt(batch(t, ir.Shape{2, 2, 2}, values[:8]...), batch(t, ir.Shape{1, 2, 2}, values[8:]...)))
		got := weightValues(t, whole)
		assert.InDeltaSlice(t, row.mean, got["mean"], 1e-6)
		assert.Equal(t, []float64{0}, got["count"])
		assert.InDeltaSlice(t, row.variance, got["variance"], 1e-5)
		assert.InDeltaSlice(t, got["variance"], weightValues(t, cut)["variance"], 1e-5)
		assert.InDeltaSlice(t, got["mean"], weightValues(t, cut)["mean"], 1e-6)
	}
}

// TestAdaptToExamples: a mean for each example of one batch cannot be used for the next.
func TestAdaptToExamples(t *testing.T) {
	for _, axis := range [][]int{{0}, {-3}, {2, 0}} {
		for _, n := range []int{1, 3} {
			l := &layers.Normalization{Axis: axis}
			require.ErrorContains(t, l.Adapt(batch(t, ir.Shape{n, 1, 2}, make([]float64, 2*n)...)), "keeps the batch axis")
			require.Empty(t, layers.Weights(l))
		}
	}
}

// TestAdaptKeras: mean and variance are Keras's for the same data.
func TestAdaptKeras(t *testing.T) {
	found := 0
	for _, c := range vectors.Load(t, "layers_core").Cases {
		data, ok := c.Inputs.Get("adapt_data")
		if !ok {
			continue
		}
		found++
		l, err := layers.New(c.Class)
		require.NoError(t, err)
		require.NoError(t, config.Decode(c.Config, l))
		require.NoError(t, l.(*layers.Normalization).Adapt(batch(t, data.Shape, data.Data...)))
		for _, v := range layers.Weights(l) {
			value, err := v.Value()
			require.NoError(t, err)
			want := c.Weight(t, v.Path())
			// Keras computes in the type of the data, we in float64.
			vectors.AllClose(t, c.Name+" "+v.Path(), value.Float64s(), want, max(c.RTol, 2e-6), c.ATol)
		}
	}
	assert.Equal(t, 10, found)
}

// TestAdaptLargeMean: the variance of numbers far from zero does not cancel.
func TestAdaptLargeMean(t *testing.T) {
	l := &layers.Normalization{Axis: []int{}}
	require.NoError(t, l.Adapt(batch(t, ir.Shape{4, 1}, 1e9+1, 1e9+2, 1e9+3, 1e9+4)))
	assert.InDelta(t, 1.25, weightValues(t, l)["variance"][0], 1e-6)
}

// TestAdaptTwice: adapting again replaces the previous statistics.
func TestAdaptTwice(t *testing.T) {
	l := &layers.Normalization{}
	require.NoError(t, l.Adapt(batch(t, ir.Shape{2, 1}, 100, 200)))
	require.NoError(t, l.Adapt(batch(t, ir.Shape{2, 1}, 1, 3)))
	assert.Equal(t, []float64{2}, weightValues(t, l)["mean"])
	y := invoke(t, l, false, float32s([]int{1, 1}, 5)).outputs[0].F
	assert.InDelta(t, 3, y[0], 1e-6)
}

func TestAdaptMistakes(t *testing.T) {
	good := batch(t, ir.Shape{2, 2}, 1, 2, 3, 4)
	assert.ErrorContains(t, (&layers.Normalization{}).Adapt(), "no data")
	assert.ErrorContains(t, (&layers.Normalization{}).Adapt(batch(t, ir.Shape{0, 2})), "no data")
	assert.ErrorContains(t, (&layers.Normalization{}).Adapt(good, batch(t, ir.Shape{1, 3}, 1, 2, 3)), "batch 1 has shape [1 3]")
	assert.ErrorContains(t, (&layers.Normalization{Axis: []int{3}}).Adapt(good), "no place")
	assert.ErrorContains(t, (&layers.Normalization{Mean: []float64{1}, Variance: []float64{1}}).Adapt(good), "fixed by the fields")
}

// TestZeroVariance: a feature that never changes is divided by 1e-7, not by zero.
func TestZeroVariance(t *testing.T) {
	l := &layers.Normalization{Mean: []float64{2}, Variance: []float64{0}}
	y := invoke(t, l, false, float32s([]int{2, 1}, 2, 3)).outputs[0].F
	assert.Equal(t, 0.0, y[0])
	assert.InDelta(t, 1e7, y[1], 10)
	assert.False(t, math.IsInf(y[1], 0))
}

// TestNestedMeans: the numbers of several axes are written as nested lists and read from them.
func TestNestedMeans(t *testing.T) {
	l := &layers.Normalization{Axis: []int{1, 2}, Mean: []float64{1, 2, 3, 4, 5, 6}, Variance: []float64{1, 1, 1, 1, 1, 4}}
	_, err := layers.ToObject(l)
	assert.ErrorContains(t, err, "before the layer is used")
	y := invoke(t, l, false, constant(8, 1, 2, 3)).outputs[0].F
	assert.InDeltaSlice(t, []float64{7, 6, 5, 4, 3, 1}, y, 1e-6)
	o, err := layers.ToObject(l)
	require.NoError(t, err)
	text, err := json.Marshal(o)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"mean":[[1,2,3],[4,5,6]]`)
	back, err := layers.FromObject(text)
	require.NoError(t, err)
	assert.Equal(t, y, invoke(t, back, false, constant(8, 1, 2, 3)).outputs[0].F)
}
