package layertest

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Case is a layer and what is expected of it.
type Case struct {
	// New returns a new layer, of the same configuration each time.
	New func() layers.Layer
	// Inputs are example inputs; axis 0 is the batch. They should be away from kinks, where no derivative exists.
	Inputs []opstest.Array
	// Output is the shape of the (first) result for these inputs.
	Output []int
	// Weights counts the variables, Trainable those of them that are trained.
	Weights, Trainable int
	// Masks are the masks of the inputs if the layer is tested with masks; nil: none.
	Masks []opstest.Array
	// PassesMask: the first result has a mask if the input has one.
	PassesMask bool
	// Random: results in training are random.
	Random bool
	// NotSaved: the configuration cannot be written (a Go function without a name).
	NotSaved bool
	// FixedBatch: the batch axis of the result is not that of the input, or the layer needs at least one example.
	FixedBatch bool
	// NoGradient: the derivative is not that of the function computed (gradients are stopped on purpose), in training.
	NoGradient bool
	// NotCast: results do not have the compute type (masks, numbers that are passed on).
	NotCast bool
}

// reporter is the part of *testing.T that the checks need.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
}

// checks holds the checks by name.
var checks = []struct {
	name  string
	check func(c Case, t reporter)
}{
	{"shape", Case.checkShape},
	{"weights", Case.checkWeights},
	{"config", Case.checkConfig},
	{"values", Case.checkValues},
	{"backend", Case.checkBackend},
	{"mixed_precision", Case.checkMixedPrecision},
	{"empty_batch", Case.checkEmptyBatch},
	{"mask", Case.checkMask},
	{"gradients", Case.checkGradients},
}

// Run checks the case.
func Run(t *testing.T, c Case) {
	t.Helper()
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) { check.check(c, t) })
	}
}

// float32Inputs returns the inputs with floats as float32.
func (c Case) float32Inputs() []opstest.Array {
	out := make([]opstest.Array, len(c.Inputs))
	for i, a := range c.Inputs {
		out[i] = a
		if a.DType.IsFloat() {
			out[i] = a.As(ir.Float32)
		}
	}
	return out
}

// checkShape: open axes stay open, and the shape computed is that of the call.
func (c Case) checkShape(t reporter) {
	inputs := c.float32Inputs()
	types := make([]ir.Type, len(inputs))
	for i, a := range inputs {
		types[i] = a.Type()
	}
	tr, err := call(c.New(), inputs, c.Masks, options{})
	require.NoError(t, err)
	assert.Equal(t, ir.Shape(c.Output), append(ir.Shape{}, tr.outputs[0].Shape()...), "shape of the result")
	inferred, err := layers.InferTypes(c.New(), types)
	require.NoError(t, err)
	require.Len(t, inferred, len(tr.outputs))
	for i, y := range tr.outputs {
		assert.Equal(t, y.Type().String(), inferred[i].String(), "inferred type of result %d", i)
	}
	if c.FixedBatch {
		return
	}
	symbolic := make([]*layers.KerasTensor, len(inputs))
	for i, a := range inputs {
		shape := append([]int{}, a.Shape...)
		shape[0] = layers.Unknown
		symbolic[i] = layers.NewInput("", a.DType, shape...)
	}
	y := layers.Apply(c.New(), symbolic...)
	require.NoError(t, y.Err())
	want := append(ir.Shape{}, c.Output...)
	want[0] = layers.Unknown
	assert.Equal(t, want, y.Shape(), "shape for an open batch")
}

// checkWeights: the declared number, made once, and frozen as a whole.
func (c Case) checkWeights(t reporter) {
	l, inputs := c.New(), c.float32Inputs()
	for range 2 {
		require.NoError(t, build(l, inputs, c.Masks, ""))
		assert.Len(t, layers.Weights(l), c.Weights, "weights")
		assert.Len(t, layers.TrainableWeights(l), c.Trainable, "trained weights")
		assert.Len(t, layers.NonTrainableWeights(l), c.Weights-c.Trainable, "other weights")
	}
	seen := map[string]bool{}
	for _, v := range layers.Weights(l) {
		assert.False(t, seen[v.Path()], "two weights have the path %s", v.Path())
		seen[v.Path()] = true
		require.NoError(t, v.Spec().Initializer.Initialize(kernels.NewArray(v.Type()), 3))
	}
	layers.SetTrainable(l, false)
	assert.Empty(t, layers.TrainableWeights(l))
	_, err := call(l, inputs, c.Masks, options{training: true})
	assert.NoError(t, err, "frozen")
}

