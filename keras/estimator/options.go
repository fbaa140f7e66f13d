package estimator

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Option is an option of Train, Evaluate or Predict.
type Option interface{ set(o *options) error }

type options struct {
	steps, maxSteps *int
	hooks           []SessionRunHook
	listeners       []CheckpointSaverListener
	checkpoint      string
	name            string
}

type optionFunc func(o *options) error

func (f optionFunc) set(o *options) error { return f(o) }

// Steps limits a session: Train makes n more steps, Evaluate takes n steps of batches. Without it both go on to the end of the data.
func Steps(n int) Option {
	return optionFunc(func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("estimator: Must specify steps > 0, given: %d", n)
		}
		o.steps = &n
		return nil
	})
}

// MaxSteps makes Train go on until the global step is n; where it is already, Train does nothing. It cannot be combined with Steps.
func MaxSteps(n int) Option {
	return optionFunc(func(o *options) error {
		if n <= 0 {
			return fmt.Errorf("estimator: Must specify max_steps > 0, given: %d", n)
		}
		o.maxSteps = &n
		return nil
	})
}

// Hooks adds hooks, called in this order after those that a session has anyway.
func Hooks(hooks ...SessionRunHook) Option {
	return optionFunc(func(o *options) error { o.hooks = append(o.hooks, hooks...); return nil })
}

// SavingListeners are called after each checkpoint that Train writes.
func SavingListeners(listeners ...CheckpointSaverListener) Option {
	return optionFunc(func(o *options) error { o.listeners = append(o.listeners, listeners...); return nil })
}

// Name tells several evaluations apart: the summaries of Evaluate are in the folder eval_NAME, without a name in eval.
func Name(name string) Option {
	return optionFunc(func(o *options) error {
		if name != "" && (name != filepath.Base(name) || name == "." || name == "..") {
			return fmt.Errorf("estimator: the name of an evaluation is %q; expected part of the name of a folder", name)
		}
		o.name = name
		return nil
	})
}

// CheckpointPath makes Evaluate and Predict use this checkpoint in place of the latest one of the folder; see [LatestCheckpoint] for its
// form.
func CheckpointPath(path string) Option {
	return optionFunc(func(o *options) error { o.checkpoint = path; return nil })
}

// collect applies options and reports those that the call does not take.
func collect(call string, list []Option) (options, error) {
	var o options
	for _, option := range list {
		if option == nil {
			continue
		}
		if err := option.set(&o); err != nil {
			return o, err
		}
	}
	if o.steps != nil && o.maxSteps != nil {
		return o, fmt.Errorf("estimator: Can not provide both steps and max_steps; received Steps(%d) and MaxSteps(%d)", *o.steps, *o.maxSteps)
	}
	for _, option := range []struct {
		name  string
		given bool
		calls []string
	}{
		{"Steps", o.steps != nil, []string{"Train", "Evaluate"}}, {"MaxSteps", o.maxSteps != nil, []string{"Train"}},
		{"SavingListeners", o.listeners != nil, []string{"Train"}}, {"Name", o.name != "", []string{"Evaluate"}}, {"CheckpointPath", o.checkpoint != "", []string{"Evaluate", "Predict"}},
	} {
		if option.given && !slices.Contains(option.calls, call) {
			return o, fmt.Errorf("estimator: %s does not take the option %s, which belongs to %s", call, option.name, strings.Join(option.calls, " and "))
		}
	}
	return o, nil
}
