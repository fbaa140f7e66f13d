//go:build linux

package pjrt

import (
	"context"
	"sync"
)

// launched is the event of a launch.
type launched struct {
	told  *told
	own   *queue // that was made for this launch; nil: another
	group *group // that the launch met the other replicas in; nil for a single one

	mu      sync.Mutex
	meeting *meeting // that the launch waits for; nil where it has been handed to the plugin
	flag    *object
	data    flagBytes
	known   bool
	err     error
}

// Discard lets go of the flag of a launch that nobody will wait for, and makes the event that of another.
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
