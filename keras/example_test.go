package keras_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// check ends an example with its error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Points on the line y = 2x - 1.
var (
	lineX = [][]float32{{-1}, {0}, {1}, {2}}
	lineY = [][]float32{{-3}, {-1}, {1}, {3}}
)

func Example() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.Seed(1))
	check(err)
	check(model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.2}, Loss: "mse"}))
	history, err := model.Fit(context.Background(), data.Arrays(lineX, lineY), keras.Epochs(100))
	check(err)
	loss, _ := history.Last("loss")
	fmt.Printf("loss %.4f\n", loss)
	y, err := model.Predict(context.Background(), data.Arrays([][]float32{{10}}, nil))
	check(err)
	fmt.Printf("y(10) = %.2f\n", y.Elements())
	// Output:
	// loss 0.0000
	// y(10) = [19.00]
}

// A strategy is all it takes to train on several replicas.
func ExampleNewSequential() {
	strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	check(err)
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
		&layers.MaxPooling2D{},
		&layers.Flatten{},
		&layers.Dense{Units: 10},
	}, distribute.Scope(strategy), keras.InputShape(28, 28, 1))
	check(err)
	for _, v := range model.Weights() {
		fmt.Println(v)
	}
	// Output:
	// conv2d/kernel float32[3 3 1 32]
	// conv2d/bias float32[32]
	// dense/kernel float32[5408 10]
	// dense/bias float32[10]
}

// Several inputs and outputs, and layers that are used more than once.
func ExampleNewFunctional() {
	image := keras.Input(keras.Shape(8, 8, 1), keras.InputName("image"))
	tags := keras.Input(keras.Shape(16), keras.InputName("tags"))
	h := layers.Apply(&layers.Concatenate{}, layers.Apply(&layers.Flatten{}, image), tags)
	class := layers.Apply(&layers.Dense{Units: 10, Name: "class"}, h)
	score := layers.Apply(&layers.Dense{Units: 1, Name: "score"}, h)
	model, err := keras.NewFunctional(keras.Inputs(image, tags), keras.Outputs(class, score))
	check(err)
	fmt.Println(model.OutputNames(), model.CountParams(), "parameters")
	// Output: [class score] 891 parameters
}

// twin is a model as a Go type: layers in exported fields, and Call.
type twin struct{ Left, Right *layers.Dense }

func (t *twin) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return ops.Relu(ops.Add(layers.Invoke(t.Left, c, x), layers.Invoke(t.Right, c, x)))
}

func ExampleNewModel() {
	model, err := keras.NewModel(&twin{Left: &layers.Dense{Units: 4}, Right: &layers.Dense{Units: 4}})
	check(err)
	check(model.Build([]int{layers.Unknown, 3}))
	fmt.Println(model.Name(), model.CountParams())
	// Output: twin 32
}

func ExampleModel() {
	model, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 1, KernelInitializer: "ones", Name: "sum"},
	}, keras.InputShape(3))
	check(err)
	y, err := model.Predict(context.Background(), data.Arrays([][]float32{{1, 2, 3}, {10, 20, 30}}, nil))
	check(err)
	fmt.Println(y.Elements())
	weights, err := model.GetWeights()
	check(err)
	fmt.Println(len(weights), "weights, the first:", weights[0].Elements())
	// Output:
	// [6 60]
	// 2 weights, the first: [1 1 1]
}

func ExampleModel_Evaluate() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "ones"}})
	check(err)
	check(model.Compile(keras.CompileConfig{Loss: "mse", Metrics: []string{"mae"}}))
	scores, err := model.Evaluate(context.Background(), data.Arrays([][]float32{{1}, {2}}, []float32{2, 5}))
	check(err)
	fmt.Println(scores["loss"], scores["mae"])
	// Output: 5 2
}

func ExampleCompileConfig() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}})
	check(err)
	check(model.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 1e-3},
		Loss:      &losses.SparseCategoricalCrossentropy{FromLogits: true},
		Metrics:   []metrics.Metric{&metrics.SparseCategoricalAccuracy{}},
	}))
	err = model.Compile(keras.CompileConfig{Optimizer: "adams"})
	fmt.Println(err != nil)
	// Output: true
}

// The losses of several outputs are given by name, with weights.
func ExampleCompileConfig_outputs() {
	x := keras.Input(keras.Shape(1))
	ones := func(name string) *layers.Dense {
		return &layers.Dense{Units: 1, Name: name, KernelInitializer: "ones"}
	}
	model, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(layers.Apply(ones("a"), x), layers.Apply(ones("b"), x)))
	check(err)
	check(model.Compile(keras.CompileConfig{
		Loss:        map[string]any{"a": "mse", "b": "mae"},
		LossWeights: map[string]float64{"b": 0.5},
	}))
	scores, err := model.Evaluate(context.Background(), data.Arrays([]float32{1}, map[string]any{"a": []float32{3}, "b": []float32{5}}))
	check(err)
	fmt.Println(scores["a_loss"], scores["b_loss"], scores["loss"])
	// Output: 4 4 6
}