// outputs runs the layer and returns its results.
func (c Case) outputs(t reporter, l layers.Layer, inputs []opstest.Array, o options) []opstest.Array {
	t.Helper()
	require.NoError(t, build(l, inputs, c.Masks, o.policy))
	tr, err := call(l, inputs, c.Masks, o)
	require.NoError(t, err)
	tr.result(tr.outputs...)
	out, err := tr.run(inputs, c.Masks, values(tr.variables))
	require.NoError(t, err)
	return out
}

// checkConfig: what is written can be read, is the same when written again, and computes the same.
func (c Case) checkConfig(t reporter) {
	l := c.New()
	o, err := layers.ToObject(l)
	if c.NotSaved {
		assert.Error(t, err)
		return
	}
	require.NoError(t, err)
	text, err := json.Marshal(o)
	require.NoError(t, err)
	back, err := layers.FromObject(text)
	require.NoError(t, err)
	assert.IsType(t, l, back)
	again, err := layers.ToObject(back)
	require.NoError(t, err)
	textAgain, err := json.Marshal(again)
	require.NoError(t, err)
	assert.JSONEq(t, string(text), string(textAgain))
	inputs := c.float32Inputs()
	for _, training := range []bool{false, true} {
		assert.Equal(t, c.outputs(t, l, inputs, options{training: training}), c.outputs(t, back, inputs, options{training: training}), "results, training %v", training)
	}
}

// checkValues: finite, and equal for training and inference unless declared otherwise.
func (c Case) checkValues(t reporter) {
	inputs := c.float32Inputs()
	for _, training := range []bool{false, true} {
		for _, y := range c.outputs(t, c.New(), inputs, options{training: training}) {
			assert.True(t, finite(y), "results must be finite, training %v: %v", training, y.F)
		}
	}
	if c.Random {
		l := c.New()
		calm, wild := c.outputs(t, l, inputs, options{}), c.outputs(t, l, inputs, options{training: true})
		assert.NotEqual(t, calm[0].F, wild[0].F, "training must be random")
	}
}

// checkBackend: the CPU computes what the naive interpreter does.
func (c Case) checkBackend(t reporter) {
	inputs := c.float32Inputs()
	for _, training := range []bool{false, true} {
		l := c.New()
		require.NoError(t, build(l, inputs, c.Masks, ""))
		tr, err := call(l, inputs, c.Masks, options{training: training})
		require.NoError(t, err)
		tr.result(tr.outputs...)
		want, err := tr.run(inputs, c.Masks, values(tr.variables))
		require.NoError(t, err)
		got, err := tr.runOn("cpu", inputs, c.Masks, values(tr.variables))
		require.NoError(t, err)
		for i, y := range got {
			near(t, y, want[i], 2e-5, "result %d on the CPU, training %v", i, training)
		}
	}
}

// checkMixedPrecision: bfloat16 results of float32 weights, near those of float32.
func (c Case) checkMixedPrecision(t reporter) {
	l, inputs := c.New(), c.float32Inputs()
	exact := c.outputs(t, c.New(), inputs, options{})
	half := c.outputs(t, l, inputs, options{policy: "mixed_bfloat16"})
	for _, v := range layers.Weights(l) {
		if v.Spec().DType.IsFloat() {
			assert.Equal(t, ir.Float32, v.Spec().DType, "type of weight %s", v.Path())
		}
	}
	for i, y := range half {
		if !y.DType.IsFloat() {
			continue
		}
		if !c.NotCast {
			assert.Equal(t, ir.BFloat16, y.DType, "type of result %d", i)
		}
		scale := 0.0
		for _, x := range exact[i].F {
			scale = max(scale, math.Abs(x))
		}
		for j, x := range y.F {
			// bfloat16 has 8 significant bits; a few roundings of the inputs, weights and sums add up.
			require.True(t, math.Abs(x-exact[i].F[j]) <= 0.06*max(scale, 1), "element %d is %v in mixed precision, %v in float32", j, x, exact[i].F[j])
		}
	}
}
