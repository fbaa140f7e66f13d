package keras_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// scenarioNumbers are Keras's results (testdata/scenarios.py).
type scenarioNumbers struct {
	Transfer struct {
		FrozenLoss []float64   `json:"frozen_loss"`
		Frozen     [][]float32 `json:"frozen"`
		ThawedLoss []float64   `json:"thawed_loss"`
		Thawed     [][]float32 `json:"thawed"`
	} `json:"transfer"`
	Autoencoder struct {
		Loss     []float64   `json:"loss"`
		MSE      []float64   `json:"mse"`
		Weights  [][]float32 `json:"weights"`
		Evaluate []float64   `json:"evaluate"`
	} `json:"autoencoder"`
}

func scenarioVectors(t *testing.T) (n scenarioNumbers) {
	t.Helper()
	text, err := os.ReadFile("testdata/scenarios.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &n))
	return n
}

// setFormula sets a built model's weights to those of scenarios.py.
func setFormula(t *testing.T, m *keras.Model) {
	t.Helper()
	var weights []data.Array
	for _, v := range m.Weights() {
		values := make([]float32, v.Type().Shape.Size())
		for i := range values {
			values[i] = float32((i*7)%11-5) / 10
		}
		weights = append(weights, shaped(values, v.Type().Shape...))
	}
	require.NoError(t, m.SetWeights(weights))
}

func assertWeights(t *testing.T, want [][]float32, m *keras.Model) {
	t.Helper()
	got, err := m.GetWeights()
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i, w := range want {
		assert.InDeltaSlice(t, w, got[i].Elements(), 5e-6, "weight %d", i)
	}
}

// TestTransferLearning: a frozen base stays unchanged while the head is trained, and changes after it is unfrozen and
// compiled again.
func TestTransferLearning(t *testing.T) {
	want := scenarioVectors(t).Transfer
	base, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 5, Activation: "relu"}}, keras.InputShape(4))
	require.NoError(t, err)
	m, err := keras.NewSequential([]layers.Layer{base, &layers.Dense{Units: 3}}, keras.InputShape(4))
	require.NoError(t, err)
	setFormula(t, m)
	x, y := grid(12, 4), cycle(12, 3)
	train := func(rate float64) []float64 {
		compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: rate}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}})
		h, err := m.Fit(context.Background(), data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(2), keras.Shuffle(false))
		require.NoError(t, err)
		return h.Logs["loss"]
	}
	base.SetTrainable(false)
	assert.InDeltaSlice(t, want.FrozenLoss, train(0.5), 1e-5)
	assertWeights(t, want.Frozen, m)
	base.SetTrainable(true)
	assert.InDeltaSlice(t, want.ThawedLoss, train(0.1), 1e-5)
	assertWeights(t, want.Thawed, m)
}

// autoencoder is the variational autoencoder of scenarios.py; it encodes with the mean, so that nothing is random.
type autoencoder struct {
	Mean, LogVariance, Decoder *layers.Dense
}

func (a *autoencoder) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	mean, logVariance := layers.Invoke(a.Mean, c, x), layers.Invoke(a.LogVariance, c, x)
	inner := ops.Subtract(ops.Subtract(ops.AddScalar(logVariance, 1), ops.Square(mean)), ops.Exp(logVariance))
	c.AddLoss(ops.MultiplyScalar(ops.Mean(inner), -0.05))
	return layers.Invoke(a.Decoder, c, mean)
}

