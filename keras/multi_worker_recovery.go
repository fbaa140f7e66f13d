package keras

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/recovery"
	"github.com/gokeras/gokeras/kernels"
)

// A state machine (distribute/recovery) decides what a worker does next in a job that survives the loss of workers;
// this file carries it out. A step takes effect on a worker after its last collective, in which the workers also
// exchange the state that each has for itself (metrics). So if a collective fails, the state of every worker is
// consistent.

// recoverer is the state of a worker of such a job; it survives from one Fit to the next. Other runs have none.
type recoverer struct {
	machine  recovery.Machine
	strategy *distribute.MultiWorkerMirroredStrategy
	group    distribute.ElasticGroup
	t        *trainer // of the current or last Fit

	trained int        // number of steps of the Fit
	last    *epochLogs // of the last finished epoch
	share   shared
	reset   bool // the metrics were reset after the last step

	got    *runState            // the state that this worker took over last
	vars   distribute.Variables // received with it
	values []kernels.Array      // and their values
	before []kernels.Array      // their values here before
}

// recoveryOf returns the recoverer of the job, which the first Fit creates.
func (r *fitRun) recoveryOf(t *trainer, s *distribute.MultiWorkerMirroredStrategy) *recoverer {
	if r.recovery == nil {
		r.recovery = &recoverer{strategy: s, group: s.Elastic(), reset: true}
	}
	r.recovery.t = t
	return r.recovery
}

// errMoved aborts what the trainer is doing, so that it continues at another position.
var errMoved = errors.New("this worker was away and goes on where the others are")

// errStopped ends the steps of an epoch before the next one runs.
var errStopped = errors.New("training is stopped")

// lost reports whether a new group can continue where err ended this one.
func (r *recoverer) lost(err error) bool { return err != nil && r.group.Lost(err) }

// undertake follows the state machine until the task is done, by this worker or by the others (Skip). attempt is the
// function that contains collectives. The error is errMoved or errStopped if the task must not be done any more.
func (r *recoverer) undertake(ctx context.Context, task recovery.Task, attempt func() error) (recovery.Action, error) {
	r.machine.At(r.strategy.Standing().Step)
	r.machine.Undertake(task)
	var cause, err error // cause ended the last group
	for !r.machine.Action().Ends() {
		e := recovery.Event{}
		e, err = r.perform(ctx, task.Kind, attempt)
		switch {
		case e.Outcome == recovery.Lost || e.Outcome == recovery.Waiting:
			cause = err
		case err != nil && r.machine.Action() == recovery.Form && task.Kind != recovery.Aside:
			err = errors.Join(err, cause)
		}
		if _, unexpected := r.machine.Apply(e); unexpected != nil {
			return recovery.Fail, errors.Join(unexpected, err)
		}
		if step := r.machine.State().Position; e.Outcome == recovery.Took || step != r.strategy.Standing().Step {
			r.strategy.Advance(distribute.Standing{HasState: true, Step: step})
		}
	}
	switch a := r.machine.Action(); a {
	case recovery.Move:
		return a, errMoved
	case recovery.Stop:
		return a, errStopped
	case recovery.Refuse:
		return a, fmt.Errorf("the others are in a Fit with %s, this worker in one with %s; run the same program on all", r.got.At.Config, task.Config)
	case recovery.Fail:
		return a, err
	default:
		return a, nil
	}
}

// perform carries out what the state machine says, and reports how it went.
func (r *recoverer) perform(ctx context.Context, kind recovery.Kind, attempt func() error) (e recovery.Event, err error) {
	a := r.machine.Action()
	if a == recovery.Transfer || a == recovery.Rewrite { // the state that comes may not be what the callbacks here have set
		r.t.workers.compares = false
	}
	switch a {
	case recovery.Attempt:
		err = attempt()
	case recovery.Agree:
		e.Outcome, err = r.agree(ctx)
	case recovery.Form:
		err = r.regroup(ctx, kind, r.strategy.Regroup)
	case recovery.Rejoin:
		if err = r.regroup(ctx, kind, r.strategy.Rejoin); err == nil && !r.strategy.Joining() {
			e.Outcome = recovery.Kept
		}
	case recovery.Transfer:
		e, err = r.renew(ctx, kind)
	case recovery.Restore:
		err = r.restoreMetrics()
	case recovery.Adopt:
		err = r.adopt()
	case recovery.Rewrite:
		err = r.rewrite()
	}
	switch {
	case err == nil:
	case (a == recovery.Attempt || a == recovery.Agree || a == recovery.Transfer) && r.lost(err):
		e.Outcome = recovery.Lost
	case a == recovery.Form && errors.Is(err, distribute.ErrLeft):
		e.Outcome = recovery.Left
	default:
		e.Outcome = recovery.Failed
	}
	return e, err
}

