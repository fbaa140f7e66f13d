package keras

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
)

// A job that outlives lost workers goes from position to position: the begin of Fit is one, each training step, each
// end of an epoch, and the end of Fit. A step takes effect on a worker after its last collective, in which the workers
// also tell each other the state that each has for itself (metrics). So where a collective fails, some workers are at
// one position and the others at the one before it, and what any has is complete. The next group brings all to the
// later position: a worker that is behind gets the state from one that is not. Then all agree again on whether to go on
// (boundary), which keeps their collectives in step.

// recovery is what a worker of such a job keeps, also between two calls of Fit.
type recovery struct {
	strategy *distribute.MultiWorkerMirroredStrategy
	group    distribute.ElasticGroup

	fits      int    // calls of Fit that have begun, in the whole job
	calls     int    // calls of Fit of this process: fewer where it came later
	inside    bool   // Fit has begun and not ended
	config    string // of the Fit
	trained   int    // its steps
	callbacks func() ([]callbackState, error)
	last      *epochLogs // of the last epoch that ended

	share shared
	reset bool // the metrics were reset after the last step

	got    *runState            // the state that this worker took over last
	vars   distribute.Variables // with it
	values []kernels.Array      // and their values
	before []kernels.Array      // what they were here
	again  []kernels.Array      // values, to be set once more after the callbacks of what it slept through
	owed   bool                 // the boundary that follows each recovery has yet to come
	late   *runState            // the state is that of a later Fit than this process has come to

	asides int // calls of OnChief that the job has done since its last Fit
	own    int // and those of this process
}

// recoveryOf returns the model's, made at first.
func (m *Model) recoveryOf(s *distribute.MultiWorkerMirroredStrategy) *recovery {
	if m.recovery == nil {
		m.recovery = &recovery{strategy: s, group: s.Elastic(), reset: true}
	}
	return m.recovery
}

// lost reports whether a next group can go on where err ended this one.
func (r *recovery) lost(err error) bool {
	return r != nil && err != nil && r.group.Lost(err)
}

// advance notes that this worker is at the next position.
func (r *recovery) advance() {
	r.strategy.Advance(distribute.Standing{HasState: true, Step: r.strategy.Standing().Step + 1})
}

// move says what a recovery meant for a worker.
type move int

const (
	stayed   move = iota // it was at the latest position already: what failed is to be done again
	advanced             // what failed is done: it was one position behind
	moved                // it is somewhere else in the run, or at its end
)

// errMoved ends what the trainer is doing, so that it goes on at another place.
var errMoved = errors.New("this worker was away and goes on where the others are")

// errStopped ends the steps of an epoch before the one that was about to run.
var errStopped = errors.New("training is stopped")

// recover forms the next group after cause (nil: workers wait to be taken in) and brings all of its workers to the
// latest position. next is the place that what failed leads to; nil where nothing was under way, so that whoever is
// behind has missed what it has not even begun.
func (t *trainer) recover(ctx context.Context, cause error, next *progress) (move, error) {
	r := t.workers.recovery
	before := r.strategy.Standing().Step
	taken, err := t.renew(ctx, cause)
	if err != nil {
		return stayed, err
	}
	if !taken {
		return stayed, t.restoreMetrics()
	}
	s := r.got
	if next != nil && s.Position == before+1 && s.Inside && r.inside && s.Fits == r.fits && s.Progress.Epoch == next.Epoch && s.Progress.Done == next.Done {
		t.trained, t.m.at, r.again = s.Trained, s.Progress, r.values
		return advanced, t.restoreMetrics()
	}
	return moved, t.adopt(s)
}

