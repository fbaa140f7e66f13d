//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/regularizers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// recordedModel makes the model of a kind, as those that recorded the cases did; nil where it is left to the tests of
// CPUs.
func recordedModel(kind string) (stack []layers.Layer, input []int) {
	switch kind {
	case "mlp":
		return []layers.Layer{&layers.Dense{Units: 6, Activation: "relu"}, &layers.Dense{Units: 3}}, []int{4}
	case "mlp_l2":
		return []layers.Layer{&layers.Dense{Units: 6, Activation: "relu", KernelRegularizer: &regularizers.L2{L2: new(0.05)}}, &layers.Dense{Units: 3}}, []int{4}
	case "convsyncbn":
		return []layers.Layer{
			&layers.Conv2D{Filters: 3, KernelSize: []int{3}, NoBias: true}, &layers.BatchNormalization{Momentum: new(0.9), Synchronized: true},
			&layers.ReLU{}, &layers.Flatten{}, &layers.Dense{Units: 3},
		}, []int{6, 6, 1}
	case "syncbn":
		return []layers.Layer{
			&layers.Dense{Units: 5, NoBias: true}, &layers.BatchNormalization{Momentum: new(0.9), Synchronized: true}, &layers.ReLU{}, &layers.Dense{Units: 3},
		}, []int{4}
	case "embed":
		return []layers.Layer{&layers.Embedding{InputDim: 7, OutputDim: 3}, &layers.Flatten{}, &layers.Dense{Units: 3}}, []int{5}
	case "lstm":
		return []layers.Layer{&layers.LSTM{Units: 4}, &layers.Dense{Units: 3}}, []int{5, 2}
	}
	return nil, nil
}

// perBatch keeps the weights after each batch.
type perBatch struct {
	callbacks.Base
	weights [][]kernels.Array
}

func (r *perBatch) OnTrainBatchEnd(int, *callbacks.Logs) error {
	w, err := r.Model().GetWeights()
	r.weights = append(r.weights, w)
	return err
}

// numbers makes an array of recorded numbers.
func numbers(t testing.TB, v any, integers bool) data.Array {
	shape, values := tfvectors.Floats(t, v)
	x, n := make([]float32, len(values)), make([]int32, len(values))
	for i, f := range values {
		x[i], n[i] = float32(f), int32(f)
	}
	if integers {
		return data.Must(data.ArrayOf(n, shape...))
	}
	return data.Must(data.ArrayOf(x, shape...))
}

// recordedOptimizer reads what a case says; those over processes tell it by their names.
func recordedOptimizer(c *tfvectors.Case) optimizers.Optimizer {
	o, ok := c.Setup["optimizer"].(map[string]any)
	if !ok {
		o = map[string]any{"name": map[bool]string{true: "Adam", false: "SGD"}[strings.Contains(c.ID, ".adam.")], "learning_rate": map[bool]float64{true: 0.01, false: 0.1}[strings.Contains(c.ID, ".adam.")]}
	}
	if o["name"] == "Adam" {
		return &optimizers.Adam{LearningRate: o["learning_rate"].(float64)}
	}
	momentum, _ := o["momentum"].(float64)
	nesterov, _ := o["nesterov"].(bool)
	return &optimizers.SGD{LearningRate: o["learning_rate"].(float64), Momentum: momentum, Nesterov: nesterov}
}

