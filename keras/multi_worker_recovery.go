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

// What a worker of a job that outlives lost workers does next is decided by a machine (distribute/recovery); this file
// does what it says. A step takes effect on a worker after its last collective, in which the workers also tell each
// other the state that each has for itself (metrics). So where a collective fails, what any worker has is complete.

// recoverer is what a worker of such a job keeps, also between two calls of Fit. Other runs have none.
type recoverer struct {
	machine  recovery.Machine
	strategy *distribute.MultiWorkerMirroredStrategy
	group    distribute.ElasticGroup
	t        *trainer // of the Fit under way, or of the last one

	trained int        // steps of the Fit
	last    *epochLogs // of the last epoch that ended
	share   shared
	reset   bool // the metrics were reset after the last step

	got    *runState            // the state that this worker took over last
	vars   distribute.Variables // with it
	values []kernels.Array      // and their values
	before []kernels.Array      // what they were here
}

// recoveryOf returns the recoverer of the job, made at the first Fit.
func (r *fitRun) recoveryOf(t *trainer, s *distribute.MultiWorkerMirroredStrategy) *recoverer {
	if r.recovery == nil {
		r.recovery = &recoverer{strategy: s, group: s.Elastic(), reset: true}
	}
	r.recovery.t = t
	return r.recovery
}

// errMoved ends what the trainer is doing, so that it goes on at another place.
var errMoved = errors.New("this worker was away and goes on where the others are")

// errStopped ends the steps of an epoch before the one that was about to run.
var errStopped = errors.New("training is stopped")

// lost reports whether a next group can go on where err ended this one.
func (r *recoverer) lost(err error) bool { return err != nil && r.group.Lost(err) }

// undertake does what the machine says until the task is done, by this worker or by the others (Skip). attempt is what
// has collectives. The error is errMoved or errStopped where the task is not to be done any more.
func (r *recoverer) undertake(ctx context.Context, task recovery.Task, attempt func() error) (recovery.Action, error) {
	r.machine.At(r.strategy.Standing().Step)
	r.machine.Undertake(task)
	var cause, err error // cause has ended the last group
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

// perform does what the machine says and tells how it went.
func (r *recoverer) perform(ctx context.Context, kind recovery.Kind, attempt func() error) (e recovery.Event, err error) {
	a := r.machine.Action()
	if a == recovery.Transfer || a == recovery.Rewrite { // what may come now is not what the callbacks here have set
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

// agree joins the flags of all workers.
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

// regroup waits for the next group. In Fit it does until Fit's own context ends: nothing is under way meanwhile. Where
// another worker stopped waiting because its context has ended, so does this one.
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

// renew hands the latest state to those that are behind, and makes the trainer ready for the group.
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
			f.release() // the number of replicas may be another one
		}
	}
	t.list.SetParams(t.params()) // a validation that failed has told the callbacks of an error
	return e, nil
}

func (t *trainer) validationBinder() *binder {
	if t.evaluate == nil {
		return nil
	}
	return t.evaluate.binder
}

// restoreMetrics brings the metrics back to what they were at the latest position.
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

// adopt goes to the place of the state that was received, with what callbacks remember on the worker that it came from.
// Where the others are through with this Fit, so is this worker; what they have in a later one is kept until it comes
// there.
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

// meetLayers gives layers that keep a state between batches theirs. A worker that has not trained yet traces its step
// for that, because layers make what they keep when they are called.
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
