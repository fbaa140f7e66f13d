package cluster

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ErrPreempted is the cause of contexts that ended because the machine is about to be taken away.
var ErrPreempted = errors.New("cluster: the machine is about to be taken away")

// UntilPreempted returns a context that ends, with the cause [ErrPreempted], when the metadata server announces that
// the machine will be preempted, or stopped for maintenance of its host. Fit with such a context and the callback
// BackupAndRestore makes a last backup where it stops; the next run resumes there. The server is asked every so often;
// 0 is each second, as a machine has 30 seconds from the announcement on. An answer that does not come is asked for
// again. The returned function ends the asking.
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

// leaves asks for the announcements.
func (m *Metadata) leaves(ctx context.Context) bool {
	preempted, err := m.Get(ctx, "instance/preempted")
	if err == nil && strings.TrimSpace(preempted) == "TRUE" {
		return true
	}
	event, err := m.Get(ctx, "instance/maintenance-event")
	return err == nil && strings.TrimSpace(event) == "TERMINATE_ON_HOST_MAINTENANCE"
}
