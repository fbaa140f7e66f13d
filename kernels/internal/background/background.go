// Package background runs what a device's queue does not: copies to the host that go on while their caller does.
package background

import "context"

// Task is an event, a kernels.Event, of a function that runs on a goroutine of its own.
type Task struct {
	over chan struct{}
	err  error
}

// Run begins f.
func Run(f func() error) *Task {
	t := &Task{over: make(chan struct{})}
	go func() {
		defer close(t.over)
		t.err = f()
	}()
	return t
}

// Wait returns the error of the function when it has returned, or that of ctx when that ends before.
func (t *Task) Wait(ctx context.Context) error {
	select {
	case <-t.over:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done reports whether the function has returned.
func (t *Task) Done() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}
