package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

func arraysOf(t testing.TB, v any) []kernels.Array {
	t.Helper()
	var out []kernels.Array
	for _, one := range v.([]any) {
		shape, values := tfvectors.Floats(t, one)
		out = append(out, array(t, shape, values...))
	}
	return out
}

// source makes the data of a case.
func source(t testing.TB, c *tfvectors.Case) *data.ArraySource {
	t.Helper()
	shape, values := tfvectors.Floats(t, c.Inputs["x"])
	x := make([]float32, len(values))
	for i, v := range values {
		x[i] = float32(v)
	}
	var y []int32
	for _, v := range tfvectors.Values(t, c.Inputs["y"]) {
		y = append(y, int32(v))
	}
	return data.Arrays(data.Must(data.ArrayOf(x, shape...)), y)
}

// recorder keeps the weights after each batch.
type recorder struct {
	callbacks.Base
	weights [][]kernels.Array
}

func (r *recorder) OnTrainBatchEnd(int, *callbacks.Logs) error {
	w, err := r.Model().GetWeights()
	r.weights = append(r.weights, w)
	return err
}

// fit trains as the case says. If TensorFlow weighs the examples of short local batches more, ours equals one replica
// on the joined batch. With batch statistics of their own (bn) workers cannot equal one: there the trained weights
// equal TensorFlow's.
func fit(t *testing.T, w *worker, c *tfvectors.Case) {
	parts := strings.Split(c.ID, ".")
	kind, optimizer, want := parts[2], parts[3], c.Right()
	if kind == "bn" {
		want = c.Expected
	}
	inputs := c
	if len(c.Inputs) == 0 { // Keras 3's fit fails under this strategy; what is right is its sibling's
		require.True(t, strings.HasSuffix(c.ID, ".keras3"))
		for _, other := range tfvectors.Load(t, vectors) {
			if other.ID == strings.TrimSuffix(c.ID, ".keras3") {
				inputs, want = &other, other.Right()
			}
		}
	}
	var stack []layers.Layer
	switch kind {
	case "mlp":
		stack = []layers.Layer{&layers.Dense{Units: 6, Activation: "relu"}, &layers.Dense{Units: 3}}
	case "bn", "syncbn":
		stack = []layers.Layer{
			&layers.Dense{Units: 5, NoBias: true}, &layers.BatchNormalization{Momentum: new(0.9), Synchronized: kind == "syncbn"}, &layers.ReLU{}, &layers.Dense{Units: 3},
		}
	default:
		t.Fatalf("model %q", kind)
	}
	m, err := keras.NewSequential(stack, distribute.Scope(w.s), keras.InputShape(4))
	require.NoError(t, err)
	config := keras.CompileConfig{Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}, Optimizer: &optimizers.SGD{LearningRate: 0.1}}
	if optimizer == "adam" {
		config.Optimizer = &optimizers.Adam{LearningRate: 0.01}
	}
	require.NoError(t, m.Compile(config))
	require.NoError(t, m.SetWeights(arraysOf(t, inputs.Inputs["initial_weights"])))
	batch, r := int(tfvectors.Number(t, inputs.Setup["global_batch"])), &recorder{}
	options := []keras.FitOption{keras.Epochs(len(tfvectors.Values(t, tfvectors.Get(want, "history", "loss")))), keras.Shuffle(false), keras.Callbacks(r)}
	var history *keras.History
	if parts[4] == "dataset" {
		history, err = m.Fit(t.Context(), source(t, inputs).Loader(batch, false, 0), options...)
	} else {
		history, err = m.Fit(t.Context(), source(t, inputs), append(options, keras.BatchSize(batch))...)
	}
	require.NoError(t, err)
	require.Len(t, r.weights, int(tfvectors.Number(t, tfvectors.Get(want, "steps"))))
	close := func(what string, want any, got []float64) { inputs.Close(t, what, want, got) }
	for i, steps := range tfvectors.Get(want, "weights_each_step").([]any) {
		for k, v := range steps.([]any) {
			close(fmt.Sprintf("weight %d after step %d", i, k), v, r.weights[k][i].Float64s())
		}
	}
	for name, values := range tfvectors.Get(want, "history").(map[string]any) {
		close("history "+name, values, history.Logs[name])
	}
	if kind == "bn" {
		return // TensorFlow evaluates with each worker's own moving statistics, here they are means over the workers
	}
	scores, err := m.Evaluate(t.Context(), source(t, inputs), keras.BatchSize(batch))
	require.NoError(t, err)
	for name, value := range tfvectors.Get(want, "evaluate").(map[string]any) {
		close("evaluate "+name, value, []float64{scores[name]})
	}
	out, err := m.Predict(t.Context(), source(t, inputs), keras.BatchSize(batch))
	require.NoError(t, err)
	var predicted []float64
	for _, v := range out.Elements().([]float32) {
		predicted = append(predicted, float64(v))
	}
	close("predict", tfvectors.Get(want, "predict"), predicted)
}

