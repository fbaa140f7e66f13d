package optimizers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

func TestConfigurationErrors(t *testing.T) {
	for _, c := range []struct {
		o    optimizers.Optimizer
		want string
	}{
		{&optimizers.SGD{LearningRate: 1}, "optimizers: sgd: the learning rate must be a float or a schedules.Schedule, received the int 1; write 1.0"},
		{&optimizers.SGD{LearningRate: "fast"}, "the learning rate must be a float or a schedules.Schedule, received the text \"fast\""},
		{&optimizers.SGD{LearningRate: &schedules.CosineDecay{}}, "schedules: CosineDecay: DecaySteps must be positive"},
		{&optimizers.SGD{Momentum: 1.5}, "Momentum must be in [0, 1], received 1.5"},
		{&optimizers.RMSprop{Momentum: -1}, "rm_sprop: Momentum must be in [0, 1], received -1"},
		{&optimizers.Adam{Beta2: new(1.0)}, "Beta2 must be in [0, 1), received 1"},
		{&optimizers.Adam{Name: "mine", Options: optimizers.Options{ClipNorm: new(1.0), ClipValue: new(2.0)}},
			"optimizers: mine: only one of ClipNorm, ClipValue and GlobalClipNorm can be set, received ClipNorm=1, ClipValue=2"},
		{&optimizers.Adam{Options: optimizers.Options{GradientAccumulationSteps: 1}}, "GradientAccumulationSteps must be at least 2 (or 0 for off), received 1"},
		{&optimizers.Adam{Options: optimizers.Options{UseEMA: true, EMAMomentum: new(1.1)}}, "EMAMomentum must be in [0, 1], received 1.1"},
		{&optimizers.Adam{Options: optimizers.Options{EMAOverwriteFrequency: -1}}, "EMAOverwriteFrequency must be at least 1 (or 0 for never), received -1"},
		{&optimizers.Adam{Options: optimizers.Options{LossScaleFactor: new(0.0)}}, "LossScaleFactor must be positive, received 0"},
		{&optimizers.Adagrad{InitialAccumulatorValue: new(-1.0)}, "InitialAccumulatorValue must not be negative, received -1"},
		{&optimizers.Ftrl{LearningRatePower: new(1.0)}, "LearningRatePower must not be positive, received 1"},
		{&optimizers.Ftrl{L1RegularizationStrength: -1}, "L1RegularizationStrength must not be negative, received -1"},
		{&optimizers.Lion{Beta1: new(0.0)}, "Beta1 must be in (0, 1], received 0"},
		{&optimizers.Adafactor{ClipThreshold: new(0.0)}, "ClipThreshold must be positive, received 0"},
		{&optimizers.Muon{ExcludeLayers: []string{"("}}, "ExcludeLayers: error parsing regexp"},
		{&optimizers.Muon{RMSRate: 1}, "RMSRate must be a float64 or optimizers.NoRMSRate, received the number 1"},
		{&optimizers.Muon{NSSteps: -1}, "NSSteps must be positive and at most 1000, received -1"},
		{&optimizers.Muon{NSSteps: 1<<31 - 1}, "NSSteps must be positive and at most 1000, received 2147483647"},
		{&optimizers.ScheduleFreeAdamW{Beta1: new(0.0)}, "Beta1 must be in (0, 1), received 0"},
		{&optimizers.ScheduleFreeAdamW{WarmupSteps: -1}, "WarmupSteps must not be negative, received -1"},
		{&optimizers.LossScaleOptimizer{}, "needs an inner optimizer of this package or one that embeds optimizers.Base, received nothing"},
		{&optimizers.LossScaleOptimizer{Inner: (*optimizers.SGD)(nil)}, "received a nil *optimizers.SGD"},
		{&optimizers.SGD{LearningRate: (*schedules.ExponentialDecay)(nil)}, "must be a float or a schedules.Schedule, received a nil *schedules.ExponentialDecay"},
		{&optimizers.LossScaleOptimizer{Inner: &optimizers.SGD{Momentum: 2}}, "Momentum must be in [0, 1], received 2"},
	} {
		_, err := optimizers.Get(c.o)
		require.ErrorContains(t, err, c.want)
		w := variable(t, "w", array(t, ir.Float32, []int{2}, 1, 2))
		require.ErrorContains(t, c.o.Build(distribute.Variables{w}), c.want)
	}
}

