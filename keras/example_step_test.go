package keras_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// Forger is a generative adversarial network; each half has its own optimizer.
type Forger struct {
	Discriminator, Generator *keras.Model
	DOptimizer, GOptimizer   optimizers.Optimizer
}

// Call generates numbers from noise; the model predicts with it.
func (f *Forger) Call(c *layers.Context, noise *ops.Tensor) *ops.Tensor {
	return f.Generator.Call(c, noise)
}

func (f *Forger) TrainStep(s *keras.Step) keras.StepLogs {
	real := s.X[0]
	n := real.Dim(0)
	bce := &losses.BinaryCrossentropy{FromLogits: true}
	forged, genuine := ops.Ones(s, ir.Float32, n, 1), ops.Zeros(s, ir.Float32, n, 1)
	noise := ops.RandomNormal(s, ir.Float32, 0, 1, 1, n, 2)

	both := ops.Concatenate(0, f.Generator.Call(s.Training(), noise), real)
	dLoss := losses.Compute(bce, ops.Concatenate(0, forged, genuine), f.Discriminator.Call(s.Training(), both), nil)
	s.Minimize(f.DOptimizer, dLoss, f.Discriminator.TrainableVariables())

	guess := f.Discriminator.Call(s.Training(), f.Generator.Call(s.Training(), noise)) // by the current discriminator
	gLoss := losses.Compute(bce, genuine, guess, nil)
	s.Minimize(f.GOptimizer, gLoss, f.Generator.TrainableVariables())
	return keras.StepLogs{"d_loss": dLoss, "g_loss": gLoss}
}

// A GAN, trained by Fit on two replicas.
func ExampleTrainStepper() {
	strategy, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	check(err)
	discriminator, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 8, Activation: "tanh"}, &layers.Dense{Units: 1}}, keras.Name("discriminator"))
	check(err)
	generator, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3, Name: "numbers"}}, keras.Name("generator"))
	check(err)
	forger := &Forger{
		Discriminator: discriminator, Generator: generator,
		DOptimizer: &optimizers.Adam{LearningRate: 0.01}, GOptimizer: &optimizers.Adam{LearningRate: 0.01},
	}
	model, err := keras.NewModel(forger, distribute.Scope(strategy), keras.Seed(4))
	check(err)
	check(model.Compile(keras.CompileConfig{}))
	real := make([][]float32, 64)
	for i := range real {
		wobble := float32(i%8) / 16
		real[i] = []float32{1 + wobble, 2 + wobble, 3 - wobble}
	}
	history, err := model.Fit(context.Background(), data.Arrays(real, nil), keras.Epochs(60), keras.BatchSize(32))
	check(err)
	fmt.Println(history.Names(), len(history.Epoch), "epochs")
	forged, err := model.Predict(context.Background(), data.Arrays([][]float32{{0, 0}}, nil))
	check(err)
	fmt.Println(forged.Shape(), "positive:", forged.Elements().([]float32)[2] > 0)
	// Output:
	// [d_loss g_loss] 60 epochs
	// [1 3] positive: true
}

// Rebuilder is an autoencoder with its own measure of how good it is.
type Rebuilder struct {
	Encoder, Decoder *layers.Dense
	Worst            *metrics.Mean
}

func (b *Rebuilder) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(b.Decoder, c, layers.Invoke(b.Encoder, c, x))
}

func (b *Rebuilder) TrainStep(s *keras.Step) keras.StepLogs {
	x := s.X[0]
	loss := s.Mean(ops.Square(ops.Subtract(b.Call(s.Training(), x), x)))
	s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
	return keras.StepLogs{"loss": loss}
}

func (b *Rebuilder) TestStep(s *keras.Step) keras.StepLogs {
	x := s.X[0]
	b.Worst.UpdateValues(ops.Max(ops.Abs(ops.Subtract(b.Call(s.Inference(), x), x)), 1), nil)
	return keras.StepLogs{"worst": b.Worst}
}

