package losses_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
)

// compute returns the loss of host arrays. weight may have no values.
func compute(t testing.TB, l losses.Loss, yTrue, yPred kernels.Array, weight ...float64) float64 {
	t.Helper()
	inputs := []kernels.Array{yTrue, yPred}
	if weight != nil {
		inputs = append(inputs, array(t, ir.Float32, []int{len(weight)}, weight...))
	}
	out := runOne(t, func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		var w *ops.Tensor
		if weight != nil {
			w = in[2]
		}
		return []*ops.Tensor{losses.Compute(l, in[0], in[1], w)}
	}, inputs...)
	return out[0].Element(0)
}

// TestGolden holds what Keras printed for the labels and predictions below.
func TestGolden(t *testing.T) {
	shape := []int{2, 3}
	yTrue := array(t, ir.Float32, shape, 0, 1, 0, 0, 0, 1)
	yPred := array(t, ir.Float32, shape, .05, .9, .05, .1, .6, .3)
	sparse := array(t, ir.Int32, []int{2}, 1, 2)
	for _, c := range []struct {
		name   string
		loss   losses.Loss
		labels kernels.Array
		weight []float64
		want   float64
	}{
		{"cce", &losses.CategoricalCrossentropy{}, yTrue, nil, .6546667},
		{"cce smoothing", &losses.CategoricalCrossentropy{LabelSmoothing: .1}, yTrue, nil, .7577702},
		{"cce logits", &losses.CategoricalCrossentropy{FromLogits: true}, yTrue, nil, .8855398},
		{"bce", &losses.BinaryCrossentropy{}, yTrue, nil, .4055952},
		{"bce smoothing", &losses.BinaryCrossentropy{LabelSmoothing: .1}, yTrue, nil, .4808499},
		{"bce logits", &losses.BinaryCrossentropy{FromLogits: true}, yTrue, nil, .6857189},
		{"focal", &losses.BinaryFocalCrossentropy{}, yTrue, nil, .1536958},
		{"focal balanced", &losses.BinaryFocalCrossentropy{ApplyClassBalancing: true}, yTrue, nil, .0660219},
		{"categorical focal", &losses.CategoricalFocalCrossentropy{}, yTrue, nil, .0738750},
		{"kld", &losses.KLDivergence{}, yTrue, nil, .6546639},
		{"poisson", &losses.Poisson{}, yTrue, nil, .5515555},
		{"hinge", &losses.Hinge{}, yTrue, nil, .9333333},
		{"squared hinge", &losses.SquaredHinge{}, yTrue, nil, 1.0791667},
		{"categorical hinge", &losses.CategoricalHinge{}, yTrue, nil, .725},
		{"huber", &losses.Huber{Delta: .3}, yTrue, nil, .0520833},
		{"log cosh", &losses.LogCosh{}, yTrue, nil, .0683146},
		{"mape", &losses.MeanAbsolutePercentageError{}, yTrue, nil, 133333344},
		{"msle", &losses.MeanSquaredLogarithmicError{}, yTrue, nil, .0704922},
		{"cosine", &losses.CosineSimilarity{}, yTrue, nil, -.7196268},
		{"dice", &losses.Dice{}, yTrue, nil, .4},
		{"tversky", &losses.Tversky{Alpha: new(.3), Beta: new(.7)}, yTrue, nil, .4},
		{"scce weights", &losses.SparseCategoricalCrossentropy{}, sparse, []float64{.3, .7}, .4371946},
		{"scce mean weights", &losses.SparseCategoricalCrossentropy{Reduction: losses.MeanWithSampleWeight}, sparse, []float64{.3, .7}, .8743891},
		{"scce ignore", &losses.SparseCategoricalCrossentropy{IgnoreClass: new(1)}, sparse, nil, 1.2039728},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.InEpsilon(t, c.want, compute(t, c.loss, c.labels, yPred, c.weight...), 1e-6)
		})
	}
}

func TestPerfectPrediction(t *testing.T) {
	yTrue := array(t, ir.Float32, []int{1, 2}, 0, 1)
	// 1 - 1e-7 rounds to 0.99999988 in float32.
	require.InEpsilon(t, 1.192093e-07, compute(t, &losses.CategoricalCrossentropy{}, yTrue, yTrue), 1e-5)
}

