package estimator

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/metrics"
)

// EstimatorSpec is what a [ModelFn] returns: tf.estimator.EstimatorSpec. TRAIN needs Loss and TrainOp, EVAL needs Loss,
// PREDICT needs Predictions. A ModelFn may fill in more than its mode needs.
type EstimatorSpec struct {
	// Mode is the mode that the ModelFn was called with.
	Mode ModeKey
	// Predictions are what Predict yields, by name, each (batch, ...).
	Predictions map[string]*ops.Tensor
	// Loss is the loss of one replica's batch: a scalar, or one element.
	Loss *ops.Tensor
	// TrainOp is the update of the variables; see [Context.Minimize].
	TrainOp *TrainOp
	// EvalMetricOps are metrics that Evaluate returns, by name. The name "loss" is reserved.
	EvalMetricOps map[string]MetricOp
	// TrainingHooks, EvaluationHooks and PredictionHooks are called around the steps of a session of their kind.
	TrainingHooks, EvaluationHooks, PredictionHooks []SessionRunHook

	finish func(results map[string]float64) // computes results that follow from others
}

// TrainOp marks that a trace updates variables. [Context.Minimize] and [Group] make it.
type TrainOp struct{ applied bool }

// Group combines several TrainOps into one, as tf.group does.
func Group(of ...*TrainOp) *TrainOp {
	all := &TrainOp{applied: len(of) > 0}
	for _, t := range of {
		if t == nil || !t.applied {
			return &TrainOp{}
		}
	}
	return all
}

// MetricOp feeds a metric in Evaluate. A metric that every trace creates exists only once: that of the first trace is
// used.
type MetricOp struct {
	Metric metrics.Metric
	// Labels and Predictions are what the metric compares, and Weights are the weights of the examples (nil is 1). For
	// a mean, Labels may be nil.
	Labels, Predictions, Weights *ops.Tensor
}

// MeanOp is the mean of values, weighted with weights (nil is 1): tf.compat.v1.metrics.mean.
func MeanOp(values, weights *ops.Tensor) MetricOp {
	return MetricOp{Metric: &metrics.Mean{}, Predictions: values, Weights: weights}
}

// errNoMode is the error for a zero EstimatorSpec.
var errNoMode = errors.New("the mode is missing; set EstimatorSpec.Mode to the mode that the ModelFn was called with")

// check reports, in TensorFlow's words, what the mode needs but the spec lacks.
func (s EstimatorSpec) check(mode ModeKey) error {
	switch {
	case s.Mode == "":
		return errNoMode
	case s.Mode != mode:
		return fmt.Errorf("the mode is %q, but the ModelFn was called with %q; hand its argument on", s.Mode, mode)
	case mode != PREDICT && s.Loss == nil:
		return fmt.Errorf("Missing loss. Mode %q needs EstimatorSpec.Loss", mode)
	case mode == TRAIN && s.TrainOp == nil:
		return fmt.Errorf("Missing train_op. Mode %q needs EstimatorSpec.TrainOp, from Context.Minimize", mode)
	case mode == TRAIN && !s.TrainOp.applied:
		return errors.New("the train_op updates nothing; take it from Context.Minimize")
	case mode == PREDICT && len(s.Predictions) == 0:
		return fmt.Errorf("Missing predictions. Mode %q needs EstimatorSpec.Predictions", mode)
	case s.Loss != nil && s.Loss.Shape().Size() != 1:
		return fmt.Errorf("Loss must be scalar, given: a tensor of shape %v; reduce it, for example with ops.Mean", s.Loss.Shape())
	}
	if _, taken := s.EvalMetricOps["loss"]; taken {
		return errors.New("Metric with name \"loss\" is not allowed, because Estimator already defines a default metric with the same name")
	}
	if _, taken := s.EvalMetricOps[globalStepName]; taken {
		return fmt.Errorf("Metric with name %q is not allowed; Evaluate returns the global step under it", globalStepName)
	}
	for name, op := range s.EvalMetricOps {
		if op.Metric == nil || op.Predictions == nil {
			return fmt.Errorf("EvalMetricOps[%q] needs a Metric and Predictions", name)
		}
	}
	return nil
}
