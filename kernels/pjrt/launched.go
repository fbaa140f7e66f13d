//go:build linux

package pjrt

import (
	"context"
	"sync"
)

// launched is the event of a launch.
type launched struct {
	told  *told
	own   *queue // made for this launch; nil: the queue is another one
	group *group // in which the launch met the other replicas; nil for a single one

	mu      sync.Mutex
	meeting *meeting // that the launch waits for; nil once it has been handed to the plugin
	flag    *object
	data    flagBytes
	known   bool
	err     error
}

// Discard releases the flag of a launch that nobody will wait for, so that the event can be reused.
func (e *launched) Discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.flag.release()
	e.flag, e.meeting, e.group, e.known, e.err = nil, nil, nil, false, nil
}

// Wait returns when the launch is over, with its error.
func (e *launched) Wait(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known {
		return e.err
	}
	if e.meeting != nil {
		select {
		case <-e.meeting.over:
		case <-ctx.Done():
			return ctx.Err()
		}
		e.err = e.meeting.err
	}
	if e.err == nil && e.flag != nil {
		e.err = e.told.failure(ctx, e.flag, &e.data)
	}
	if e.err != nil && e.group != nil {
		e.group.end(e.err)
	}
	e.known = true
	e.flag.release()
	e.flag = nil
	if e.own != nil {
		e.own.Close()
	}
	return e.err
}

// Done reports whether Wait would return at once.
func (e *launched) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known
}
