package keras

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/recovery"
)

// This file has what Fit does in a job that survives the loss of workers, from beginning to end.

// enter begins Fit on all workers. A worker that joined later goes to the position of the others.
func (r *recoverer) enter(ctx context.Context) error {
	t := r.t
	task := recovery.Task{Kind: recovery.Enter, Config: t.describe(), Joining: r.strategy.Joining()}
	_, err := r.undertake(ctx, task, func() error {
		if err := t.begin(ctx); err != nil {
			return err
		}
		r.trained, r.reset = 0, true
		if p := t.now.resume; p.Measured {
			r.share, r.reset = sharedMetrics(t.now.measures), false
		}
		t.now.at = *t.now.resume
		return nil
	})
	return err
}

// goOn moves the trainer to the position that it adopted, and on to the boundary that follows a recovery.
func (r *recoverer) goOn(ctx context.Context) error {
	if err := r.t.moveOn(ctx); err != nil || !r.machine.State().Inside {
		return err
	}
	return r.boundary(ctx)
}

// boundary is the trainer's boundary. If workers are lost meanwhile, the next group agrees. It returns errMoved if this
// worker was away.
func (r *recoverer) boundary(ctx context.Context) error {
	_, err := r.undertake(ctx, recovery.Task{Kind: recovery.Boundary}, nil)
	return err
}

// step trains on one batch, and repeats that if workers are lost meanwhile. It returns errStopped if training stops
// before.
func (r *recoverer) step(ctx context.Context, epoch, step int, batch *data.Batch) error {
	task := recovery.Task{Kind: recovery.Step, Next: recovery.Place{Epoch: epoch, Done: step + 1}}
	how, err := r.undertake(ctx, task, func() error { return r.t.step(ctx, batch) })
	if how == recovery.Skip {
		r.skipped()
	}
	return err
}

// skipped records what the others have done.
func (r *recoverer) skipped() { r.t.trained, r.t.now.at = r.got.Trained, r.got.Progress }

// train is trainOn, except that the step takes effect when all collectives are done.
func (r *recoverer) train(ctx context.Context, inst *distribute.Instance) error {
	m := r.t.m
	m.values.Lock()
	defer m.values.Unlock()
	m.measured.Add(1)
	if err := r.share.bind(m, inst); err != nil {
		return err
	}
	if err := inst.Compute(ctx, m.seed, m.steps); err != nil {
		return err
	}
	if err := r.share.exchange(ctx, r.group, r.firstReplica()); err != nil {
		return err
	}
	if err := inst.Commit(); err != nil {
		return err
	}
	r.share.keep()
	m.steps++
	r.trained, r.reset = r.t.trained+1, false
	return nil
}

func (r *recoverer) firstReplica() int {
	return len(r.t.m.strategy.Devices()) * r.group.Rank()
}

// measureEpoch is the trainer's measureEpoch, and shares what a validation has changed besides the metrics. If the
// others have done it already, their logs are used, and their variables from before their callbacks ran.
func (r *recoverer) measureEpoch(ctx context.Context, epoch int) (logs *callbacks.Logs, err error) {
	task := recovery.Task{Kind: recovery.Epoch, Next: recovery.Place{Epoch: epoch + 1}}
	how, err := r.undertake(ctx, task, func() (err error) {
		logs, err = r.t.measureEpoch(ctx, epoch)
		if err == nil && r.t.evaluate != nil {
			err = r.share.afterEpoch(ctx, r.t.m, r.group, r.firstReplica())
		}
		return err
	})
	if err != nil || how != recovery.Skip {
		return logs, err
	}
	r.skipped()
	if r.last == nil || r.last.Epoch != epoch {
		return nil, fmt.Errorf("received the logs of another epoch from the other workers: %+v", r.last)
	}
	return r.last.logs(), r.t.m.writeAll(r.vars, r.before)
}

// endEpoch records that an epoch has ended on this worker.
func (r *recoverer) endEpoch(epoch int, logs *callbacks.Logs) {
	r.machine.At(r.strategy.Standing().Step)
	if !r.machine.EndEpoch() {
		return
	}
	r.last, r.reset = keepLogs(epoch, logs), true
	r.strategy.Advance(distribute.Standing{HasState: true, Step: r.machine.State().Position})
}

// leave records the end of Fit. If there were backups, which the chief has removed by then, the workers leave together:
// none may find them when the next Fit begins. The training is complete, so Fit does not return an error from here; the
// group's next call reports it.
func (r *recoverer) leave(ctx context.Context) {
	r.machine.At(r.strategy.Standing().Step)
	if r.machine.State().Inside {
		r.trained = 0
		r.machine.EndFit()
		r.strategy.Advance(distribute.Standing{HasState: true, Step: r.machine.State().Position})
	}
	if r.t.backsUp() {
		_ = r.t.m.OnChief(ctx, func() error { return nil })
	}
}

// OnChief runs f on the chief only, for example to write the model, and returns on all workers when f is done. All
// workers must call it. If the chief is lost before that, and the job survives it, the next chief runs f. An error of f
// ends the other calls too. A worker that joined later skips what was done before. If the optimizer's state is sharded
// over the workers (ShardOptimizerState), saving the model needs all of them: call Save on all instead.
func (m *Model) OnChief(ctx context.Context, f func() error) error {
	g := distribute.WorkersOf(m.strategy)
	if g == nil {
		return f()
	}
	done := false
	defer m.tellPanic("OnChief", &done)
	err := m.onChief(ctx, g, f)
	done = true
	return err
}

func (m *Model) onChief(ctx context.Context, g distribute.WorkerGroup, f func() error) error {
	r := m.lastRun().recovery
	if s, ok := m.strategy.(*distribute.MultiWorkerMirroredStrategy); ok && r == nil && s.Joining() {
		return nil // the others are training already
	}
	var own error // of f
	attempt := func() error {
		if m.WritesFiles() {
			if own = f(); own != nil {
				m.failTogether(own)
				return errChief
			}
		}
		return g.Agree(ctx, distribute.WorkerCall{Name: "what the chief does"})
	}
	var err error
	if r == nil || r.underWay() { // the running task recovers
		err = attempt()
	} else {
		_, err = r.undertake(ctx, recovery.Task{Kind: recovery.Aside}, attempt)
	}
	switch {
	case own != nil:
		return own
	case err != nil:
		return prefixed("OnChief", err)
	}
	return nil
}

var errChief = errors.New("the chief has failed")

// underWay reports whether the workers are about to do something together.
func (r *recoverer) underWay() bool {
	a := r.machine.Action()
	return a != recovery.Idle && !a.Ends()
}

// stopping reports whether training stops here, as all workers have agreed.
func (t *trainer) stopping() bool {
	if t.workers != nil {
		return t.workers.flags[0] != 0
	}
	return t.now.stopped.Load()
}

// epochLogs are the logs of an epoch, as callbacks receive them at its end.
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
