package optimizers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// goldenGradients are the gradients of three steps.
var goldenGradients = [][]float64{{.1, -.2}, {.3, .05}, {-.2, .4}}

// threeSteps runs the three steps from the weight [1 2].
func threeSteps(t testing.TB, o optimizers.Optimizer) []float64 {
	t.Helper()
	w := variable(t, "w", array(t, ir.Float32, []int{2}, 1, 2))
	tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
	for _, g := range goldenGradients {
		tr.step([]kernels.Array{array(t, ir.Float32, []int{2}, g...)})
	}
	return valueOf(t, w)
}

// TestGolden holds the weights that Keras printed after three steps.
func TestGolden(t *testing.T) {
	sgd := func(o optimizers.Options) optimizers.Optimizer {
		return &optimizers.SGD{LearningRate: .1, Options: o}
	}
	for _, c := range []struct {
		name string
		o    optimizers.Optimizer
		want [2]float64
	}{
		{"sgd", &optimizers.SGD{}, [2]float64{.998, 1.9975}},
		{"momentum", &optimizers.SGD{LearningRate: .1, Momentum: .9}, [2]float64{.9359, 2.0047}},
		{"nesterov", &optimizers.SGD{LearningRate: .1, Momentum: .9, Nesterov: true}, [2]float64{.92231, 1.97923}},
		{"rmsprop", &optimizers.RMSprop{}, [2]float64{.995583, 1.999489}},
		{"rmsprop centered", &optimizers.RMSprop{LearningRate: .01, Momentum: .9, Centered: true}, [2]float64{.865162, 2.045395}},
		{"adam", &optimizers.Adam{}, [2]float64{.997824, 2.001068}},
		{"adam epsilon", &optimizers.Adam{LearningRate: .1, Epsilon: new(.1)}, [2]float64{.985864, 2.003815}},
		{"amsgrad", &optimizers.Adam{LearningRate: .1, AMSGrad: true}, [2]float64{.782437, 2.106761}},
		{"adamw", &optimizers.AdamW{LearningRate: .1}, [2]float64{.781355, 2.104263}},
		{"adagrad", &optimizers.Adagrad{LearningRate: .1}, [2]float64{.943592, 1.967480}},
		{"adadelta", &optimizers.Adadelta{LearningRate: 1.}, [2]float64{.998179, 1.999089}},
		{"adamax", &optimizers.Adamax{LearningRate: .1}, [2]float64{.812987, 2.108138}},
		{"nadam", &optimizers.Nadam{LearningRate: .1}, [2]float64{.842713, 1.995959}},
		{"ftrl", &optimizers.Ftrl{LearningRate: .1}, [2]float64{-.009871, .277171}},
		{"ftrl all", &optimizers.Ftrl{LearningRate: .1, L1RegularizationStrength: .01, L2RegularizationStrength: .1, L2ShrinkageRegularizationStrength: .1, Beta: .5}, [2]float64{-.025888, .058952}},
		{"lion", &optimizers.Lion{LearningRate: .1}, [2]float64{.9, 1.9}},
		{"lamb", &optimizers.Lamb{LearningRate: .1}, [2]float64{.508653, 2.065742}},
		{"adafactor", &optimizers.Adafactor{LearningRate: .1}, [2]float64{.750375, 1.912046}},
		{"schedule free", &optimizers.ScheduleFreeAdamW{LearningRate: .1}, [2]float64{.841433, 2.025823}},
		{"clipnorm", sgd(optimizers.Options{ClipNorm: new(.2)}), [2]float64{.980272, 1.996712}},
		{"global clipnorm", sgd(optimizers.Options{GlobalClipNorm: new(.2)}), [2]float64{.980272, 1.996712}},
		{"clipvalue", sgd(optimizers.Options{ClipValue: new(.15)}), [2]float64{.99, 1.995}},
		{"weight decay", sgd(optimizers.Options{WeightDecay: new(.1)}), [2]float64{.950798, 1.915250}},
		{"accumulation", sgd(optimizers.Options{GradientAccumulationSteps: 3}), [2]float64{.993333, 1.991667}},
		{"ema", sgd(optimizers.Options{UseEMA: true, EMAMomentum: new(.9), EMAOverwriteFrequency: 3}), [2]float64{.9863, 2.01505}},
		{"schedule", &optimizers.SGD{LearningRate: &schedules.ExponentialDecay{InitialLearningRate: .1, DecaySteps: 1, DecayRate: .5}}, [2]float64{.98, 2.0075}},
	} {
		t.Run(c.name, func(t *testing.T) { require.InDeltaSlice(t, c.want[:], threeSteps(t, c.o), 2.5e-6) })
	}
}

// TestScheduleFreeStartsAtTheWeight: z takes the value that the weight has when training begins, also when it was
// loaded after Build.
func TestScheduleFreeStartsAtTheWeight(t *testing.T) {
	o := &optimizers.ScheduleFreeAdamW{LearningRate: .1}
	w := variable(t, "w", array(t, ir.Float32, []int{2}, 7, 7))
	require.NoError(t, o.Build(distribute.Variables{w}))
	require.NoError(t, w.SetValue(array(t, ir.Float32, []int{2}, 1, 2)))
	tr := newTrainer(t, distribute.Default(), o, distribute.Variables{w})
	for _, g := range goldenGradients {
		tr.step([]kernels.Array{array(t, ir.Float32, []int{2}, g...)})
	}
	require.InDeltaSlice(t, []float64{.841433, 2.025823}, valueOf(t, w), 1.1e-6)
}