// retrain trains as a case says and compares the weights after each step and the logs.
func retrain(t testing.TB, c *tfvectors.Case, kind string, s distribute.Strategy) error {
	stack, input := recordedModel(kind)
	dtype := map[bool]string{true: "int32", false: "float32"}[kind == "embed"]
	m, err := keras.NewSequential(stack, distribute.Scope(s), keras.InputShape(input...), keras.InputDType(dtype))
	if err != nil {
		return err
	}
	config := keras.CompileConfig{Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}, Optimizer: recordedOptimizer(c)}
	var initial []kernels.Array
	for _, w := range c.Inputs["initial_weights"].([]any) {
		shape, values := tfvectors.Floats(t, w)
		a, err := kernels.FromFloat64s(ir.Float32, shape, values)
		if err != nil {
			return err
		}
		initial = append(initial, a)
	}
	if err := errors.Join(m.Compile(config), m.SetWeights(initial)); err != nil {
		return err
	}
	want, r := c.Right(), &perBatch{}
	epochs := len(tfvectors.Values(t, tfvectors.Get(want, "history", "loss")))
	h, err := m.Fit(t.Context(), data.Arrays(numbers(t, c.Inputs["x"], kind == "embed"), numbers(t, c.Inputs["y"], true)),
		keras.Epochs(epochs), keras.Shuffle(false), keras.Callbacks(r), keras.BatchSize(int(tfvectors.Number(t, c.Setup["global_batch"]))))
	if err != nil {
		return err
	}
	if n := int(tfvectors.Number(t, tfvectors.Get(want, "steps"))); n != len(r.weights) {
		return fmt.Errorf("%d steps, recorded are %d", len(r.weights), n)
	}
	for i, steps := range tfvectors.Get(want, "weights_each_step").([]any) {
		for k, w := range steps.([]any) {
			c.Close(t, fmt.Sprintf("weight %d after step %d", i, k), w, r.weights[k][i].Float64s())
		}
	}
	for name, values := range tfvectors.Get(want, "history").(map[string]any) {
		c.Close(t, "history "+name, values, h.Logs[name])
	}
	return nil
}

// The numbers that were recorded from TensorFlow, or the right ones where it deviates, on two to four replicas with
// uneven and empty parts: by kernels of our own, by NCCL, with sharded state and with central storage.
func TestRecordedFit(t *testing.T) {
	_, f := fakes()
	ran := 0
	for _, c := range tfvectors.Load(t, "../../keras/testdata/tf_fit.json.gz") {
		parts := strings.Split(c.ID, ".")
		kind, what := parts[1], parts[2]
		if stack, _ := recordedModel(kind); stack == nil || !strings.HasSuffix(c.ID, "keras2") && !strings.Contains(c.ID, "mirrored3") ||
			what != "sgd" && what != "adam" && what != "momentum" || brief() && ran > 3 {
			continue
		}
		ran++
		var names []string
		for i := range c.Replicas() {
			names = append(names, fmt.Sprint("fakecuda:", i))
		}
		for way, make := range map[string]func() (distribute.Strategy, error){
			"own":     func() (distribute.Strategy, error) { return distribute.NewMirroredStrategy(names...) },
			"central": func() (distribute.Strategy, error) { return distribute.NewCentralStorageStrategy(names...) },
			"NCCL": func() (distribute.Strategy, error) {
				return distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: names, CrossDeviceOps: distribute.NcclAllReduce{}, ShardOptimizerState: true})
			},
		} {
			t.Run(c.ID+" "+way, func(t *testing.T) {
				s, err := make()
				require.NoError(t, err)
				require.NoError(t, retrain(t, &c, kind, s))
				require.NoError(t, f.Fault())
			})
		}
	}
	t.Log(ran, "cases")
}

// The recorded cases of several workers, with a GPU each, that meet in the real group and by NCCL.
func TestRecordedWorkers(t *testing.T) {
	_, f := fakes()
	ran := 0
	for _, c := range tfvectors.Load(t, "../../distribute/multiworker/conformance/testdata/tf_multi_worker.json.gz") {
		parts := strings.Split(c.ID, ".")
		n, ok := c.Setup["workers"].(float64)
		if parts[1] != "fit" || parts[2] == "bn" || len(c.Inputs) == 0 || !ok || parts[4] == "dataset" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			o := multiworker.Options{Communication: collective.CommunicationOptions{Implementation: collective.NCCL}}
			for _, err := range fakeWorkers(t, int(n), o, func(_ int, s *distribute.MultiWorkerMirroredStrategy) error {
				return retrain(t, &c, parts[2], s)
			}) {
				require.NoError(t, err)
			}
			require.NoError(t, f.Fault())
		})
	}
	t.Log(ran, "cases")
}
