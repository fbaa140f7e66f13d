package keras_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// A call with training=False keeps the moving statistics while the rest is trained; one with training=True applies
// dropout in predictions. Both also hold after a round trip through a document, and for a document of Keras.
func TestTrainingOfACall(t *testing.T) {
	base := func() *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{&layers.BatchNormalization{Name: "norm"}}, keras.InputShape(2), keras.Name("base"))
		require.NoError(t, err)
		return m
	}
	in := keras.Input(keras.Shape(2))
	for _, form := range []any{false, 0, 0.0} {
		x := layers.ApplyWith(base(), layers.Keywords{"training": form}, in)
		m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 1, KernelInitializer: "ones"}, x)))
		require.NoError(t, err)
		document, err := m.ToJSON()
		require.NoError(t, err)
		again, err := keras.ModelFromJSON(document)
		require.NoError(t, err)
		for _, m := range []*keras.Model{m, again} {
			checkFrozenStatistics(t, m)
		}
	}
	dropped := layers.ApplyWith(&layers.Dropout{Rate: 0.5}, layers.Keywords{"training": true}, in)
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(dropped))
	require.NoError(t, err)
	checkDrops(t, m, slices.Repeat([][]float32{{1, 1}}, 64))

	_, err = keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.ApplyWith(base(), layers.Keywords{"training": "no"}, in)))
	require.ErrorContains(t, err, `argument "training" must be true, false or nil, received no`)
	for _, l := range []layers.Layer{base(), &layers.Dense{Units: 1}} { // the name is checked whatever its value
		require.ErrorContains(t, layers.ApplyWith(l, layers.Keywords{"trainig": false}, in).Err(), `it takes no argument "trainig", received false; did you mean "training"?`)
	}
	require.NoError(t, layers.ApplyWith(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}, layers.Keywords{"use_causal_mask": false, "query_mask": nil}, keras.Input(keras.Shape(3, 2)), keras.Input(keras.Shape(3, 2))).Err())
}

// The argument training of a call also applies to a model that begins on the host.
func TestTrainingOfAStagedCall(t *testing.T) {
	inner, err := keras.NewSequential([]layers.Layer{&layers.StringLookup{Vocabulary: []string{"a"}, OutputMode: layers.OneHotMode, NumOOVIndices: new(0)}, &layers.Dropout{Rate: 0.5}},
		keras.InputShape(1), keras.InputDType("string"))
	require.NoError(t, err)
	in := keras.Input(keras.Shape(1), keras.DType("string"))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.ApplyWith(inner, layers.Keywords{"training": true}, in)))
	require.NoError(t, err)
	words := make([][]string, 128)
	for i := range words {
		words[i] = []string{"a"}
	}
	y, err := m.Predict(context.Background(), data.Arrays(words, nil))
	require.NoError(t, err)
	checkDropped(t, y)
}

// checkFrozenStatistics trains on x = (3, 4), whose mean is not 0: with moving statistics of mean 0 and variance 1 the
// prediction is 7/√1.001.
func checkFrozenStatistics(t *testing.T, m *keras.Model) {
	t.Helper()
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	logs, err := m.TrainOnBatch(context.Background(), data.Arrays([][]float32{{3, 4}, {3, 4}}, [][]float32{{0}, {0}}))
	require.NoError(t, err)
	require.InDelta(t, 49/1.001, logs["loss"], 1e-4)
	for _, v := range m.NonTrainableVariables() {
		a, err := v.Value()
		require.NoError(t, err)
		want := 0.0
		if v.Name() == "moving_variance" {
			want = 1
		}
		require.Equal(t, []float64{want, want}, a.Float64s(), v.Path())
	}
}

// checkDrops predicts 64 pairs of ones, which a dropout of one half turns into zeros and twos.
func checkDrops(t *testing.T, m *keras.Model, x any) {
	t.Helper()
	y, err := m.Predict(context.Background(), data.Arrays(x, nil))
	require.NoError(t, err)
	checkDropped(t, y)
}

// checkDropped checks the result of a dropout of one half for 128 ones.
func checkDropped(t *testing.T, y data.Array) {
	t.Helper()
	sum := 0.0
	for _, v := range y.Float64s() {
		require.True(t, v == 0 || v == 2, v)
		sum += v
	}
	require.Less(t, math.Abs(sum-128), 64.0)
}

// The document of keras.Model(i, Dropout(0.5)(BatchNormalization()(i, training=False), training=True)), as Keras 3.15
// writes the calls. In Keras train_on_batch and predict overrule both: one step on (3, 4) moves the statistics by a
// hundredth towards the mean and the variance, and nothing is dropped in predictions.
func TestTrainingOfACallFromKeras(t *testing.T) {
	tensor := func(name string) string {
		return fmt.Sprintf(`{"class_name":"__keras_tensor__","config":{"shape":[null,2],"dtype":"float32","keras_history":[%q,0,0]}}`, name)
	}
	layer := func(class, name, config, from, training string) string {
		return fmt.Sprintf(`{"module":"keras.layers","class_name":%q,"config":{"name":%q%s},"registered_name":null,"name":%q,"inbound_nodes":[{"args":[%s],"kwargs":{"training":%s}}]}`,
			class, name, config, name, tensor(from), training)
	}
	document := fmt.Sprintf(`{"module":"keras.src.models.functional","class_name":"Functional","config":{"name":"f","trainable":true,"layers":[
		{"module":"keras.layers","class_name":"InputLayer","config":{"batch_shape":[null,2],"dtype":"float32","name":"i"},"registered_name":null,"name":"i","inbound_nodes":[]},
		%s,%s],"input_layers":[["i",0,0]],"output_layers":[["drop",0,0]]},"registered_name":"Functional"}`,
		layer("BatchNormalization", "norm", "", "i", "false"), layer("Dropout", "drop", `,"rate":0.5`, "norm", "true"))
	m, err := keras.ModelFromJSON([]byte(document))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	_, err = m.TrainOnBatch(context.Background(), data.Arrays([][]float32{{3, 4}}, [][]float32{{0, 0}}))
	require.NoError(t, err)
	for i, want := range [][]float64{{0.03, 0.04}, {0.99, 0.99}} {
		a, err := m.NonTrainableVariables()[i].Value()
		require.NoError(t, err)
		require.InDeltaSlice(t, want, a.Float64s(), 1e-6)
	}
	y, err := m.PredictOnBatch(context.Background(), data.Arrays([][]float32{{3, 4}}, nil))
	require.NoError(t, err)
	require.NotContains(t, y.Float64s(), 0.0)
	written, err := m.ToJSON()
	require.NoError(t, err)
	require.Contains(t, string(written), `"training":false`)
	require.Contains(t, string(written), `"training":true`)
	require.NotContains(t, string(written), "training_holds")
}

// Fine-tuning: the base is trained, but its batch normalization keeps its original statistics.
func ExampleModel_fineTuning() {
	base, err := keras.NewSequential([]layers.Layer{&layers.Conv2D{Filters: 4, KernelSize: []int{3}}, &layers.BatchNormalization{}}, keras.InputShape(8, 8, 3), keras.Name("base"))
	check(err)
	base.SetTrainable(false) // first only the new head, later SetTrainable(true) and Compile again
	in := keras.Input(keras.Shape(8, 8, 3))
	x := layers.ApplyWith(base, layers.Keywords{"training": false}, in)
	x = layers.Apply(&layers.GlobalAveragePooling2D{}, x)
	model, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, x)))
	check(err)
	fmt.Println(len(model.TrainableVariables()), "of", len(model.Weights()))
	// Output: 2 of 8
}
