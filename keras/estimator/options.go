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

// extent describes how many steps a session makes, as its caller specified it.
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

// Steps limits a session: Train makes n more steps, Evaluate makes n steps. Without it both continue to the end of the
// data.
func Steps(n int) StepsOption {
	return stepsOption(func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("estimator: Must specify steps > 0, given: %d", n)
		}
		o.steps = &n
		return nil
	})
}

// MaxSteps makes Train continue until the global step is n. If that is already reached, Train does nothing. It cannot
// be combined with Steps.
func MaxSteps(n int) TrainOption {
	return trainOption(func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("estimator: Must specify max_steps > 0, given: %d", n)
		}
		o.maxSteps = &n
		return nil
	})
}

// Hooks adds hooks, which are called in this order after the session's own hooks.
func Hooks(hooks ...SessionRunHook) SessionOption {
	return sessionOption(func(o *options) error { o.hooks = append(o.hooks, hooks...); return nil })
}

// SavingListeners adds listeners, which are called after each checkpoint that Train writes.
func SavingListeners(listeners ...CheckpointSaverListener) TrainOption {
	return trainOption(func(o *options) error { o.listeners = append(o.listeners, listeners...); return nil })
}

// Name distinguishes several evaluations: the summaries of Evaluate are in the folder eval_NAME, or eval without a
// name.
func Name(name string) EvaluateOption {
	return evaluateOption(func(o *options) error {
		if name != "" && (name != filepath.Base(name) || name == "." || name == "..") {
			return fmt.Errorf("estimator: the name of an evaluation is %q; expected part of the name of a folder", name)
		}
		o.name = name
		return nil
	})
}

// CheckpointPath makes Evaluate and Predict use this checkpoint instead of the latest one in the folder; see
// [LatestCheckpoint] for its form.
func CheckpointPath(path string) CheckpointOption {
	return checkpointOption(func(o *options) error { o.checkpoint = path; return nil })
}

// collect applies the options of a call; apply applies an option of its kind.
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
