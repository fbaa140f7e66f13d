package estimator

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"
	"time"
)

// SessionRunHook is code that is called around the steps of a session: tf.estimator.SessionRunHook. Embed [HookBase] to
// omit methods. A hook belongs to one session at a time. An error of a hook ends the session.
type SessionRunHook interface {
	// Begin is called once, after the variables were initialized or restored and before the first step.
	Begin(s *Session) error
	// BeforeRun is called before each step.
	BeforeRun(c *RunContext) error
	// AfterRun is called after each step with its results.
	AfterRun(c *RunContext, v *RunValues) error
	// End is called after the last step, but not if the session ends with an error.
	End(s *Session) error
}

// HookBase implements the methods of a [SessionRunHook]; they do nothing.
type HookBase struct{}

// Begin does nothing.
func (HookBase) Begin(*Session) error { return nil }

// BeforeRun does nothing.
func (HookBase) BeforeRun(*RunContext) error { return nil }

// AfterRun does nothing.
func (HookBase) AfterRun(*RunContext, *RunValues) error { return nil }

// End does nothing.
func (HookBase) End(*Session) error { return nil }

// RunContext is what a hook can do around a step.
type RunContext struct{ session *Session }

// Session returns the running session.
func (c *RunContext) Session() *Session { return c.session }

// RequestStop ends the session after this step, or before it if called in BeforeRun of the first step.
func (c *RunContext) RequestStop() { c.session.stop = true }

// RunValues are the results of a step. They are overwritten by the next step.
type RunValues struct {
	// Loss is the mean of the replicas' losses; 0 in Predict.
	Loss float64
	// GlobalStep is the number of training steps finished, this one included.
	GlobalStep int64
	// Values has the scalars that the ModelFn passed to [Context.Fetch], and "loss": the means over the replicas.
	Values map[string]float64
}

// CheckpointSaverListener is called after each checkpoint of a training session, including the one at its beginning.
type CheckpointSaverListener func(s *Session, globalStep int64) error

// timer reports when something is due that happens every given number of steps or seconds: TensorFlow's
// SecondOrStepTimer. It is due at the first query.
type timer struct {
	steps int64
	every time.Duration
	asked bool
	last  int64
	at    time.Time
}

func (t *timer) due(step int64) bool {
	switch {
	case !t.asked:
		return true
	case step == t.last:
		return false
	case t.steps > 0 && step >= t.last+t.steps:
		return true
	}
	return t.every > 0 && time.Since(t.at) >= t.every
}

func (t *timer) mark(step int64) (elapsed time.Duration, steps int64) {
	now := time.Now()
	if t.asked {
		elapsed, steps = now.Sub(t.at), step-t.last
	}
	t.asked, t.last, t.at = true, step, now
	return elapsed, steps
}

// StopAtStepHook ends training after NumSteps more steps or when the global step reaches LastStep; exactly one must be
// set.
type StopAtStepHook struct {
	HookBase
	NumSteps, LastStep int

	last int64
}

// Begin computes the last step.
func (h *StopAtStepHook) Begin(s *Session) error {
	if (h.NumSteps > 0) == (h.LastStep > 0) || h.NumSteps < 0 || h.LastStep < 0 {
		return fmt.Errorf("estimator: StopAtStepHook: exactly one of NumSteps and LastStep must be positive, received %d and %d", h.NumSteps, h.LastStep)
	}
	h.last = int64(h.LastStep)
	if h.NumSteps > 0 {
		h.last = s.GlobalStep() + int64(h.NumSteps)
	}
	return nil
}

// AfterRun requests the stop at the last step.
func (h *StopAtStepHook) AfterRun(c *RunContext, v *RunValues) error {
	if v.GlobalStep >= h.last {
		c.RequestStop()
	}
	return nil
}

// ErrNaNLoss is the error of a training whose loss is NaN.
var ErrNaNLoss = errors.New("NaN loss during training")

// NaNTensorHook ends training if the loss is NaN: with [ErrNaNLoss] or, with StopOnly, without an error. Train adds
// one.
type NaNTensorHook struct {
	HookBase
	StopOnly bool
}

// AfterRun checks the loss.
func (h *NaNTensorHook) AfterRun(c *RunContext, v *RunValues) error {
	if !math.IsNaN(v.Loss) {
		return nil
	}
	if h.StopOnly {
		c.RequestStop()
		return nil
	}
	return fmt.Errorf("estimator: step %d: %w; try a smaller learning rate, and look for NaN in the data", v.GlobalStep, ErrNaNLoss)
}

// LoggingTensorHook writes values of a step (see [RunValues]) to Output every EveryNIter steps or EverySecs seconds,
// beginning with the first step. With AtEnd it also writes at the end.
type LoggingTensorHook struct {
	HookBase
	Output io.Writer
	// Tensors are the names to write; nil is all.
	Tensors    []string
	EveryNIter int
	EverySecs  float64
	AtEnd      bool

	timer  timer
	steps  int64
	latest string
}

