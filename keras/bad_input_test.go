package keras_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// mistake is a call that must fail with an error whose text holds all of want.
type mistake struct {
	name string
	call func(t *testing.T) error
	want []string
}

func checkMistakes(t *testing.T, list []mistake) {
	for _, row := range list {
		t.Run(row.name, func(t *testing.T) {
			err := row.call(t)
			require.Error(t, err)
			for _, part := range row.want {
				assert.Contains(t, err.Error(), part)
			}
			assert.Equal(t, 1, strings.Count(err.Error(), "keras: "), "one prefix: %v", err)
			assert.Empty(t, repeatedPrefix(err.Error()), err.Error())
			assert.NotContains(t, err.Error(), "7919", "a length that stands for an open axis")
		})
	}
}

func fit(m *keras.Model, ds data.Dataset, options ...keras.FitOption) error {
	_, err := m.Fit(context.Background(), ds, options...)
	return err
}

func evaluate(m *keras.Model, ds data.Dataset, options ...keras.EvaluateOption) error {
	_, err := m.Evaluate(context.Background(), ds, options...)
	return err
}

func predict(m *keras.Model, ds data.Dataset, options ...keras.PredictOption) error {
	_, err := m.Predict(context.Background(), ds, options...)
	return err
}

func TestBadData(t *testing.T) {
	x, y := grid(10, 4), cycle(10, 3)
	fitting := func(ds data.Dataset, options ...keras.FitOption) func(t *testing.T) error {
		return func(t *testing.T) error { return fit(classifier(t), ds, options...) }
	}
	outOfRange := []int{0, 1, 2, 0, 1, 2, 0, 1, 2, 3}
	checkMistakes(t, []mistake{
		{"rank of x", fitting(data.Arrays(ones(10), y)), []string{"Fit: sequential/dense: ", "(batch, ..., features)", "received shape [None]"}},
		{"name of x, declared", func(t *testing.T) error {
			return fit(classifier(t, keras.InputShape(4)), data.Arrays(map[string]any{"pixels": x}, y))
		}, []string{`needs an array for the input "input_layer"; the data have ["pixels"]`}},
		{"rank of x, declared", func(t *testing.T) error {
			return fit(classifier(t, keras.InputShape(4)), data.Arrays([][][]float32{x}, []int{1}))
		}, []string{"epoch 1: batch 0: sequential: ", `input "input_layer" expects shape (None, 4), received shape (1, 10, 4)`}},
		{"features", func(t *testing.T) error { return fit(classifier(t, keras.InputShape(5)), data.Arrays(x, y)) },
			[]string{"expects shape (None, 5), received shape (10, 4)"}},
		{"features of a second Fit", func(t *testing.T) error {
			m := classifier(t)
			require.NoError(t, fit(m, data.Arrays(x, y)))
			return fit(m, data.Arrays(grid(10, 5), y))
		}, []string{"sequential/dense: ", "last axis has length 4", "received shape [10 5]"}},
		{"rank of a second Fit", func(t *testing.T) error {
			m := classifier(t)
			require.NoError(t, fit(m, data.Arrays(x, y)))
			return fit(m, data.Arrays(ones(4), []int{0, 1, 2, 0})) // four examples, not one with four features
		}, []string{"sequential: ", `input "input_layer" expects shape (None, None), received shape (4,)`}},
		{"rank in Predict", func(t *testing.T) error {
			m := classifier(t)
			require.NoError(t, m.Build([]int{layers.Unknown, 4}))
			return predict(m, data.Arrays(ones(4), nil))
		}, []string{"expects shape (None, None), received shape (4,)"}},
		{"features in Predict", func(t *testing.T) error { return predict(classifier(t, keras.InputShape(5)), data.Arrays(x, nil)) },
			[]string{"Predict: batch 0: sequential: ", "expects shape (None, 5), received shape (10, 4)"}},
		{"shape of y", fitting(data.Arrays(x, grid(10, 4))), []string{"sparse_categorical_crossentropy: ", "labels have shape [10 4] and predictions [10 3]", "expected"}},
		{"rank of y", fitting(data.Arrays(x, [][][]float32{grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1), grid(1, 1)})),
			[]string{"sparse_categorical_crossentropy: ", "labels have shape [10 1 1]"}},
		{"label too large", fitting(data.Arrays(x, outOfRange)), []string{"epoch 1: batch 0: ", "label 3", "labels are 0 to 2"}},
		{"label negative", fitting(data.Arrays(x, []int{0, 1, 2, 0, 1, 2, 0, 1, 2, -1})), []string{"label -1", "labels are 0 to 2"}},
		{"label in Evaluate", func(t *testing.T) error { return evaluate(classifier(t), data.Arrays(x, outOfRange)) },
			[]string{"Evaluate: batch 0: ", "label 3", "labels are 0 to 2"}},
		{"label in validation", fitting(data.Arrays(x, y), keras.ValidationData(data.Arrays(x, outOfRange))), []string{"epoch 1: validation: batch 0: ", "label 3"}},
		{"label on the second replica", func(t *testing.T) error {
			m := classifier(t, distribute.Scope(mirrored(t, "cpu:0", "cpu:1")))
			return fit(m, data.Arrays(x, outOfRange), keras.Shuffle(false))
		}, []string{"label 3 (element 4 of the labels)", "labels are 0 to 2"}},
		{"label in Evaluate with two replicas", func(t *testing.T) error {
			return evaluate(classifier(t, distribute.Scope(mirrored(t, "cpu:0", "cpu:1"))), data.Arrays(x, outOfRange))
		}, []string{"Evaluate: batch 0: ", "label 3"}},
		{"shape of sample weights", fitting(data.Arrays(x, y, data.SampleWeight(grid(10, 4)))), []string{"sample weights have shape [10 4]", "expected one weight for each example"}},
		{"number of sample weights", fitting(data.Arrays(x, y, data.SampleWeight(ones(9)))), []string{"x has 10 samples but sample_weight has 9"}},
		{"two arrays of sample weights", fitting(data.Arrays(x, y, data.SampleWeight([]any{ones(10), ones(10)}))),
			[]string{"2 arrays of sample weights", "expected one, or one for each of the 1 targets"}},
		{"counts of x and y", fitting(data.Arrays(x, cycle(9, 3))), []string{"x has 10 samples but y has 9"}},
		{"no targets", fitting(data.Arrays(x, nil)), []string{"the data have no targets", "data.Arrays(x, y)"}},
		{"no targets in Evaluate after Fit", func(t *testing.T) error {
			m := classifier(t)
			require.NoError(t, fit(m, data.Arrays(x, y)))
			return evaluate(m, data.Arrays(x, nil))
		}, []string{"Evaluate: ", "the data have no targets"}},
		{"no targets in validation", fitting(data.Arrays(x, y), keras.ValidationData(data.Arrays(x, nil))), []string{"validation: ", "1 inputs and 0 targets"}},
		{"two targets", fitting(data.Arrays(x, []any{y, y})), []string{"2 targets", `outputs ["dense_1"]`}},
		{"two inputs", fitting(data.Arrays([]any{x, x}, y)), []string{"sequential/dense: takes one input, received 2"}},
		{"two inputs, declared", func(t *testing.T) error { return fit(classifier(t, keras.InputShape(4)), data.Arrays([]any{x, x}, y)) },
			[]string{"sequential: the model has 1 inputs, received 2"}},
		{"empty slice", fitting(data.Arrays([][]float32{}, []int{})), []string{"empty", "expected at least one"}},
		{"nil data", fitting(nil), []string{"the data are nil", "data.Arrays(x, y)"}},
		{"nil source", fitting((*data.ArraySource)(nil)), []string{"the data are nil"}},
		{"nil pipeline", fitting((*data.Pipeline)(nil)), []string{"the data are nil"}},
		{"no path", func(t *testing.T) error { _, err := keras.LoadModel(""); return err }, []string{"LoadModel: the path is empty"}},
		{"nil source in Predict", func(t *testing.T) error { return predict(classifier(t), (*data.ArraySource)(nil)) }, []string{"Predict: the data are nil"}},
		{"nil source in TrainOnBatch", func(t *testing.T) error {
			_, err := classifier(t).TrainOnBatch(context.Background(), nil)
			return err
		}, []string{"TrainOnBatch: the data are nil"}},
		{"no batches", fitting(data.Range(0)), []string{"the data are empty; expected at least one batch"}},
		{"no batches in Evaluate", func(t *testing.T) error { return evaluate(classifier(t), data.Range(0)) }, []string{"Evaluate: the data are empty"}},
		{"no batches in Predict", func(t *testing.T) error { return predict(classifier(t), data.Range(0)) }, []string{"Predict: the data are empty"}},
		{"single examples", fitting(data.FromTensorSlices(x, cycle(10, 3)).Map(func(_ context.Context, e data.Batch) (data.Batch, error) { return e, nil })),
			[]string{"target 0: received a scalar", "needs Batch"}},
		{"single examples with targets of several numbers", func(t *testing.T) error {
			return fit(classifier(t, keras.InputShape(4)), data.FromTensorSlices(x, grid(10, 3)))
		}, []string{"target 0 has 3 examples and input 0 has 4", "a dataset of single examples needs Batch"}},
		{"endless data", fitting(data.FromTensorSlices(x, y).Batch(2, false).Repeat(data.Infinite)), []string{"the dataset never ends", "StepsPerEpoch"}},
		{"endless data in Predict", func(t *testing.T) error {
			return predict(classifier(t), data.FromTensorSlices(x, y).Batch(2, false).Repeat(data.Infinite))
		}, []string{"Predict: the dataset never ends", "Steps"}},
		{"data for one epoch only", fitting(&onceOnly{ds: data.FromTensorSlices(x, y).Batch(2, false)}, keras.Epochs(2)),
			[]string{"epoch 2: the data gave no batch", "again in each epoch"}},
		{"batches with other arrays", fitting(uneven{data.Arrays(x, y).All(), data.Arrays(x, nil).All()}), []string{"batch 1: the batch has 1 inputs and 0 targets, where there were 1 and 1"}},
		{"batches of unequal arrays", fitting(uneven{{X: data.List(denseFrom(t, x)), Y: data.List(denseFrom(t, cycle(9, 3)))}}), []string{"target 0 has 9 examples and input 0 has 10"}},
		{"an error of the data", fitting(data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
			return func(yield func(data.Batch, error) bool) { yield(data.Batch{}, errors.New("disk on fire")) }
		})), []string{"disk on fire"}},
		{"split of a dataset", fitting(data.FromTensorSlices(x, y).Batch(3, false), keras.ValidationSplit(0.5)), []string{"ValidationSplit needs data in memory", "ValidationData"}},
		{"split of little", fitting(data.Arrays(x, y), keras.ValidationSplit(0.99)), []string{"leaves 0 for training and 10 for validation"}},
		{"batch size of a dataset", fitting(data.FromTensorSlices(x, y).Batch(3, false), keras.BatchSize(2)), []string{"BatchSize is 2", "brings its own batches"}},
		{"class and sample weights", fitting(data.Arrays(x, y, data.SampleWeight(ones(10))), keras.ClassWeight(map[int]float64{1: 2})), []string{"ClassWeight and sample weights are both given"}},
		{"class and sample weights of a dataset", fitting(data.FromTensorSlices(x, y, data.SampleWeight(ones(10))).Batch(2, false), keras.ClassWeight(map[int]float64{1: 2})),
			[]string{"ClassWeight needs", "data without sample weights"}},
		{"strings", fitting(data.Arrays([]string{"a"}, []int{1})), []string{"x is a []string"}},
	})
}

