package keras_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
)

// tfModel makes the model of a kind, and returns the loss and the metrics with which it was trained.
func tfModel(t testing.TB, kind string, s distribute.Strategy) (*keras.Model, keras.CompileConfig) {
	t.Helper()
	config := keras.CompileConfig{Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}
	var stack []layers.Layer
	input, dtype := []int{4}, "float32"
	bn := func(synchronized bool) []layers.Layer {
		input = []int{6, 6, 1}
		return []layers.Layer{
			&layers.Conv2D{Filters: 3, KernelSize: []int{3}, NoBias: true}, &layers.BatchNormalization{Momentum: new(0.9), Synchronized: synchronized},
			&layers.ReLU{}, &layers.Flatten{}, &layers.Dense{Units: 3},
		}
	}
	switch kind {
	case "mlp":
		stack = []layers.Layer{&layers.Dense{Units: 6, Activation: "relu"}, &layers.Dense{Units: 3}}
	case "mlp_l2":
		stack = []layers.Layer{&layers.Dense{Units: 6, Activation: "relu", KernelRegularizer: &regularizers.L2{L2: new(0.05)}}, &layers.Dense{Units: 3}}
	case "convbn":
		stack = bn(false)
	case "convsyncbn":
		stack = bn(true)
	case "seed":
		input, stack = []int{1}, []layers.Layer{&layers.Dense{Units: 1}}
		config = keras.CompileConfig{Loss: "mse"}
	case "embed":
		input, dtype = []int{5}, "int32"
		stack = []layers.Layer{&layers.Embedding{InputDim: 7, OutputDim: 3}, &layers.Flatten{}, &layers.Dense{Units: 3}}
	case "lstm":
		input, stack = []int{5, 2}, []layers.Layer{&layers.LSTM{Units: 4}, &layers.Dense{Units: 3}}
	case "gru":
		input, stack = []int{5, 2}, []layers.Layer{&layers.GRU{Units: 4}, &layers.Dense{Units: 3}}
	default:
		t.Fatalf("model %q", kind)
	}
	m, err := keras.NewSequential(stack, distribute.Scope(s), keras.InputShape(input...), keras.InputDType(dtype))
	require.NoError(t, err)
	return m, config
}

// tfRecorder records the weights and the running loss after each batch.
type tfRecorder struct {
	callbacks.Base
	m       *keras.Model
	weights [][]kernels.Array
	losses  []float64
}

func (r *tfRecorder) OnTrainBatchEnd(_ int, logs *callbacks.Logs) error {
	w, err := r.m.GetWeights()
	r.weights = append(r.weights, w)
	loss, _ := logs.Get("loss")
	r.losses = append(r.losses, loss)
	return err
}

func TestDistributedFitVectors(t *testing.T) {
	tfHandlers{"fit.": distributedFit}.run(t, "testdata/tf_fit.json.gz")
}

// tfData makes the data of a case.
func tfData(t testing.TB, c *tfvectors.Case, kind string) *data.ArraySource {
	t.Helper()
	var options []data.ArrayOption
	if w := c.Inputs["sample_weight"]; w != nil {
		options = append(options, data.SampleWeight(tfDense(t, w, false)))
	}
	return data.Arrays(tfDense(t, c.Inputs["x"], kind == "embed"), tfDense(t, c.Inputs["y"], kind != "seed"), options...)
}

