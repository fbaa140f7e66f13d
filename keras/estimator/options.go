package estimator

import (
	"fmt"
	"path/filepath"
)

// TrainOption is an option of [Estimator.Train].
type TrainOption interface{ applyTrain(o *options) error }

// EvaluateOption is an option of [Estimator.Evaluate].
type EvaluateOption interface{ applyEvaluate(o *options) error }

// PredictOption is an option of [Estimator.Predict].
type PredictOption interface{ applyPredict(o *options) error }

// StepsOption is an option of Train and Evaluate.
type StepsOption interface {
	TrainOption
	EvaluateOption
}

// CheckpointOption is an option of Evaluate and Predict.
type CheckpointOption interface {
	EvaluateOption
	PredictOption
}

// SessionOption is an option of Train, Evaluate and Predict.
type SessionOption interface {
	TrainOption
	EvaluateOption
	PredictOption
}

type options struct {
	steps, maxSteps *int
	hooks           []SessionRunHook
	listeners       []CheckpointSaverListener
	checkpoint      string
	name            string
}

// extent says how many steps a session makes, as its caller does.
func (o *options) extent() string {
	switch {
	case o.steps != nil:
		return fmt.Sprintf("for %d steps", *o.steps)
	case o.maxSteps != nil:
		return fmt.Sprintf("up to step %d", *o.maxSteps)
	}
	return "to the end of the data"
}

type (
	trainOption      func(o *options) error
	evaluateOption   func(o *options) error
	stepsOption      func(o *options) error
	checkpointOption func(o *options) error
	sessionOption    func(o *options) error
)

func (f trainOption) applyTrain(o *options) error { return f(o) }

func (f evaluateOption) applyEvaluate(o *options) error { return f(o) }

func (f stepsOption) applyTrain(o *options) error    { return f(o) }
func (f stepsOption) applyEvaluate(o *options) error { return f(o) }

func (f checkpointOption) applyEvaluate(o *options) error { return f(o) }
func (f checkpointOption) applyPredict(o *options) error  { return f(o) }

func (f sessionOption) applyTrain(o *options) error    { return f(o) }
func (f sessionOption) applyEvaluate(o *options) error { return f(o) }
func (f sessionOption) applyPredict(o *options) error  { return f(o) }

// Steps limits a session: Train makes n more steps, Evaluate takes n steps of batches. Without it both go on to the end
// of the data.
func Steps(n int) StepsOption {
	return stepsOption(func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("estimator: Must specify steps > 0, given: %d", n)
		}
		o.steps = &n
		return nil
	})
}

// MaxSteps makes Train go on until the global step is n; where it is already, Train does nothing. It cannot be combined
// with Steps.
func MaxSteps(n int) TrainOption {
	return trainOption(func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("estimator: Must specify max_steps > 0, given: %d", n)
		}
		o.maxSteps = &n
		return nil
	})
}

// Hooks adds hooks, called in this order after those that a session has anyway.
func Hooks(hooks ...SessionRunHook) SessionOption {
	return sessionOption(func(o *options) error { o.hooks = append(o.hooks, hooks...); return nil })
}

// SavingListeners are called after each checkpoint that Train writes.
func SavingListeners(listeners ...CheckpointSaverListener) TrainOption {
	return trainOption(func(o *options) error { o.listeners = append(o.listeners, listeners...); return nil })
}

// Name tells several evaluations apart: the summaries of Evaluate are in the folder eval_NAME, without a name in eval.
func Name(name string) EvaluateOption {
	return evaluateOption(func(o *options) error {
		if name != "" && (name != filepath.Base(name) || name == "." || name == "..") {
			return fmt.Errorf("estimator: the name of an evaluation is %q; expected part of the name of a folder", name)
		}
		o.name = name
		return nil
	})
}

// CheckpointPath makes Evaluate and Predict use this checkpoint in place of the latest one of the folder; see
// [LatestCheckpoint] for its form.
func CheckpointPath(path string) CheckpointOption {
	return checkpointOption(func(o *options) error { o.checkpoint = path; return nil })
}

// collect applies the options of a call; apply is how an option of its kind is applied.
func collect[O any](list []O, apply func(O, *options) error) (options, error) {
	var o options
	for _, option := range list {
		if any(option) == nil {
			continue
		}
		if err := apply(option, &o); err != nil {
			return o, err
		}
	}
	if o.steps != nil && o.maxSteps != nil {
		return o, fmt.Errorf("estimator: Can not provide both steps and max_steps; received Steps(%d) and MaxSteps(%d)", *o.steps, *o.maxSteps)
	}
	return o, nil
}