// renew forms the next group and hands the latest state to those that are behind. It reports whether this worker was;
// the state is in recovery.got then.
func (t *trainer) renew(ctx context.Context, cause error) (taken bool, err error) {
	r := t.workers.recovery
	for {
		if err := t.regroup(ctx, r.strategy.Regroup); err != nil {
			return taken, errors.Join(err, cause)
		}
		got, err := t.m.transfer(ctx, r)
		taken = taken || got
		if err == nil {
			break
		}
		if !r.lost(err) {
			return taken, err
		}
		cause = err
	}
	for _, f := range []*binder{t.binder, t.validationBinder()} {
		if f != nil {
			f.release() // the number of replicas may be another one
		}
	}
	t.list.SetParams(t.params()) // a validation that failed has told the callbacks of an error
	return taken, nil
}

// regroup waits for the next group, until Fit's own context ends: nothing is under way meanwhile. Where another worker
// stopped waiting because its context has ended, so does this one.
func (t *trainer) regroup(ctx context.Context, wait func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.workers.outer, func() { cancel(context.Cause(t.workers.outer)) })()
	err := wait(ctx)
	if errors.Is(err, distribute.ErrLeft) {
		err = fmt.Errorf("%w, so this worker stops too: %w", err, callbacks.ErrStopped)
	}
	return err
}

func (t *trainer) validationBinder() *binder {
	if t.evaluate == nil {
		return nil
	}
	return t.evaluate.binder
}

// restoreMetrics brings the metrics back to what they were at the latest position.
func (t *trainer) restoreMetrics() error {
	r := t.workers.recovery
	if err := r.share.fits(t.m); err != nil {
		return err
	}
	if r.reset {
		return t.m.resetMetrics()
	}
	return t.m.setMeasures(r.share.metrics(bytesOf(t.m.metricVariables())))
}

// adopt goes to the place of a state, with what callbacks remember on the worker that it came from. Where the others
// are through with this Fit, so is this worker; what they have in a later one is then kept until it comes there.
func (t *trainer) adopt(s *runState) error {
	r := t.workers.recovery
	r.follow(s)
	t.m.stopped.Store(s.Stopped)
	if !r.inside {
		t.m.resume = &progress{Epoch: t.c.epochs}
		return nil
	}
	t.trained = s.Trained
	at := s.Progress
	t.m.at, t.m.resume = at, &at
	if err := t.meetLayers(); err != nil {
		return err
	}
	if !s.Reset {
		t.m.measures = r.share.metrics(bytesOf(t.m.metricVariables()))
	}
	t.m.resume.Measured = !s.Reset
	return setCallbackStates(t.all, s.Callbacks)
}

// follow notes where the job is, as a state from another worker says.
func (r *recovery) follow(s *runState) {
	r.fits, r.inside, r.asides, r.late = s.Fits, s.Inside && s.Fits == r.calls, s.Asides, nil
	if s.Fits > r.calls {
		r.late = s
	}
}

