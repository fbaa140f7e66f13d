package objectives_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct{ a, b, wantA, wantB ir.Shape }{
		{ir.Shape{4, 3}, ir.Shape{4, 3}, ir.Shape{4, 3}, ir.Shape{4, 3}},
		{ir.Shape{4, 1}, ir.Shape{4}, ir.Shape{4, 1}, ir.Shape{4, 1}},
		{ir.Shape{4}, ir.Shape{4, 1}, ir.Shape{4, 1}, ir.Shape{4, 1}},
		{ir.Shape{4, 3, 1}, ir.Shape{4, 3}, ir.Shape{4, 3}, ir.Shape{4, 3}},
		{ir.Shape{4, 3}, ir.Shape{4, 3, 1}, ir.Shape{4, 3}, ir.Shape{4, 3}},
		{ir.Shape{4}, ir.Shape{4, 3}, ir.Shape{4}, ir.Shape{4, 3}},
		{ir.Shape{4, 1, 1}, ir.Shape{4}, ir.Shape{4, 1, 1}, ir.Shape{4}},
	} {
		g := ops.NewGraph("test")
		a, b := objectives.Match(g.Input("a", ir.Float32, c.a...), g.Input("b", ir.Float32, c.b...))
		require.True(t, c.wantA.Equal(a.Shape()) && c.wantB.Equal(b.Shape()), "%v and %v became %v and %v", c.a, c.b, a.Shape(), b.Shape())
	}
}

// TestMatchKeepsMasks: a mask stays with its tensor when an axis is added.
func TestMatchKeepsMasks(t *testing.T) {
	g := ops.NewGraph("test")
	mask := g.Input("mask", ir.Bool, 4)
	_, b := objectives.Match(g.Input("a", ir.Float32, 4, 1), g.Input("b", ir.Float32, 4).WithMask(mask))
	require.Same(t, mask, b.Mask())
}

// replica is a view of a batch of which every replica has two examples.
type replica struct {
	g *ops.Graph
	n int
}

func (r replica) NumReplicasInSync() int { return r.n }
func (r replica) LocalBatchSize() int    { return 2 }
func (r replica) GlobalBatchSize() int   { return 2 * r.n }
func (r replica) ID() *ops.Tensor        { return ops.Cast(ops.ReplicaID(r.g, r.n), ir.Int32) }
func (r replica) AllReduce(kind ir.Kind, xs ...*ops.Tensor) []*ops.Tensor {
	return ops.AllReduce(kind, r.n, 1, xs...)
}

// TestJoin: every replica gets all parts in order, floats and bools, and gets the gradient of its own part back from
// all.
func TestJoin(t *testing.T) {
	const n = 3
	inputs := make([][]opstest.Array, n)
	var all []float64
	for r := range inputs {
		x := opstest.Random(r+1, -1, 1, 2, 3)
		inputs[r] = []opstest.Array{x, opstest.Bools([]int{2}, float64(r%2), 1)}
		all = append(all, x.F...)
	}
	out := opstest.EvalReplicas(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		b := replica{g, n}
		whole := objectives.Join(b, in[0])
		weight := ops.AddScalar(ops.Cast(b.ID(), ir.Float64), 1)
		loss := ops.Multiply(ops.Sum(ops.Square(whole)), weight) // replica r counts r+1 times
		return []*ops.Tensor{whole, objectives.Join(b, in[1]), ops.Grad(loss, in[0])[0]}
	}, inputs...)
	for r := range out {
		require.Equal(t, all, out[r][0].F)
		require.Equal(t, []int{6, 3}, out[r][0].Shape)
		require.Equal(t, ir.Bool, out[r][1].DType)
		require.Equal(t, []float64{0, 1, 1, 1, 0, 1}, out[r][1].F)
		for i, x := range inputs[r][0].F {
			require.InDelta(t, 2*x*(1+2+3), out[r][2].F[i], 1e-12)
		}
	}
}

func TestJoinNeedsTheBatchInFront(t *testing.T) {
	_, err := opstest.Trace(func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{objectives.Join(replica{g, 2}, in[0])}
	}, ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	require.ErrorContains(t, err, "cannot join a tensor of shape [3] over the replicas; expected (batch, ...) with the 2 examples of this replica")
}