func TestGet(t *testing.T) {
	for name, want := range map[string]optimizers.Optimizer{"adam": &optimizers.Adam{}, "RMSprop": &optimizers.RMSprop{}, "rmsprop": &optimizers.RMSprop{},
		"AdamW": &optimizers.AdamW{}, "SGD": &optimizers.SGD{}, "sgd": &optimizers.SGD{}} {
		o, err := optimizers.Get(name)
		require.NoError(t, err)
		require.IsType(t, want, o)
	}
	o, err := optimizers.Get(config.Object{ClassName: "keras.src.backend.torch.optimizers.torch_adamw.AdamW", Config: json.RawMessage(`{"learning_rate":0.5,"weight_decay":0.1,"beta_1":0.8}`)})
	require.NoError(t, err)
	require.Equal(t, 0.5, o.(*optimizers.AdamW).LearningRate)
	require.Equal(t, 0.1, *o.(*optimizers.AdamW).WeightDecay)
	_, err = optimizers.Get("adaam")
	require.ErrorContains(t, err, `unknown optimizer "adaam"; did you mean "Adam"? known: Adadelta, Adafactor, Adagrad, Adam, `)
	_, err = optimizers.Get(nil)
	require.ErrorContains(t, err, "optimizers: received nothing; expected an optimizers.Optimizer")
	for _, o := range []optimizers.Optimizer{(*optimizers.SGD)(nil), (*optimizers.LossScaleOptimizer)(nil), (*optimizers.MultiOptimizer)(nil)} {
		_, err = optimizers.Get(o)
		require.EqualError(t, err, fmt.Sprintf("optimizers: received a nil %T; expected an optimizers.Optimizer or a name such as \"adam\"", o))
	}
	_, err = optimizers.Get(config.Object{ClassName: "SGD", Config: json.RawMessage(`{"lr":0.1}`)})
	require.ErrorContains(t, err, `unknown key "lr"; known: `)
	_, err = optimizers.Get(config.Object{ClassName: "LossScaleOptimizer", Config: json.RawMessage(`{"inner_optimizer":{"class_name":"SGD","config":{}},"clipnorm":1.0}`)})
	require.ErrorContains(t, err, `key "clipnorm" has the value 1.0`)
}

func TestLearningRate(t *testing.T) {
	o := &optimizers.SGD{}
	_, err := o.Rate()
	require.ErrorContains(t, err, "known only after Get, Compile or Build")
	require.ErrorContains(t, o.SetLearningRate(1), "known only after Get, Compile or Build")
	_, err = optimizers.Get(o)
	require.NoError(t, err)
	rate := func() float64 {
		x, err := o.Rate()
		require.NoError(t, err)
		return x
	}
	require.Equal(t, .01, rate())
	require.NoError(t, o.SetLearningRate(.5)) // before there are variables
	require.Equal(t, .5, rate())
	w := variable(t, "w", array(t, ir.Float32, []int{1}, 1))
	tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
	g := []kernels.Array{array(t, ir.Float32, []int{1}, 1)}
	tr.step(g)
	require.Equal(t, .5, rate())
	require.Equal(t, []float64{.5}, valueOf(t, w))
	require.NoError(t, o.SetLearningRate(.25)) // between steps
	tr.step(g)
	require.Equal(t, []float64{.25}, valueOf(t, w))

	scheduled := &optimizers.SGD{LearningRate: &schedules.PiecewiseConstantDecay{Boundaries: []int{0}, Values: []float64{1, .5}}}
	v := variable(t, "w", array(t, ir.Float32, []int{1}, 1))
	tr = newTrainer(t, distribute.Default(), scheduled, distribute.Variables{v})
	require.ErrorContains(t, scheduled.SetLearningRate(1), "a schedule (*schedules.PiecewiseConstantDecay) drives the learning rate")
	for _, want := range []float64{1, .5, .5} {
		x, err := scheduled.Rate()
		require.NoError(t, err)
		require.Equal(t, want, x)
		tr.step(g)
	}
}

