package keras_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// twoByTwo has the inputs "left" (2) and "right" (1) and the outputs "sum" and "double": with all weights 1, sum is the
// sum of all features and double twice the right one.
func twoByTwo(t testing.TB, options ...keras.Option) *keras.Model {
	t.Helper()
	left := keras.Input(keras.Shape(2), keras.InputName("left"))
	right := keras.Input(keras.Shape(1), keras.InputName("right"))
	both := layers.Apply(&layers.Concatenate{}, left, right)
	sum := layers.Apply(&layers.Dense{Name: "sum", Units: 1, NoBias: true, KernelInitializer: "ones"}, both)
	twice := layers.Apply(&layers.Concatenate{}, right, right)
	double := layers.Apply(&layers.Dense{Name: "double", Units: 1, NoBias: true, KernelInitializer: "ones"}, twice)
	m, err := keras.NewFunctional(keras.Inputs(left, right), keras.Outputs(sum, double), append(options, keras.DTypePolicy("float64"))...)
	require.NoError(t, err)
	return m
}

func frozenRate() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.0} }

var (
	twoLeft  = [][]float64{{1, 2}, {3, 4}}
	twoRight = [][]float64{{10}, {20}}
)

// Inputs and targets may be lists in the model's order or dictionaries in any order.
func TestInputAndTargetForms(t *testing.T) {
	ySum, yDouble := []float64{0, 0}, []float64{1, 1}
	named := func(names []string, arrays ...any) data.Tensors {
		out := data.Tensors{Names: names}
		for _, a := range arrays {
			out.Arrays = append(out.Arrays, denseFrom(t, a))
		}
		return out
	}
	for name, ds := range map[string]data.Dataset{
		"lists":                data.Arrays([]any{twoLeft, twoRight}, []any{ySum, yDouble}),
		"maps":                 data.Arrays(map[string]any{"left": twoLeft, "right": twoRight}, map[string]any{"sum": ySum, "double": yDouble}),
		"names in order":       data.Arrays(named([]string{"left", "right"}, twoLeft, twoRight), named([]string{"sum", "double"}, ySum, yDouble)),
		"names turned":         data.Arrays(named([]string{"right", "left"}, twoRight, twoLeft), named([]string{"double", "sum"}, yDouble, ySum)),
		"list and map":         data.Arrays([]any{twoLeft, twoRight}, map[string]any{"sum": ySum, "double": yDouble}),
		"dataset of maps":      data.FromTensorSlices(map[string]any{"left": twoLeft, "right": twoRight}, map[string]any{"sum": ySum, "double": yDouble}).Batch(2, false),
		"weights for both":     data.Arrays([]any{twoLeft, twoRight}, []any{ySum, yDouble}, data.SampleWeight(ones(2))),
		"more than the inputs": data.Arrays(map[string]any{"left": twoLeft, "up": twoLeft, "right": twoRight}, []any{ySum, yDouble}), // as in Keras
		"weights for each":     data.Arrays([]any{twoLeft, twoRight}, []any{ySum, yDouble}, data.SampleWeight(map[string]any{"sum": ones(2), "double": ones(2)})),
	} {
		m := twoByTwo(t)
		compile(t, m, keras.CompileConfig{Optimizer: frozenRate(), Loss: "mae"})
		h, err := m.Fit(context.Background(), ds)
		require.NoError(t, err, name)
		require.Equal(t, map[string][]float64{"loss": {20 + 29}, "sum_loss": {20}, "double_loss": {29}}, h.Logs, name)
		out, err := m.PredictAll(context.Background(), ds)
		require.NoError(t, err, name)
		require.Equal(t, []float64{13, 27}, out[0].Elements(), name)
		require.Equal(t, []float64{20, 40}, out[1].Elements(), name)
	}
}