// TestHingeLabelsOfTheWholeBatch: labels 0 and 1 here are not converted to -1 and 1 if another replica has other
// labels.
func TestHingeLabelsOfTheWholeBatch(t *testing.T) {
	labels := func(v ...float64) opstest.Array { return opstest.Floats([]int{2, 1}, v...) }
	p := labels(0.5, 0.5)
	f := func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{objectives.Hinge(replica{g, 2}, in[0], in[1])}
	}
	out := opstest.EvalReplicas(t, f, []opstest.Array{labels(0, 1), p}, []opstest.Array{labels(1, 0), p})
	require.Equal(t, []float64{1.5, 0.5}, out[0][0].F, "1 + p and 1 - p")
	out = opstest.EvalReplicas(t, f, []opstest.Array{labels(0, 1), p}, []opstest.Array{labels(-1, 1), p})
	require.Equal(t, []float64{1, 0.5}, out[0][0].F, "1 - 0·p and 1 - p")
}

// TestClassNumberOutOfRange: negative numbers do not count from the end.
func TestClassNumberOutOfRange(t *testing.T) {
	p := opstest.Floats([]int{2, 3}, .2, .3, .5, .2, .3, .5)
	for _, label := range []float64{-1, -3, 3} {
		for _, logits := range []bool{false, true} {
			err := opstest.EvalError(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{objectives.SparseCategoricalCrossentropy(in[0], in[1], logits, nil, -1)}
			}, opstest.Ints([]int{2}, 0, label), p)
			require.Error(t, err, "label %v, logits %v", label, logits)
		}
	}
}

// TestIgnoredRowsDoNotSpoilGradients: the prediction for an ignored label, even NaN, does not affect the gradient.
func TestIgnoredRowsDoNotSpoilGradients(t *testing.T) {
	nan := opstest.Floats([]int{2, 3}, .2, .3, .5, 0, 0, 0) // the sum of the second row is 0
	for _, logits := range []bool{false, true} {
		out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			ignore := 7
			loss := objectives.SparseCategoricalCrossentropy(in[0], in[1], logits, &ignore, -1)
			return []*ops.Tensor{loss, ops.Grad(loss, in[1])[0], loss.Mask()}
		}, opstest.Ints([]int{2}, 1, 7), nan)
		require.Equal(t, 0.0, out[0].F[1])
		require.Equal(t, []float64{0, 0, 0}, out[1].F[3:])
		for _, x := range append(out[0].F, out[1].F...) {
			require.True(t, x == x && x-x == 0, "not finite: %v", x)
		}
		require.Equal(t, []float64{1, 0}, out[2].F)
	}
}

// TestCTCWithoutLabels: no labels leave only blanks.
func TestCTCWithoutLabels(t *testing.T) {
	logits := opstest.Normal(1, 2, 3, 4)
	out := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		blanks := ops.Negative(ops.Sum(ops.Index(ops.LogSoftmax(in[0], -1), 2, 0), 1))
		empty, zeros := ops.Zeros(g, ir.Int32, 2, 0), ops.Zeros(g, ir.Int32, 2, 2)
		return []*ops.Tensor{blanks, objectives.CTC(empty, in[0]), objectives.CTC(zeros, in[0])}
	}, logits)
	require.InDeltaSlice(t, out[0].F, out[1].F, 1e-12)
	require.InDeltaSlice(t, out[0].F, out[2].F, 1e-12)
}

// TestCTCLongSequence: probabilities far below the smallest number are representable as logarithms.
func TestCTCLongSequence(t *testing.T) {
	const steps, classes = 400, 5
	labels := make([]float64, 100)
	for i := range labels {
		labels[i] = float64(i%(classes-1) + 1)
	}
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		loss := objectives.CTC(in[0], in[1])
		return []*ops.Tensor{loss, ops.Grad(loss, in[1])[0]}
	}, opstest.Ints([]int{1, len(labels)}, labels...), opstest.Normal(2, 1, steps, classes))
	require.Greater(t, out[0].F[0], 100.0)
	require.Less(t, out[0].F[0], 5000.0)
	sum := 0.0
	for _, x := range out[1].F {
		sum += x
	}
	require.InDelta(t, 0, sum, 1e-9, "the gradients of a softmax add up to 0")
}
