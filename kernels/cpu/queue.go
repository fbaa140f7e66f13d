package cpu

import (
	"context"

	"github.com/gokeras/gokeras/kernels"
)

// queue stands for the caller: launches run at once, so it holds only the first failure.
type queue struct {
	device kernels.Device
	err    error
}

var _ kernels.Queue = (*queue)(nil)

func (q *queue) Device() kernels.Device { return q.device }

// Inline returns true: launches run on the caller's goroutine.
func (q *queue) Inline() bool { return true }

// Wait returns the first failure since the last Wait.
func (q *queue) Wait(context.Context) error {
	err := q.err
	q.err = nil
	return err
}

func (q *queue) Close() {}
