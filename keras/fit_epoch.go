package keras

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tracing"
)

// epochs trains the remaining epochs.
func (t *trainer) epochs(ctx context.Context) (logs *callbacks.Logs, err error) {
	stopped := t.workers != nil && t.workers.flags[0] != 0 && t.skipped == 0 // a run that has been stopped
	for epoch, begun := t.c.initialEpoch, true; epoch < t.c.epochs && !stopped; {
		if !begun {
			if err := t.source.begin(ctx, epoch); err != nil {
				return logs, err
			}
		}
		begun = false
		logs, err = t.epoch(ctx, epoch)
		for err == errMoved { // a worker that was away
			if err = t.recovery.goOn(ctx); err == nil {
				epoch, begun = t.c.initialEpoch-1, true
			}
		}
		if err != nil {
			return logs, fmt.Errorf("epoch %d: %w", epoch+1, err)
		}
		epoch++
		if t.stopping() && t.skipped == 0 {
			break
		}
	}
	return logs, nil
}

func (t *trainer) epoch(ctx context.Context, epoch int) (*callbacks.Logs, error) {
	if err := t.beginMetrics(); err != nil {
		return nil, err
	}
	if err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnEpochBegin(epoch) }); err != nil {
		return nil, err
	}
	if err := t.steps(ctx, epoch); err != nil {
		return nil, err
	}
	t.list.SetParams(t.params()) // the number of steps may be known now
	measure := t.measureEpoch
	if t.recovery != nil {
		measure = t.recovery.measureEpoch
	}
	logs, err := measure(ctx, epoch)
	if err != nil {
		return nil, err
	}
	t.reached(epoch+1, 0)
	shown := addLogs(callbacks.NewLogs(nil), "", logs) // what callbacks add is seen by the callbacks after them, and by nobody after the epoch
	err = t.list.Each(func(cb callbacks.Callback) error { return cb.OnEpochEnd(epoch, shown) })
	for _, note := range t.notes {
		fmt.Fprintln(t.c.output, note)
	}
	t.notes = nil
	if err == nil && t.recovery != nil {
		t.recovery.endEpoch(epoch, logs)
	}
	if err == nil && t.workers != nil {
		err = t.epochBoundary(ctx)
	}
	if errors.Is(err, distribute.ErrLeft) && (epoch+1 == t.c.epochs || t.now.stopped.Load()) {
		err = nil // the others have finished, so all reach the end
	}
	return logs, err
}

// beginMetrics resets the metrics at the beginning of an epoch, or restores them in its middle.
func (t *trainer) beginMetrics() error {
	if t.measured {
		t.measured = false
		return t.m.setMeasures(t.now.measures)
	}
	return t.m.resetMetrics()
}

// measureEpoch computes the logs of an epoch, including those of the validation.
func (t *trainer) measureEpoch(ctx context.Context, epoch int) (*callbacks.Logs, error) {
	logs := t.results.logs("")
	if err := logs.Err(); err != nil {
		return nil, err
	}
	if t.c.validates(epoch) {
		if err := t.keepMeasures(); err != nil {
			return nil, err
		}
		validation, err := t.evaluate.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("validation: %w", err)
		}
		t.now.validating = nil
		addLogs(logs, "val_", validation)
	}
	return logs, nil
}

// keepMeasures saves the metrics of the epoch for a backup of a run that is stopped during its validation. Several
// workers and parameter servers save theirs elsewhere.
func (t *trainer) keepMeasures() error {
	if t.workers != nil || t.servers != nil {
		return nil
	}
	kept, err := t.m.measuresSoFar()
	t.now.validating = &kept
	return err
}

// addLogs adds the entries of other logs under names with a prefix.
func addLogs(to *callbacks.Logs, prefix string, from *callbacks.Logs) *callbacks.Logs {
	for _, name := range from.Names() {
		to.Set(prefix+name, from.Vector(name)...)
	}
	return to
}

// steps runs the batches of one epoch.
func (t *trainer) steps(ctx context.Context, epoch int) error {
	if t.servers != nil {
		return t.servers.epoch(ctx, epoch)
	}
	err := t.executions(ctx, epoch)
	if failed := t.flush(context.WithoutCancel(ctx)); err == nil { // steps that were counted are run
		err = failed
	}
	return err
}