// customLoop is the loop of the distributed-training guide, with a global batch of 5 for each worker.
func customLoop(t *testing.T, w *worker, c *tfvectors.Case) {
	want := w.own(t, c).(map[string]any)
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, distribute.Scope(w.s), keras.InputShape(1))
	require.NoError(t, err)
	require.NoError(t, m.SetWeights([]kernels.Array{array(t, ir.Shape{1, 1}, 0.3), array(t, ir.Shape{1}, 0.1)}))
	optimizer, bce, global := &optimizers.SGD{LearningRate: 0.1}, &losses.BinaryCrossentropy{FromLogits: true}, 5*w.n
	step := w.s.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		tape := ops.NewTape(r)
		loss := losses.ComputeAverage(bce.PerExample(in.Y, m.Call(r.Training(), in.X)), global)
		optimizer.Apply(r, tape.Gradients(loss, m.TrainableVariables()))
		return loss
	})
	defer step.Close()
	expected := tfvectors.Values(t, want["losses"])
	ones := slices.Repeat([][]float32{{1}}, global*len(expected))
	var got []float64
	for batch, err := range keras.DistributeDataset(w.s, data.Arrays(ones, ones).Loader(global, false, 0)).Batches(t.Context(), 0) {
		require.NoError(t, err)
		perReplica, err := w.s.Run(t.Context(), step, batch)
		require.NoError(t, err)
		total, err := w.s.Reduce(distribute.Sum, perReplica)
		require.NoError(t, err)
		got = append(got, total.Element(0))
	}
	c.Close(t, "losses", want["losses"], got)
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for i, v := range want["weights"].([]any) {
		c.Close(t, fmt.Sprint("weight ", i), v, weights[i].Float64s())
	}
}

// metric: the result is over all workers. Read in replica code it is that in Keras 2, and the replica's own in Keras 3,
// which has no counterpart here.
func metric(t *testing.T, w *worker, c *tfvectors.Case) {
	mean := &metrics.Mean{}
	_, err := w.call(t, func(_ *distribute.Replica, x *ops.Tensor) *ops.Tensor { mean.Update(x, x, nil); return nil }, rows(t, w.task.Index+1, w.x()))
	require.NoError(t, err)
	result, err := metrics.ResultOf(mean)
	require.NoError(t, err)
	c.Close(t, "mean", tfvectors.Get(w.own(t, c), "mean"), result.Float64s())
}

// compiledMetric: predictions of 1, targets 0 to 7, batches of 4. What a train_step of the user's own returns is not
// part of it: TensorFlow adds up local means there.
func compiledMetric(t *testing.T, w *worker, c *tfvectors.Case) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, NoBias: true, KernelInitializer: "ones"}}, distribute.Scope(w.s), keras.InputShape(1))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 1e-30}, Loss: "mse", Metrics: []string{"mae"}}))
	x, y := slices.Repeat([][]float32{{1}}, 8), make([][]float32, 8)
	for i := range y {
		y[i] = []float32{float32(i)}
	}
	history, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Shuffle(false))
	require.NoError(t, err)
	c.Close(t, "mae", tfvectors.Get(w.own(t, c), "compiled_mae"), history.Logs["mae"])
}