// Begin checks the settings.
func (h *LoggingTensorHook) Begin(*Session) error {
	set := 0
	for _, on := range []bool{h.EveryNIter > 0, h.EverySecs > 0} {
		if on {
			set++
		}
	}
	if h.Output == nil || set > 1 || set == 0 && !h.AtEnd || h.EveryNIter < 0 || h.EverySecs < 0 {
		return fmt.Errorf("estimator: LoggingTensorHook: needs an Output, and exactly one of EveryNIter and EverySecs (or AtEnd alone); received EveryNIter %d, EverySecs %v, AtEnd %v",
			h.EveryNIter, h.EverySecs, h.AtEnd)
	}
	h.timer, h.steps = timer{steps: int64(h.EveryNIter), every: time.Duration(h.EverySecs * float64(time.Second))}, 0
	return nil
}

// AfterRun writes what is due.
func (h *LoggingTensorHook) AfterRun(_ *RunContext, v *RunValues) error {
	step := h.steps
	h.steps++
	periodic := h.EveryNIter > 0 || h.EverySecs > 0
	due := periodic && h.timer.due(step)
	if !due && !h.AtEnd {
		return nil
	}
	line, err := h.line(v)
	if err != nil {
		return err
	}
	h.latest = line
	if !due {
		return nil
	}
	if elapsed, _ := h.timer.mark(step); elapsed > 0 {
		line += fmt.Sprintf(" (%.3f sec)", elapsed.Seconds())
	}
	_, err = fmt.Fprintln(h.Output, line)
	return err
}

func (h *LoggingTensorHook) line(v *RunValues) (string, error) {
	names := h.Tensors
	if names == nil {
		for name := range v.Values {
			names = append(names, name)
		}
		sort.Strings(names)
	}
	parts := make([]string, len(names))
	for i, name := range names {
		value, ok := v.Values[name]
		if !ok {
			return "", fmt.Errorf("estimator: LoggingTensorHook: the step has no value %q; hand it to Context.Fetch in the ModelFn", name)
		}
		parts[i] = fmt.Sprintf("%s = %v", name, float32(value))
	}
	return fmt.Sprintf("step = %d, %s", v.GlobalStep, strings.Join(parts, ", ")), nil
}

// End writes the values of the last step if AtEnd is set.
func (h *LoggingTensorHook) End(*Session) error {
	if !h.AtEnd || h.latest == "" {
		return nil
	}
	_, err := fmt.Fprintln(h.Output, h.latest)
	return err
}

// StepCounterHook writes the number of steps per second to Output every EveryNSteps steps; 0 is 100.
type StepCounterHook struct {
	HookBase
	Output      io.Writer
	EveryNSteps int

	timer timer
}

// Begin starts the clock.
func (h *StepCounterHook) Begin(s *Session) error {
	if h.Output == nil || h.EveryNSteps < 0 {
		return fmt.Errorf("estimator: StepCounterHook: needs an Output and EveryNSteps of 0 or more, received %d", h.EveryNSteps)
	}
	n := h.EveryNSteps
	if n == 0 {
		n = defaultLogSteps
	}
	h.timer = timer{steps: int64(n)}
	h.timer.mark(s.GlobalStep())
	return nil
}

// AfterRun writes what is due.
func (h *StepCounterHook) AfterRun(_ *RunContext, v *RunValues) error {
	if !h.timer.due(v.GlobalStep) {
		return nil
	}
	elapsed, steps := h.timer.mark(v.GlobalStep)
	_, err := fmt.Fprintf(h.Output, "global_step/sec: %.6g\n", float64(steps)/elapsed.Seconds())
	return err
}

// CheckpointSaverHook writes a checkpoint at the beginning, every SaveSteps steps or SaveSecs seconds, and at the end.
// Train adds one according to the [RunConfig].
type CheckpointSaverHook struct {
	HookBase
	SaveSteps int
	SaveSecs  float64

	timer timer
}

// Begin writes the first checkpoint.
func (h *CheckpointSaverHook) Begin(s *Session) error {
	if (h.SaveSteps > 0) == (h.SaveSecs > 0) || h.SaveSteps < 0 || h.SaveSecs < 0 {
		return fmt.Errorf("estimator: CheckpointSaverHook: exactly one of SaveSteps and SaveSecs must be positive, received %d and %v", h.SaveSteps, h.SaveSecs)
	}
	h.timer = timer{steps: int64(h.SaveSteps), every: time.Duration(h.SaveSecs * float64(time.Second))}
	h.timer.mark(s.GlobalStep())
	_, err := s.SaveCheckpoint()
	return err
}

// AfterRun writes what is due.
func (h *CheckpointSaverHook) AfterRun(c *RunContext, v *RunValues) error {
	if !h.timer.due(v.GlobalStep) {
		return nil
	}
	h.timer.mark(v.GlobalStep)
	_, err := c.session.SaveCheckpoint()
	return err
}

// End writes the last checkpoint.
func (h *CheckpointSaverHook) End(s *Session) error {
	_, err := s.SaveCheckpoint()
	return err
}
