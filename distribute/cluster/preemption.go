package cluster

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ErrPreempted is the cause of contexts that ended because the machine is about to be preempted.
var ErrPreempted = errors.New("cluster: the machine is about to be taken away")

// UntilPreempted returns a context that ends, with the cause [ErrPreempted], when the metadata server announces that
// the machine will be preempted, or stopped for maintenance of its host. With such a context and the callback
// BackupAndRestore, Fit makes a last backup when it stops, and the next run resumes there. The metadata server is
// polled at the given interval; 0 means every second, since a machine has 30 seconds after the announcement. Failed
// requests are repeated. The returned function ends the polling.
func (m *Metadata) UntilPreempted(ctx context.Context, every time.Duration) (context.Context, context.CancelFunc) {
	if every <= 0 {
		every = time.Second
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if m.leaves(ctx) {
				cancel(ErrPreempted)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// leaves polls the metadata server once, and reports whether the machine will be preempted or stopped.
func (m *Metadata) leaves(ctx context.Context) bool {
	preempted, err := m.Get(ctx, "instance/preempted")
	if err == nil && strings.TrimSpace(preempted) == "TRUE" {
		return true
	}
	event, err := m.Get(ctx, "instance/maintenance-event")
	return err == nil && strings.TrimSpace(event) == "TERMINATE_ON_HOST_MAINTENANCE"
}
