//go:build linux

package cuda

import (
	"context"
	"time"

	"github.com/gokeras/gokeras/kernels"
)

// Leave leaves the group of processes; see [kernels.Leaver].
func (c *communicator) Leave(ctx context.Context, why error) { c.group.takeLeave(ctx, why) }

var _ kernels.Leaver = (*communicator)(nil)

// takeLeave lets everything in the streams end, in all processes, and nothing else begin.
func (g *group) takeLeave(ctx context.Context, why error) {
	if g.link == nil {
		return
	}
	for !g.mu.TryLock() { // a holder may be waiting for others
		if !pause(ctx) {
			return
		}
	}
	if g.err == nil {
		g.err = why
	}
	if g.came > 0 {
		g.leave(g.err)
	}
	g.mu.Unlock()
	for busy, err := g.link.look(); busy; busy, err = g.link.look() {
		if err != nil || !pause(ctx) {
			return
		}
	}
	g.link.finish(ctx)
}

// pause waits a little. It returns false if the context is done.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}