func checkpoint(t *testing.T, w *worker, c *tfvectors.Case) {
	want := w.own(t, c)
	specs := map[string]distribute.VariableSpec{
		"v": {Name: "v"}, "q": {Name: "q", Synchronization: distribute.OnRead, Aggregation: distribute.Sum}, "mu": {Name: "mu", Synchronization: distribute.OnRead, Aggregation: distribute.Mean},
	}
	for _, name := range []string{"v", "q", "mu"} {
		own := w.x()
		if name == "v" {
			own = 1
		}
		v := variable(t, w, specs[name], 0)
		require.NoError(t, v.SetComponents(rows(t, 1, own)))
		saved, err := v.Value()
		require.NoError(t, err)
		c.Close(t, "saved "+name, tfvectors.Get(want, "saved", name), saved.Float64s())
		require.NoError(t, v.SetComponents(rows(t, 1, 99)))
		require.NoError(t, v.SetValue(saved))
		parts, err := v.Components()
		require.NoError(t, err)
		c.Close(t, "restored "+name, tfvectors.Get(want, "restored_components", name, 0), parts[0].Float64s())
	}
}

// modelCheckpoint: one worker writes the file, which all see in a shared folder; here each has a folder of its own, and
// only the chief's has files.
func modelCheckpoint(t *testing.T, w *worker, c *tfvectors.Case) {
	exists, left := w.s.IsChief(), []any{}
	if w.s.IsChief() {
		left = []any{"m.weights.h5"}
	}
	if !strings.HasSuffix(c.ID, "keras3") { // whose fit fails
		want := w.own(t, c).(map[string]any)
		require.Equal(t, []any{want["file_exists_on_own_path"], want["left_in_own_directory"]}, []any{exists, left})
	}
	dir := t.TempDir()
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, distribute.Scope(w.s), keras.InputShape(1))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"}))
	ones := slices.Repeat([][]float32{{1}}, 8)
	_, err = m.Fit(t.Context(), data.Arrays(ones, ones), keras.BatchSize(4), keras.Callbacks(
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(dir, "m.weights.h5"), SaveWeightsOnly: true}))
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, len(left))
	if exists {
		require.Equal(t, "m.weights.h5", entries[0].Name())
	}
}

// inputs: the policies AUTO and DATA are what DistributeDataset does; OFF is a dataset that every worker makes. There
// are no files to be sharded, and replicas of a worker share its input.
func inputs(t *testing.T, w *worker, c *tfvectors.Case) {
	want := w.own(t, c).(map[string]any)
	numbers := func(n int) distribute.HostBatch {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		return distribute.HostBatch{X: []kernels.Array{array(t, ir.Shape{n}, values...)}}
	}
	elements := func(d *distribute.DistributedDataset, err error) [][]float64 {
		require.NoError(t, err)
		var out [][]float64
		for batch, err := range d.Batches(t.Context(), 0) {
			require.NoError(t, err)
			out = append(out, batch[0].X[0].Float64s())
		}
		return out
	}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names) // in one order on all workers
	tested := 0
	for _, name := range names {
		var total, batch int
		var policy string
		if n, _ := fmt.Sscanf(name, "range%d_batch%d.%s", &total, &batch, &policy); n != 3 {
			continue
		}
		var got [][]float64
		if policy == "OFF" {
			if batch%w.n != 0 {
				continue // TensorFlow deals uneven parts in turns there; here a worker chooses its own batches
			}
			got = elements(w.s.DistributeDatasetsFromFunction(func(in distribute.InputContext) (distribute.Dataset, error) {
				require.Equal(t, []int{w.n, w.task.Index, w.n}, []int{in.NumInputPipelines, in.InputPipelineID, in.NumReplicasInSync})
				return (&distribute.ArrayDataset{Examples: numbers(total)}).Batch(batch / w.n), nil
			}))
		} else {
			got = elements(w.s.DistributeDataset((&distribute.ArrayDataset{Examples: numbers(total)}).Batch(batch)))
		}
		var expected [][]float64
		for _, step := range want[name].([]any) {
			expected = append(expected, tfvectors.Values(t, step))
		}
		for i, part := range got { // a worker that has no rows in a last batch
			if i >= len(expected) {
				assert.Empty(t, part, name)
				got = got[:len(expected)]
				break
			}
		}
		assert.Equal(t, fmt.Sprint(expected), fmt.Sprint(got), name) // the others wait for the next case
		tested++
	}
	require.Greater(t, tested, 10)
}
