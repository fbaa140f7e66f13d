package layers_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// mixed calls a layer on n images of 8 × 8 cells (all cells of image i are i), with one-hot labels, and masks like the
// images.
func mixed(t *testing.T, l layers.Layer, n, step int) (images, labels, masks []float64) {
	t.Helper()
	x, y := constant(0, n, 8, 8, 1), constant(0, n, n)
	for i := range x.F {
		x.F[i] = float64(i / 64)
	}
	for i := range n {
		y.F[i*n+i] = 1
	}
	whole := x.As(ir.Int32)
	a := layerCall{layer: l, training: true, inputs: []opstest.Array{x, y, whole}, random: [4]float64{1, 2, float64(step), 0}}.run(t)
	return a.outputs[0].F, a.outputs[1].F, a.outputs[2].F
}

// partners returns, for each example i, the number j of the example that its label is mixed with (i itself if none) and
// the weight of i. It fails unless each label is a mean of two, and the js are a permutation of the batch.
func partners(t *testing.T, labels []float64, n int) (order []int, weights []float64) {
	t.Helper()
	taken := make([]bool, n)
	for i := range n {
		row := labels[i*n : i*n+n]
		sum, j := 0.0, i
		for k, v := range row {
			sum += v
			require.True(t, v >= 0 && v <= 1, "%v", row)
			if k != i && v > 0 {
				require.Equal(t, i, j, "more than two labels: %v", row)
				j = k
			}
		}
		require.InDelta(t, 1, sum, 1e-6)
		if j != i {
			require.False(t, taken[j], "two examples are mixed with %d", j)
			taken[j] = true
		}
		order, weights = append(order, j), append(weights, row[i])
	}
	return order, weights
}

// TestMixUpMixesImagesLabelsAndMasksAlike: an example's image and mask are mixed like its label.
func TestMixUpMixesImagesLabelsAndMasksAlike(t *testing.T) {
	const n = 12
	moved := 0
	for step := range 5 {
		images, labels, masks := mixed(t, &layers.MixUp{Alpha: new(1.0)}, n, step)
		order, weights := partners(t, labels, n)
		for i, j := range order {
			if i != j {
				moved++
			}
			want := weights[i]*float64(i) + (1-weights[i])*float64(j)
			for k := range 64 {
				require.InDelta(t, want, images[64*i+k], 1e-5)
				require.InDelta(t, want, masks[64*i+k], 1e-5)
			}
		}
	}
	assert.Greater(t, moved, 4*n)
}

// TestCutMixCutsImagesAndLabelsAlike: each image has its own cells and, in a rectangle, those of the image that its
// label names. The rectangle's area is the label's share, up to partial cells.
func TestCutMixCutsImagesAndLabelsAlike(t *testing.T) {
	const n = 12
	both := 0
	for step := range 8 {
		images, labels, masks := mixed(t, &layers.CutMix{Factor: []float64{1, 1}}, n, step)
		order, weights := partners(t, labels, n)
		for i, j := range order {
			left, right, top, bottom, foreign := 8, -1, 8, -1, 0
			for k := range 64 {
				v := images[64*i+k]
				require.Equal(t, v, masks[64*i+k])
				if v == float64(i) {
					continue
				}
				require.Equal(t, float64(j), v)
				foreign++
				left, right, top, bottom = min(left, k%8), max(right, k%8), min(top, k/8), max(bottom, k/8)
			}
			if i == j || foreign == 0 {
				continue
			}
			require.Equal(t, foreign, (right-left+1)*(bottom-top+1), "the cells are a rectangle")
			side := 8 * math.Sqrt(1-weights[i])
			require.InDelta(t, side, right-left+1, 1)
			require.InDelta(t, side, bottom-top+1, 1)
			both++
		}
	}
	assert.Greater(t, both, 4*n)
}