// An optimizer of no weights has its count of steps and its learning rate, as in Keras, and can be built for weights
// later.
func TestBuildWithoutWeights(t *testing.T) {
	for _, c := range []struct {
		o            optimizers.Optimizer
		idle, serves int
	}{
		{&optimizers.Adam{}, 2, 4}, {&optimizers.SGD{LearningRate: &schedules.ExponentialDecay{InitialLearningRate: 1, DecaySteps: 1, DecayRate: 1}}, 1, 1},
		{&optimizers.Nadam{}, 3, 5}, {optimizers.WithLossScale(&optimizers.SGD{}), 6, 6},
		{&optimizers.MultiOptimizer{Map: &optimizers.OptimizerMap{Default: &optimizers.SGD{}}}, 4, 4},
	} {
		for range 2 {
			require.NoError(t, c.o.Build(nil))
			require.Len(t, c.o.Variables(), c.idle, "%T", c.o)
		}
		a := variable(t, "a", array(t, ir.Float32, []int{1}, 1))
		for range 2 {
			require.NoError(t, c.o.Build(distribute.Variables{a}))
			require.Len(t, c.o.Variables(), c.serves, "%T", c.o)
		}
		require.NoError(t, c.o.FinalizeVariables())
	}
}

func TestBuildErrors(t *testing.T) {
	a, b := variable(t, "a", array(t, ir.Float32, []int{1}, 1)), variable(t, "b", array(t, ir.Float32, []int{2}, 1, 2))
	o := &optimizers.Adam{}
	require.ErrorContains(t, o.Build(distribute.Variables{a, a}), "weight a is listed twice")
	require.NoError(t, o.Build(distribute.Variables{a}))
	require.NoError(t, o.Build(distribute.Variables{a}), "building twice changes nothing")
	require.Len(t, o.Variables(), 4)
	require.ErrorContains(t, o.Build(distribute.Variables{a, b}), "weight b is unknown; an optimizer serves only the 1 weights that it was built for: make a new one")
	require.ErrorContains(t, o.ExcludeFromWeightDecay(nil, "a"), "only before the optimizer is built")
	require.ErrorContains(t, (&optimizers.SGD{}).ExcludeFromWeightDecay(nil, "("), "error parsing regexp")
	require.Equal(t, []string{"adam/iteration", "adam/learning_rate", "adam/a_momentum", "adam/a_velocity"}, paths(o.Variables()))

	_, err := tryTrainer(distribute.Default(), &optimizers.SGD{}, distribute.Variables{a, b}, 0, 1)
	require.ErrorContains(t, err, "sgd: no weight has a gradient; the loss does not depend on any of the 2 weights")
	r := distribute.NewReplica("test", 1, 1, 1)
	apply := func(g ops.Gradients) (err error) {
		defer ops.Catch(&err)
		(&optimizers.SGD{}).Apply(r, g)
		return nil
	}
	x := ops.Ones(r, ir.Float32, 3)
	require.ErrorContains(t, apply(ops.Gradients{Of: x, Values: []*ops.Tensor{x}}), "Apply needs the gradients of a distribute.Variables, received those of a *ops.Tensor")
	require.ErrorContains(t, apply(ops.Gradients{Of: distribute.Variables{a}, Values: []*ops.Tensor{x}}), "weight a has shape [1] and its gradient [3]")
	require.ErrorContains(t, apply(ops.Gradients{Of: distribute.Variables{a}}), "received 0 gradients of 1 weights")
}

func paths(vars distribute.Variables) []string {
	out := make([]string, len(vars))
	for i, v := range vars {
		out[i] = v.Path()
	}
	return out
}

// TestMissingGradients: weights without a gradient stay as they are; decay and slots too.
func TestMissingGradients(t *testing.T) {
	a, b := variable(t, "a", array(t, ir.Float32, []int{1}, 1)), variable(t, "b", array(t, ir.Float32, []int{1}, 1))
	o := &optimizers.SGD{LearningRate: .5, Momentum: .5, Options: optimizers.Options{WeightDecay: new(.1)}}
	g := array(t, ir.Float32, []int{1}, 1)
	newTrainer(t, distribute.Default(), o, distribute.Variables{a, b}, 1).step([]kernels.Array{g, g})
	require.InDelta(t, .45, valueOf(t, a)[0], 1e-6)
	require.Equal(t, []float64{1}, valueOf(t, b))
}

// TestExcludeFromWeightDecay: weights are left out by identity and by name.
func TestExcludeFromWeightDecay(t *testing.T) {
	var weights distribute.Variables
	for _, name := range []string{"kernel", "bias", "gamma", "kernel"} {
		weights = append(weights, variable(t, name, array(t, ir.Float32, []int{1}, 1)))
	}
	o := &optimizers.SGD{LearningRate: .5, Options: optimizers.Options{WeightDecay: new(.5)}}
	require.NoError(t, o.ExcludeFromWeightDecay(weights[3:], "^bias$", "gam"))
	zero := array(t, ir.Float32, []int{1}, 0)
	newTrainer(t, distribute.Default(), o, weights).step([]kernels.Array{zero, zero, zero, zero})
	for i, want := range []float64{.75, 1, 1, 1} {
		require.Equal(t, []float64{want}, valueOf(t, weights[i]), "weight %d", i)
	}
}

