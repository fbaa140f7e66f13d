package estimator

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// The worker's part of Train: it computes gradients for batches of its own input, until the coordinator ends the call.

// work computes what the coordinator requests until the coordinator ends the call.
func (t *serverTraining) work(ctx context.Context) error {
	t.job.Register(t.noteName("step"), parameters.Function(t.step).Until(ctx)) // the data end with it too
	err := t.await(ctx)
	t.job.Register(t.noteName("step"), nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
	return err
}

// await returns when the coordinator has ended the call.
func (t *serverTraining) await(ctx context.Context) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	jobOver := make(chan error, 1)
	go func() { jobOver <- t.job.Over(waiting) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var ended error
		select {
		case err := <-jobOver:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if ended = err; err == nil {
				ended = parameters.ErrOver
			}
		case <-tick.C:
		}
		over, err := t.over(ctx)
		if over || err != nil {
			return err
		}
		if ended != nil {
			return fmt.Errorf("estimator: Train: %w", ended)
		}
	}
}

// step is a closure.
func (t *serverTraining) step(ctx context.Context, c *parameters.Closure) (out parameters.Outcome, err error) {
	var order serverOrder
	if err := gob.NewDecoder(bytes.NewReader(c.Argument)).Decode(&order); err != nil {
		return out, fmt.Errorf("the argument of a step: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return out, parameters.ErrElsewhere
	}
	batch, ok := distribute.PerReplicaBatch(nil), false
	if !t.ended {
		if batch, err, ok = t.next(); err != nil {
			return out, err
		}
	}
	if t.ended = !ok || batch[0].Examples() == 0; t.ended {
		out.Value, err = encoded(serverResult{Over: true})
		return out, err
	}
	if len(t.trained) == 0 {
		if err := t.look(batch); err != nil {
			return out, err
		}
	}
	if !t.compared {
		if err := t.compare(ctx); err != nil {
			return out, err
		}
		t.compared = true
	}
	result, err := t.compute(ctx, batch, order, &out)
	if err == nil {
		out.Value, err = encoded(result)
	}
	return out, err
}

// compute runs the step with the servers' values.
func (t *serverTraining) compute(ctx context.Context, batch distribute.PerReplicaBatch, order serverOrder, out *parameters.Outcome) (result serverResult, err error) {
	all := t.all()
	reads := make([]*parameters.Read, len(all))
	for i, v := range all {
		if v.remote == nil {
			if v.remote, err = t.job.Find(ctx, t.name+v.local.Path()); err != nil {
				return result, err
			}
		}
		reads[i] = &parameters.Read{Variable: v.remote}
	}
	if err := t.job.Pull(ctx, reads...); err != nil {
		return result, err
	}
	s := t.s
	inst, sizes, err := s.acquire(batch)
	if err != nil {
		return result, err
	}
	defer s.function.Release(inst)
	for i, v := range all {
		if err := setFloats(v.local, reads[i].Values); err != nil {
			return result, err
		}
	}
	if err := inst.Run(ctx, s.estimator.config.TFRandomSeed, uint32(order.Step)); err != nil {
		return result, err
	}
	if err := s.read(inst, sizes); err != nil {
		return result, err
	}
	result.Loss, result.Values = s.values.Loss, s.values.Values
	for i, v := range t.trained {
		if v.optimizer >= len(order.Rates) {
			return result, errors.New("the coordinator trains by other optimizers; run the same program everywhere")
		}
		if t.replaced[v.local] { // first, because the gradient belongs to the assigned value
			now, err := floatsOf(v.local)
			if err != nil {
				return result, err
			}
			out.Changes = append(out.Changes, parameters.Change{Variable: v.remote, Op: parameters.Assign, Values: now})
		}
		a, err := output(inst, len(s.outputs)+i)
		if err != nil {
			return result, err
		}
		out.Changes = append(out.Changes, parameters.Change{Variable: v.remote, Op: parameters.Gradient, Rate: order.Rates[v.optimizer], Values: floats(a), Seen: reads[i].Seen})
	}
	for i, v := range t.moved {
		now, err := floatsOf(v.local)
		if err != nil {
			return result, err
		}
		before := reads[len(t.trained)+i].Values
		if slices.Equal(now, before) {
			continue
		}
		op := parameters.Assign // the last assignment counts, while all contributions to counters are added
		if !t.replaced[v.local] {
			op = parameters.Add
			for j, old := range before {
				now[j] -= old
			}
		}
		out.Changes = append(out.Changes, parameters.Change{Variable: v.remote, Op: op, Values: now})
	}
	return result, nil
}
