package distribute

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// meeting says how the replicas of several processes communicate.
type meeting struct {
	library  string        // by which devices combine values: kernels.NCCL; "": the backend's choice
	hosted   bool          // through host memory, whatever devices could do
	captured bool          // by NCCL in captured steps, also where a process has several devices
	timeout  time.Duration // the longest wait of devices for other processes; 0: the backend's
	narrow   ir.DType      // the type in which large sums of float32 travel between devices; Invalid: their own
}

// EndingGroup is a [WorkerGroup] that reports when it has ended. Devices that wait for devices of other processes learn
// from it that a worker is gone.
type EndingGroup interface {
	WorkerGroup
	// Ended returns a channel that is closed when the current group has ended, at the latest by Close, and a function
	// that returns the reason. If the reason has a method InGoodOrder that returns true, no worker has failed.
	Ended() (over <-chan struct{}, why func() error)
	// Break reports err: this worker's devices have lost the connection to those of other workers. It waits for the
	// group to end because a worker is gone; if none is, it ends the group itself after a while. It returns the reason.
	Break(err error) error
}

// connect makes communicators of the backend for the replicas of this process, or with a group for those of all
// processes. If the backend cannot connect several processes, they are nil, without an error. They are aborted when the
// group ends.
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
	o.Captured, o.Site = s.meeting.captured, s.at.Site
	var over <-chan struct{}
	var why func() error
	if g, ok := group.(EndingGroup); ok {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		over, why = g.Ended()
		o.Broken = g.Break
		if g, ok := group.(interface{ Called() bool }); ok {
			o.Called = g.Called
		}
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
		s.partings.await(func() { // until the group ends, which it does
			<-over
			s.part(all, why())
		})
	}
	return all, err
}

// partings tracks the ends of the groups in which devices of this process communicate with those of others.
type partings struct {
	mu      sync.Mutex
	closing bool           // this process leaves the job
	open    sync.WaitGroup // of those that the devices have not taken notice of; none is added while closing
}

func (p *partings) await(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		go f()
	} else {
		p.open.Go(f)
	}
}

func (p *partings) leaves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing
}

func (p *partings) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = true
}

// takingLeave is how long the end of a group waits for collectives in progress if no worker has failed: a worker that
// leaves has its results, but others may still be waiting for theirs.
const takingLeave = 5 * time.Second

// part aborts the communicators of the devices once their group has ended.
func (s *local) part(all []kernels.Communicator, why error) {
	var end interface{ InGoodOrder() bool }
	if s.partings.leaves() || errors.As(why, &end) && end.InGoodOrder() {
		ctx, cancel := context.WithTimeout(context.Background(), takingLeave)
		defer cancel()
		for _, c := range all {
			if c, ok := c.(kernels.Leaver); ok {
				c.Leave(ctx, why)
			}
		}
	}
	for _, c := range all {
		c.Abort(why)
	}
}

// close leaves a group, and waits until the devices have done so.
func (s *local) close(g WorkerGroup) error {
	s.partings.close()
	err := g.Close()
	if _, ok := g.(EndingGroup); ok {
		s.partings.open.Wait()
	}
	return err
}