// executions runs the batches of one epoch, StepsPerExecution of them between two rounds of callbacks.
func (t *trainer) executions(ctx context.Context, epoch int) error {
	perExecution := t.m.compiled.config.StepsPerExecution
	watched := t.list.WantsBatches()
	limit, first := t.source.steps(), t.skipped
	if t.skipped = 0; first > 0 && t.stopping() {
		return nil // the worker that this one follows is at the end of the epoch
	}
	for step := first; limit < 0 || step < limit; {
		begin, end := step, step-step%perExecution+perExecution // as on workers that started at the beginning of the epoch
		for ; step < end && (limit < 0 || step < limit); step++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			batch, err := t.nextBatch()
			if err == io.EOF {
				limit = step
				t.warnDry(step)
				break
			}
			if err != nil {
				return err
			}
			if watched && step == begin {
				if err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBatchBegin(begin) }); err != nil {
					return err
				}
			}
			t.check.epoch, t.check.step = epoch, step
			if t.recovery == nil {
				err = t.step(ctx, batch)
			} else {
				err = t.recovery.step(ctx, epoch, step, batch)
			}
			if err == errStopped {
				limit = step
				break
			}
			if err == errMoved {
				return err
			}
			if err != nil {
				return fmt.Errorf("batch %d: %w", step, err)
			}
			t.reached(epoch, step+1)
		}
		if err := t.flush(ctx); err != nil {
			return fmt.Errorf("batch %d: %w", step-1, err)
		}
		if watched && step > begin {
			logs := t.results.batchLogs()
			last := step - 1
			if err := t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBatchEnd(last, logs) }); err != nil {
				return err
			}
		}
		if step > begin && t.workers != nil {
			if err := t.boundary(ctx); err != nil {
				return err
			}
		}
		if t.stopping() {
			break
		}
	}
	if limit == 0 {
		return fmt.Errorf("the data gave no batch; a dataset must yield its batches again in each epoch")
	}
	return nil
}

// flush launches the steps of an incomplete execution.
func (t *trainer) flush(ctx context.Context) error {
	inst := t.binder.inst
	if inst == nil {
		return nil
	}
	t.m.values.Lock()
	defer t.m.values.Unlock()
	return t.m.undo(inst.Flush(ctx))
}

// warnDry warns that there were fewer batches than requested.
func (t *trainer) warnDry(step int) {
	if t.c.steps > step && t.c.verbose > 0 {
		t.notes = append(t.notes, fmt.Sprintf("the data ended after %d of the %d batches of the epoch; use a dataset with Repeat, or fewer StepsPerEpoch", step, t.c.steps))
	}
}

func (t *trainer) nextBatch() (*data.Batch, error) {
	if b := t.first; b != nil {
		t.first = nil
		return b, nil
	}
	if rec := t.recording.Active(); rec != nil {
		defer rec.Span(tracing.Loop, "input", "wait for input", "", 0, time.Now())
	}
	return t.source.next()
}

// step trains on one batch. It allocates nothing if the batch has the shape of the previous one.
func (t *trainer) step(ctx context.Context, b *data.Batch) error {
	if rec := t.recording.Active(); rec != nil {
		defer rec.Span(tracing.Loop, "step", "step", "", 0, time.Now())
	}
	t.parts.from(t.source, b)
	if err := t.m.arrange(b, &t.parts); err != nil {
		return err
	}
	if err := t.m.compiled.check(&t.parts, true); err != nil {
		return err
	}
	if len(t.parts.w) > 0 && len(t.c.classWeight) > 0 {
		return fmt.Errorf("the batch has sample weights, and ClassWeight is given; use one of them")
	}
	if err := t.lookAtBatch(); err != nil {
		return err
	}
	if !t.binder.fits(&t.parts, t.parts.rows()) {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	inst, err := t.binder.load(&t.parts)
	if err != nil {
		return err
	}
	if t.recovery != nil {
		err = t.recovery.train(ctx, inst)
	} else {
		t.attach()
		err = t.m.trainOn(ctx, inst, t.m.compiled.config.StepsPerExecution)
		t.detach()
	}
	if err == nil {
		err = t.m.trainRows(inst, &t.parts, t.binder)
	}
	if err != nil {
		return err
	}
	t.trained++
	return nil
}
