package kernels

import "context"

// Event stands for the end of an operation on a device: a launch or a copy.
type Event interface {
	// Wait returns when the operation is over, with its error. ctx ends only the waiting.
	Wait(ctx context.Context) error
	// Done reports whether the operation is over; then Wait returns at once.
	Done() bool
}

// Completed returns the event of an operation that is already over. On backends whose queue is the caller, all are.
func Completed(err error) Event {
	if err == nil {
		return success
	}
	return &completed{err}
}

type completed struct{ err error }

var success Event = &completed{} // one for all: completing allocates nothing

func (c *completed) Wait(context.Context) error { return c.err }
func (c *completed) Done() bool                 { return true }

// Queue orders launches on one device and remembers failures. One goroutine at a time uses it.
//
// A failure persists: launches that follow a failed one in its queue change nothing and fail with the same error, until
// Wait has returned it. So a caller may be steps ahead of the device and still finds the variables as they were before
// the step that failed.
type Queue interface {
	Device() Device
	// Inline reports that the queue is the caller itself: Launch returns when the run is over. Replicas that meet in
	// collectives must then be launched by a goroutine each. Otherwise one goroutine launches all replicas in turn, and
	// does so before anyone launches another program with collectives on these devices.
	Inline() bool
	// Wait returns when all launches are over, with the first error since the last Wait.
	Wait(ctx context.Context) error
	// Close releases the queue. Pending launches still run.
	Close()
}