// distributedFit trains as the case says and compares weights, losses, evaluation and predictions. Where TensorFlow
// weights examples unevenly, ours equals one replica on the joined batch. With separate batch statistics (convbn)
// replicas cannot equal one: then the trained weights equal TensorFlow's if all local batches have the same size.
func distributedFit(t *testing.T, c *tfvectors.Case) {
	parts := strings.Split(c.ID, ".")
	kind := parts[1]
	want := c.Right()
	if strings.HasPrefix(c.ID, "fit.embed.adam") && strings.HasSuffix(c.ID, "keras3") {
		// If a row occurs several times, Keras 3 on TensorFlow squares its gradients one by one, also with one replica.
		// The correct numbers are those of Keras 2 on the same data.
		for _, other := range tfvectors.Load(t, "testdata/tf_fit.json.gz") {
			if other.ID == strings.TrimSuffix(c.ID, "3")+"2" {
				require.Equal(t, c.Inputs["x"], other.Inputs["x"])
				require.Equal(t, c.Inputs["initial_weights"], other.Inputs["initial_weights"])
				want = other.Right()
			}
		}
	}
	// Keras 2 keeps the unbiased variance of convolutions' batches, as its fused kernel computes it; Keras 3 and
	// GoKeras keep the biased one.
	unbiased := strings.HasPrefix(c.ID, "fit.convbn") && strings.HasSuffix(c.ID, "keras2")
	local := kind == "convbn"
	if local {
		if fmt.Sprint(tfvectors.Get(c.Setup, "local_batch_sizes_first_epoch", 0)) != fmt.Sprint(tfvectors.Get(c.Setup, "local_batch_sizes_first_epoch", 1)) {
			kind, local = "convsyncbn", false // how to get the exact result
		} else {
			want = c.Expected
		}
	}
	m, config := tfModel(t, kind, tfStrategy(t, c.Setup["strategy"], c.Replicas()))
	config.Optimizer = tfOptimizer(t, c.Setup["optimizer"])
	if c.Inputs["sample_weight"] != nil {
		config.WeightedMetrics, config.Metrics = config.Metrics, nil
	}
	require.NoError(t, m.Compile(config))
	require.NoError(t, m.SetWeights(tfArrays(t, c.Inputs["initial_weights"])))

	source := tfData(t, c, kind)
	batch := int(tfvectors.Number(t, c.Setup["global_batch"]))
	r := &tfRecorder{m: m}
	options := []keras.FitOption{keras.Epochs(int(tfvectors.Number(t, c.Setup["epochs"]))), keras.Shuffle(false), keras.Callbacks(r)}
	if w, ok := c.Inputs["class_weight"].(map[string]any); ok {
		weights := map[int]float64{}
		for k, v := range w {
			var class int
			_, err := fmt.Sscan(k, &class)
			require.NoError(t, err)
			weights[class] = v.(float64)
		}
		options = append(options, keras.ClassWeight(weights))
	}
	if v, ok := c.Inputs["validation_split"].(float64); ok {
		options = append(options, keras.ValidationSplit(v))
	}
	var ds data.Dataset = source
	if steps, ok := c.Inputs["steps_per_epoch"].(float64); ok {
		options = append(options, keras.StepsPerEpoch(int(steps)))
	}
	if strings.HasPrefix(c.Program[2], "fit(dataset") {
		ds = source.Loader(batch, false, 0)
	} else {
		options = append(options, keras.BatchSize(batch))
	}
	history, err := m.Fit(context.Background(), ds, options...)
	require.NoError(t, err)

	require.Len(t, r.weights, int(tfvectors.Number(t, tfvectors.Get(want, "steps"))))
	trainable := map[int]bool{}
	for i, v := range m.Weights() {
		trainable[i] = !v.Spec().Frozen
	}
	for i, steps := range tfvectors.Get(want, "weights_each_step").([]any) {
		if local && !trainable[i] && strings.HasSuffix(c.ID, "keras3") {
			continue // Keras 3 keeps the first replica's moving statistics
		}
		if unbiased && m.Weights()[i].Name() == "moving_variance" {
			continue
		}
		for k, w := range steps.([]any) {
			c.Close(t, fmt.Sprintf("weight %d after step %d", i, k), w, r.weights[k][i].Float64s())
		}
	}
	if !local {
		c.Close(t, "running loss", tfvectors.Get(want, "running_loss_per_step"), r.losses)
	}
	for name, values := range tfvectors.Get(want, "history").(map[string]any) {
		c.Close(t, "history "+name, values, history.Logs[name])
	}
	if unbiased || local && strings.HasSuffix(c.ID, "keras3") {
		return
	}
	scores, err := m.Evaluate(context.Background(), data.Arrays(tfDense(t, c.Inputs["x"], kind == "embed"), tfDense(t, c.Inputs["y"], kind != "seed")), keras.BatchSize(batch))
	require.NoError(t, err)
	for name, value := range tfvectors.Get(want, "evaluate").(map[string]any) {
		c.Close(t, "evaluate "+name, value, []float64{scores[name]})
	}
	out, err := m.Predict(context.Background(), data.Arrays(tfDense(t, c.Inputs["x"], kind == "embed"), nil), keras.BatchSize(batch))
	require.NoError(t, err)
	var predicted []float64
	for _, v := range out.Elements().([]float32) {
		predicted = append(predicted, float64(v))
	}
	c.Close(t, "predict", tfvectors.Get(want, "predict"), predicted)
}
