package layers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// moments returns mean and standard deviation.
func moments(xs []float64) (mean, std float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		std += (x - mean) * (x - mean) / float64(len(xs))
	}
	return mean, math.Sqrt(std)
}

// TestDropoutRate: the fraction of zeros is the rate, within five standard errors; the rest is scaled by 1/(1-rate).
func TestDropoutRate(t *testing.T) {
	const n = 20000
	for _, rate := range []float64{0.1, 0.5, 0.9} {
		y := invoke(t, &layers.Dropout{Rate: rate}, true, constant(3, 100, n/100)).outputs[0].F
		zeros := 0.0
		for _, v := range y {
			if v == 0 {
				zeros++
			} else {
				assert.InDelta(t, 3/(1-rate), v, 1e-5)
			}
		}
		assert.InDelta(t, rate, zeros/n, 5*math.Sqrt(rate*(1-rate)/n))
	}
}

// TestDropoutDraws: new numbers in each step and on each replica, the same ones for the same state, others for another
// seed or layer.
func TestDropoutDraws(t *testing.T) {
	draw := func(l layers.Layer, random [4]float64) []float64 {
		c := layerCall{layer: l, training: true, random: random}
		c.inputs = append(c.inputs, constant(1, 8, 8))
		return c.run(t).outputs[0].F
	}
	base := draw(&layers.Dropout{Rate: 0.5}, [4]float64{1, 2, 3, 0})
	assert.Equal(t, base, draw(&layers.Dropout{Rate: 0.5}, [4]float64{1, 2, 3, 0}))
	assert.NotEqual(t, base, draw(&layers.Dropout{Rate: 0.5}, [4]float64{1, 2, 4, 0}), "another step")
	assert.NotEqual(t, base, draw(&layers.Dropout{Rate: 0.5}, [4]float64{1, 2, 3, 1}), "another replica")
	assert.NotEqual(t, base, draw(&layers.Dropout{Rate: 0.5, Seed: new(7)}, [4]float64{1, 2, 3, 0}), "another seed")
	assert.NotEqual(t, base, draw(&layers.Dropout{Rate: 0.5, Name: "other"}, [4]float64{1, 2, 3, 0}), "another layer")
}

// TestNoiseShape: elements along an axis of length 1 are dropped or kept together.
func TestNoiseShape(t *testing.T) {
	for name, l := range map[string]layers.Layer{
		"noise shape": &layers.Dropout{Rate: 0.5, NoiseShape: []int{layers.Unknown, 1, 6}},
		"spatial":     &layers.SpatialDropout1D{Rate: 0.5},
	} {
		y := invoke(t, l, true, constant(1, 20, 5, 6)).outputs[0]
		dropped := 0
		for b := range 20 {
			for c := range 6 {
				first := y.F[b*30+c]
				if first == 0 {
					dropped++
				}
				for s := range 5 {
					assert.Equal(t, first, y.F[b*30+s*6+c], name)
				}
			}
		}
		assert.InDelta(t, 0.5, float64(dropped)/120, 5*0.5/math.Sqrt(120), name)
	}
}

// A noise shape with the length of the batch is used in training; any batch can be predicted, as in Keras.
func TestNoiseShapeWithBatch(t *testing.T) {
	x := layers.NewInput("x", ir.Float32, layers.Unknown, 5, 6)
	for _, l := range []layers.Layer{
		&layers.Dropout{Rate: 0.5, NoiseShape: []int{20, 1, 6}},
		&layers.AlphaDropout{Rate: 0.5, NoiseShape: []int{20, 1, 6}},
	} {
		y := layers.Apply(l, x)
		assert.NoError(t, y.Err())
		assert.Equal(t, "(None, 5, 6) float32", y.String())
		assert.Len(t, invoke(t, l, false, constant(1, 3, 5, 6)).outputs[0].F, 90)
		assert.Len(t, invoke(t, l, true, constant(1, 20, 5, 6)).outputs[0].F, 600)
	}
	y := layers.Apply(&layers.Dropout{Rate: 0.5, NoiseShape: []int{20, 2, 6}}, x)
	assert.ErrorContains(t, y.Err(), "NoiseShape [20 2 6] must have 1 or the input's length on each axis")
}

// TestGaussianLayers: mean and standard deviation are those of the formulas, within five standard errors.
func TestGaussianLayers(t *testing.T) {
	const n = 20000
	for _, row := range []struct {
		layer          layers.Layer
		x, mean, stdev float64
	}{
		{&layers.GaussianNoise{Stddev: 0.3}, 2, 2, 0.3},
		{&layers.GaussianDropout{Rate: 0.2}, 2, 2, 2 * math.Sqrt(0.2/0.8)},
	} {
		mean, std := moments(invoke(t, row.layer, true, constant(row.x, 100, n/100)).outputs[0].F)
		assert.InDelta(t, row.mean, mean, 5*row.stdev/math.Sqrt(n))
		assert.InDelta(t, row.stdev, std, 5*row.stdev/math.Sqrt(2*n))
	}
}

// TestAlphaDropoutKeepsMoments: mean 0 and variance 1 are preserved, and the two values that a constant becomes are
// those of the formula.
func TestAlphaDropoutKeepsMoments(t *testing.T) {
	const n = 40000
	x := constant(0, 100, n/100)
	for i := range x.F {
		x.F[i] = math.Copysign(1, float64(i%2)-0.5)
	}
	mean, std := moments(invoke(t, &layers.AlphaDropout{Rate: 0.3}, true, x).outputs[0].F)
	assert.InDelta(t, 0, mean, 0.03)
	assert.InDelta(t, 1, std, 0.03)
	const least = -1.7580993408473766
	a := 1 / math.Sqrt(0.7*(1+0.3*least*least))
	for _, v := range invoke(t, &layers.AlphaDropout{Rate: 0.3}, true, constant(1, 4, 4)).outputs[0].F {
		kept, dropped := a-a*least*0.3, a*least-a*least*0.3
		assert.True(t, math.Abs(v-kept) < 1e-5 || math.Abs(v-dropped) < 1e-5, "%v is neither %v nor %v", v, kept, dropped)
	}
}

// TestInferenceIsIdentity: outside training the random layers return their input.
func TestInferenceIsIdentity(t *testing.T) {
	x := float32s([]int{2, 2}, 1, -2, 3, -4)
	for _, l := range []layers.Layer{
		&layers.Dropout{Rate: 0.9}, &layers.AlphaDropout{Rate: 0.9}, &layers.GaussianDropout{Rate: 0.9}, &layers.GaussianNoise{Stddev: 0.9},
	} {
		assert.Equal(t, x.F, invoke(t, l, false, x).outputs[0].F)
	}
}