// onceOnly yields its batches in the first pass only.
type onceOnly struct {
	ds   data.Dataset
	used bool
}

func (o *onceOnly) Batches(ctx context.Context, epoch int) iter.Seq2[data.Batch, error] {
	if o.used {
		return func(func(data.Batch, error) bool) {}
	}
	o.used = true
	return o.ds.Batches(ctx, epoch)
}

// uneven is a dataset of the given batches.
type uneven []data.Batch

func (u uneven) Batches(context.Context, int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for _, b := range u {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func denseFrom(t testing.TB, v any) data.Array {
	t.Helper()
	d, err := data.ToArray(v)
	require.NoError(t, err)
	return d
}

func TestBadOptions(t *testing.T) {
	x, y := grid(10, 4), cycle(10, 3)
	fitting := func(options ...keras.FitOption) func(t *testing.T) error {
		return func(t *testing.T) error { return fit(classifier(t), data.Arrays(x, y), options...) }
	}
	checkMistakes(t, []mistake{
		{"batch size", fitting(keras.BatchSize(-1)), []string{"Fit: BatchSize is -1; expected at least 1"}},
		{"validation batch size", fitting(keras.ValidationBatchSize(-2)), []string{"ValidationBatchSize is -2"}},
		{"steps", fitting(keras.StepsPerEpoch(-1)), []string{"StepsPerEpoch is -1"}},
		{"validation steps", fitting(keras.ValidationSteps(-1)), []string{"ValidationSteps is -1"}},
		{"validation frequency", fitting(keras.ValidationFrequency(0)), []string{"ValidationFrequency is 0"}},
		{"validation epochs", fitting(keras.ValidationEpochs(0, 1)), []string{"ValidationEpochs: epoch 0; epochs count from 1"}},
		{"epochs", fitting(keras.Epochs(-1)), []string{"Epochs is -1"}},
		{"split of everything", fitting(keras.ValidationSplit(1)), []string{"ValidationSplit is 1; expected a fraction"}},
		{"split of NaN", fitting(keras.ValidationSplit(nan())), []string{"ValidationSplit is NaN"}},
		{"verbose", fitting(keras.Verbose(3)), []string{"Verbose is 3; expected 0 (silent), 1 (progress bar) or 2"}},
		{"class", fitting(keras.ClassWeight(map[int]float64{-1: 2})), []string{"ClassWeight: class -1"}},
		{"weight of a class", fitting(keras.ClassWeight(map[int]float64{1: nan()})), []string{"ClassWeight: the weight of class 1 is NaN"}},
		{"nil callback", fitting(keras.Callbacks(nil)), []string{"callback 0 is nil"}},
		{"nil callback pointer", fitting(keras.Callbacks(&callbacks.History{}, (*callbacks.History)(nil))), []string{"callback 1 is nil"}},
		{"steps of Evaluate", func(t *testing.T) error { return evaluate(classifier(t), data.Arrays(x, y), keras.Steps(-1)) },
			[]string{"Evaluate: Steps is -1"}},
		{"steps of Predict", func(t *testing.T) error { return predict(classifier(t), data.Arrays(x, y), keras.Steps(-3)) },
			[]string{"Predict: Steps is -3"}},
		{"nil context", func(t *testing.T) error {
			//lint:ignore SA1012 the mistake under test
			_, err := classifier(t).Fit(nil, data.Arrays(x, y))
			return err
		}, []string{"Fit: the context is nil"}},
		{"nil context in Predict", func(t *testing.T) error {
			//lint:ignore SA1012 the mistake under test
			_, err := classifier(t).Predict(nil, data.Arrays(x, y))
			return err
		}, []string{"Predict: the context is nil"}},
	})
	require.NoError(t, fit(classifier(t), data.Arrays(x, y), nil, keras.Verbose(0), keras.ProgressOutput(nil)), "nil options and writers are none")
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestBadCompile(t *testing.T) {
	x, y := grid(10, 4), cycle(10, 3)
	compiling := func(c keras.CompileConfig) func(t *testing.T) error {
		return func(t *testing.T) error {
			m := sequential(t, nil, &layers.Dense{Units: 3, Name: "logits"})
			if err := m.Compile(c); err != nil {
				return err
			}
			return fit(m, data.Arrays(x, y))
		}
	}
	mae := &metrics.SparseCategoricalAccuracy{}
	checkMistakes(t, []mistake{
		{"Compile forgotten", func(t *testing.T) error {
			return fit(sequential(t, nil, &layers.Dense{Units: 3}), data.Arrays(x, y))
		}, []string{`Fit: model "sequential" is not compiled; call Compile`}},
		{"Compile forgotten in Evaluate", func(t *testing.T) error {
			return evaluate(sequential(t, nil, &layers.Dense{Units: 3}), data.Arrays(x, y))
		}, []string{`Evaluate: model "sequential" is not compiled`}},
		{"no loss", compiling(keras.CompileConfig{Optimizer: "sgd"}), []string{"there is no loss to train on", "CompileConfig.Loss"}},
		{"name of the optimizer", compiling(keras.CompileConfig{Optimizer: "sdg"}), []string{`unknown optimizer "sdg"; did you mean "SGD"? known: `, "SGD"}},
		{"type of the optimizer", compiling(keras.CompileConfig{Optimizer: 3}), []string{"optimizers: received the number 3; expected an optimizers.Optimizer or a name"}},
		{"optimizer without pointer", compiling(keras.CompileConfig{Optimizer: optimizers.Adam{}}), []string{"received an optimizers.Adam; pass a pointer, as in &optimizers.Adam{}"}}, //nolint:govet // the mistake under test
		{"integer learning rate", compiling(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 1}}), []string{"learning rate must be a float", "write 1.0"}},
		{"nil optimizer pointer", compiling(keras.CompileConfig{Optimizer: (*optimizers.Adam)(nil), Loss: "mse"}), []string{"Compile: optimizers: received a nil *optimizers.Adam; expected an optimizers.Optimizer or a name"}},
		{"nil loss pointer", compiling(keras.CompileConfig{Loss: (*losses.Huber)(nil)}), []string{"Compile: losses: received a nil *losses.Huber; expected a losses.Loss, a name"}},
		{"nil loss function", compiling(keras.CompileConfig{Loss: (func(yTrue, yPred *ops.Tensor) *ops.Tensor)(nil)}), []string{"losses: received a nil func("}},
		{"nil metric pointer", compiling(keras.CompileConfig{Loss: "mse", Metrics: []any{(*metrics.AUC)(nil)}}), []string{"metrics: received a nil *metrics.AUC; expected a metrics.Metric, a name"}},
		{"nil schedule pointer", compiling(keras.CompileConfig{Loss: "mse", Optimizer: &optimizers.SGD{LearningRate: (*schedules.CosineDecay)(nil)}}), []string{"received a nil *schedules.CosineDecay"}},
		{"name of the loss", compiling(keras.CompileConfig{Loss: "mes"}), []string{`unknown loss "mes"; did you mean "mse"? known: `, "mse"}},
		{"type of the loss", compiling(keras.CompileConfig{Loss: 3}), []string{"losses: received the number 3; expected a losses.Loss, a name"}},
		{"loss without pointer", compiling(keras.CompileConfig{Loss: losses.MeanSquaredError{}}), []string{"pass a pointer, as in &losses.MeanSquaredError{}"}},
		{"two losses", compiling(keras.CompileConfig{Loss: []string{"mse", "mae"}}), []string{"a list of 2 losses", "the model has 1 outputs"}},
		{"loss of an unknown output", compiling(keras.CompileConfig{Loss: map[string]any{"zz": "mse"}}), []string{`there is no output "zz"; the outputs are ["logits"]`}},
		{"name of a metric", compiling(keras.CompileConfig{Loss: "mse", Metrics: []string{"acuracy"}}), []string{`unknown metric "acuracy"; did you mean "accuracy"? known: `, "accuracy, "}},
		{"type of a metric", compiling(keras.CompileConfig{Loss: "mse", Metrics: 3}), []string{"metrics: received the number 3; expected a metrics.Metric, a name"}},
		{"metric without pointer", compiling(keras.CompileConfig{Loss: "mse", Metrics: []any{metrics.SparseCategoricalAccuracy{}}}), []string{"pass a pointer, as in &metrics.SparseCategoricalAccuracy{}"}},
		{"metric of an unknown output", compiling(keras.CompileConfig{Loss: "sparse_categorical_crossentropy", Metrics: map[string][]string{"q": {"accuracy"}}}), []string{`there is no output "q"; the outputs are ["logits"]`}},
		{"one metric twice", compiling(keras.CompileConfig{Loss: "sparse_categorical_crossentropy", Metrics: []any{mae, mae}}), []string{"the same *metrics.SparseCategoricalAccuracy is given twice"}},
		{"number of loss weights", compiling(keras.CompileConfig{Loss: "sparse_categorical_crossentropy", LossWeights: []float64{1, 2}}), []string{`LossWeights: output "logits"`, "expected one number"}},
		{"type of loss weights", compiling(keras.CompileConfig{Loss: "sparse_categorical_crossentropy", LossWeights: "1"}), []string{`LossWeights: output "logits"`, "of type string"}},
		{"steps per execution", compiling(keras.CompileConfig{Loss: "mse", StepsPerExecution: -1}), []string{"StepsPerExecution is -1; expected 1 or more"}},
		{"optimizer of another model", func(t *testing.T) error {
			o := &optimizers.SGD{}
			var err error
			for range 2 {
				m := sequential(t, nil, &layers.Dense{Units: 3})
				compile(t, m, keras.CompileConfig{Optimizer: o, Loss: &losses.SparseCategoricalCrossentropy{}})
				err = fit(m, data.Arrays(x, y))
			}
			return err
		}, []string{"dense/kernel is unknown", "make a new one"}},
		{"optimizer state before the model is built", func(t *testing.T) error {
			m := classifier(t)
			return m.SetOptimizerArrays([]kernels.Array{})
		}, []string{"no weights yet; build it first"}},
	})
}

func TestBadModels(t *testing.T) {
	building := func(stack ...layers.Layer) func(t *testing.T) error {
		return func(*testing.T) error {
			_, err := keras.NewSequential(stack, keras.InputShape(4))
			return err
		}
	}
	shared := &layers.Dense{Units: 2}
	input := func() *layers.KerasTensor { return keras.Input(keras.Shape(4)) }
	functional := func(in, out keras.Tensors, options ...keras.Option) error {
		_, err := keras.NewFunctional(in, out, options...)
		return err
	}
	checkMistakes(t, []mistake{
		{"activation", building(&layers.Dense{Units: 2, Activation: "rellu"}), []string{"sequential/dense: ", `unknown activation "rellu"; did you mean "relu"? known: `}},
		{"initializer", building(&layers.Dense{Units: 2, KernelInitializer: "glorot"}), []string{`sequential/dense: weight "kernel": `, `unknown initializer "glorot"`}},
		{"regularizer", building(&layers.Dense{Units: 2, KernelRegularizer: "l3"}), []string{`unknown regularizer "l3"`}},
		{"dtype of a layer", building(&layers.Dense{Units: 2, DType: "float31"}), []string{"dense: ", `unknown dtype policy "float31"; known: `}},
		{"dtype of a model", func(*testing.T) error {
			_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.DTypePolicy("float31"))
			return err
		}, []string{`unknown dtype policy "float31"; known: `}},
		{"integer dtype of a model", func(*testing.T) error {
			_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.DTypePolicy("int32"))
			return err
		}, []string{"must be one of floats", `"int32"`}},
		{"dtype of an input", func(*testing.T) error {
			_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(4), keras.InputDType("float31"))
			return err
		}, []string{"InputDType", "float31"}},
		{"units", building(&layers.Dense{}), []string{"sequential/dense: Units must be positive, received 0"}},
		{"absurd units", building(&layers.Dense{Units: 1 << 62}), []string{"sequential/dense: ", "Units is 4611686018427387904; expected a number between"}},
		{"absurd weight", building(&layers.Embedding{InputDim: 1<<31 - 1, OutputDim: 1<<31 - 1}), []string{"sequential/embedding: ", `weight "embeddings"`, "more than a machine can address"}},
		{"nil layer", building(nil), []string{"layer 0 of the Sequential model is nil"}},
		{"nil pointer", building(shared, (*layers.Dense)(nil)), []string{"layer 1 of the Sequential model is nil"}},
		{"one layer twice", building(shared, shared), []string{"layers 0 and 1 of the Sequential model are the same Dense", "Functional"}},
		{"names", building(&layers.Dense{Units: 2, Name: "a"}, &layers.Dropout{Name: "a"}), []string{`two layers are named "a" (a Dense and a Dropout)`, "unique"}},
		{"slash in a name", building(&layers.Dense{Units: 2, Name: "a/b"}), []string{`name "a/b" contains "/"`}},
		{"shape of the input", func(*testing.T) error {
			_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(-2))
			return err
		}, []string{"axis 1", "expected a length of at least 0"}},
		{"open features", func(*testing.T) error {
			_, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(layers.Unknown))
			return err
		}, []string{"sequential/dense: ", `weight "kernel" would have the shape [None 2]`}},
		{"no layers", func(t *testing.T) error {
			m := sequential(t, nil)
			compile(t, m, keras.CompileConfig{Loss: "mse"})
			return fit(m, data.Arrays(grid(2, 4), cycle(2, 3)))
		}, []string{"sequential: the Sequential model has no layers"}},
		{"Add of the model itself", func(t *testing.T) error { m := classifier(t); return m.Add(m) }, []string{`contains model "sequential" itself`}},
		{"Add of a layer twice", func(t *testing.T) error { m := classifier(t); return m.Add(m.Layers()[0]) }, []string{`layer "dense" is in the model already`}},
		{"Add of nil", func(t *testing.T) error { return classifier(t).Add(nil) }, []string{"the layer is nil"}},
		{"Add of what does not fit", func(t *testing.T) error {
			return classifier(t, keras.InputShape(4)).Add(&layers.Conv2D{Filters: 1, KernelSize: []int{2}})
		},
			[]string{"Add: sequential/conv2d: "}},
		{"Pop of nothing", func(t *testing.T) error { _, err := sequential(t, nil).Pop(); return err }, []string{"no top layer"}},
		{"unknown layer", func(t *testing.T) error { _, err := classifier(t).GetLayer("dens"); return err }, []string{`no layer "dens"; did you mean "dense"? its layers are ["dense" "dense_1"]`}},

		{"no tensors", func(*testing.T) error { return functional(keras.Inputs(), keras.Outputs()) }, []string{"at least one input and one output, received 0 and 0"}},
		{"nil tensors", func(*testing.T) error { return functional(keras.Inputs(nil), keras.Outputs(nil)) }, []string{"input 0: ", "nil"}},
		{"apply to nil", func(*testing.T) error {
			return functional(keras.Inputs(input()), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, nil)))
		}, []string{"input 0 of a Dense is nil"}},
		{"apply nil", func(*testing.T) error {
			x := input()
			return functional(keras.Inputs(x), keras.Outputs(layers.Apply((*layers.Dense)(nil), x)))
		}, []string{"a layer is nil"}},
		{"apply to nothing", func(*testing.T) error {
			return functional(keras.Inputs(input()), keras.Outputs(layers.Apply(&layers.Dense{Units: 1})))
		}, []string{"dense: called without inputs"}},
		{"a mistake far from the model", func(*testing.T) error {
			x := input()
			h := layers.ApplyAll(&layers.LSTM{Units: 3, ReturnState: true}, x)[2]
			return functional(keras.Inputs(x), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, h)))
		}, []string{"lstm: ", "[None 4]"}},
		{"disconnected", func(*testing.T) error {
			return functional(keras.Inputs(input()), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, keras.Input(keras.Shape(4), keras.InputName("other")))))
		}, []string{`the outputs depend on input "other" (None, 4) float32, which is not among the model's inputs`}},
		{"an input without a name is not listed", func(*testing.T) error {
			x := input()
			sum := layers.Apply(&layers.Add{Name: "sum"}, x, input())
			return functional(keras.Inputs(x), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, sum)))
		}, []string{`the outputs depend on the unnamed input (None, 4) float32 that is input 1 of layer "sum", which is not among the model's inputs`}},
		{"an output that is an input is not listed", func(*testing.T) error {
			return functional(keras.Inputs(input()), keras.Outputs(input()))
		}, []string{"the unnamed input (None, 4) float32 that is itself an output"}},
		{"one input twice", func(*testing.T) error {
			x := input()
			return functional(keras.Inputs(x, x), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, x)))
		}, []string{"listed twice"}},
		{"dtype of an Input", func(*testing.T) error {
			x := keras.Input(keras.Shape(4), keras.DType("float31"), nil)
			return functional(keras.Inputs(x), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, x)))
		}, []string{"float31"}},

		{"value nil", func(*testing.T) error { _, err := keras.NewModel(nil); return err }, []string{"NewModel: the value is nil"}},
		{"value without Call", func(*testing.T) error { _, err := keras.NewModel(3); return err }, []string{"int has no method Call", "add Call(c *layers.Context"}},
		{"Call of another form", func(*testing.T) error { _, err := keras.NewModel(wrongCall{}); return err }, []string{"has the form func(int) int; expected"}},
	})
}

