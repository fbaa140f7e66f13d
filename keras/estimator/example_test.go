package estimator_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// folder is a new folder; the returned function removes it.
func folder() (string, func()) {
	dir, err := os.MkdirTemp("", "estimator")
	check(err)
	return dir, func() { check(os.RemoveAll(dir)) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ones(distribute.InputContext) (data.Dataset, error) {
	return data.FromTensorSlices(map[string]any{"feats": [][]float32{{1}}}, [][]float32{{1}}).Repeat(1000).Batch(10, false), nil
}

// scale is a model of one weight.
func scale(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, params estimator.Params) (estimator.EstimatorSpec, error) {
	w := c.GetVariable(distribute.VariableSpec{Name: "w", Shape: ir.Shape{1}, DType: ir.Float32})
	y := ops.Multiply(features.Get("feats"), c.Read(w))
	spec := estimator.EstimatorSpec{Mode: mode, Predictions: map[string]*ops.Tensor{"y": y}}
	if mode == estimator.PREDICT {
		return spec, nil
	}
	spec.Loss = ops.Mean(ops.Square(ops.Subtract(y, labels)))
	spec.EvalMetricOps = map[string]estimator.MetricOp{
		"mae":    {Metric: &metrics.MeanAbsoluteError{}, Labels: labels, Predictions: y},
		"mean_y": estimator.MeanOp(y, nil),
	}
	if mode == estimator.TRAIN {
		spec.TrainOp = c.Minimize(&optimizers.SGD{LearningRate: params["rate"]}, spec.Loss)
	}
	return spec, nil
}

func Example() {
	dir, remove := folder()
	defer remove()
	strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	check(err)
	regressor, err := estimator.NewLinearRegressor(estimator.LinearRegressor{
		FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}},
		Optimizer:      "SGD",
		Config:         estimator.RunConfig{TrainDistribute: strategy, EvalDistribute: strategy, ModelDir: dir},
	})
	check(err)
	check(regressor.Train(context.Background(), ones, estimator.Steps(1)))
	results, err := regressor.Evaluate(context.Background(), ones, estimator.Steps(1))
	check(err)
	fmt.Printf("step %v: loss %.4f\n", results["global_step"], results["loss"])
	// Output: step 1: loss 0.0400
}

func ExampleEstimator() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	ctx := context.Background()
	check(e.Train(ctx, ones, estimator.Steps(2)))
	results, err := e.Evaluate(ctx, ones)
	check(err)
	fmt.Printf("mae %.2f, mean_y %.2f\n", results["mae"], results["mean_y"])
	for prediction, err := range e.Predict(ctx, ones) {
		check(err)
		fmt.Println(prediction["y"])
		break
	}
	w, err := e.VariableValue("w")
	check(err)
	fmt.Println("w =", w)
	// Output:
	// mae 0.25, mean_y 0.75
	// [0.75]
	// w = [0.75]
}

func ExampleTrainAndEvaluate() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	results, err := estimator.TrainAndEvaluate(context.Background(), e,
		estimator.TrainSpec{InputFn: ones, MaxSteps: new(3)}, estimator.EvalSpec{InputFn: ones, Steps: new(10)})
	check(err)
	fmt.Printf("%.4f\n", results["loss"])
	// Output: 0.0156
}

func ExampleOnce() {
	dir, remove := folder()
	defer remove()
	modelFn := func(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
		spec := estimator.EstimatorSpec{Mode: mode}
		model, err := estimator.Once(c, "model", func() (*keras.Model, error) {
			return keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "zeros"}},
				distribute.Scope(c.Strategy()), keras.InputShape(1), keras.Seed(c.Seed()))
		})
		if err != nil {
			return spec, err
		}
		y := model.Call(c.Layers(), features.First())
		spec.Loss = ops.Mean(ops.Square(ops.Subtract(y, labels)))
		if mode == estimator.TRAIN {
			spec.TrainOp = c.Minimize(&optimizers.SGD{LearningRate: 0.2}, spec.Loss, model.TrainableVariables()...)
		}
		return spec, nil
	}
	e, err := estimator.New(modelFn, estimator.RunConfig{ModelDir: dir}, nil)
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(1)))
	results, err := e.Evaluate(context.Background(), ones)
	check(err)
	fmt.Printf("%.4f\n", results["loss"])
	// Output: 0.0400
}