func TestNamesThatDoNotFit(t *testing.T) {
	fitting := func(x, y any, options ...data.ArrayOption) func(t *testing.T) error {
		return func(t *testing.T) error {
			m := twoByTwo(t)
			compile(t, m, keras.CompileConfig{Optimizer: frozenRate(), Loss: "mae"})
			return fit(m, data.Arrays(x, y, options...))
		}
	}
	x, y := []any{twoLeft, twoRight}, []any{ones(2), ones(2)}
	checkMistakes(t, []mistake{
		{"missing input", fitting(map[string]any{"left": twoLeft}, y), []string{`needs an array for the input "right"; the data have ["left"]`}},
		{"missing target", fitting(x, map[string]any{"sum": ones(2)}), []string{`needs an array for the target "double"; the data have ["sum"]`}},
		{"unknown target", fitting(x, map[string]any{"sum": ones(2), "double": ones(2), "half": ones(2)}), []string{`has the targets ["sum" "double"]`, `"half"`}},
		{"misspelt target", fitting(x, map[string]any{"sum": ones(2), "duble": ones(2)}), []string{`needs an array for the target "double"; the data have ["duble" "sum"]`}},
		{"weights for one by name", fitting(x, y, data.SampleWeight(map[string]any{"sum": ones(2)})), []string{`needs an array for the sample weight "double"`}},
		{"one input", fitting(twoLeft, y), []string{"has 2 inputs, received 1"}},
		{"three inputs", fitting([]any{twoLeft, twoRight, twoRight}, y), []string{"has 2 inputs, received 3"}},
		{"inputs in the wrong order", fitting([]any{twoRight, twoLeft}, y), []string{`input "left" expects shape (None, 2), received shape (2, 1)`}},
		{"one target", fitting(x, ones(2)), []string{"the data have 1 targets", `["sum" "double"]`}},
		{"three targets", fitting(x, []any{ones(2), ones(2), ones(2)}), []string{"the data have 3 targets"}},
		{"three weights", fitting(x, y, data.SampleWeight([]any{ones(2), ones(2), ones(2)})), []string{"3 arrays of sample weights; expected one, or one for each of the 2 targets"}},
		{"class weights", func(t *testing.T) error {
			m := twoByTwo(t)
			compile(t, m, keras.CompileConfig{Loss: "mae"})
			return fit(m, data.Arrays(x, y), keras.ClassWeight(map[int]float64{1: 2}))
		}, []string{"ClassWeight needs a model with one output", "has 2 outputs"}},
		{"Predict of several outputs", func(t *testing.T) error { return predict(twoByTwo(t), data.Arrays(x, nil)) }, []string{"has 2 outputs; use PredictAll"}},
		{"loss for one output", func(t *testing.T) error {
			return twoByTwo(t).Compile(keras.CompileConfig{Loss: map[string]any{"sum": "mae"}})
		}, []string{`no entry for output "double"`, "or nil to leave it out"}},
		{"losses in a list", func(t *testing.T) error {
			return twoByTwo(t).Compile(keras.CompileConfig{Loss: []any{"mae", "mae", "mae"}})
		}, []string{"Loss: the model has 2 outputs, received a list of 3"}},
		{"metrics in a list", func(t *testing.T) error {
			return twoByTwo(t).Compile(keras.CompileConfig{Loss: "mae", Metrics: []string{"mae"}})
		}, []string{"Metrics: the model has 2 outputs, received a list of 1"}},
	})
}