// agree reduces the flags of all workers.
func (r *recoverer) agree(ctx context.Context) (recovery.Outcome, error) {
	err, flags := r.t.agreeToGoOn(ctx), &r.t.workers.flags
	switch {
	case flags[2] != 0:
		return recovery.Waiting, err
	case flags[0] != 0:
		return recovery.Stopping, err
	}
	return recovery.Done, err
}

// regroup waits for the next group. Within Fit it waits until Fit's own context ends, since nothing else is running. If
// another worker stopped waiting because its context ended, so does this one.
func (r *recoverer) regroup(ctx context.Context, kind recovery.Kind, wait func(context.Context) error) error {
	if kind == recovery.Aside {
		return wait(ctx)
	}
	outer := r.t.workers.outer
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(outer, func() { cancel(context.Cause(outer)) })()
	err := wait(ctx)
	if errors.Is(err, distribute.ErrLeft) {
		err = fmt.Errorf("%w, so this worker stops too: %w", err, callbacks.ErrStopped)
	}
	return err
}

// renew hands the latest state to workers that are behind, and prepares the trainer for the group.
func (r *recoverer) renew(ctx context.Context, kind recovery.Kind) (e recovery.Event, err error) {
	e.Outcome = recovery.Kept
	taken, err := r.transfer(ctx)
	if err != nil {
		return e, err
	}
	if taken {
		e.Outcome, e.State = recovery.Took, r.got.At
		r.strategy.Joined()
	}
	if kind == recovery.Aside {
		return e, nil
	}
	t := r.t
	for _, f := range []*binder{t.binder, t.validationBinder()} {
		if f != nil {
			f.release() // the number of replicas may have changed
		}
	}
	t.list.SetParams(t.params()) // a failed validation has told the callbacks about an error
	return e, nil
}

func (t *trainer) validationBinder() *binder {
	if t.evaluate == nil {
		return nil
	}
	return t.evaluate.binder
}

// restoreMetrics resets the metrics to their values at the latest position.
func (r *recoverer) restoreMetrics() error {
	m := r.t.m
	if err := r.share.fits(m); err != nil {
		return err
	}
	if r.reset {
		return m.resetMetrics()
	}
	return m.setMeasures(r.share.metrics(bytesOf(m.metricVariables())))
}

// adopt moves to the position of the received state, with the callbacks' state of the worker that sent it. If the
// others have finished this Fit, so has this worker; their state in a later Fit is kept until this worker gets there.
func (r *recoverer) adopt() error {
	s, t := r.got, r.t
	t.now.stopped.Store(s.Stopped)
	if !r.machine.State().Inside {
		t.now.resume = &progress{Epoch: t.c.epochs}
		return nil
	}
	t.trained = s.Trained
	at := s.Progress
	t.now.at, t.now.resume = at, &at
	if err := r.meetLayers(); err != nil {
		return err
	}
	if !s.Reset {
		t.now.measures = r.share.metrics(bytesOf(t.m.metricVariables()))
	}
	t.now.resume.Measured = !s.Reset
	return setCallbackStates(t.all, s.Callbacks)
}

// meetLayers restores the state that layers keep between batches. A worker that has not trained yet traces its step
// first, because layers create their state when they are called.
func (r *recoverer) meetLayers() error {
	t := r.t
	if r.share.Size > r.share.Metrics && r.share.layers == nil {
		if err := t.binder.acquire(&t.parts, t.parts.rows()); err != nil {
			return err
		}
		if err := r.share.bind(t.m, t.binder.inst); err != nil {
			return err
		}
	}
	return r.share.fits(t.m)
}
