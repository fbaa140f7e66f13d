package estimator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TrainSpec says how [TrainAndEvaluate] trains: tf.estimator.TrainSpec.
type TrainSpec struct {
	InputFn InputFn
	// MaxSteps is the global step to train to; nil is the end of the data.
	MaxSteps        *int
	Hooks           []SessionRunHook
	SavingListeners []CheckpointSaverListener
}

// Validate reports what is wrong with the fields.
func (s TrainSpec) Validate() error {
	switch {
	case s.InputFn == nil:
		return errors.New("estimator: TrainSpec: the InputFn is nil")
	case s.MaxSteps != nil && *s.MaxSteps <= 0:
		return fmt.Errorf("estimator: TrainSpec: Must specify max_steps > 0, given: %d", *s.MaxSteps)
	}
	return nil
}

// EvalSpec says how [TrainAndEvaluate] evaluates: tf.estimator.EvalSpec.
type EvalSpec struct {
	InputFn InputFn
	// Steps is the number of steps of batches: nil is 100. AllData goes on to the end of the data instead.
	Steps   *int
	AllData bool
	Hooks   []SessionRunHook
	// ThrottleSecs is the least number of seconds between two evaluations during training: nil is 600.
	ThrottleSecs *int
}

const (
	defaultEvalSteps    = 100
	defaultThrottleSecs = 600
)

// Validate reports what is wrong with the fields.
func (s EvalSpec) Validate() error {
	switch {
	case s.InputFn == nil:
		return errors.New("estimator: EvalSpec: the InputFn is nil")
	case s.Steps != nil && *s.Steps <= 0:
		return fmt.Errorf("estimator: EvalSpec: Must specify steps > 0, given: %d", *s.Steps)
	case s.Steps != nil && s.AllData:
		return fmt.Errorf("estimator: EvalSpec: received Steps %d and AllData; set one of them", *s.Steps)
	case s.ThrottleSecs != nil && *s.ThrottleSecs < 0:
		return fmt.Errorf("estimator: EvalSpec: Must specify throttle_secs >= 0, given: %d", *s.ThrottleSecs)
	}
	return nil
}

func (s EvalSpec) options() []Option {
	out := []Option{Hooks(s.Hooks...)}
	if !s.AllData {
		out = append(out, Steps(or(s.Steps, defaultEvalSteps)))
	}
	return out
}

// TrainAndEvaluate trains, evaluates after checkpoints (though not after that of the beginning, and not more often than
// EvalSpec.ThrottleSecs) and once at the end: tf.estimator.train_and_evaluate on one machine. It returns the results of the last
// evaluation; nil where MaxSteps had been reached before.
func TrainAndEvaluate(ctx context.Context, e *Estimator, train TrainSpec, eval EvalSpec) (map[string]float64, error) {
	if err := errors.Join(train.Validate(), eval.Validate()); err != nil {
		return nil, err
	}
	a := &alternation{ctx: ctx, estimator: e, eval: eval, evaluated: -1}
	options := []Option{Hooks(train.Hooks...), SavingListeners(train.SavingListeners...), SavingListeners(a.saved)}
	if train.MaxSteps != nil {
		options = append(options, MaxSteps(*train.MaxSteps))
	}
	if err := e.Train(ctx, train.InputFn, options...); err != nil {
		return nil, err
	}
	if a.any && a.evaluated != a.last {
		if err := a.evaluate(); err != nil {
			return nil, err
		}
	}
	return a.results, nil
}

// alternation evaluates in the course of training.
type alternation struct {
	ctx       context.Context
	estimator *Estimator
	eval      EvalSpec

	any       bool      // a checkpoint was written
	last      int64     // its step
	evaluated int64     // step of the last evaluation
	at        time.Time // of the last evaluation
	results   map[string]float64
}

// saved is called after each checkpoint.
func (a *alternation) saved(_ *Session, step int64) error {
	first := !a.any
	a.any, a.last = true, step
	throttle := time.Duration(or(a.eval.ThrottleSecs, defaultThrottleSecs)) * time.Second
	if first {
		a.at = time.Now()
		return nil
	}
	if time.Since(a.at) < throttle {
		return nil
	}
	return a.evaluate()
}

func (a *alternation) evaluate() error {
	results, err := a.estimator.Evaluate(a.ctx, a.eval.InputFn, a.eval.options()...)
	a.results, a.evaluated, a.at = results, a.last, time.Now()
	return err
}