type wrongCall struct{}

func (wrongCall) Call(n int) int { return n }

func TestBadDevices(t *testing.T) {
	for _, row := range []struct {
		devices []string
		want    string
	}{
		{[]string{"gpu:0"}, `no backend for device kind "gpu" is linked into this program; it has: `},
		{[]string{"cpu:x"}, `device "cpu:x": the index after the colon must be a number`},
		{[]string{"cpu:-1"}, `device "cpu:-1"`},
		{[]string{""}, `device ""`},
		{[]string{"cpu:0", "CPU:0"}, "device cpu:0 is listed twice"},
		{[]string{}, "the list of devices is empty"},
	} {
		_, err := distribute.NewMirroredStrategy(row.devices...)
		require.ErrorContains(t, err, row.want, "%q", row.devices)
	}
	_, err := distribute.NewOneDeviceStrategy("tpu:0")
	require.ErrorContains(t, err, `no backend for device kind "tpu"`)
}

// A layer may be in two models of one strategy, which then share its weights; with two strategies it is an error.
func TestLayerInTwoModels(t *testing.T) {
	x := data.Arrays(grid(3, 4), nil)
	two := mirrored(t, "cpu:0", "cpu:1")
	for _, options := range [][]keras.Option{{keras.InputShape(4)}, nil} {
		d := &layers.Dense{Units: 2}
		a := sequential(t, options, d)
		b := sequential(t, options, d)
		require.NoError(t, predict(a, x))
		require.NoError(t, predict(b, x))
		require.Same(t, a.Weights()[0], b.Weights()[0])

		c, err := keras.NewSequential([]layers.Layer{d}, append(options, distribute.Scope(two))...)
		if err == nil {
			err = predict(c, x)
		}
		require.ErrorContains(t, err, "belongs to Default(cpu:0) and cannot be used under another strategy, Mirrored(cpu:0, cpu:1) made at keras/helpers_test.go:")
	}
}