// TestMixingWeights: weights have the declared distribution: mean and deviation of the beta distribution, within five
// standard errors; orders are permutations.
func TestMixingWeights(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		layer layers.Layer
		alpha float64
	}{{&layers.MixUp{}, 0.2}, {&layers.MixUp{Alpha: new(3.0)}, 3}, {&layers.CutMix{Factor: []float64{1, 1}}, 1}} {
		mean, std := moments(drawImages(t, c.layer, n, "mix_weight"))
		want := math.Sqrt(1 / (4 * (2*c.alpha + 1)))
		assert.InDelta(t, 0.5, mean, 5*want/math.Sqrt(n), "%T", c.layer)
		assert.InDelta(t, want, std, 0.03*want, "%T", c.layer)
		order := drawImages(t, c.layer, 50, "permutation_order")
		assert.NotEqual(t, slices.Sorted(slices.Values(order)), order)
		for i, v := range slices.Sorted(slices.Values(order)) {
			require.EqualValues(t, i, v)
		}
	}
	for _, w := range drawImages(t, &layers.CutMix{Factor: []float64{0, 0}}, 200, "mix_weight") {
		require.True(t, w < 1e-6 || w > 1-1e-6, "%v", w)
	}
}

// TestChoicesOfPolicies: steps are drawn with equal probability, and weights are as declared.
func TestChoicesOfPolicies(t *testing.T) {
	count := func(l layers.Layer, key string, most int) {
		counts, total := make([]float64, most+1), 0.0
		for _, v := range drawImages(t, l, 1, key) {
			counts[int(v)]++
			total++
		}
		share := 1 / float64(most+1)
		for k, n := range counts {
			assert.NotZero(t, n, "%T: step %d", l, k)
			assert.InDelta(t, share, n/total, 5*math.Sqrt(share/total), "%T: step %d", l, k)
		}
	}
	rand := &layers.RandAugment{NumOps: 100}
	mix := &layers.AugMix{NumChains: 10, ChainDepth: 10}
	assert.Len(t, drawImages(t, rand, 1, "layer_idxes"), 100)
	assert.Len(t, drawImages(t, mix, 1, "layer_idxes"), 100)
	count(rand, "layer_idxes", 10)
	count(mix, "layer_idxes", 11)
	count(&layers.AugMix{NumChains: 10, ChainDepth: 10, NoColorOps: true}, "layer_idxes", 7)
	sum := 0.0
	for _, w := range drawImages(t, mix, 1, "chain_mixing_weights") {
		assert.Greater(t, w, 0.0)
		sum += w
	}
	assert.InDelta(t, 1, sum, 1e-6)
	share := drawImages(t, mix, 1, "weight_sample")
	require.Len(t, share, 1)
	assert.True(t, share[0] > 0 && share[0] < 1)
}

// TestCornersOfPerspectives: the fraction of changed images is the probability, and corners move by at most half of the
// scale times their distance from the first corner, which stays.
func TestCornersOfPerspectives(t *testing.T) {
	const n = 3000
	l := &layers.RandomPerspective{Factor: []float64{0.3, 0.5}, Scale: new(0.8)}
	share, _ := moments(drawImages(t, l, n, "apply_perspective"))
	assert.InDelta(t, 0.4, share, 5*math.Sqrt(0.24/n))
	from, to := drawImages(t, l, n, "start_points"), drawImages(t, l, n, "end_points")
	require.Len(t, to, 8*n)
	var moves []float64
	for i, v := range to {
		if want := []float64{0, 0, 29, 0, 0, 19, 29, 19}[i%8]; want == 0 {
			require.Zero(t, v)
			require.Zero(t, from[i])
		} else {
			require.Equal(t, want, from[i])
			moves = append(moves, v/want-1)
		}
	}
	mean, std := moments(moves)
	assert.InDelta(t, 0, mean, 0.01)
	assert.InDelta(t, 0.8/math.Sqrt(12), std, 0.005)
	assert.True(t, slices.Max(moves) <= 0.4+1e-5 && slices.Min(moves) >= -0.4-1e-5)
}

// TestElasticDraws: probability, strength and noise are as declared, and the two directions have independent noise.
func TestElasticDraws(t *testing.T) {
	const n = 3000
	l := &layers.RandomElasticTransform{Factor: []float64{0.2, 0.2}, Scale: []float64{0.5, 0.7}}
	share, _ := moments(drawImages(t, l, n, "apply_transform"))
	assert.InDelta(t, 0.2, share, 5*math.Sqrt(0.16/n))
	for _, f := range drawImages(t, l, 2, "distortion_factor") {
		assert.True(t, f >= 0.5 && f < 0.7, "%v", f)
	}
	dx, dy := drawImages(t, l, 20, "dx"), drawImages(t, l, 20, "dy")
	require.Len(t, dx, 20*20*30)
	product := 0.0
	for i := range dx {
		product += dx[i] * dy[i] / float64(len(dx))
	}
	for _, noise := range [][]float64{dx, dy} {
		mean, std := moments(noise)
		assert.InDelta(t, 0, mean, 5/math.Sqrt(float64(len(dx))))
		assert.InDelta(t, 1, std, 0.03)
	}
	assert.InDelta(t, 0, product, 5/math.Sqrt(float64(len(dx))))
}