func ExampleFitOption() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	check(err)
	check(model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
	history, err := model.Fit(context.Background(), data.Arrays(lineX, lineY),
		keras.Epochs(3), keras.BatchSize(2), keras.ValidationSplit(0.25), keras.ValidationFrequency(3),
		keras.Callbacks(&callbacks.LambdaCallback{EpochEnd: func(epoch int, _ *callbacks.Logs) error {
			fmt.Println("end of epoch", epoch)
			return nil
		}}))
	check(err)
	fmt.Println(len(history.Logs["loss"]), len(history.Logs["val_loss"]))
	// Output:
	// end of epoch 0
	// end of epoch 1
	// end of epoch 2
	// 3 1
}

func ExampleHistory() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	check(err)
	check(model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse", Metrics: []string{"mae"}}))
	history, err := model.Fit(context.Background(), data.Arrays(lineX, lineY), keras.InitialEpoch(2), keras.Epochs(5))
	check(err)
	fmt.Println(history.Epoch, history.Names())
	// Output: [2 3 4] [loss mae]
}

func ExampleInputOption() {
	tokens := keras.Input(keras.InputName("tokens"), keras.Shape(layers.Unknown), keras.DType("int32"))
	fmt.Println(tokens.Name(), tokens)
	// Output: tokens (None, None) int32
}

func ExampleOption() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}},
		keras.Name("head"), keras.Seed(7), keras.DTypePolicy("mixed_bfloat16"), keras.InputShape(3))
	check(err)
	fmt.Println(model.Name(), model.Weights()[0])
	// Output: head dense/kernel float32[3 2]
}

func ExampleTensors() {
	query, document := keras.Input(keras.Shape(4)), keras.Input(keras.Shape(4))
	encoder := &layers.Dense{Units: 2, NoBias: true}
	match := layers.Apply(&layers.Dot{Axes: []int{1}}, layers.Apply(encoder, query), layers.Apply(encoder, document))
	model, err := keras.NewFunctional(
		keras.Dict(map[string]*layers.KerasTensor{"query": query, "document": document}), keras.Outputs(match))
	check(err)
	same := [][]float32{{1, 2, 3, 4}}
	y, err := model.Predict(context.Background(), data.Arrays(map[string]any{"query": same, "document": same}, nil))
	check(err)
	fmt.Println(y.Shape(), len(model.Weights()), "shared weight")
	// Output: [1 1] 1 shared weight
}

// broken has a mistake in its Call.
type broken struct{ Sizes map[string]int }

func (b *broken) Call(_ *layers.Context, x *ops.Tensor) *ops.Tensor {
	b.Sizes["x"] = x.Rank() // the map was never created
	return x
}

func ExamplePanicError() {
	model, err := keras.NewModel(&broken{})
	check(err)
	_, err = model.Predict(context.Background(), data.Arrays(lineX, nil))
	var p *keras.PanicError
	fmt.Println(errors.As(err, &p), p.Value)
	// Output: true assignment to entry in nil map
}

func ExampleSummaryOption() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, keras.InputShape(3))
	check(err)
	var text bytes.Buffer
	check(model.Summary(keras.SummaryOutput(&text), keras.LineLength(60), keras.ShowTrainable()))
	fmt.Println(bytes.Contains(text.Bytes(), []byte("Total params: 8")))
	// Output: true
}

// A custom training loop takes its batches from a DistributedDataset.
func ExampleDistributedDataset() {
	strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	check(err)
	sum := strategy.Function(func(_ *distribute.Replica, in distribute.Batch) *ops.Tensor { return ops.Sum(in.X) })
	loader := data.Arrays(lineX, nil).Loader(3, false, 0)
	for batch, err := range keras.DistributeDataset(strategy, loader).Batches(context.Background(), 0) {
		check(err)
		perReplica, err := strategy.Run(context.Background(), sum, batch)
		check(err)
		total, err := strategy.Reduce(distribute.Sum, perReplica)
		check(err)
		fmt.Println(batch[0].Examples(), "and", batch[1].Examples(), "examples, sum", total.Element(0))
	}
	// Output:
	// 2 and 1 examples, sum 0
	// 1 and 0 examples, sum 2
}

func ExampleModel_SetWeights() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, NoBias: true}}, keras.InputShape(2))
	check(err)
	kernel, err := kernels.FromFloat64s(ir.Float32, ir.Shape{2, 1}, []float64{10, 1})
	check(err)
	check(model.SetWeights([]kernels.Array{kernel}))
	y, err := model.Predict(context.Background(), data.Arrays([][]float32{{4, 2}}, nil))
	check(err)
	fmt.Println(y.Elements())
	// Output: [42]
}