// A model whose build failed can be built for other data: no layer keeps weights of the failed attempt.
func TestBuildAgainAfterFailure(t *testing.T) {
	m := sequential(t, nil, &layers.Dense{Units: 6}, &layers.Reshape{TargetShape: []int{2, 3}}, &layers.LSTM{Units: 2}, &layers.Embedding{InputDim: 3, OutputDim: 2})
	require.ErrorContains(t, predict(m, data.Arrays([][][]float32{grid(2, 4)}, nil)), "reshape")
	require.Empty(t, m.Weights())
	m = classifier(t)
	require.Error(t, fit(m, data.Arrays(ones(3), cycle(3, 3))))
	require.Empty(t, m.Weights())
	require.NoError(t, fit(m, data.Arrays(grid(3, 7), cycle(3, 3))))
	require.Equal(t, "[7 5]", m.Weights()[0].Type().Shape.String())

	in := keras.Input(keras.Shape(4))
	d := &layers.Dense{Units: 2, BiasInitializer: "no such"}
	require.ErrorContains(t, layers.Apply(d, in).Err(), "no such")
	d.BiasInitializer = nil
	out := layers.Apply(d, in)
	require.NoError(t, out.Err())
	require.Len(t, layers.Weights(d), 2, "the kernel of the failed attempt is gone")
}

