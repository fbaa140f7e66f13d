package estimator

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"strconv"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/optimizers"
)

// The coordinator's part of Train: it runs the steps in windows, and calls the hooks and writes checkpoints between
// them.

// coordinate assigns the steps.
func (t *serverTraining) coordinate(ctx context.Context, o *options) error {
	s := t.s
	batch, err, ok := t.next()
	if err != nil {
		return err
	}
	if !ok || batch[0].Examples() == 0 {
		return errors.New("estimator: Train: the input function gave no batch, so that nothing was trained")
	}
	if err := t.look(batch); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := t.tellFacts(ctx); err != nil {
		return err
	}
	if err := t.place(ctx); err != nil {
		return err
	}
	begun, err := t.begin(ctx)
	if err != nil {
		return err
	}
	if o.steps != nil && o.maxSteps == nil {
		o.maxSteps = new(int(begun) + *o.steps)
	}
	if o.maxSteps != nil && s.step >= int64(*o.maxSteps) && begun == s.step {
		return nil // max_steps has been reached before
	}
	if err := t.pull(ctx); err != nil {
		return err
	}
	s.listeners, s.hooks = o.listeners, append(s.estimator.trainingHooks(), o.hooks...)
	if o.maxSteps != nil {
		s.hooks = append(s.hooks, &StopAtStepHook{LastStep: *o.maxSteps})
	}
	t.saves = func() error { return t.pull(ctx) }
	if err := s.begin(); err != nil {
		return err
	}
	for !s.stop && (o.maxSteps == nil || s.step < int64(*o.maxSteps)) {
		over, err := t.window(ctx, o)
		if err != nil {
			return err
		}
		if over {
			break
		}
	}
	s.step = t.done
	return s.end()
}

// begin notes the step at which the call began, for a coordinator that takes over.
func (t *serverTraining) begin(ctx context.Context) (int64, error) {
	text, err := t.job.Note(ctx, t.noteName("begin"))
	if err != nil {
		return 0, err
	}
	if text == nil {
		return t.s.step, t.job.SetNote(ctx, t.noteName("begin"), strconv.AppendInt([]byte("at "), t.s.step, 10))
	}
	at, err := strconv.ParseInt(string(text[len("at "):]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("estimator: Train: the note %q: %w", text, err)
	}
	return at, nil
}

// window runs some steps, and calls the hooks for each after all have ended: a checkpoint then holds the updates of
// whole steps.
func (t *serverTraining) window(ctx context.Context, o *options) (over bool, err error) {
	s := t.s
	n := int64(8 * t.job.Workers())
	if o.maxSteps != nil {
		n = min(n, int64(*o.maxSteps)-s.step)
	}
	if every, _ := s.estimator.config.saving(); every > 0 {
		n = min(n, int64(every)-s.step%int64(every))
	}
	pending := make([]parameters.Pending, n)
	for i := range pending {
		order := serverOrder{Step: s.step + int64(i)}
		for _, o := range t.optimizers {
			rate, err := optimizers.ServerRate(o, order.Step)
			if err != nil {
				return false, err
			}
			order.Rates = append(order.Rates, rate)
		}
		text, err := encoded(order)
		if err != nil {
			return false, err
		}
		if pending[i], err = t.job.Schedule(ctx, t.noteName("step"), text, -1); err != nil {
			return false, err
		}
	}
	var results []serverResult
	for _, p := range pending {
		value, err := p.Fetch(ctx)
		if err != nil {
			if first := t.job.Join(ctx); first != nil {
				err = first
			}
			return false, err
		}
		var r serverResult
		if err := gob.NewDecoder(bytes.NewReader(value)).Decode(&r); err != nil {
			return false, fmt.Errorf("estimator: Train: the result of a step: %w", err)
		}
		if over = over || r.Over; !r.Over {
			results = append(results, r)
		}
	}
	t.done += int64(len(results))
	run := RunContext{s}
	for _, r := range results {
		for _, h := range s.started {
			if err := h.BeforeRun(&run); err != nil {
				return false, err
			}
		}
		s.step++
		s.values = RunValues{GlobalStep: s.step, Loss: r.Loss, Values: r.Values}
		for _, h := range s.started {
			if err := h.AfterRun(&run, &s.values); err != nil {
				return false, err
			}
		}
	}
	return over, nil
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}