// TestGlobalNormNotFinite: a gradient that is not finite makes all gradients NaN, as in Keras, instead of hiding among
// clipped ones.
func TestGlobalNormNotFinite(t *testing.T) {
	for _, bad := range []float64{math.Inf(1), math.NaN()} {
		a, b := variable(t, "a", array(t, ir.Float32, []int{1}, 1)), variable(t, "b", array(t, ir.Float32, []int{1}, 1))
		o := &optimizers.SGD{Options: optimizers.Options{GlobalClipNorm: new(1.0)}}
		tr := newTrainer(t, distribute.Default(), o, distribute.Variables{a, b})
		tr.step([]kernels.Array{array(t, ir.Float32, []int{1}, bad), array(t, ir.Float32, []int{1}, 1)})
		require.True(t, math.IsNaN(valueOf(t, b)[0]), "%v left %v", bad, valueOf(t, b))
	}
}

// TestHalfPrecisionWeights: state and update are in the type of the weight.
func TestHalfPrecisionWeights(t *testing.T) {
	w := variable(t, "w", array(t, ir.Float16, []int{2}, 1, 2))
	o := &optimizers.Adam{LearningRate: .125}
	tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
	tr.step([]kernels.Array{array(t, ir.Float16, []int{2}, 1, -1)})
	require.InDeltaSlice(t, []float64{.875, 2.125}, valueOf(t, w), 2e-3)
	require.Equal(t, ir.Float16, o.Variables()[2].Type().DType)
	require.Equal(t, ir.Float32, o.Variables()[1].Type().DType)
}

// TestLossScale: overflow skips the step and halves the scale; scaling starts before Build.
func TestLossScale(t *testing.T) {
	inner := &optimizers.SGD{LearningRate: 1.0}
	o := optimizers.WithLossScale(inner).(*optimizers.LossScaleOptimizer)
	require.Same(t, o, optimizers.WithLossScale(o))
	scale := func() float64 {
		s, err := o.CurrentScale()
		require.NoError(t, err)
		return s
	}
	require.Equal(t, 32768.0, scale())
	require.Nil(t, o.Variables())
	w := variable(t, "w", array(t, ir.Float32, []int{2}, 1, 1))
	tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
	step := func(g ...float64) { tr.step([]kernels.Array{array(t, ir.Float32, []int{2}, g...)}) }
	step(math.Inf(1), 0)
	require.Equal(t, 16384.0, scale())
	step(math.NaN(), 0)
	require.Equal(t, 8192.0, scale())
	require.Equal(t, []float64{1, 1}, valueOf(t, w), "the weights have not moved")
	require.Equal(t, []float64{0}, valueOf(t, inner.Iterations()), "nor has the iteration")
	step(4096, 8192)
	require.Equal(t, []float64{.5, 0}, valueOf(t, w))
	require.Equal(t, []float64{1}, valueOf(t, inner.Iterations()))
	require.NoError(t, o.SetLearningRate(.5))
	rate, err := o.Rate()
	require.NoError(t, err)
	require.Equal(t, .5, rate)
}

// TestLossScaleFactor: the factor multiplies the loss and divides the gradients.
func TestLossScaleFactor(t *testing.T) {
	w := variable(t, "w", array(t, ir.Float32, []int{2}, 1, 2))
	weights := distribute.Variables{w}
	for _, o := range []optimizers.Optimizer{
		&optimizers.SGD{LearningRate: .5, Options: optimizers.Options{LossScaleFactor: new(8.0)}},
		optimizers.WithLossScale(&optimizers.SGD{LearningRate: .5}),
	} {
		require.NoError(t, w.SetValue(array(t, ir.Float32, []int{2}, 1, 2)))
		require.NoError(t, o.Build(weights))
		f := distribute.NewFunction(distribute.Default(), "step", func(r *distribute.Replica, _ []*ops.Tensor) []*ops.Tensor {
			loss := o.ScaleLoss(r, ops.Sum(ops.Square(r.Read(w))))
			o.Apply(r, ops.NewTape(r).Gradients(loss, weights))
			return []*ops.Tensor{loss}
		})
		inst, err := f.Acquire(make([][]ir.Type, 1), []int{0})
		require.NoError(t, err)
		require.NoError(t, inst.Run(t.Context(), 0, 0))
		require.InDeltaSlice(t, []float64{0, 0}, valueOf(t, w), 1e-7) // w - 0.5·2w
	}
}

