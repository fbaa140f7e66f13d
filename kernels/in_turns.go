package kernels

import "context"

// TurnTaker is a [Session] on the host that can share a goroutine with the sessions of other replicas. A program of a
// few microseconds is finished before another goroutine would have started.
type TurnTaker interface {
	// LaunchInTurns does what Launch does for the sessions of all replicas, of which this one is the first, on the
	// calling goroutine: one after the other, taking turns where they meet in collectives. It writes the errors of the
	// launches to errs. If a goroutine for each is faster or necessary, it does nothing and returns false.
	LaunchInTurns(ctx context.Context, sessions []Session, launches []Launch, errs []error) bool
}