// The names of results, their numbers, and what losses, weights and metrics given as lists and maps do with them.
func TestSeveralOutputs(t *testing.T) {
	x := []any{twoLeft, twoRight}
	y := []any{[]float64{12, 24}, []float64{22, 44}} // errors 1, 3 and -2, -4
	run := func(c keras.CompileConfig, targets any, options ...data.ArrayOption) map[string][]float64 {
		t.Helper()
		m := twoByTwo(t)
		c.Optimizer = frozenRate()
		compile(t, m, c)
		h, err := m.Fit(context.Background(), data.Arrays(x, targets, options...))
		require.NoError(t, err)
		scores, err := m.Evaluate(context.Background(), data.Arrays(x, targets, options...))
		require.NoError(t, err)
		require.Len(t, scores, len(h.Logs))
		for name, v := range scores {
			require.InDelta(t, h.Logs[name][0], v, 1e-12, name)
		}
		return h.Logs
	}
	require.Equal(t, map[string][]float64{"loss": {8}, "sum_loss": {5}, "double_loss": {3}},
		run(keras.CompileConfig{Loss: []string{"mse", "mae"}}, y))
	require.Equal(t, map[string][]float64{"loss": {2*5 + 0.5*3}, "sum_loss": {5}, "double_loss": {3}},
		run(keras.CompileConfig{Loss: map[string]string{"sum": "mse", "double": "mae"}, LossWeights: map[string]float64{"sum": 2, "double": 0.5}}, y),
		"losses of outputs are shown without their weights")
	require.Equal(t, map[string][]float64{"loss": {5 + 0.5*3}, "sum_loss": {5}, "double_loss": {3}},
		run(keras.CompileConfig{Loss: []any{"mse", "mae"}, LossWeights: []float64{1, 0.5}}, y))
	// One loss alone has no name of its own; weights 1/4 and 3/4 make (1/4·1 + 3/4·3)/2 of it.
	require.Equal(t, map[string][]float64{"loss": {1.25}, "sum_mae": {2}, "sum_mae_1": {2}, "double_mae": {3}, "double_mse": {10}, "sum_weighted_mae": {2.5}},
		run(keras.CompileConfig{
			Loss: map[string]any{"sum": "mae", "double": nil}, WeightedMetrics: map[string][]string{"sum": {"mae"}},
			Metrics: map[string]any{"sum": []string{"mae", "mae"}, "double": []string{"mae", "mse"}},
		}, y, data.SampleWeight([]any{[]float64{0.25, 0.75}, []float64{1, 1}})))
	// One array of weights is for all outputs.
	require.Equal(t, map[string][]float64{"loss": {1.25 + 1.75}, "sum_loss": {1.25}, "double_loss": {1.75}},
		run(keras.CompileConfig{Loss: "mae"}, y, data.SampleWeight([]float64{0.25, 0.75})))
	// Outputs without a loss need no targets: then those of the others are given, in order or by name.
	for _, targets := range []any{[]float64{22, 44}, map[string]any{"double": []float64{22, 44}}} {
		require.Equal(t, map[string][]float64{"loss": {3}}, run(keras.CompileConfig{Loss: []any{nil, "mae"}}, targets))
	}
	require.Equal(t, map[string][]float64{"loss": {3}, "sum_mae": {2}},
		run(keras.CompileConfig{Loss: []any{nil, "mae"}, Metrics: []any{[]string{"mae"}, nil}}, map[string]any{"double": y[1], "sum": y[0]}))
}

// A model that was used with some targets can later be used with others.
func TestOtherTargetsLater(t *testing.T) {
	m := twoByTwo(t)
	compile(t, m, keras.CompileConfig{Optimizer: frozenRate(), Loss: []any{nil, "mae"}})
	x, sum, double := []any{twoLeft, twoRight}, []float64{12, 24}, []float64{22, 44}
	for range 2 {
		for _, y := range []any{double, []any{sum, double}} {
			scores, err := m.Evaluate(context.Background(), data.Arrays(x, y))
			require.NoError(t, err)
			require.Equal(t, map[string]float64{"loss": 3}, scores)
			require.NoError(t, fit(m, data.Arrays(x, y), keras.ValidationData(data.Arrays(x, y))))
		}
	}
}

// A layer applied twice has one set of weights, which receives the gradients of both uses.
func TestSharedLayer(t *testing.T) {
	shared := &layers.Dense{Units: 1, NoBias: true, KernelInitializer: "ones"}
	a, b := keras.Input(keras.Shape(1)), keras.Input(keras.Shape(1))
	out := layers.Apply(&layers.Add{}, layers.Apply(shared, a), layers.Apply(shared, b))
	m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(out), keras.DTypePolicy("float64"))
	require.NoError(t, err)
	require.Len(t, m.Weights(), 1)
	require.Len(t, m.Layers(), 2)
	compile(t, m, keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: "mse"})
	require.NoError(t, fit(m, data.Arrays([]any{[]float64{2}, []float64{3}}, []float64{4})))
	// w = 1: error 1·2 + 1·3 - 4 = 1, gradient 2·1·(2 + 3) = 10.
	require.InDelta(t, 0, weightsOf(t, m)[0].Element(0), 1e-12)
}

