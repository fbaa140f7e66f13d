package layertest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// perArray limits the elements of each input and weight for which a difference is computed, so that a large kernel does
// not take minutes.
const perArray = 12

// checkGradients compares the gradients of Σ w·y, w being fixed numbers of order 1, with central differences in
// float64.
func (c Case) checkGradients(t reporter) {
	for _, training := range []bool{false, true} {
		if c.NoGradient && training {
			continue
		}
		c.checkGradientsIn(t, options{training: training, policy: "float64", masked: c.Masks != nil})
	}
}

func (c Case) checkGradientsIn(t reporter, o options) {
	t.Helper()
	l := c.New()
	require.NoError(t, build(l, c.Inputs, c.Masks, o.policy))
	tr, err := call(l, c.Inputs, c.Masks, o)
	require.NoError(t, err)
	objective := ops.Zeros(tr.replica, ir.Float64)
	for i, y := range tr.outputs {
		if y.DType().IsFloat() {
			w := ops.Constant(tr.replica, ir.Float64, y.Shape(), opstest.Random(17+i, 0.5, 1.5, y.Shape()...).F)
			objective = ops.Add(objective, ops.Sum(ops.Multiply(y, w)))
		}
	}
	for _, loss := range tr.replica.Losses() {
		objective = ops.Add(objective, loss)
	}
	inputs, weights := append([]opstest.Array{}, c.Inputs...), values(tr.variables)
	var sources []*ops.Tensor
	var data []*[]float64
	for i, x := range tr.inputs {
		if x.DType().IsFloat() {
			sources, data = append(sources, x), append(data, &inputs[i].F)
		}
	}
	for i, w := range tr.weights {
		if !tr.variables[i].Spec().Frozen {
			sources, data = append(sources, w), append(data, &weights[i])
		}
	}
	tr.result(objective)
	for i, g := range ops.Grad(objective, sources...) {
		if g == nil {
			g = ops.ZerosLike(sources[i])
		}
		tr.result(g)
	}
	derived, err := tr.run(inputs, c.Masks, weights)
	require.NoError(t, err)
	// The differences need only the objective.
	p := tr.replica.Graph().Program()
	p.Outputs = p.Outputs[:1]
	at := func() float64 {
		y, err := tr.run(inputs, c.Masks, weights)
		require.NoError(t, err)
		return y[0].F[0]
	}
	for i, d := range data {
		original := *d
		*d = append([]float64{}, original...)
		step := max(1, len(original)/perArray)
		for j := 0; j < len(original); j += step {
			want := difference(*d, j, at)
			got := derived[i+1].F[j]
			if diff := math.Abs(got - want); !(diff <= 1e-6*max(1, math.Abs(want))) {
				t.Errorf("training %v: gradient %d, element %d: derived %v, central difference %v", o.training, i, j, got, want)
				break
			}
		}
		*d = original
	}
}

// difference is the central difference of f in x[i].
func difference(x []float64, i int, f func() float64) float64 {
	old := x[i]
	h := 6e-6 * max(1, math.Abs(old))
	x[i] = old + h
	high := f()
	x[i] = old - h
	low := f()
	x[i] = old
	return (high - low) / ((old + h) - (old - h))
}
