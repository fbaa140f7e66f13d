package estimator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gokeras/gokeras/distribute"
)

// TrainSpec says how [TrainAndEvaluate] trains: tf.estimator.TrainSpec.
type TrainSpec struct {
	InputFn InputFn
	// MaxSteps is the global step at which training ends; nil trains to the end of the data.
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
	// Steps is the number of steps, of one batch each; nil is 100. AllData evaluates all data instead.
	Steps   *int
	AllData bool
	Hooks   []SessionRunHook
	// Name distinguishes several evaluations: their summaries are in the folder eval_NAME, or eval without a name.
	Name string
	// Exporters export models; they are called after each evaluation.
	Exporters []Exporter
	// StartDelaySecs is the number of seconds that an evaluator waits before its first evaluation; nil is 120. It has
	// no effect if one process trains and evaluates.
	StartDelaySecs *int
	// ThrottleSecs is the minimum number of seconds between two evaluations during training; nil is 600.
	ThrottleSecs *int
}

const (
	defaultEvalSteps    = 100
	defaultStartDelay   = 120
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
	case s.StartDelaySecs != nil && *s.StartDelaySecs < 0:
		return fmt.Errorf("estimator: EvalSpec: Must specify start_delay_secs >= 0, given: %d", *s.StartDelaySecs)
	}
	return checkExporters(s.Exporters)
}

func (s EvalSpec) options() []EvaluateOption {
	out := []EvaluateOption{Hooks(s.Hooks...), Name(s.Name)}
	if !s.AllData {
		out = append(out, Steps(or(s.Steps, defaultEvalSteps)))
	}
	return out
}

// TrainAndEvaluate trains, and evaluates after checkpoints and once at the end: tf.estimator.train_and_evaluate. It
// does not evaluate after the first checkpoint, nor more often than EvalSpec.ThrottleSecs allows. It returns the
// results of the last evaluation, or nil if MaxSteps had been reached before.
//
// If RunConfig.Cluster names several tasks, or TrainDistribute is a strategy over several processes, the chief and the
// workers train and return nil. The evaluator, another process with the same ModelDir, evaluates new checkpoints until
// one has reached MaxSteps, or without MaxSteps until ctx ends. Without an evaluator there is no evaluation. The same
// holds for a ParameterServerStrategy: the chief is the coordinator, and parameterserver.RunStrategy serves the ps
// tasks.
//
// EvalSpec.Exporters are called after each evaluation. The final one is that at MaxSteps or, without MaxSteps, at the
// end of training.
func TrainAndEvaluate(ctx context.Context, e *Estimator, train TrainSpec, eval EvalSpec) (map[string]float64, error) {
	if err := errors.Join(train.Validate(), eval.Validate()); err != nil {
		return nil, err
	}
	role, err := e.config.Role()
	if err != nil {
		return nil, err
	}
	a := &alternation{ctx: ctx, estimator: e, eval: eval, maxSteps: train.MaxSteps, evaluated: -1}
	together := role.TaskType == chiefTask || !role.IsChief || distribute.WorkersOf(e.config.TrainDistribute) != nil || e.onServers() != nil
	switch {
	case role.TaskType == evaluatorTask:
		return a.follow()
	case role.TaskType == psTask:
		return nil, errServer
	}
	options := []TrainOption{Hooks(train.Hooks...), SavingListeners(train.SavingListeners...)}
	if !together {
		options = append(options, SavingListeners(a.saved))
	}
	if train.MaxSteps != nil {
		options = append(options, MaxSteps(*train.MaxSteps))
	}
	if err := e.Train(ctx, train.InputFn, options...); err != nil || together {
		return nil, err
	}
	if a.any && (a.evaluated != a.last || train.MaxSteps == nil && len(eval.Exporters) > 0) {
		a.over = true
		if err := a.evaluate(); err != nil {
			return nil, err
		}
	}
	return a.results, nil
}

// alternation evaluates during training.
type alternation struct {
	ctx       context.Context
	estimator *Estimator
	eval      EvalSpec
	maxSteps  *int
	over      bool // training has ended

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

// evaluate evaluates the latest checkpoint and exports it.
func (a *alternation) evaluate() error {
	checkpoint, err := a.estimator.LatestCheckpoint()
	if err != nil {
		return err
	}
	return a.evaluateAt(checkpoint)
}

func (a *alternation) evaluateAt(checkpoint string) error {
	options := append(a.eval.options(), CheckpointPath(checkpoint))
	results, err := a.estimator.Evaluate(a.ctx, a.eval.InputFn, options...)
	a.at = time.Now()
	if err != nil {
		return err
	}
	a.results, a.evaluated = results, int64(results[globalStepName])
	for _, x := range a.eval.Exporters {
		path := filepath.Join(a.estimator.ModelDir(), "export", x.Name())
		if _, err := x.Export(a.estimator, path, checkpoint, results, a.final()); err != nil {
			return fmt.Errorf("exporter %s: %w", x.Name(), err)
		}
	}
	return nil
}

// final reports whether the latest evaluation was the final one.
func (a *alternation) final() bool {
	if a.maxSteps == nil {
		return a.over
	}
	return a.evaluated >= int64(*a.maxSteps)
}

// pollSecs is the minimum time in seconds between two checks for a new checkpoint.
const pollSecs = 1

// follow evaluates the checkpoints that another process writes.
func (a *alternation) follow() (map[string]float64, error) {
	if err := pause(a.ctx, time.Duration(or(a.eval.StartDelaySecs, defaultStartDelay))*time.Second); err != nil {
		return nil, err
	}
	throttle := time.Duration(max(or(a.eval.ThrottleSecs, defaultThrottleSecs), pollSecs)) * time.Second
	for last := ""; ; {
		begin := time.Now()
		checkpoint, err := a.estimator.LatestCheckpoint()
		if err != nil {
			return a.results, err
		}
		if checkpoint != "" && checkpoint != last {
			err := a.evaluateAt(checkpoint)
			newer, failed := a.estimator.LatestCheckpoint()
			if errors.Is(err, fs.ErrNotExist) && failed == nil && newer != checkpoint {
				continue // it was removed for newer ones
			}
			if err != nil {
				return a.results, err
			}
			last = checkpoint
		}
		if a.results != nil && a.maxSteps != nil && a.final() {
			return a.results, nil
		}
		if err := pause(a.ctx, throttle-time.Since(begin)); err != nil {
			return a.results, err
		}
	}
}

// pause waits, or returns the error of a context that ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}