// Batches larger than the data are one batch; the size itself requires no memory.
func TestBatchLargerThanData(t *testing.T) {
	x, y := grid(10, 4), cycle(10, 3)
	want, err := classifier(t).Fit(context.Background(), data.Arrays(x, y), keras.Shuffle(false), keras.BatchSize(10))
	require.NoError(t, err)
	for _, size := range []int{11, 1 << 20, 1 << 62} {
		got, err := classifier(t).Fit(context.Background(), data.Arrays(x, y), keras.Shuffle(false), keras.BatchSize(size), keras.ValidationBatchSize(size))
		require.NoError(t, err)
		require.Equal(t, want.Logs, got.Logs)
	}
}

// Sizes that do not fit into any memory are errors, and do not end the process.
func TestAbsurdMemory(t *testing.T) {
	wide := sequential(t, nil, &layers.Dense{Units: 1 << 40})
	compile(t, wide, keras.CompileConfig{Loss: "mse", Optimizer: "sgd"})
	require.ErrorContains(t, predict(wide, data.Arrays(grid(1, 4), nil)), "Units is 1099511627776; expected a number between -2147483647 and 2147483647")

	deep := sequential(t, []keras.Option{keras.InputShape(1)}, &layers.RepeatVector{N: 1 << 22}, &layers.Flatten{}, &layers.RepeatVector{N: 1 << 18}, &layers.GlobalMaxPooling1D{})
	err := predict(deep, data.Arrays(grid(64, 1), nil))
	require.ErrorContains(t, err, "memory")

	long := sequential(t, []keras.Option{keras.InputShape(1)}, &layers.RepeatVector{N: 1 << 28}, &layers.Dense{Units: 64, Activation: "tanh"}, &layers.Dense{Units: 64})
	err = predict(long, data.Arrays(grid(64, 1), nil))
	require.ErrorContains(t, err, `its largest value: float32[32 268435456 64] of layer "sequential/dense"`)
	require.ErrorContains(t, err, "of this machine or process; use smaller batches, fewer examples in a call, or smaller layers")
}

