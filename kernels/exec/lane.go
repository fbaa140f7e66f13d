package exec

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// lane orders the launches of one function: a queue on each device of this process. If devices run by themselves, the
// host is steps ahead. A failure there is found later, and the queues make sure that the launches after it change
// nothing.
type lane struct {
	queues []kernels.Queue
	under  []launched // launches in progress, the oldest first
	free   []launched // for reuse
}

// launched is one step on all replicas.
type launched struct {
	events []kernels.Event
	pool   *communicatorPool
	set    *communicatorSet // nil: without collectives
	inst   *Instance
	steps  int // number of steps in the launch
}

// ahead is how many steps the host may be ahead of the devices.
const ahead = 32

// LateError is the error of a step that failed after others had been launched.
type LateError struct {
	Err error
	// Undone is how many steps have changed nothing: the one that failed, and those after it.
	Undone int
}

// Error describes the failure and when it was found.
func (e *LateError) Error() string {
	if e.Undone < 2 {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v (%d steps ago; those since then have changed nothing)", e.Err, e.Undone-1)
}

// Unwrap returns the failure.
func (e *LateError) Unwrap() error { return e.Err }

// open makes the queues.
func (l *lane) open(devices []kernels.Device) error {
	if l.queues != nil {
		return nil
	}
	var queues []kernels.Queue
	for _, d := range devices {
		backend, err := kernels.Lookup(d.Kind)
		if err != nil {
			return err
		}
		q, err := backend.NewQueue(d)
		if err != nil {
			return err
		}
		queues = append(queues, q)
	}
	l.queues = queues
	return nil
}

// inline reports that launches are over when they return.
func (l *lane) inline() bool { return l.queues[0].Inline() }

// next returns the slot for the events of a step. If the host is too far ahead, it waits for the oldest one.
func (l *lane) next(ctx context.Context) (*launched, error) {
	if err := l.look(); err != nil {
		return nil, err
	}
	if len(l.under) >= ahead {
		for _, e := range l.under[0].events {
			if err := e.Wait(ctx); err != nil && ctx.Err() != nil {
				return nil, err
			}
		}
		if err := l.look(); err != nil {
			return nil, err
		}
	}
	var s launched
	if n := len(l.free); n > 0 {
		s, l.free = l.free[n-1], l.free[:n-1]
	} else {
		s.events = make([]kernels.Event, len(l.queues))
	}
	l.under = append(l.under, s)
	return &l.under[len(l.under)-1], nil
}

// cancel takes back the slot that next returned last, for a step that was not launched.
func (l *lane) cancel() {
	k := len(l.under) - 1
	l.free = append(l.free, launched{events: l.under[k].events})
	l.under[k] = launched{}
	l.under = l.under[:k]
}

// look removes the steps that are over, without waiting. It returns the error of one that failed.
func (l *lane) look() error {
	over := 0
	for i := range l.under {
		for _, e := range l.under[i].events {
			if !e.Done() {
				l.shift(over)
				return nil
			}
		}
		for _, e := range l.under[i].events {
			if e.Wait(context.Background()) != nil {
				return l.failed(i)
			}
		}
		over++
	}
	l.shift(over)
	return nil
}

// shift removes the oldest steps.
func (l *lane) shift(n int) {
	if n == 0 {
		return
	}
	for i := range l.under[:n] {
		clear(l.under[i].events)
		l.free = append(l.free, launched{events: l.under[i].events})
	}
	k := copy(l.under, l.under[n:])
	clear(l.under[k:])
	l.under = l.under[:k]
}

// failed ends everything in progress after step number i has failed, and returns its error.
func (l *lane) failed(i int) error {
	undone := 0
	for _, s := range l.under[i:] {
		undone += s.steps
	}
	var cause error
	for _, e := range l.under[i].events {
		cause = firstCause(cause, e.Wait(context.Background()))
	}
	for _, q := range l.queues {
		_ = q.Wait(context.Background()) // the same error
	}
	for _, s := range l.under[i:] {
		if s.set != nil {
			s.pool.drop(s.set)
		}
		s.inst.forgetRandom()
	}
	l.shift(len(l.under))
	return &LateError{cause, undone}
}

// wait returns when all steps are over.
func (l *lane) wait(ctx context.Context) error {
	for i := range l.under {
		for _, e := range l.under[i].events {
			if err := e.Wait(ctx); err != nil {
				if ctx.Err() != nil && !e.Done() {
					return err
				}
				return l.failed(i)
			}
		}
	}
	l.shift(len(l.under))
	return nil
}

func (l *lane) close() {
	for _, q := range l.queues {
		q.Close()
	}
	l.queues = nil
}

// firstCause returns the error of the two that is the cause: the replica that failed first has it; the others were only
// told.
func firstCause(a, b error) error {
	if b != nil && (a == nil || errors.Is(a, errAborted) || errors.Is(a, b)) {
		return b
	}
	return a
}
