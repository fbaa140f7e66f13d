package kernels

import "context"

// TurnTaker is a [Session] on the host that can share a goroutine with those of other replicas: a program of a few
// microseconds is done before another goroutine has begun.
type TurnTaker interface {
	// LaunchInTurns does what Launch does for sessions of all replicas, of which this one is the first, on the calling
	// goroutine: one after the other, and in turns where they meet. It writes the errors of the launches to errs. It
	// reports false, and has done nothing, where a goroutine for each is faster or necessary.
	LaunchInTurns(ctx context.Context, sessions []Session, launches []Launch, errs []error) bool
}
