package keras_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// stepFile is what testdata/custom_step.py recorded.
type stepFile struct {
	Tolerance           float64
	Real, Noise, Weight []float64
	Cases               []stepCase
}

type stepCase struct {
	Name       string
	Initial    [][]float64
	Epochs     int
	BatchSize  int `json:"batch_size"`
	History    map[string][]float64
	Evaluate   map[string][]float64
	Weights    [][]float64
	Optimizers [][][]float64
}

func loadSteps(t testing.TB) stepFile {
	t.Helper()
	return recorded.JSON[stepFile](t, "testdata/custom_step.json.gz")
}

func (f *stepFile) find(t testing.TB, name string) *stepCase {
	t.Helper()
	for i := range f.Cases {
		if f.Cases[i].Name == name {
			return &f.Cases[i]
		}
	}
	t.Fatalf("there is no case %q", name)
	return nil
}

// data returns the real examples and the noise, of the first n examples.
func (f *stepFile) data(n int, options ...data.ArrayOption) *data.ArraySource {
	of := func(values []float64, width int) data.Array {
		return data.Must(data.ArrayOf(values[:n*width], n, width))
	}
	return data.Arrays(of(f.Real, ganFeatures), of(f.Noise, ganLatent), options...)
}

func (f *stepFile) examples() int { return len(f.Weight) }

// stepModel makes the model of a case; the weights are those of the case.
func stepModel(t testing.TB, c *stepCase, options ...keras.Option) (*keras.Model, []optimizers.Optimizer) {
	t.Helper()
	options = append(options, keras.DTypePolicy("float64"))
	var value any
	var all []optimizers.Optimizer
	config := keras.CompileConfig{}
	switch c.Name {
	case "gan":
		all = []optimizers.Optimizer{&optimizers.Adam{LearningRate: 0.01, Beta1: new(0.5)}, &optimizers.RMSprop{LearningRate: 0.005}}
		value = newGAN(all[0], all[1], options...)
	case "wgan":
		all = []optimizers.Optimizer{&optimizers.Adam{LearningRate: 0.002, Beta1: new(0.5), Beta2: new(0.9)}, &optimizers.SGD{LearningRate: 0.02, Momentum: 0.9}}
		value = &wgan{newGAN(all[0], all[1], options...)}
	case "vae":
		all = []optimizers.Optimizer{&optimizers.Adam{LearningRate: 0.01}}
		value, config.Optimizer = newVAE(), all[0]
	case "own":
		all = []optimizers.Optimizer{&optimizers.SGD{LearningRate: 0.1, Momentum: 0.5}}
		config = keras.CompileConfig{Optimizer: all[0], Loss: "mse", WeightedMetrics: []string{"mae"}, TrainStep: clipped}
		in := keras.Input(keras.Shape(ganFeatures))
		h := layers.Apply(&layers.Dense{Units: 4, Activation: "tanh", KernelRegularizer: "l2"}, in)
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: ganLatent}, h)), options...)
		require.NoError(t, err)
		require.NoError(t, m.Compile(config))
		setStepWeights(t, m, c.Initial)
		return m, all
	}
	m, err := keras.NewModel(value, options...)
	require.NoError(t, err)
	switch v := value.(type) {
	case *GAN:
		require.NoError(t, v.Discriminator.Build([]int{layers.Unknown, ganFeatures}))
		require.NoError(t, m.Build([]int{layers.Unknown, ganLatent}))
	case *wgan:
		require.NoError(t, v.Discriminator.Build([]int{layers.Unknown, ganFeatures}))
		require.NoError(t, m.Build([]int{layers.Unknown, ganLatent}))
	default:
		require.NoError(t, m.Build([]int{layers.Unknown, ganFeatures}, []int{layers.Unknown, ganLatent}))
	}
	require.NoError(t, m.Compile(config))
	setStepWeights(t, m, c.Initial)
	return m, all
}

func setStepWeights(t testing.TB, m *keras.Model, values [][]float64) {
	t.Helper()
	vars := m.Weights()
	require.Len(t, vars, len(values))
	arrays := make([]kernels.Array, len(vars))
	for i, v := range vars {
		var err error
		arrays[i], err = kernels.FromFloat64s(v.Type().DType, v.Type().Shape, values[i])
		require.NoError(t, err)
	}
	require.NoError(t, m.SetWeights(arrays))
}

// near compares numbers with those of Keras.
func near(t testing.TB, what string, want, got []float64, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		if d := math.Abs(got[i] - w); !(d <= tolerance*(1+math.Abs(w))) {
			t.Errorf("%s[%d]: %v, Keras has %v", what, i, got[i], w)
		}
	}
}

func (f *stepFile) train(t testing.TB, c *stepCase, m *keras.Model) (*keras.History, map[string]float64) {
	t.Helper()
	var weights []data.ArrayOption
	if c.Name == "own" {
		weights = append(weights, data.SampleWeight(f.Weight))
	}
	options := []keras.FitOption{keras.Epochs(c.Epochs), keras.BatchSize(c.BatchSize), keras.Shuffle(false)}
	if c.Evaluate != nil {
		options = append(options, keras.ValidationData(f.data(9)))
	}
	history, err := m.Fit(t.Context(), f.data(f.examples(), weights...), options...)
	require.NoError(t, err)
	if c.Evaluate == nil {
		return history, nil
	}
	scores, err := m.Evaluate(t.Context(), f.data(f.examples()), keras.BatchSize(5))
	require.NoError(t, err)
	return history, scores
}

// These have the numbers of Keras for logs, weights, and the state of all optimizers: a GAN with two optimizers, one
// with several critic steps and a penalty on a gradient, a variational autoencoder with AddLoss and a test step, and
// the step of the guide with ComputeLoss.
func TestStepsOfKeras(t *testing.T) {
	f := loadSteps(t)
	for i := range f.Cases {
		c := &f.Cases[i]
		t.Run(c.Name, func(t *testing.T) {
			m, all := stepModel(t, c)
			history, scores := f.train(t, c, m)
			require.Len(t, history.Names(), len(c.History))
			for name, want := range c.History {
				near(t, name, want, history.Logs[name], f.Tolerance)
			}
			require.Len(t, scores, len(c.Evaluate))
			for name, want := range c.Evaluate {
				near(t, "evaluate "+name, want, []float64{scores[name]}, f.Tolerance)
			}
			weights, err := m.GetWeights()
			require.NoError(t, err)
			for i, w := range weights {
				near(t, m.Weights()[i].Path(), c.Weights[i], w.Float64s(), f.Tolerance)
			}
			require.Len(t, all, len(c.Optimizers))
			for k, o := range all {
				require.Len(t, o.Variables(), len(c.Optimizers[k]))
				for i, v := range o.Variables() {
					a, err := v.Value()
					require.NoError(t, err)
					near(t, v.Path(), c.Optimizers[k][i], a.Float64s(), f.Tolerance)
				}
			}
		})
	}
}