// TestLossOfTheModel: losses that a model adds in Call are part of the loss and of the gradients, but of no metric.
func TestLossOfTheModel(t *testing.T) {
	want := scenarioVectors(t).Autoencoder
	m, err := keras.NewModel(&autoencoder{&layers.Dense{Units: 2}, &layers.Dense{Units: 2}, &layers.Dense{Units: 4}})
	require.NoError(t, err)
	require.NoError(t, m.Build([]int{layers.Unknown, 4}))
	setFormula(t, m)
	compile(t, m, keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.05}, Loss: "mse", Metrics: []string{"mse"}})
	x := data.Arrays(grid(10, 4), grid(10, 4))
	h, err := m.Fit(context.Background(), x, keras.BatchSize(4), keras.Epochs(3), keras.Shuffle(false))
	require.NoError(t, err)
	assert.InDeltaSlice(t, want.Loss, h.Logs["loss"], 1e-5)
	assert.InDeltaSlice(t, want.MSE, h.Logs["mse"], 1e-5)
	assertWeights(t, want.Weights, m)
	scores, err := m.Evaluate(context.Background(), x, keras.BatchSize(4))
	require.NoError(t, err)
	assert.InDeltaSlice(t, want.Evaluate, []float64{scores["loss"], scores["mse"]}, 1e-5)
}

// scenarios says where each conformance scenario of a Keras-style framework is tested: a test of this module, and, for
// tests with recorded cases, one of its cases.
var scenarios = map[int]string{
	1: "TestFitVectors mlp_sgd", 2: "TestFitVectors mlp_adam_one_hot", 3: "TestFitVectors logistic_validation_split", 4: "TestFitVectors linear_rmsprop",
	5: "TestAgainstKeras", 6: "TestAgainstKeras", 7: "TestFitVectors l1l2_max_norm", 8: "TestFitVectors class_weight", 9: "TestFitVectors sample_weight_nt",
	10: "TestFitVectors cnn", 11: "TestKeras", 12: "TestKeras", 13: "TestKeras", 14: "TestFitVectors batch_norm", 15: "TestFitVectors residual_cnn",
	16: "TestFitVectors lstm_masked_loss", 17: "TestKerasSequence", 18: "TestFitVectors bidirectional_gru", 19: "TestFitVectors stacked_rnn",
	20: "TestFitVectors transformer", 21: "TestFitVectors adamw_cosine_global_clip", 22: "TestFitVectors two_outputs_dict", 23: "TestFitVectors siamese_shared",
	24: "TestLossOfTheModel", 25: "TestTwoOptimizers", 26: "TestTransferLearning", 27: "TestFiles", 28: "TestFitVectors unet_dice",
	29: "TestEarlyStoppingIsKerass", 30: "TestModelCheckpointIsKerass", 31: "TestReduceLROnPlateauIsKerass", 32: "TestBackupInTheMiddleOfAnEpoch",
	33: "TestPrintsWhatKerasPrints", 34: "TestFitVectors steps_per_epoch_runs_dry", 35: "TestFitVectors steps_per_execution_3",
	36: "TestFitVectors gradient_accumulation", 37: "TestFitVectors mixed_float16", 38: "TestFiles", 39: "TestKerasOpensFiles", 40: "TestStrategiesEqualOne",
}

// TestScenariosHaveTests checks that every scenario still has its test.
func TestScenariosHaveTests(t *testing.T) {
	var source strings.Builder
	for _, pattern := range []string{"*_test.go", "../callbacks/*_test.go", "../layers/*_test.go", "../optimizers/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			source.Write(text)
		}
	}
	cases := map[string]bool{}
	for _, c := range fitCaseNames(t) {
		cases[c] = true
	}
	for number := 1; number <= 40; number++ {
		test, name, _ := strings.Cut(scenarios[number], " ")
		assert.Contains(t, source.String(), "func "+test+"(t *testing.T)", "scenario %d", number)
		if name != "" {
			assert.True(t, cases[name], "scenario %d: there is no case %q", number, name)
		}
	}
}

// fitCaseNames lists the recorded training runs, without their types.
func fitCaseNames(t *testing.T) (names []string) {
	for _, c := range vectors.Load(t, "fit").Cases {
		name, _, _ := strings.Cut(c.Name, "/")
		names = append(names, name)
	}
	return names
}