// After a label out of range no weight has changed on any replica, and training continues with good data.
func TestFailedStepChangesNothing(t *testing.T) {
	for _, devices := range [][]string{{"cpu:0"}, {"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1", "cpu:2"}} {
		t.Run(fmt.Sprint(len(devices)), func(t *testing.T) {
			m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 5, Activation: "relu"}, &layers.BatchNormalization{Synchronized: len(devices) == 3},
				&layers.Dense{Units: 3}}, keras.InputShape(4), distribute.Scope(mirrored(t, devices...)))
			require.NoError(t, err)
			compile(t, m, keras.CompileConfig{Optimizer: &optimizers.Adam{}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}})
			x, y := grid(10, 4), cycle(10, 3)
			require.NoError(t, fit(m, data.Arrays(x, y)))
			before, err := m.GetWeights()
			require.NoError(t, err)
			state, err := m.OptimizerArrays()
			require.NoError(t, err)
			for i := range y {
				bad := append([]int{}, y...)
				bad[i] = 9
				require.ErrorContains(t, fit(m, data.Arrays(x, bad), keras.Shuffle(false)), "labels are 0 to 2")
				after, err := m.GetWeights()
				require.NoError(t, err)
				require.Equal(t, before, after)
				slots, err := m.OptimizerArrays()
				require.NoError(t, err)
				require.Equal(t, state, slots)
			}
			require.NoError(t, fit(m, data.Arrays(x, y)))
			after, err := m.GetWeights()
			require.NoError(t, err)
			require.NotEqual(t, before, after)
		})
	}
}