// TestAccumulationEqualsALargeBatch: n steps with the means of small batches are one step with the mean of all.
func TestAccumulationEqualsALargeBatch(t *testing.T) {
	large := variable(t, "w", array(t, ir.Float64, []int{2}, 1, 2))
	small := variable(t, "w", array(t, ir.Float64, []int{2}, 1, 2))
	a := newTrainer(t, distribute.Default(), &optimizers.Adam{LearningRate: .1}, distribute.Variables{large})
	b := newTrainer(t, distribute.Default(), &optimizers.Adam{LearningRate: .1, Options: optimizers.Options{GradientAccumulationSteps: 4}}, distribute.Variables{small})
	for step := range 3 {
		mean := []float64{0, 0}
		before := valueOf(t, small)
		for i := range 4 {
			g := []float64{math.Sin(float64(step*4 + i)), math.Cos(float64(step + i))}
			mean[0], mean[1] = mean[0]+g[0]/4, mean[1]+g[1]/4
			require.Equal(t, before, valueOf(t, small), "nothing moves in between")
			b.step([]kernels.Array{array(t, ir.Float64, []int{2}, g...)})
		}
		a.step([]kernels.Array{array(t, ir.Float64, []int{2}, mean...)})
		require.InDeltaSlice(t, valueOf(t, large), valueOf(t, small), 1e-14)
	}
}

// halfway is an optimizer of a user: it moves half of the way to the sign of the mean gradient.
type halfway struct {
	optimizers.Base
	LearningRate any `keras:"learning_rate,default=1"`
}

func (o *halfway) Settings() optimizers.Settings {
	return optimizers.Settings{Name: "halfway", LearningRate: o.LearningRate, DefaultRate: 1}
}
func (o *halfway) Build(w distribute.Variables) error           { return o.BuildRule(o, w) }
func (o *halfway) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }
func (o *halfway) Slots(w *distribute.Variable) []optimizers.Slot {
	return []optimizers.Slot{{Name: "mean", Shape: w.Type().Shape, Value: 0.5}}
}
func (o *halfway) Update(s *optimizers.Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	mean := ops.MultiplyScalar(ops.Add(slots[0], g), 0.5)
	return ops.Subtract(w, ops.Multiply(s.Rate(w), mean)), []*ops.Tensor{mean}
}

func TestOwnOptimizer(t *testing.T) {
	optimizers.Register[halfway]()
	o, err := optimizers.Get("halfway")
	require.NoError(t, err)
	w := variable(t, "w", array(t, ir.Float32, []int{1}, 1))
	tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
	tr.step([]kernels.Array{array(t, ir.Float32, []int{1}, 1)})
	require.Equal(t, []float64{.25}, valueOf(t, w))
	require.Equal(t, []string{"halfway/iteration", "halfway/learning_rate", "halfway/w_mean"}, paths(o.Variables()))
	require.PanicsWithValue(t, "optimizers: Register called twice for Custom>halfway", func() { optimizers.Register[halfway]() })
}

// TestSteadyStepAllocatesNothing: with all options on, a step takes no memory from the heap.
func TestSteadyStepAllocatesNothing(t *testing.T) {
	for _, o := range []optimizers.Optimizer{
		&optimizers.SGD{Momentum: .9},
		&optimizers.AdamW{Options: optimizers.Options{ClipNorm: new(1.0), UseEMA: true, EMAOverwriteFrequency: 2, GradientAccumulationSteps: 2}},
		&optimizers.Nadam{LearningRate: &schedules.CosineDecayRestarts{InitialLearningRate: .1, FirstDecaySteps: 3}},
		&optimizers.Muon{Options: optimizers.Options{GlobalClipNorm: new(1.0)}},
		optimizers.WithLossScale(&optimizers.Adafactor{}),
	} {
		w := variable(t, "kernel", kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 6}}))
		tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
		tr.step([]kernels.Array{kernels.NewArray(w.Type())})
		ctx := t.Context()
		require.Zero(t, testing.AllocsPerRun(50, func() {
			if err := tr.inst.Run(ctx, 0, 0); err != nil {
				t.Error(err)
			}
		}), "%T", o)
	}
}
