package keras_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// scaledRun is a run of loss_scale.py: batches, some of which overflow, and Keras's state after each.
type scaledRun struct {
	Inner, Trouble, Backend string
	Scale                   *float64
	Growth                  *int
	Replicas                int
	X, Y                    scaledArray
	Start                   []scaledArray
	Steps                   []struct {
		Loss       scaledArray
		Iterations int64
		Variables  []scaledArray
		Weights    []scaledArray
	}
}

type scaledArray struct {
	Name  string
	Shape []int
	Data  []scaledNumber
}

type scaledNumber float64

func (n *scaledNumber) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	v, err := strconv.ParseFloat(text, 64)
	*n = scaledNumber(v)
	return err
}

// part returns the i-th entry along the first axis, as float32.
func (a scaledArray) part(i int) data.Array {
	n := len(a.Data) / a.Shape[0]
	values := make([]float32, n)
	for k, v := range a.Data[i*n : (i+1)*n] {
		values[k] = float32(v)
	}
	return data.Must(data.ArrayOf(values, a.Shape[1:]...))
}

// scaledInner are the optimizers of loss_scale.py.
func scaledInner(name string) optimizers.Optimizer {
	switch name {
	case "sgd":
		return &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9}
	case "scheduled":
		return &optimizers.SGD{LearningRate: &schedules.ExponentialDecay{InitialLearningRate: 0.2, DecaySteps: 2, DecayRate: 0.5}}
	case "adam":
		return &optimizers.Adam{LearningRate: 0.05, Epsilon: new(0.01)}
	case "adamw":
		return &optimizers.AdamW{LearningRate: 0.05, Epsilon: new(0.01), Options: optimizers.Options{WeightDecay: new(0.1)}}
	case "clipped":
		return &optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{GlobalClipNorm: new(0.5)}}
	case "averaged":
		return &optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{UseEMA: true, EMAMomentum: new(0.5)}}
	case "overwritten":
		return &optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{UseEMA: true, EMAMomentum: new(0.5), EMAOverwriteFrequency: 2}}
	case "accumulated":
		return &optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{GradientAccumulationSteps: 2}}
	case "nadam":
		return &optimizers.Nadam{LearningRate: 0.05, Epsilon: new(0.01)}
	}
	return &optimizers.RMSprop{LearningRate: 0.02, Centered: true, Epsilon: new(0.1)}
}

// TestLossScaleOfKeras trains with the policy mixed_float16 on batches whose scaled gradients overflow, on one device
// and on two replicas. After each batch it compares the weights, all variables of the optimizers, and their number of
// updates with Keras's.
func TestLossScaleOfKeras(t *testing.T) {
	runs := recorded.JSON[[]scaledRun](t, "testdata/loss_scale.json.gz")
	require.NotEmpty(t, runs)
	for _, c := range runs {
		t.Run(fmt.Sprintf("%s %s %d of %s", c.Inner, c.Trouble, c.Replicas, c.Backend), func(t *testing.T) { c.compare(t) })
	}
}

func (c *scaledRun) compare(t *testing.T) {
	options := []keras.Option{keras.InputShape(3), keras.DTypePolicy("mixed_float16")}
	if c.Replicas > 1 {
		s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
		require.NoError(t, err)
		options = append(options, distribute.Scope(s))
	}
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 4, Activation: "tanh"}, &layers.Dense{Units: 2}}, options...)
	require.NoError(t, err)
	o := scaledInner(c.Inner)
	if c.Scale != nil {
		o = &optimizers.LossScaleOptimizer{Inner: o, InitialScale: *c.Scale, DynamicGrowthSteps: *c.Growth}
	}
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: o, Loss: "mse"}))
	for i, w := range m.Weights() {
		values := make([]float64, len(c.Start[i].Data))
		for k, v := range c.Start[i].Data {
			values[k] = float64(v)
		}
		a, err := kernels.FromFloat64s(ir.Float32, c.Start[i].Shape, values)
		require.NoError(t, err)
		require.NoError(t, w.Assign(a))
	}
	for i, want := range c.Steps {
		history, err := m.Fit(context.Background(), data.Arrays(c.X.part(i), c.Y.part(i)), keras.BatchSize(8), keras.Shuffle(false), keras.Verbose(0))
		require.NoError(t, err)
		where := fmt.Sprint("after batch ", i)
		c.near(t, where+": loss", want.Loss.Data, history.Logs["loss"])
		updates, err := m.Optimizer().(interface{ Updates() (int64, error) }).Updates()
		require.NoError(t, err)
		require.Equal(t, want.Iterations, updates, "%s: updates", where)
		scaled, ok := m.Optimizer().(*optimizers.LossScaleOptimizer)
		require.True(t, ok, "the optimizer is a %T", m.Optimizer())
		all, _ := scaled.FileVariables()
		require.Len(t, all, len(want.Variables))
		for k, v := range all {
			c.near(t, where+": "+want.Variables[k].Name+" of the optimizer", want.Variables[k].Data, tfValue(t, v))
		}
		for k, w := range m.Weights() {
			c.near(t, where+": "+w.Name(), want.Weights[k].Data, tfValue(t, w))
		}
	}
}

// near compares numbers with the precision of float16. Keras's own results, on JAX and TensorFlow and on one and two
// devices, differ by up to 2.4e-4.
func (c *scaledRun) near(t *testing.T, what string, want []scaledNumber, got []float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	largest := 1.0
	for _, v := range want {
		if f := math.Abs(float64(v)); !math.IsInf(f, 0) && !math.IsNaN(f) {
			largest = max(largest, f)
		}
	}
	for k, w := range want {
		w := float64(w)
		if w != got[k] && !(math.IsNaN(w) && math.IsNaN(got[k])) && !(math.Abs(w-got[k]) <= 1e-3*largest) {
			t.Fatalf("%s: %g at %d, Keras has %g", what, got[k], k, w)
		}
	}
}