func TestSetWeightsAllOrNothing(t *testing.T) {
	m := classifier(t, keras.InputShape(4))
	before, err := m.GetWeights()
	require.NoError(t, err)
	zeros := func() []data.Array {
		var out []data.Array
		for _, w := range before {
			out = append(out, data.Must(data.Zeros[float32](w.Shape()...)))
		}
		return out
	}
	bad := func(change func(w []data.Array) []data.Array) error { return m.SetWeights(change(zeros())) }
	for _, row := range []struct {
		want string
		err  error
	}{
		{"has 4 weights, received 3", bad(func(w []data.Array) []data.Array { return w[:3] })},
		{"weight 3, dense_1/bias, has shape [3], received shape [4]", bad(func(w []data.Array) []data.Array {
			w[3] = data.Must(data.Zeros[float32](4))
			return w
		})},
		{"weight 2, dense_1/kernel: ", bad(func(w []data.Array) []data.Array { w[2] = data.Array{}; return w })},
		{"has 4 weights, received 0", m.SetWeights(nil)},
	} {
		require.ErrorContains(t, row.err, row.want)
		after, err := m.GetWeights()
		require.NoError(t, err)
		require.Equal(t, before, after, row.want)
	}
	weights := zeros()
	weights[0].Data = weights[0].Data[:4]
	require.ErrorContains(t, m.SetWeights(weights), "keras: SetWeights: weight 0, dense/kernel: an array of type float32[4 5] has 4 bytes; expected 80")
}

