package layers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/layers"
)

// drawImages returns the numbers that a layer draws for n images of 20 × 30 cells.
func drawImages(t *testing.T, l layers.Layer, n int, key string) []float64 {
	t.Helper()
	c := layerCall{layer: &layers.Identity{}, training: true, inputs: []opstest.Array{constant(0, n, 20, 30, 1)}, random: [4]float64{5, 6, 7, 0}}
	c.more = func(r *distribute.Replica, in, _ []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{layers.DrawImages(r.Training(), l, in[0])[key]}
	}
	return c.run(t).more[0].F
}

// TestImageDraws: the numbers that random layers draw are uniform in the declared range: bounds, mean and deviation,
// within five standard errors.
func TestImageDraws(t *testing.T) {
	const n = 5000
	for name, c := range map[string]struct {
		layer     layers.Layer
		key       string
		low, high float64
	}{
		"rotation":   {&layers.RandomRotation{Factor: []float64{-0.1, 0.25}}, "angle", -36, 90},
		"zoom":       {&layers.RandomZoom{HeightFactor: []float64{0.4}}, "height_zoom", 0.6, 1.4},
		"zoom width": {&layers.RandomZoom{HeightFactor: []float64{0.4}, WidthFactor: []float64{-0.2, 0}}, "width_zoom", 0.8, 1},
		"contrast":   {&layers.RandomContrast{Factor: []float64{0.5}}, "contrast_factor", 1, 1.5},
		"contrast 2": {&layers.RandomContrast{Factor: []float64{0.2, 0.5}}, "contrast_factor", 0.8, 1.5},
		"brightness": {&layers.RandomBrightness{Factor: []float64{0.2}, ValueRange: []float64{0, 10}}, "rgb_delta", -2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			xs := drawImages(t, c.layer, n, c.key)
			require.Len(t, xs, n)
			mean, std := moments(xs)
			width := c.high - c.low
			for _, x := range xs {
				require.True(t, x >= c.low && x <= c.high+1e-6*width, "%v", x)
			}
			assert.InDelta(t, (c.low+c.high)/2, mean, 5*width/math.Sqrt(12*n))
			assert.InDelta(t, width/math.Sqrt(12), std, 0.02*width)
		})
	}
	flips, _ := moments(drawImages(t, &layers.RandomFlip{}, n, "flips"))
	assert.InDelta(t, 0.5, flips, 5*0.5/math.Sqrt(n))
	shifts := drawImages(t, &layers.RandomTranslation{HeightFactor: []float64{0.5}, WidthFactor: []float64{0, 0.1}}, n, "translations")
	var right, down []float64
	for i := 0; i < len(shifts); i += 2 {
		right, down = append(right, shifts[i]), append(down, shifts[i+1])
	}
	r, _ := moments(right)
	d, _ := moments(down)
	assert.InDelta(t, 1.5, r, 0.1)
	assert.InDelta(t, 0, d, 0.5)
}