// TestEmptyBatch: nothing gives 0, and gradients without NaN.
func TestEmptyBatch(t *testing.T) {
	for name, yTrue := range map[string]kernels.Array{"one-hot": array(t, ir.Float32, []int{0, 3}), "sparse": array(t, ir.Int32, []int{0})} {
		yPred := array(t, ir.Float32, []int{0, 3})
		for _, class := range losses.ClassNames() {
			l, err := losses.New(class)
			require.NoError(t, err)
			sparse := class == "SparseCategoricalCrossentropy" || class == "CategoricalGeneralizedCrossEntropy" || class == "Circle"
			if sparse != (name == "sparse") || class == "CTC" {
				continue
			}
			want := 0.0
			if class == "Dice" || class == "Tversky" {
				want = 1 // 1 - 0/ε: the sums of an empty global batch
			}
			require.Equal(t, want, compute(t, l, yTrue, yPred), class)
		}
	}
}

// TestGradients compares gradients with finite differences, away from kinks.
func TestGradients(t *testing.T) {
	positive := opstest.Random(3, 0.1, 0.9, 3, 4)
	hot := opstest.Floats([]int{3, 4}, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0)
	sparse := opstest.Ints([]int{3}, 1, 3, 0)
	labels := opstest.Random(4, -1, 1, 3, 4)
	logits := opstest.Normal(5, 3, 4)
	for _, c := range []struct {
		name   string
		loss   losses.Loss
		labels opstest.Array
		pred   opstest.Array
	}{
		{"mse", &losses.MeanSquaredError{}, labels, logits},
		{"huber", &losses.Huber{Delta: 0.7}, labels, logits},
		{"log cosh", &losses.LogCosh{}, labels, logits},
		{"cosine over the batch", &losses.CosineSimilarity{Axis: new(0)}, labels, logits},
		{"poisson", &losses.Poisson{}, positive, positive},
		{"kld", &losses.KLDivergence{}, hot, positive},
		{"bce logits", &losses.BinaryCrossentropy{FromLogits: true, LabelSmoothing: 0.1}, hot, logits},
		{"bce over the batch", &losses.BinaryCrossentropy{Axis: new(0)}, hot, positive},
		{"focal", &losses.BinaryFocalCrossentropy{ApplyClassBalancing: true, FromLogits: true}, hot, logits},
		{"cce", &losses.CategoricalCrossentropy{LabelSmoothing: 0.2}, hot, positive},
		{"cce axis 1 of 2", &losses.CategoricalCrossentropy{Axis: new(1), FromLogits: true}, hot, logits},
		{"categorical focal", &losses.CategoricalFocalCrossentropy{Gamma: new(1.5)}, hot, positive},
		{"scce", &losses.SparseCategoricalCrossentropy{}, sparse, positive},
		{"scce logits ignore", &losses.SparseCategoricalCrossentropy{FromLogits: true, IgnoreClass: new(3)}, sparse, logits},
		{"generalized", &losses.CategoricalGeneralizedCrossEntropy{Q: 0.3}, sparse, positive},
		{"squared hinge", &losses.SquaredHinge{}, hot, logits},
		{"dice", &losses.Dice{}, hot, positive},
		{"tversky", &losses.Tversky{Axis: []int{1}, Alpha: new(0.3)}, hot, positive},
		{"circle", &losses.Circle{Gamma: 3}, opstest.Ints([]int{4}, 1, 0, 1, 0), opstest.Random(6, -0.3, 0.3, 4, 3)},
		{"ctc", &losses.CTC{}, opstest.Ints([]int{2, 3}, 1, 2, 2, 3, 0, 0), opstest.Normal(7, 2, 6, 4)},
		{"ctc of a blank among labels", &losses.CTC{}, opstest.Ints([]int{2, 3}, 1, 0, 2, 0, 0, 3), opstest.Normal(7, 2, 6, 4)}, // TensorFlow's is another one than that of its loss
	} {
		t.Run(c.name, func(t *testing.T) {
			opstest.CheckGradients(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				labels := ops.Constant(g, c.labels.DType, c.labels.Shape, c.labels.F)
				return []*ops.Tensor{losses.Compute(c.loss, labels, in[0], nil)}
			}, c.pred)
		})
	}
}

// TestCTCAgainstAllAlignments sums over every path of a short sequence.
func TestCTCAgainstAllAlignments(t *testing.T) {
	const steps, classes = 4, 3
	logits := opstest.Normal(8, 1, steps, classes)
	for _, labels := range [][]float64{{1, 2}, {1, 1}, {2, 0}, {0, 0}} {
		got := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{(&losses.CTC{}).PerExample(in[0], in[1]), ops.LogSoftmax(in[1], -1)}
		}, opstest.Ints([]int{1, 2}, labels...), logits)
		want := pathProbability(got[1].F, labels, steps, classes)
		require.InDelta(t, want, exp(-got[0].F[0]), 1e-10, "labels %v", labels)
	}
}

