package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// keras.distribution.DataParallel of Keras 3, recorded on JAX, computes what MirroredStrategy computes here. If the
// batch is not a multiple of the number of devices, Keras fails; GoKeras gives the result of one device.
func TestDataParallelVectors(t *testing.T) {
	tfHandlers{"keras_distribution.data_parallel": dataParallel}.run(t, "testdata/tf_data_parallel.json.gz")
}

func dataParallel(t *testing.T, c *tfvectors.Case) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Name: "d1", Units: 8, Activation: "relu"}, &layers.Dense{Name: "d2", Units: 3}},
		distribute.Scope(tfStrategy(t, "Mirrored", c.Replicas())), keras.InputShape(4))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"},
		Optimizer: tfOptimizer(t, c.Setup["optimizer"])}))
	require.NoError(t, m.SetWeights(tfArrays(t, c.Inputs["initial_weights"])))
	want := c.Right().(map[string]any)
	r := &tfRecorder{m: m}
	source, batch := tfData(t, c, ""), int(tfvectors.Number(t, c.Setup["global_batch"]))
	history, err := m.Fit(context.Background(), source, keras.BatchSize(batch), keras.Shuffle(false), keras.Callbacks(r))
	require.NoError(t, err)
	require.Len(t, r.weights, 2)
	for k, steps := range want["weights_each_step"].([]any) {
		for i, w := range steps.([]any) {
			c.Close(t, "weights", w, r.weights[i][k].Float64s())
		}
	}
	for name, values := range want["history"].(map[string]any) {
		c.Close(t, name, values, history.Logs[name])
	}
	scores, err := m.Evaluate(context.Background(), source, keras.BatchSize(batch))
	require.NoError(t, err)
	for name, value := range want["evaluate"].(map[string]any) {
		c.Close(t, "evaluate "+name, value, []float64{scores[name]})
	}
}