// TestRandomCropPlaces: every position is drawn, none outside, and one for the whole batch.
func TestRandomCropPlaces(t *testing.T) {
	image := float32s([]int{2, 3, 4, 1}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	seen := map[float64]bool{}
	for step := range 60 {
		c := layerCall{layer: &layers.RandomCrop{Height: 2, Width: 2}, training: true, inputs: []opstest.Array{image}, random: [4]float64{5, 6, float64(step), 0}}
		y := c.run(t).outputs[0]
		require.Equal(t, []int{2, 2, 2, 1}, []int(y.Shape))
		first := y.F[0]
		assert.Equal(t, []float64{first, first + 1, first + 4, first + 5, first, first + 1, first + 4, first + 5}, y.F)
		seen[first] = true
	}
	assert.Equal(t, map[float64]bool{0: true, 1: true, 2: true, 4: true, 5: true, 6: true}, seen)
}

// TestRandomImagesRepeat: equal states give equal images, bit for bit; other steps, replicas and seeds give others.
func TestRandomImagesRepeat(t *testing.T) {
	run := func(seed int, state [4]float64) []float64 {
		c := layerCall{layer: &layers.RandomRotation{Factor: []float64{0.5}, Seed: &seed}, training: true, inputs: []opstest.Array{opstest.Normal(3, 4, 6, 6, 1)}, random: state}
		return c.run(t).outputs[0].F
	}
	base := run(1, [4]float64{1, 2, 3, 0})
	assert.Equal(t, base, run(1, [4]float64{1, 2, 3, 0}))
	for _, other := range [][]float64{run(1, [4]float64{1, 2, 4, 0}), run(1, [4]float64{1, 2, 3, 1}), run(2, [4]float64{1, 2, 3, 0})} {
		assert.NotEqual(t, base, other)
	}
}

// TestPreprocessingErrors: errors about fields and inputs name them.
func TestPreprocessingErrors(t *testing.T) {
	image := []opstest.Array{opstest.Normal(3, 2, 4, 4, 1)}
	for _, c := range []struct {
		layer layers.Layer
		want  string
	}{
		{&layers.RandomFlip{Mode: "diagonal"}, `unknown Mode "diagonal"`},
		{&layers.RandomRotation{}, "Factor must be one number or a range of two"},
		{&layers.RandomRotation{Factor: []float64{2}}, "Factor must have entries from -1 to 1, received [2]"},
		{&layers.RandomRotation{Factor: []float64{math.NaN()}}, "Factor must have entries"},
		{&layers.RandomZoom{HeightFactor: []float64{-1, 0}}, "must be above -1"},
		{&layers.RandomTranslation{HeightFactor: []float64{0}, WidthFactor: []float64{0}, FillMode: "mirror"}, `unknown FillMode "mirror"`},
		{&layers.RandomContrast{Factor: []float64{0.1}, ValueRange: []float64{1}}, "ValueRange must have"},
		{&layers.RandomCrop{Height: 2}, "Height and Width must be from 1"},
		{&layers.CenterCrop{Height: -1, Width: 2}, "Height and Width must be from 1"},
		{&layers.Resizing{Height: 2, Width: 2, Interpolation: "area"}, `unknown Interpolation "area"`},
		{&layers.Resizing{Height: 2, Width: 2, CropToAspectRatio: true, PadToAspectRatio: true}, "are both set"},
		{&layers.CategoryEncoding{}, "NumTokens must be at least 1"},
		{&layers.CategoryEncoding{NumTokens: 3, OutputMode: "int"}, `unknown OutputMode "int"`},
		{&layers.Discretization{}, "has neither BinBoundaries nor NumBins"},
		{&layers.Discretization{NumBins: 3}, "call Adapt"},
		{&layers.Discretization{BinBoundaries: []float64{2, 1}}, "must be increasing"},
		{&layers.IntegerLookup{}, "has no vocabulary yet"},
		{&layers.IntegerLookup{Vocabulary: []int{1, 1}}, "has the token 1 twice"},
		{&layers.StringLookup{}, "works on the host"},
	} {
		_, err := layerCall{layer: c.layer, inputs: image}.try()
		assert.ErrorContains(t, err, c.want, "%T", c.layer)
	}
	_, err := layerCall{layer: &layers.RandomFlip{}, inputs: normal(2, 3)}.try()
	assert.ErrorContains(t, err, "expected images of 4 axes (batch, height, width, channels), or one image of 3, received shape")
}

// TestImageChoices: the fraction of changed images is the probability, within five standard errors, and the area of
// erased rectangles is as declared.
func TestImageChoices(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		layer layers.Layer
		key   string
		want  float64
	}{
		{&layers.RandomGrayscale{Factor: new(0.3)}, "should_apply", 0.3},
		{&layers.RandomInvert{}, "apply_inversion", 0.5}, // the probability is uniform between 0 and 1
		{&layers.RandomInvert{Factor: []float64{0.2, 0.2}}, "apply_inversion", 0.2},
		{&layers.RandomGaussianBlur{Factor: []float64{0.8, 0.8}}, "should_apply_blur", 0.8},
	} {
		share, _ := moments(drawImages(t, c.layer, n, c.key))
		assert.InDelta(t, c.want, share, 5*math.Sqrt(c.want*(1-c.want)/n), "%T", c.layer)
	}
	masks := drawImages(t, &layers.RandomErasing{Scale: []float64{0.25, 0.25}, FillValue: []float64{0}}, 300, "batch_masks")
	share, _ := moments(masks) // half of the height and of the width
	assert.InDelta(t, 0.25, share, 0.01)
	shifts := drawImages(t, &layers.RandomPosterization{Factor: []int{2, 4}}, n, "shift_factor")
	seen := map[float64]int{}
	for _, s := range shifts {
		seen[s]++
	}
	assert.Len(t, seen, 2)
	assert.InDelta(t, 0.5, float64(seen[5])/n, 0.05)
	assert.InDelta(t, 0.5, float64(seen[6])/n, 0.05)
	hues := drawImages(t, &layers.RandomHue{Factor: []float64{0.4, 0.8}}, n, "factor")
	negative := 0
	for _, h := range hues {
		if h < 0 {
			negative++
		}
		assert.True(t, math.Abs(h) >= 0.2 && math.Abs(h) <= 0.4, "%v", h)
	}
	assert.InDelta(t, 0.5, float64(negative)/n, 0.05)
}

// TestColorJitterIsItsParts: with one factor the layer equals the layer for that factor.
func TestColorJitterIsItsParts(t *testing.T) {
	image := opstest.Normal(3, 2, 4, 5, 3)
	for i := range image.F {
		image.F[i] = 100 + 40*image.F[i]
	}
	run := func(l layers.Layer) []float64 {
		return layerCall{layer: l, training: true, inputs: []opstest.Array{image}, random: [4]float64{1, 2, 3, 0}}.run(t).outputs[0].F
	}
	for _, pair := range [][2]layers.Layer{
		{&layers.RandomColorJitter{Name: "l", BrightnessFactor: []float64{0.3}}, &layers.RandomBrightness{Name: "l", Factor: []float64{0.3}}},
		{&layers.RandomColorJitter{Name: "l", ContrastFactor: []float64{0.3}}, &layers.RandomContrast{Name: "l", Factor: []float64{0.3}}},
		{&layers.RandomColorJitter{Name: "l", SaturationFactor: []float64{0.3}}, &layers.RandomSaturation{Name: "l", Factor: []float64{0.3}}},
		{&layers.RandomColorJitter{Name: "l", HueFactor: []float64{0.3}}, &layers.RandomHue{Name: "l", Factor: []float64{0.3}}},
	} {
		assert.Equal(t, run(pair[1]), run(pair[0]))
	}
}