// A step for Evaluate and validation, in addition to the one for training.
func ExampleTestStepper() {
	model, err := keras.NewModel(&Rebuilder{Encoder: &layers.Dense{Units: 1}, Decoder: &layers.Dense{Units: 2}, Worst: metrics.NewMean("worst")})
	check(err)
	check(model.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.05}}))
	x := data.Arrays([][]float32{{1, 2}, {2, 4}, {-1, -2}, {0.5, 1}}, nil)
	history, err := model.Fit(context.Background(), x, keras.Epochs(200), keras.ValidationData(x))
	check(err)
	fmt.Println(history.Names())
	scores, err := model.Evaluate(context.Background(), x)
	check(err)
	fmt.Printf("off by %.2f\n", scores["worst"])
	// Output:
	// [loss val_worst]
	// off by 0.00
}

// Fit's own step, written out, but with gradients replaced by their signs: the losses, weights and metrics of Compile
// apply.
func ExampleStep() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}})
	check(err)
	step := func(s *keras.Step) keras.StepLogs {
		yPred := s.Model().Call(s.Training(), s.X...)
		gradients := ops.NewTape(s).Gradients(s.ComputeLoss(yPred), s.Model().TrainableVariables())
		summed := s.SumGradients(gradients.Values)
		for i, g := range summed {
			gradients.Values[i] = ops.Sign(g)
		}
		s.WithoutAggregation(func() { s.Apply(s.Optimizer(), gradients) }) // they are already summed over the replicas
		return s.ComputeMetrics(yPred)
	}
	check(model.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.01}, Loss: "mse", Metrics: []string{"mae"}, TrainStep: step}))
	history, err := model.Fit(context.Background(), data.Arrays(lineX, lineY), keras.Epochs(400))
	check(err)
	mae, _ := history.Last("mae")
	fmt.Println(history.Names(), mae < 0.1)
	// Output: [loss mae] true
}

// Knowledge distillation: a student learns from the targets and from a teacher, which is frozen.
func ExampleStepFunc() {
	teacher, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "ones"}}, keras.InputShape(2), keras.Name("teacher"))
	check(err)
	student, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1, KernelInitializer: "zeros"}}, keras.InputShape(2), keras.Name("student"))
	check(err)
	teacher.SetTrainable(false)
	pair, err := keras.NewModel(&lesson{Teacher: teacher, Student: student})
	check(err)
	distill := func(s *keras.Step) keras.StepLogs {
		yPred := student.Call(s.Training(), s.X[0])
		hint := ops.StopGradient(teacher.Call(s.Inference(), s.X[0]))
		loss := ops.Add(s.ComputeLoss(yPred), ops.MultiplyScalar(s.Mean(ops.Square(ops.Subtract(yPred, hint))), 0.5))
		s.Minimize(s.Optimizer(), loss, student.TrainableVariables())
		return keras.StepLogs{"distillation": loss}
	}
	check(pair.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.1}, Loss: "mse", TrainStep: distill}))
	history, err := pair.Fit(context.Background(), data.Arrays([][]float32{{1, 2}, {3, 1}, {0, 2}}, [][]float32{{3}, {4}, {2}}), keras.Epochs(300))
	check(err)
	loss, _ := history.Last("distillation")
	fmt.Println(loss < 0.01)
	// Output: true
}

type lesson struct{ Teacher, Student *keras.Model }

func (l *lesson) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor { return l.Student.Call(c, x) }

// Logs are tensors, whose mean over the batches is shown, and metrics.
func ExampleStepLogs() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Flatten{}})
	check(err)
	largest := &metrics.Mean{Name: "largest"}
	check(model.Compile(keras.CompileConfig{TestStep: func(s *keras.Step) keras.StepLogs {
		largest.UpdateValues(ops.Max(s.X[0], 1), nil) // one value for each example
		return keras.StepLogs{"mean": s.Mean(s.X[0]), "largest": largest}
	}}))
	scores, err := model.Evaluate(context.Background(), data.Arrays([][]float32{{1, 2}, {3, 4}, {5, 6}}, nil), keras.BatchSize(2))
	check(err)
	fmt.Println(scores)
	// Output: map[largest:4 mean:3.5]
}