// meetLayers gives layers that keep a state between batches theirs. A worker that has not trained yet traces its step
// for that, because layers make what they keep when they are called.
func (t *trainer) meetLayers() error {
	r := t.workers.recovery
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

// goOn moves the trainer to the place that it adopted; what follows a recovery then follows.
func (t *trainer) goOn(ctx context.Context) error {
	if err := t.moveOn(ctx); err != nil || !t.workers.inside {
		return err
	}
	return t.boundary(ctx)
}

// enter is synchronize for a job that outlives lost workers. A worker that came later gets the state of the others
// first; where these are in the middle of this Fit, it goes on there.
func (t *trainer) enter(ctx context.Context) error {
	r := t.workers.recovery
	r.calls++
	r.own = 0
	r.config, r.callbacks = t.describe(), t.callbackStates
	joined := r.late != nil
	if joined { // what a callback has loaded meanwhile is older
		if err := t.m.writeAll(r.vars, r.values); err != nil {
			return err
		}
		t.m.steps = r.late.Steps
	}
	for r.strategy.Joining() {
		_, err := t.m.transfer(ctx, r)
		if err == nil {
			r.strategy.Joined()
			joined = true
			break
		}
		if !r.lost(err) {
			return err
		}
		if err := t.regroup(ctx, r.strategy.Rejoin); err != nil {
			return err
		}
	}
	if joined {
		if entered, err := t.catchUp(ctx, r.got); entered || err != nil {
			return err
		}
	}
	for {
		err := t.begin(ctx)
		if err == nil {
			r.fits, r.inside, r.trained, r.reset, r.asides = r.calls, true, 0, true, 0
			if p := t.m.resume; p.Measured {
				r.share, r.reset = sharedMetrics(t.m.measures), false
			}
			t.m.at = *t.m.resume
			r.advance()
			return nil
		}
		if !r.lost(err) {
			return err
		}
		taken, err := t.renew(ctx, err)
		if err == nil && !taken {
			err = t.restoreMetrics()
		}
		if err != nil {
			return err
		}
		if taken { // the others have begun, or are further still
			if entered, err := t.catchUp(ctx, r.got); entered || err != nil {
				return err
			}
		}
	}
}

// catchUp places a worker that came later. It reports false where this Fit has not begun.
func (t *trainer) catchUp(ctx context.Context, s *runState) (entered bool, err error) {
	r := t.workers.recovery
	switch {
	case s.Fits < r.calls:
		r.fits, r.inside, r.late = s.Fits, false, nil
		return false, nil
	case s.Fits == r.calls && s.Inside && s.Config != r.config:
		return true, fmt.Errorf("the others are in a Fit with %s, this worker in one with %s; run the same program on all", s.Config, r.config)
	}
	if err := t.adopt(s); err != nil {
		return true, err
	}
	return true, t.settle(ctx)
}

// settle is the boundary for a worker that has not gone to its place yet.
func (t *trainer) settle(ctx context.Context) error {
	for t.workers.inside {
		if err := t.boundary(ctx); err != errMoved {
			return err
		}
	}
	return nil
}

// leave notes the end of Fit. With backups, which the chief has removed by then, the workers leave together: nobody
// shall find them when the next Fit begins. What was trained stands, so an error here is none of Fit's; the next call
// of the group tells it.
func (t *trainer) leave(ctx context.Context) {
	r := t.workers.recovery
	if r == nil {
		return
	}
	if r.inside {
		r.inside, r.trained = false, 0
		r.advance()
	}
	if t.backsUp() {
		_ = t.m.OnChief(ctx, func() error { return nil })
	}
}

// OnChief runs f on the chief alone, for example to write the model, and returns on all workers when it is done; all
// must call it. Where the chief is lost before, and the job outlives that, the next chief runs f. An error of f ends
// the others too. A worker that came later leaves out what was done before. Where the optimizer's state is sharded over
// the workers (ShardOptimizerState), saving the model needs all of them: call Save on all instead.
func (m *Model) OnChief(ctx context.Context, f func() error) error {
	g := distribute.WorkersOf(m.strategy)
	if g == nil {
		return f()
	}
	r := m.recovery
	if s, ok := m.strategy.(*distribute.MultiWorkerMirroredStrategy); ok && r == nil && s.Joining() {
		return nil // the others train already
	}
	between := r != nil && !r.inside
	if between {
		r.own++
	}
	for {
		if between && (r.late != nil || r.own <= r.asides) {
			return nil
		}
		if m.WritesFiles() {
			if err := f(); err != nil {
				m.failTogether(err)
				return err
			}
		}
		err := g.Agree(ctx, distribute.WorkerCall{Name: "what the chief does"})
		for r.lost(err) {
			if err = r.strategy.Regroup(ctx); errors.Is(err, distribute.ErrLeft) {
				return nil // they have, when it was done
			} else if err != nil {
				return fmt.Errorf("keras: OnChief: %w", err)
			}
			var taken bool
			if taken, err = m.transfer(ctx, r); err == nil {
				err = errAgain
			}
			if taken && between {
				r.follow(r.got)
			}
		}
		switch {
		case err == nil:
			if between {
				r.asides = r.own
				r.advance()
			}
			return nil
		case !errors.Is(err, errAgain):
			return fmt.Errorf("keras: OnChief: %w", err)
		}
	}
}

var errAgain = errors.New("the group has changed")