// pathProbability adds up the probabilities of all sequences of classes that collapse to labels: repeats are merged,
// then blanks dropped.
func pathProbability(logs, labels []float64, steps, classes int) float64 {
	var want []int
	for _, l := range labels {
		if l != 0 {
			want = append(want, int(l))
		}
	}
	total := 0.0
	path := make([]int, steps)
	var walk func(at int, log float64)
	walk = func(at int, log float64) {
		if at == steps {
			if equal(collapse(path), want) {
				total += exp(log)
			}
			return
		}
		for k := range classes {
			path[at] = k
			walk(at+1, log+logs[at*classes+k])
		}
	}
	walk(0, 0)
	return total
}

// TestReported: Keras follows the gradient of the sum of a loss that is not reduced, and its history holds the mean
// (Keras 3.15.1, JAX: values 0.125, 4.25, 1.5).
func TestReported(t *testing.T) {
	y := array(t, ir.Float32, []int{3, 2}, 1, 2, 3, 4, 0, 1)
	p := array(t, ir.Float32, []int{3, 2}, 1.5, 2, 1, 4.5, 0, 0)
	w := array(t, ir.Float32, []int{3}, 1, 2, 3)
	for reduction, want := range map[losses.Reduction][2]float64{losses.None: {5.875, 5.875 / 3}, losses.Sum: {5.875, 5.875}, losses.Mean: {5.875 / 3, 5.875 / 3}} {
		out := runOne(t, func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			total, reported := losses.ComputeAndReport(&losses.MeanSquaredError{Reduction: reduction}, in[0], in[1], in[2])
			return []*ops.Tensor{total, reported}
		}, y, p, w)
		require.InEpsilon(t, want[0], out[0].Element(0), 1e-6, reduction)
		require.InEpsilon(t, want[1], out[1].Element(0), 1e-6, reduction)
	}
}

// TestFocalAlphas compares one alpha for each class with Keras 3.15.1.
func TestFocalAlphas(t *testing.T) {
	y := array(t, ir.Float32, []int{3, 3}, 1, 0, 0, 0, 1, 0, 0, 0, 1)
	p := array(t, ir.Float32, []int{3, 3}, .5, .3, .2, .1, .6, .3, .2, .2, .6)
	require.InEpsilon(t, .043917865, compute(t, &losses.CategoricalFocalCrossentropy{Alpha: []float64{.1, .5, .9}}, y, p), 1e-6)
	_, err := testdevice.Call(distribute.Default(), func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{losses.Compute(&losses.CategoricalFocalCrossentropy{Alpha: []float64{.1, .5}}, in[0], in[1], nil)}
	}, [][]kernels.Array{{y, p}})
	require.ErrorContains(t, err, "alpha has 2 entries; expected 1, or one for each of the 3 classes")
}

// Focal losses of large logits in 16 bits are finite: Keras 3.15.1 on TensorFlow prints 100, 0, 0 and 100.
func TestFocalLossOfLargeLogitsInHalves(t *testing.T) {
	for _, d := range []string{"float16", "bfloat16"} {
		out := runOne(t, func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			l := &losses.BinaryFocalCrossentropy{FromLogits: true, DType: d, Reduction: losses.Sum}
			return []*ops.Tensor{losses.Values(l, in[0], in[1], nil), ops.Grad(losses.Compute(l, in[0], in[1], nil), in[1])[0]}
		}, array(t, ir.Float32, []int{4, 1}, 0, 1, 0, 1), array(t, ir.Float32, []int{4, 1}, 100, 100, -100, -100))
		require.Equal(t, []float64{100, 0, 0, 100}, out[0].Float64s(), d)
		require.InDeltaSlice(t, []float64{1, 0, 0, -1}, out[1].Float64s(), 1e-6, d)
	}
}

// Values are those of the reduction "none", whose numbers TestAgainstKeras compares, whatever the reduction of the
// loss: a mask makes what it hides 0 and leaves the rest as it is.
func TestValuesWithMask(t *testing.T) {
	y, p, mask := array(t, ir.Int32, []int{2, 2}, 0, 1, 1, 0), array(t, ir.Float32, []int{2, 2, 2}, .5, .5, .25, .75, .5, .5, .1, .9), array(t, ir.Bool, []int{2, 2}, 1, 1, 1, 0)
	for _, reduction := range []losses.Reduction{losses.None, losses.SumOverBatchSize, losses.Mean, losses.Sum, losses.MeanWithSampleWeight, ""} {
		out := runOne(t, func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{losses.Values(&losses.SparseCategoricalCrossentropy{Reduction: reduction}, in[0], in[1].WithMask(in[2]), nil)}
		}, y, p, mask)
		require.InDeltaSlice(t, []float64{math.Ln2, -math.Log(.75), math.Ln2, 0}, out[0].Float64s(), 1e-6, reduction)
	}
}
