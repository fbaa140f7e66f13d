package distribute

import (
	"context"
	"errors"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// meeting says how the replicas of several processes meet.
type meeting struct {
	library string        // by which devices combine values: kernels.NCCL; "": the backend's choice
	hosted  bool          // through host memory, whatever devices could do
	timeout time.Duration // the longest wait of devices for other processes; 0: the backend's
	narrow  ir.DType      // the type in which large sums of float32 travel between devices; Invalid: their own
}

// EndingGroup is a [WorkerGroup] that reports when it has ended. It tells devices that wait for those of other
// processes that a worker is gone.
type EndingGroup interface {
	WorkerGroup
	// Ended returns a channel that is closed when the current group has ended, and a function that returns the reason.
	Ended() (over <-chan struct{}, why func() error)
	// Break is told that this worker's devices have lost the connection to those of other workers. It waits until the
	// group has ended because one is gone, ends it after a while where nobody is, and returns the reason.
	Break(err error) error
}

// connect makes communicators of the backend for the replicas of this process, or with a group for those of all
// processes. They are nil without an error where the backend cannot do the latter. When the group ends they are
// aborted.
func (s *local) connect(ctx context.Context, group WorkerGroup) ([]kernels.Communicator, error) {
	backend, err := kernels.Lookup(s.at.Devices[0].Kind)
	if err != nil {
		return nil, err
	}
	o := kernels.CommunicatorOptions{Devices: s.at.Devices}
	if group == nil {
		return backend.NewCommunicators(ctx, o)
	}
	o.First, o.Replicas, o.Library, o.Timeout, o.Narrow = s.at.First, s.at.Total, s.meeting.library, s.meeting.timeout, s.meeting.narrow
	var over <-chan struct{}
	var why func() error
	if g, ok := group.(EndingGroup); ok {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		over, why = g.Ended()
		o.Broken = g.Break
		connected := make(chan struct{})
		defer close(connected)
		go func() {
			select {
			case <-over:
				cancel(why())
			case <-connected:
			}
		}()
	}
	o.Exchange = func(ctx context.Context, own []byte) ([][]byte, error) {
		return group.AllGather(ctx, WorkerCall{Name: "connecting devices"}, own)
	}
	all, err := backend.NewCommunicators(ctx, o)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err == nil && over != nil {
		go func() { // until the group ends, which it does
			<-over
			for _, c := range all {
				c.Abort(why())
			}
		}()
	}
	return all, err
}