func ExampleModelToEstimator() {
	dir, remove := folder()
	defer remove()
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "zeros"}}, keras.InputShape(1))
	check(err)
	check(model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.2}, Loss: "mse", Metrics: []string{"mae"}}))
	e, err := estimator.ModelToEstimator(model, estimator.RunConfig{ModelDir: dir})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(1)))
	results, err := e.Evaluate(context.Background(), ones, estimator.Steps(3))
	check(err)
	fmt.Printf("loss %.2f, mae %.2f\n", results["loss"], results["mae"])
	// Output: loss 0.04, mae 0.20
}

func ExampleSessionRunHook() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir, SaveCheckpointsSteps: 2}, estimator.Params{"rate": 0.25})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Hooks(
		&estimator.LoggingTensorHook{Output: os.Stdout, Tensors: []string{"loss"}, AtEnd: true},
		&estimator.StopAtStepHook{LastStep: 5},
	), estimator.SavingListeners(func(s *estimator.Session, step int64) error {
		fmt.Println("saved", step)
		return nil
	})))
	latest, err := e.LatestCheckpoint()
	check(err)
	fmt.Println(filepath.Base(latest))
	// Output:
	// saved 0
	// saved 2
	// saved 4
	// saved 5
	// step = 5, loss = 0.00390625
	// model.ckpt-5
}

func ExampleNewDNNClassifier() {
	dir, remove := folder()
	defer remove()
	city := estimator.CategoricalColumnWithVocabularyList{Key: "city", Vocabulary: []string{"Oslo", "Rome", "Cairo"}}
	age := estimator.BucketizedColumn{Source: estimator.NumericColumn{Key: "age"}, Boundaries: []float64{18, 65}}
	classifier, err := estimator.NewDNNClassifier(estimator.DNNClassifier{
		HiddenUnits: []int{8},
		FeatureColumns: []estimator.FeatureColumn{
			estimator.EmbeddingColumn{Categorical: city, Dimension: 3}, age,
			estimator.IndicatorColumn{Categorical: estimator.CrossedColumn{Keys: []any{"city", age}, HashBucketSize: 20}},
		},
		LabelVocabulary: []string{"cold", "hot"},
		Config:          estimator.RunConfig{ModelDir: dir, TFRandomSeed: 1},
	})
	check(err)
	x := map[string]any{"city": [][]string{{"Oslo"}, {"Rome"}, {"Cairo"}, {"Oslo"}}, "age": [][]float32{{10}, {30}, {70}, {40}}}
	y, err := data.Text([]string{"cold", "hot", "hot", "cold"})
	check(err)
	ctx := context.Background()
	check(classifier.Train(ctx, func(distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(x, y).Repeat(-1).Batch(4, false), nil
	}, estimator.Steps(100)))
	for p, err := range classifier.Predict(ctx, func(distribute.InputContext) (data.Dataset, error) { return data.Arrays(x, nil), nil }) {
		check(err)
		class, _, err := data.Strings(p["classes"])
		check(err)
		fmt.Println(class[0])
	}
	// Output:
	// cold
	// hot
	// hot
	// cold
}

func ExampleNewLinearClassifier() {
	dir, remove := folder()
	defer remove()
	classifier, err := estimator.NewLinearClassifier(estimator.LinearClassifier{
		FeatureColumns: []estimator.FeatureColumn{
			estimator.CategoricalColumnWithHashBucket{Key: "word", HashBucketSize: 100},
			estimator.CategoricalColumnWithIdentity{Key: "grade", Buckets: 5},
		},
		Config: estimator.RunConfig{ModelDir: dir},
	})
	check(err)
	input := func(distribute.InputContext) (data.Dataset, error) {
		return data.FromTensorSlices(map[string]any{"word": [][]string{{"good"}, {"bad"}}, "grade": [][]int64{{4}, {1}}}, []int64{1, 0}).Repeat(50).Batch(2, false), nil
	}
	check(classifier.Train(context.Background(), input))
	results, err := classifier.Evaluate(context.Background(), input)
	check(err)
	fmt.Println(results["accuracy"], results["auc"], results["accuracy_baseline"])
	// Output: 1 1 0.5
}