// TestAugmentationThatChangesNothing: with strength 0, outside training, and for a single image, which has no other to
// be mixed with, images stay unchanged, bit for bit.
func TestAugmentationThatChangesNothing(t *testing.T) {
	batch, single := opstest.Random(3, 0, 255, 4, 5, 6, 3).As(ir.Float32), opstest.Random(3, 0, 255, 5, 6, 3).As(ir.Float32)
	for _, l := range []layers.Layer{
		&layers.MixUp{Alpha: new(0.0)},
		&layers.RandomPerspective{Factor: []float64{0}}, &layers.RandomElasticTransform{Factor: []float64{0}, ValueRange: []float64{100, 110}},
		&layers.RandomElasticTransform{Scale: []float64{0}, ValueRange: []float64{100, 110}},
	} {
		assert.Equal(t, batch.F, invoke(t, l, true, batch).outputs[0].F, "%T", l)
		assert.Equal(t, single.F, invoke(t, l, true, single).outputs[0].F, "%T", l)
	}
	still := invoke(t, &layers.RandomPerspective{Factor: []float64{1, 1}, Scale: new(0.0)}, true, batch).outputs[0].F
	for i, v := range still { // the map is computed, and is the identity up to rounding
		require.InDelta(t, batch.F[i], v, 1e-2)
	}
	for _, l := range augmentations() {
		assert.Equal(t, batch.F, invoke(t, l, false, batch).outputs[0].F, "%T", l)
	}
	for _, l := range []layers.Layer{&layers.MixUp{}, &layers.CutMix{}} {
		assert.Equal(t, single.F, invoke(t, l, true, single).outputs[0].F, "%T", l)
	}
}

func augmentations() []layers.Layer {
	return []layers.Layer{
		&layers.MixUp{Name: "l"}, &layers.CutMix{Name: "l"}, &layers.RandAugment{Name: "l"}, &layers.AugMix{Name: "l"},
		&layers.RandomPerspective{Name: "l", Factor: []float64{1, 1}}, &layers.RandomElasticTransform{Name: "l", Factor: []float64{1, 1}},
	}
}

// TestAugmentationRepeats: equal states give equal images, bit for bit; other steps and replicas give others.
func TestAugmentationRepeats(t *testing.T) {
	x := opstest.Random(3, 0, 255, 6, 16, 16, 3).As(ir.Float32)
	for _, l := range augmentations() {
		run := func(state [4]float64) []float64 {
			return layerCall{layer: l, training: true, inputs: []opstest.Array{x}, random: state}.run(t).outputs[0].F
		}
		base := run([4]float64{1, 2, 3, 0})
		assert.Equal(t, base, run([4]float64{1, 2, 3, 0}), "%T", l)
		others := 0
		for step := range 3 { // RandAugment may draw steps without numbers
			if !slices.Equal(base, run([4]float64{1, 2, float64(4 + step), 0})) && !slices.Equal(base, run([4]float64{1, 2, 3, float64(1 + step)})) {
				others++
			}
		}
		assert.NotZero(t, others, "%T", l)
	}
}