// Models are layers: of Sequential and Functional models, several times, frozen and unfrozen.
func TestNestedModels(t *testing.T) {
	inner := sequential(t, []keras.Option{keras.InputShape(2), keras.Name("encoder")}, &layers.Dense{Units: 3, Activation: "tanh"}, &layers.Dense{Units: 2})
	x := data.Arrays(grid(6, 2), nil)
	alone, err := inner.Predict(context.Background(), x)
	require.NoError(t, err)

	stacked := sequential(t, []keras.Option{keras.InputShape(2)}, inner, &layers.Activation{Activation: "linear"})
	got, err := stacked.Predict(context.Background(), x)
	require.NoError(t, err)
	require.Equal(t, alone.Elements(), got.Elements())
	require.Len(t, stacked.Weights(), 4)
	require.Same(t, inner.Weights()[0], stacked.Weights()[0])

	a, b := keras.Input(keras.Shape(2)), keras.Input(keras.Shape(2))
	siamese, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Subtract{}, layers.Apply(inner, a), layers.Apply(inner, b))))
	require.NoError(t, err)
	require.Len(t, siamese.Weights(), 4)
	zero, err := siamese.Predict(context.Background(), data.Arrays([]any{grid(6, 2), grid(6, 2)}, nil))
	require.NoError(t, err)
	require.Equal(t, make([]float32, 12), zero.Elements())

	outer := sequential(t, []keras.Option{keras.InputShape(2)}, stacked, &layers.Dense{Units: 3})
	require.Len(t, outer.Weights(), 6)
	target := data.Arrays(grid(6, 2), cycle(6, 3))
	change := func(m *keras.Model) []bool {
		t.Helper()
		before := weightsOf(t, m)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.5}, Loss: "sparse_categorical_crossentropy"}))
		require.NoError(t, fit(m, target))
		var changed []bool
		for i, w := range weightsOf(t, m) {
			changed = append(changed, string(w.Data) != string(before[i].Data))
		}
		return changed
	}
	softmax := sequential(t, []keras.Option{keras.InputShape(2)}, outer, &layers.Softmax{})
	inner.SetTrainable(false)
	require.Equal(t, []bool{false, false, false, false, true, true}, change(softmax), "transfer learning: the frozen encoder stays")
	require.Len(t, softmax.TrainableVariables(), 2)
	require.Len(t, softmax.NonTrainableVariables(), 4)
	inner.SetTrainable(true)
	require.Equal(t, []bool{true, true, true, true, true, true}, change(softmax), "fine tuning")
	layers.SetTrainable(inner.Layers()[1], false)
	require.Equal(t, []bool{true, true, false, false, true, true}, change(softmax))

	// Freezing takes effect when the model is compiled again.
	inner.SetTrainable(true)
	before := weightsOf(t, softmax)
	require.NoError(t, fit(softmax, target))
	require.Equal(t, before[2].Data, weightsOf(t, softmax)[2].Data, "still as compiled")
}

// A part of a model's graph is a model with the same weights: its first layers, or from an inner tensor to the end.
func TestPartsOfGraph(t *testing.T) {
	in := keras.Input(keras.Shape(2))
	hidden := layers.Apply(&layers.Dense{Units: 3, Activation: "tanh"}, in)
	out := layers.Apply(&layers.Dense{Units: 1}, hidden)
	whole, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out))
	require.NoError(t, err)
	head, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(hidden))
	require.NoError(t, err)
	tail, err := keras.NewFunctional(keras.Inputs(hidden), keras.Outputs(out))
	require.NoError(t, err)
	both, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(hidden, out, in))
	require.NoError(t, err)
	x := denseFrom(t, grid(5, 2))
	run := func(m *keras.Model, x data.Array) []data.Array {
		t.Helper()
		y, err := m.PredictAll(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		return y
	}
	want := run(whole, x)[0]
	middle := run(head, x)[0]
	require.Equal(t, want.Elements(), run(tail, middle)[0].Elements())
	require.Equal(t, []any{middle.Elements(), want.Elements(), x.Elements()}, []any{run(both, x)[0].Elements(), run(both, x)[1].Elements(), run(both, x)[2].Elements()})
	require.Equal(t, []string{"dense", "dense_1", "input_layer"}, both.OutputNames())
}

