package keras

import (
	"fmt"
	"reflect"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// Step is what a custom TrainStep or TestStep works with: the batch, and the trace of one replica, in which the step
// describes the computation. It replaces the argument data of Keras's train_step and test_step, and what they take from
// self.
//
//	func (g *GAN) TrainStep(s *keras.Step) keras.StepLogs {
//		real := s.X[0]
//		noise := ops.RandomNormal(s, ir.Float32, 0, 1, 1, real.Dim(0), 16)
//		...
//		dLoss := losses.Compute(bce, labels, g.Discriminator.Call(s.Training(), images), nil)
//		s.Minimize(g.DOptimizer, dLoss, g.Discriminator.TrainableVariables())
//		...
//		return keras.StepLogs{"d_loss": dLoss, "g_loss": gLoss}
//	}
//
// The step is traced, like Keras's own: it runs once for each shape of the batch (and once before, to see what it uses)
// and describes a program that every replica replays. So Go values in it are constants, and Go branches and loops are
// evaluated during tracing.
//
// # Replicas
//
// A step computes one replica's part. The tensor that it passes to Minimize, and every tensor that it returns, must be
// one replica's share of a sum: the sum over the replicas is the loss of the whole batch. Then N replicas train like
// one. [losses.Compute], [Step.ComputeLoss], [Step.Mean] and [losses.ComputeAverage] give such shares: they divide by
// the size of the global batch. ops.Mean does not.
//
// Optimizers sum the gradients over the replicas. Metrics are sums over all replicas. Random numbers differ from one
// replica to the next.
//
// # Order
//
// Reads after an update see the new weights, as in Keras. The rows of dynamic embeddings are updated after the step,
// with the gradients from [Step.Minimize] with the optimizer of Compile. So take the gradient of a loss before you
// update the weights that it was computed with.
type Step struct {
	*distribute.Replica
	// X, Y and SampleWeight are this replica's part of the batch, each (examples, ...): the inputs of the model, and
	// the dataset's targets and weights. Class weights have been turned into sample weights.
	X, Y, SampleWeight []*ops.Tensor

	m        *Model
	step     *customStep
	applied  []optimized
	rowGrads []*ops.Tensor  // of the rows of dynamic embeddings among X
	measured bool           // ComputeLoss was called, so its trackers have values
	servers  *serverUpdates // they update the weights; nil: the step does
}

// StepLogs are the values that a step reports, by name. Each value is one of
//
//   - a metric of package metrics that the step has updated. It shows its result over all batches since the epoch began (or the validation, or
//     Evaluate), which is when Fit resets it;
//   - a scalar tensor, this replica's part of a loss: the parts of all replicas are added up, and the mean over the batches is shown, each weighted
//     by its number of examples, as Keras does with the loss of Compile. (Keras shows the last batch's value for a tensor; its examples keep a Mean
//     metric beside it for the purpose.)
//
// They appear in Fit's history, in callbacks, in the progress bar and in what Evaluate returns, in alphabetical order,
// as in Keras.
type StepLogs map[string]any

// StepFunc is one step of training or testing.
type StepFunc func(s *Step) StepLogs

// TrainStepper is implemented by values for [NewModel] that define their own training step. It is Keras's
// Model.train_step.
type TrainStepper interface {
	TrainStep(s *Step) StepLogs
}

// TestStepper is implemented by values for [NewModel] that define their own step for Evaluate and validation. It is
// Keras's Model.test_step. The default step calls the model and computes the loss and metrics of Compile.
type TestStepper interface {
	TestStep(s *Step) StepLogs
}

// customStep is a user-defined step and what is known about it.
type customStep struct {
	name     string // of the method
	call     StepFunc
	training bool
	explored bool           // logs are known
	logs     []*namedMetric // sorted by name
}

// customSteps returns the user's steps, nil for Keras's own.
func (m *Model) customSteps(config CompileConfig) (train, test *customStep) {
	if s, ok := m.topology.(*subclass); ok {
		if v, ok := s.value.(TrainStepper); ok && config.TrainStep == nil {
			config.TrainStep = v.TrainStep
		}
		if v, ok := s.value.(TestStepper); ok && config.TestStep == nil {
			config.TestStep = v.TestStep
		}
	}
	if config.TrainStep != nil {
		train = &customStep{name: "TrainStep", call: config.TrainStep, training: true}
	}
	if config.TestStep != nil {
		test = &customStep{name: "TestStep", call: config.TestStep}
	}
	return train, test
}

// checkSteps refuses methods that have the name of a step but not its signature.
func checkSteps(value any) error {
	v := reflect.ValueOf(value)
	// The names are constants: for variable names the linker would have to keep every exported method of the program.
	for _, step := range []struct {
		name   string
		method reflect.Value
	}{{"TrainStep", v.MethodByName("TrainStep")}, {"TestStep", v.MethodByName("TestStep")}} {
		if !step.method.IsValid() {
			continue
		}
		if _, ok := step.method.Interface().(func(*Step) StepLogs); !ok {
			return fmt.Errorf("keras: NewModel: %T: method %s has the form %v; expected func(*keras.Step) keras.StepLogs", value, step.name, step.method.Type())
		}
	}
	return checkAssembly(value)
}

// Model returns the model that is being trained or tested.
func (s *Step) Model() *Model { return s.m }

// Training returns the context for calling the model, its layers or other models in training mode, with dropout for
// example.
func (s *Step) Training() *layers.Context { return s.m.stepContext(s.Replica, true) }

// Inference returns the context for calling them in inference mode.
func (s *Step) Inference() *layers.Context { return s.m.stepContext(s.Replica, false) }

// Optimizer returns the optimizer that Compile was given.
func (s *Step) Optimizer() optimizers.Optimizer { return s.m.compiled.optimizer }

// ComputeLoss returns this replica's part of the loss that Compile describes, for the model's outputs and the targets
// of the batch. It includes sample weights, loss weights, regularization and losses that layers added. The loss is
// tracked as "loss", and with several outputs their losses too; [Step.ComputeMetrics] reports them. It is Keras's
// Model.compute_loss.
func (s *Step) ComputeLoss(yPred ...*ops.Tensor) *ops.Tensor {
	s.resolve("ComputeLoss", yPred)
	s.measured = true
	loss := s.m.computeLoss(s.Replica, yPred, s.Y, s.SampleWeight)
	if !s.m.hasLoss(s.Replica) {
		ops.Failf(s.Graph(), "ComputeLoss: there is no loss: Compile was given none, and no layer adds one or regularizes; set CompileConfig.Loss")
	}
	return loss
}

// OutputLosses returns this replica's part of each output's loss separately, as given to Compile: without sample
// weights, output weights, regularization, and losses that layers added. nil stands for an output that has no loss. It
// is for steps that combine their losses themselves; it tracks nothing.
func (s *Step) OutputLosses(yPred ...*ops.Tensor) []*ops.Tensor {
	s.resolve("OutputLosses", yPred)
	float := s.m.policy.Float()
	parts := make([]*ops.Tensor, len(yPred))
	for i, o := range s.m.compiled.outputs {
		if o.loss != nil {
			_, reported := losses.ComputeAndReport(o.loss, s.Y[o.target], upcast(yPred[i], float), nil)
			parts[i] = ops.Cast(reported, float)
		}
	}
	return parts
}

// ComputeMetrics updates the metrics of Compile with the batch and returns their logs, with those of the losses if
// ComputeLoss was called before. It is Keras's Model.compute_metrics.
func (s *Step) ComputeMetrics(yPred ...*ops.Tensor) StepLogs {
	s.resolve("ComputeMetrics", yPred)
	c := s.m.compiled
	c.updateMetrics(s.Replica, s.m.policy.Float(), yPred, s.Y, s.SampleWeight)
	logs := StepLogs{}
	for _, metric := range c.compiledMetrics() {
		if metric.output >= 0 || s.measured {
			logs[metric.name] = metric.metric
		}
	}
	return logs
}

// resolve creates the losses and metrics of Compile for these outputs, the first time.
func (s *Step) resolve(what string, yPred []*ops.Tensor) {
	c := s.m.compiled
	outputs := make([]ir.Type, len(yPred))
	for i, y := range yPred {
		if y == nil {
			ops.Failf(s.Graph(), "%s: output %d is nil; expected what the model returned", what, i)
		}
		outputs[i] = ir.Type{DType: y.DType(), Shape: y.Shape().Clone()}
		if y.Rank() > 0 {
			outputs[i].Shape[0] = layers.Unknown
		}
	}
	if len(yPred) == 0 {
		ops.Failf(s.Graph(), "%s: there are no outputs; pass what the model returned", what)
	}
	targets := make([]ir.Type, len(s.Y))
	for i, y := range s.Y {
		targets[i] = y.Type()
	}
	if err := s.m.prepare(targets, outputs); err != nil {
		ops.Fail(s.Graph(), fmt.Errorf("%s: %w", what, err))
	}
	if len(c.outputs) != len(yPred) {
		ops.Failf(s.Graph(), "%s: received %d outputs; the losses and metrics of Compile are for %d", what, len(yPred), len(c.outputs))
	}
}

// Mean returns this replica's part of the mean of values (batch, ...) over the global batch,
//
//	Σ values / (values of one example · global batch size)
//
// so the parts of all replicas add up to the mean, even if some have fewer examples or none. Use it instead of ops.Mean
// in a loss that you compute yourself. If values has several rows per example, for concatenated real and generated
// images for example, all rows count.
func (s *Step) Mean(values *ops.Tensor) *ops.Tensor {
	if values == nil || values.Rank() == 0 {
		ops.Failf(s.Graph(), "Mean needs the values of the examples, (batch, ...); received a scalar or nil")
	}
	if !values.DType().IsFloat() {
		values = ops.Cast(values, s.m.policy.Float())
	}
	if values.Dim(0) != s.LocalBatchSize() {
		objectives.NoFilling(s, values, "Mean of values with several rows for each example")
	}
	values = objectives.OnlyRows(s, values)
	local, n := s.LocalBatchSize(), float64(values.Shape().Size())
	if local == 0 || n == 0 {
		return ops.MultiplyScalar(ops.Sum(values), 0)
	}
	return ops.DivideScalar(ops.Sum(values), n*float64(s.GlobalBatchSize())/float64(local))
}

// AddedLosses returns this replica's part of the regularization, and of the losses that the layers called so far added
// with AddLoss. It is sum(model.losses) of Keras; ComputeLoss includes it.
func (s *Step) AddedLosses() *ops.Tensor { return s.m.penalties(s.Replica, s.m.policy.Float()) }