// TestAugmentationErrors: errors about fields and inputs name them and what was received.
func TestAugmentationErrors(t *testing.T) {
	images := normal(2, 4, 4, 3)
	for _, c := range []struct {
		layer  layers.Layer
		inputs []opstest.Array
		want   string
	}{
		{&layers.MixUp{Alpha: new(-0.1)}, images, "Alpha must be from 0 to 1e6, received -0.1"},
		{&layers.MixUp{Alpha: new(math.NaN())}, images, "Alpha must be from 0 to 1e6, received NaN"},
		{&layers.MixUp{}, several(images, normal(2)), "received shape [2]; give labels that are class numbers as one-hot vectors"},
		{&layers.MixUp{}, several(images, normal(3, 5)), "2 images come with a tensor of shape [3 5]"},
		{&layers.CutMix{}, several(images, normal(2, 4, 4, 1), normal(2, 5)), "received inputs of shapes [[2 4 4 3] [2 4 4 1] [2 5]]"},
		{&layers.CutMix{}, several(images, normal(2, 5), normal(2, 5)), "received inputs of shapes [[2 4 4 3] [2 5] [2 5]]"},
		{&layers.CutMix{Factor: []float64{0.5, 2}}, images, "Factor must have entries from 0 to 1, received [0.5 2]"},
		{&layers.RandAugment{Factor: []float64{-1}}, images, "Factor must have entries from 0 to 1, received [-1]"},
		{&layers.RandAugment{NumOps: -1}, images, "NumOps must be from 1 to 100, received -1"},
		{&layers.RandAugment{Interpolation: "cubic"}, images, `unknown Interpolation "cubic"`},
		{&layers.RandAugment{ValueRange: []float64{1, 1}}, images, "ValueRange must have"},
		{&layers.AugMix{Factor: []float64{1, 2, 3}}, images, "Factor must have entries from 0 to 1, received [1 2 3]"},
		{&layers.AugMix{Alpha: new(0.0)}, images, "Alpha must be above 0 and at most 1e6, received 0"},
		{&layers.AugMix{NumChains: 20, ChainDepth: 20}, images, "NumChains and ChainDepth must be at least 1 and their product at most 100, received 20 and 20"},
		{&layers.AugMix{ChainDepth: -2}, images, "received 3 and -2"},
		{&layers.RandomPerspective{Factor: []float64{1.5}}, images, "Factor must have entries from 0 to 1, received [1.5]"},
		{&layers.RandomPerspective{Scale: new(1.5)}, images, "Scale must be from 0 to 1, received 1.5"},
		{&layers.RandomPerspective{Interpolation: "lanczos3"}, images, `unknown Interpolation "lanczos3"`},
		{&layers.RandomPerspective{}, normal(2, 1, 4, 3), "a height and a width of at least 2, whose corners differ, received shape [2 1 4 3]"},
		{&layers.RandomElasticTransform{Factor: []float64{-0.5}}, images, "Factor must have entries from 0 to 1, received [-0.5]"},
		{&layers.RandomElasticTransform{Scale: []float64{3}}, images, "Scale must have entries from 0 to 1, received [3]"},
		{&layers.RandomElasticTransform{FillMode: "edge"}, images, `unknown FillMode "edge"`},
		{&layers.RandomElasticTransform{FillMode: "mirror", Interpolation: "cubic"}, images, `unknown Interpolation "cubic"`},
		{&layers.RandomElasticTransform{ValueRange: []float64{3}}, images, "ValueRange must have"},
	} {
		_, err := layerCall{layer: c.layer, training: true, inputs: c.inputs}.try()
		assert.ErrorContains(t, err, c.want, "%T", c.layer)
	}
	for _, l := range augmentations() {
		_, err := layerCall{layer: l, training: true, inputs: normal(2, 3)}.try()
		assert.ErrorContains(t, err, "expected images of 4 axes", "%T", l)
	}
}

// TestPerspectivesStayFinite: if corners move so far that the map is undefined at some points, the results are still
// numbers of the image, or the fill value.
func TestPerspectivesStayFinite(t *testing.T) {
	x := opstest.Random(3, 10, 20, 200, 6, 5, 1).As(ir.Float32)
	for _, interpolation := range []layers.Interpolation{layers.Bilinear, layers.Nearest} {
		l := &layers.RandomPerspective{Factor: []float64{1, 1}, FillValue: 12, Interpolation: interpolation}
		for _, v := range invoke(t, l, true, x).outputs[0].F {
			require.True(t, v >= 10-1e-3 && v <= 20+1e-3, fmt.Sprint(interpolation, v))
		}
		// Four corners at one point, for which no map exists.
		c := layerCall{layer: &layers.Identity{}, inputs: []opstest.Array{x}}
		c.more = func(_ *distribute.Replica, in, _ []*ops.Tensor) []*ops.Tensor {
			y, _ := layers.TransformImages(l, in[0], map[string]*ops.Tensor{
				"apply_perspective": ops.Full(in[0], ir.Bool, 1, 200),
				"start_points":      ops.BroadcastTo(ops.Constant(in[0], ir.Float32, ir.Shape{1, 4, 2}, []float64{0, 0, 4, 0, 0, 5, 4, 5}), 200, 4, 2),
				"end_points":        ops.Ones(in[0], ir.Float32, 200, 4, 2),
			})
			return []*ops.Tensor{y}
		}
		for _, v := range c.run(t).more[0].F {
			require.Equal(t, 12.0, v, interpolation)
		}
	}
}
