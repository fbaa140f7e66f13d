package keras

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
)

// This file is what a trainer does in a job that outlives lost workers.

// persist does what has collectives and leads to the next progress, again where workers were lost meanwhile. Where the
// others have done it already it returns advanced, and errStopped where all have agreed that a step is not to be done
// any more.
func (t *trainer) persist(ctx context.Context, next progress, f func() error) (move, error) {
	for {
		err := f()
		r := t.workers.recovery
		if !r.lost(err) {
			return stayed, err
		}
		m, err := t.recover(ctx, err, &next)
		switch {
		case err != nil:
			return m, err
		case m == advanced:
			r.owed = true
			return m, nil
		case m == moved:
			return m, errMoved
		}
		if err := t.boundary(ctx); err != nil {
			return m, err
		}
		if next.Done > 0 && t.stopping() {
			return m, errStopped
		}
	}
}

// attempt trains on one batch. Where workers are lost meanwhile it does so again; it returns errStopped where training
// stops before.
func (t *trainer) attempt(ctx context.Context, epoch, step int, batch *data.Batch) error {
	r := t.workers.recovery
	if r == nil {
		return t.step(ctx, batch)
	}
	if r.owed { // in the middle of the steps of an execution
		if err := t.afterSteps(ctx); err != nil {
			return err
		}
		if t.stopping() {
			return errStopped
		}
	}
	_, err := t.persist(ctx, progress{Epoch: epoch, Done: step + 1}, func() error { return t.step(ctx, batch) })
	return err
}

// afterSteps is what follows the steps of an execution and their callbacks.
func (t *trainer) afterSteps(ctx context.Context) error {
	if r := t.workers.recovery; r != nil {
		r.owed = false
	}
	if err := t.awake(); err != nil {
		return err
	}
	return t.boundary(ctx)
}

// trainTogether is trainOn for a job that outlives lost workers: the step takes effect when all collectives are done.
func (t *trainer) trainTogether(ctx context.Context, inst *distribute.Instance) error {
	m, r := t.m, t.workers.recovery
	m.values.Lock()
	defer m.values.Unlock()
	m.measured.Add(1)
	if err := r.share.bind(m, inst); err != nil {
		return err
	}
	if err := inst.Compute(ctx, m.seed, m.steps); err != nil {
		return err
	}
	if err := r.share.exchange(ctx, r.group, len(m.strategy.Devices())*r.group.Rank()); err != nil {
		return err
	}
	if err := inst.Commit(); err != nil {
		return err
	}
	r.share.keep()
	m.steps++
	r.trained, r.reset = t.trained+1, false
	r.advance()
	return nil
}

// shareAfterEpoch shares what a validation has changed beside the metrics.
func (t *trainer) shareAfterEpoch(ctx context.Context) error {
	r := t.workers.recovery
	if r == nil || t.evaluate == nil {
		return nil
	}
	return r.share.afterEpoch(ctx, t.m, r.group, len(t.m.strategy.Devices())*r.group.Rank())
}

// endEpoch notes that an epoch has ended on this worker.
func (t *trainer) endEpoch(epoch int, logs *callbacks.Logs, how move) error {
	r := t.workers.recovery
	if r == nil {
		return nil
	}
	if how == advanced {
		r.owed = false
		return t.awake()
	}
	r.last, r.reset = keepLogs(epoch, logs), true
	r.advance()
	return nil
}

// stopping reports whether training stops here, as all workers have agreed.
func (t *trainer) stopping() bool {
	if t.workers.group != nil {
		return t.workers.flags[0] != 0
	}
	return t.m.stopped.Load()
}

// epochSleptThrough returns the logs of an epoch that has ended on the others, and brings back the variables from
// before their callbacks.
func (t *trainer) epochSleptThrough(epoch int) (*callbacks.Logs, error) {
	r := t.workers.recovery
	if r.last == nil || r.last.Epoch != epoch {
		return nil, fmt.Errorf("received the logs of another epoch from the other workers: %+v", r.last)
	}
	return r.last.logs(), t.m.writeAll(r.vars, r.before)
}

// awake ends what a worker does that has slept through a position: callbacks that set variables have done so on the
// others too.
func (t *trainer) awake() error {
	r := t.workers.recovery
	if r == nil || r.again == nil {
		return nil
	}
	values := r.again
	r.again = nil
	return t.m.writeAll(r.vars, values)
}

// epochLogs are the logs of an epoch, as callbacks at its end get them.
type epochLogs struct {
	Epoch  int
	Names  []string
	Values [][]float64
}

func keepLogs(epoch int, logs *callbacks.Logs) *epochLogs {
	l := &epochLogs{Epoch: epoch}
	for _, name := range logs.Names() {
		l.Names, l.Values = append(l.Names, name), append(l.Values, append([]float64(nil), logs.Vector(name)...))
	}
	return l
}

func (l *epochLogs) logs() *callbacks.Logs {
	out := callbacks.NewLogs(nil)
	for i, name := range l.Names {
		out.Set(name, l.Values[i]...)
	}
	return out
}