// An input that no output depends on is allowed, as in Keras.
func TestUnusedInput(t *testing.T) {
	a, b := keras.Input(keras.Shape(2)), keras.Input(keras.Shape(3))
	m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, a)))
	require.NoError(t, err)
	y, err := m.Predict(context.Background(), data.Arrays([]any{grid(4, 2), grid(4, 3)}, nil))
	require.NoError(t, err)
	require.Equal(t, []int{4, 1}, y.Shape())
	compile(t, m, keras.CompileConfig{Loss: "mse"})
	require.NoError(t, fit(m, data.Arrays([]any{grid(4, 2), grid(4, 3)}, ones(4))))
}

// A graph as deep as this needs no deep stack.
func TestDeepGraph(t *testing.T) {
	in := keras.Input(keras.Shape(2))
	h := in
	for range 1000 {
		h = layers.Apply(&layers.Activation{Activation: "linear"}, h)
	}
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(h))
	require.NoError(t, err)
	require.NoError(t, predict(m, data.Arrays(grid(3, 2), nil)))
}

// Dictionaries of tensors name inputs and outputs; they are ordered by name.
func TestDictModel(t *testing.T) {
	b, a := keras.Input(keras.Shape(1)), keras.Input(keras.Shape(1))
	scaled := func(by float64, x *layers.KerasTensor) *layers.KerasTensor {
		return layers.Apply(&layers.Rescaling{Scale: []float64{by}}, x)
	}
	m, err := keras.NewFunctional(keras.Dict(map[string]*layers.KerasTensor{"b": b, "a": a}),
		keras.Dict(map[string]*layers.KerasTensor{"z": scaled(2, a), "y": scaled(3, b)}), keras.DTypePolicy("float64"))
	require.NoError(t, err)
	require.Equal(t, []string{"y", "z"}, m.OutputNames())
	out, err := m.PredictAll(context.Background(), data.Arrays(map[string]any{"b": []float64{10}, "a": []float64{1}}, nil))
	require.NoError(t, err)
	require.Equal(t, []any{[]float64{30}, []float64{2}}, []any{out[0].Elements(), out[1].Elements()})
	compile(t, m, keras.CompileConfig{Optimizer: frozenRate(), Loss: map[string]any{"y": "mae", "z": "mse"}})
	h, err := m.Fit(context.Background(), data.Arrays([]any{[]float64{1}, []float64{10}}, map[string]any{"z": []float64{0}, "y": []float64{0}}))
	require.NoError(t, err)
	require.Equal(t, map[string][]float64{"loss": {34}, "y_loss": {30}, "z_loss": {4}}, h.Logs)
}

// The same model and data with other strategies: replicas change only the last bits.
func TestSeveralOutputsOnReplicas(t *testing.T) {
	train := func(options ...keras.Option) (map[string][]float64, []kernels.Array) {
		m := twoByTwo(t, options...)
		compile(t, m, keras.CompileConfig{
			Optimizer: "adam", Loss: []string{"mse", "mae"}, LossWeights: []float64{1, 0.5},
			Metrics: map[string][]string{"sum": {"mae"}}, WeightedMetrics: map[string][]string{"double": {"mse"}},
		})
		h, err := m.Fit(context.Background(), data.Arrays([]any{[][]float64{{1, 2}, {3, 4}, {5, 6}}, []float64{1, 2, 3}}, []any{[]float64{1, 2, 3}, []float64{3, 2, 1}},
			data.SampleWeight([]any{[]float64{1, 2, 3}, []float64{1, 0, 2}})), keras.Epochs(3), keras.BatchSize(2))
		require.NoError(t, err)
		return h.Logs, weightsOf(t, m)
	}
	want, weights := train()
	got, replicated := train(distribute.Scope(mirrored(t, "cpu:0", "cpu:1")))
	require.Len(t, got, len(want))
	for name := range want {
		require.InDeltaSlice(t, want[name], got[name], 1e-9, name)
	}
	for i := range weights {
		require.InDeltaSlice(t, weights[i].Float64s(), replicated[i].Float64s(), 1e-9)
	}
}