// panicking, nothing and lazy are models with mistakes in their Call.
type (
	panicking struct{ Head *layers.Dense }
	nothing   struct{ Head *layers.Dense }
	none      struct{}
	outside   struct{ head *layers.Dense }
	lazy      struct{ N int }
	recursive struct {
		Head *layers.Dense
		Self *keras.Model
	}
)

func (p *panicking) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	var counts map[string]int
	//lint:ignore SA5000 the mistake under test
	counts["calls"]++
	return layers.Invoke(p.Head, c, x)
}
func (n *nothing) Call(*layers.Context, *ops.Tensor) *ops.Tensor { return nil }
func (none) Call(*layers.Context, *ops.Tensor) []*ops.Tensor     { return nil }
func (o *outside) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(o.head, c, x)
}
func (l *lazy) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke((&layers.Dense{Units: l.N}), c, x)
}
func (r *recursive) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return r.Self.Call(c, layers.Invoke(r.Head, c, x))
}

func TestBadCalls(t *testing.T) {
	fitting := func(value any) func(t *testing.T) error {
		return func(t *testing.T) error {
			m, err := keras.NewModel(value)
			require.NoError(t, err)
			compile(t, m, keras.CompileConfig{Loss: "mse"})
			return fit(m, data.Arrays(grid(3, 4), ones(3)))
		}
	}
	checkMistakes(t, []mistake{
		{"panic", fitting(&panicking{&layers.Dense{Units: 1}}), []string{"panicking: Call panicked: assignment to entry in nil map"}},
		{"nil", fitting(&nothing{&layers.Dense{Units: 1}}), []string{"nothing: Call returned nil as result 0"}},
		{"no results", fitting(none{}), []string{"none: Call returned no tensors"}},
		{"layer in an unexported field", fitting(&outside{&layers.Dense{Units: 1}}), []string{`model "outside" uses the variable dense/kernel of a layer that is not among its layers`, "exported field"}},
		{"layer made inside", fitting(&lazy{1}), []string{"dense/kernel", "make the layer before the model is made"}},
		{"custom layer that returns nil", func(t *testing.T) error {
			_, err := keras.NewSequential([]layers.Layer{&emptyLayer{}}, keras.InputShape(4))
			return err
		}, []string{"sequential/empty_layer: Forward returned 1 tensors, nil among them"}},
		{"model inside itself", func(t *testing.T) error {
			r := &recursive{Head: &layers.Dense{Units: 4}}
			m, err := keras.NewModel(r)
			require.NoError(t, err)
			r.Self = m
			return predict(m, data.Arrays(grid(3, 4), nil))
		}, []string{"nested more than 200 deep", "contain itself"}},
	})

	err := fitting(&panicking{&layers.Dense{Units: 1}})(t)
	var p *keras.PanicError
	require.ErrorAs(t, err, &p)
	require.Contains(t, string(p.Stack), "bad_input_test.go")
	require.ErrorContains(t, p, "assignment to entry in nil map")
}

type emptyLayer struct{ layers.Base }

func (l *emptyLayer) Forward(*layers.Context, []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{nil} }
