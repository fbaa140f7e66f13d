//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// link is how a group meets those of other processes: through NCCL, or through memory that processes open to each
// other. Both wait forever, in the devices' streams, for ranks that do not come. So a goroutine watches the work in
// progress, and aborts the link if a device or a connection is lost, if nothing ends for too long, or if the caller
// says so. An aborted link is never used again.
//
// NCCL releases a communicator, even by an abort, only when the graphs that captured its calls are gone. So they are
// discarded before a link ends in good order. When it is aborted, whoever could discard them may be waiting for the
// abort, so both happen at the same time.
type link struct {
	carrier      carrier
	devices      []*device
	first, ranks int           // of the ranks of all processes
	timeout      time.Duration // the longest wait without progress
	broken       func(err error) error
	called       func() bool // others wait in vain, and ask who else does
	everybody    []offer     // what all processes offer, including this one; empty if they do not tell each other
	finishing    sync.Once
	captured     bool           // NCCL takes part in graphs that span several devices of a process
	graphs       func()         // discards the graphs of steps, which NCCL would wait for; it may wait for devices
	aborting     sync.WaitGroup // work that continues after an abort

	mu     sync.Mutex // guards what follows, and every call on a communicator of NCCL
	err    error      // why it was aborted
	ended  bool       // in good order, in all processes
	flight []flight
	moved  time.Time     // when a launch ended, or the first one began
	work   chan struct{} // tells the watch that there is work
	over   chan struct{} // closed when the link is
}

// carrier is the implementation of a link.
type carrier interface {
	// name is for errors: "NCCL".
	name() string
	// plan determines how a replica does a collective. collect does it for those at which all replicas have arrived,
	// with the order of all devices held; it returns the replica that failed. begin and end are called around the
	// collectives of a launch.
	plan(g *group, replica int, step *lower.Step) (*combining, error)
	begin(g *group)
	collect(g *group) (replica int, err error)
	end(g *group) (replica int, err error)
	// records reports whether calls can be part of a graph.
	records() bool
	// lost says what is wrong with a replica's connection to the others. The link's lock is held, here and in abort.
	lost(i int) error
	// abort permanently ends all waiting. It does not wait itself.
	abort()
	// finish ends a link in good order, if the others do so too.
	finish(ctx context.Context) error
	// release releases what is left when nothing waits any more.
	release()
}

// flight is the launches of a device that were put into its stream, in order.
type flight struct {
	events [2 * ringSize]driver.Handle
	begin  int
	end    int
}

// defaultTimeout is the default for how long a collective may wait, the same as for the workers' groups.
const defaultTimeout = 10 * time.Minute

// errAborted is the error if an aborted collective has left a failure flag unchanged.
var errAborted = errors.New("cuda: a collective was aborted")

// newLink connects the devices of this process with those of all. If others connect too, exchange reports what each
// has.
func (b *backend) newLink(ctx context.Context, o kernels.CommunicatorOptions, g *group) (*link, error) {
	found, err := b.rendezvous(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &link{
		everybody: found.offers, devices: g.devices, captured: o.Captured, graphs: func() { g.forget(nil) }, first: o.First, ranks: o.Total(), timeout: o.Timeout, broken: o.Broken, called: o.Called, flight: make([]flight, len(g.devices)),
		work: make(chan struct{}, 1), over: make(chan struct{}),
	}
	if l.timeout == 0 {
		l.timeout = defaultTimeout
	}
	var w *windows
	if found.windows {
		var refused error
		if w, refused, err = b.byWindows(ctx, o, l); err != nil {
			return nil, err
		}
		if found.problem != nil && refused != nil {
			found.problem = fmt.Errorf("%w; %w", refused, found.problem)
		}
	}
	if l.carrier, err = b.carry(ctx, o, l, w, found); err != nil {
		return nil, err
	}
	go l.watch()
	return l, nil
}

// carry chooses between windows, which may be nil, and NCCL. If both can be measured, it uses both.
func (b *backend) carry(ctx context.Context, o kernels.CommunicatorOptions, l *link, w *windows, found found) (carrier, error) {
	switch {
	case w == nil && found.problem != nil:
		return nil, found.problem
	case w != nil && (found.problem != nil || b.measure == nil):
		return w, nil
	}
	c, err := b.byNCCL(ctx, o, l, found.id)
	if w == nil {
		return c, err
	}
	if err != nil {
		w.release()
		return nil, err
	}
	return &both{w, c.(*ends)}, nil
}

// launched tells the watch what was put into the streams.
func (l *link) launched(parts []part) {
	l.mu.Lock()
	idle := true
	for i := range l.flight {
		f := &l.flight[i]
		idle = idle && f.begin == f.end
		f.events[f.end%len(f.events)] = parts[i].event.block.event
		f.end++
	}
	if idle {
		l.moved = time.Now()
	}
	l.mu.Unlock()
	select {
	case l.work <- struct{}{}:
	default:
	}
}

// watchEvery is how often the watch checks while work is in progress.
const watchEvery = 20 * time.Millisecond

// watch checks the work in progress until the link is over.
func (l *link) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.over:
			return
		case <-l.work:
		}
		for busy := true; busy; {
			select {
			case <-l.over:
				return
			case <-tick.C:
			}
			var err error
			if busy, err = l.look(); err != nil {
				l.abort(l.explain(err))
			}
		}
	}
}

// waitError says that nothing came from other processes for too long, or that one of them has aborted.
type waitError struct {
	text string
	vain bool // nothing came
}

func (e *waitError) Error() string { return e.text }

func (e *waitError) Is(target error) bool { return e.vain && target == kernels.ErrNotComing }

// others names the other processes with their devices: " (worker 1 (cuda:0 of host b))".
func (l *link) others() string {
	if len(l.everybody) < 2 {
		return ""
	}
	var names []string
	first := 0
	for rank := range l.everybody {
		f := &l.everybody[rank]
		if first != l.first {
			names = append(names, f.who(rank))
		}
		first += len(f.Devices)
	}
	return ": " + strings.Join(names, ", ")
}

// explain asks why the connection to other processes broke, if err says that it did. The caller must not hold locks
// that an abort needs.
func (l *link) explain(err error) error {
	var call *nccl.Error
	var wait *waitError
	cut := errors.As(err, &wait) || errors.As(err, &call) && (call.Result == nccl.RemoteError || call.Result == nccl.SystemError)
	if l.broken == nil || !cut {
		return err
	}
	return l.broken(err)
}

// look removes what has ended, and reports whether anything is left, and what is wrong.
func (l *link) look() (busy bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false, nil
	}
	for i, d := range l.devices {
		if err := l.carrier.lost(i); err != nil {
			return true, fmt.Errorf("cuda: replica %d on %v has lost the others: %w", l.first+i, d.name, err)
		}
		f := &l.flight[i]
		if err := d.Enter(); err != nil {
			return true, fmt.Errorf("cuda: replica %d on %v: %w", l.first+i, d.name, err)
		}
		for f.begin < f.end {
			r := d.API.QueryEvent(f.events[f.begin%len(f.events)])
			if r == driver.NotReady {
				break
			}
			if r != driver.Success {
				d.Leave()
				return true, fmt.Errorf("cuda: replica %d on %v: %w", l.first+i, d.name, d.Err(r, "cuEventQuery"))
			}
			f.begin++
			l.moved = time.Now()
		}
		d.Leave()
		busy = busy || f.begin < f.end
	}
	waits := time.Since(l.moved)
	if busy && waits > answerAfter && l.rollCalled() {
		return true, l.answer()
	}
	if busy && waits > l.timeout {
		return true, &waitError{fmt.Sprintf("cuda: replicas %d to %d of %d on %v have waited for the others in %s for %v; one of the others is lost or does not make the same calls%s", l.first, l.first+len(l.devices)-1, l.ranks, l.names(), l.carrier.name(), l.timeout, l.others()), true}
	}
	return busy, nil
}

// answerAfter is how long this process must have waited before it answers others that look for a missing one.
const answerAfter = 5 * watchEvery

func (l *link) rollCalled() bool { return l.called != nil && l.called() }

// answer is the error of a process that also waits.
func (l *link) answer() error {
	return &waitError{fmt.Sprintf("cuda: replicas %d to %d of %d on %v wait for the others in %s, and other processes have waited too long; one is lost or does not make the same calls%s", l.first, l.first+len(l.devices)-1, l.ranks, l.names(), l.carrier.name(), l.others()), true}
}

// names are the devices of this process.
func (l *link) names() []kernels.Device {
	names := make([]kernels.Device, len(l.devices))
	for i, d := range l.devices {
		names[i] = d.name
	}
	return names
}

// failure is why a collective was aborted: because the link was, or that of another process, whose flag arrived here.
func (l *link) failure() error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err == nil {
		return l.explain(&waitError{text: "cuda: another process has aborted a collective"})
	}
	return err
}

// reason completes an error with the reason why the link was aborted or, if it was not, with what is known about a
// broken connection.
func (l *link) reason(err error) error {
	l.mu.Lock()
	why := l.err
	l.mu.Unlock()
	switch {
	case why == nil:
		return l.explain(err)
	case errors.Is(err, why):
		return err
	}
	return errors.Join(err, why)
}

// abort permanently ends all waiting. The first reason counts.
func (l *link) abort(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	if !l.ended {
		l.carrier.abort()
	}
	l.aborting.Go(l.graphs)
	close(l.over)
}

// closing is how long the end of a link waits for the other processes.
const closing = 5 * time.Second

// finish ends a link that has not failed in good order, if the others do so too; once.
func (l *link) finish(ctx context.Context) {
	l.finishing.Do(func() {
		l.graphs()
		l.mu.Lock()
		failed := l.err != nil
		l.mu.Unlock()
		if failed || l.carrier.finish(ctx) != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = l.err == nil
	})
}

// settled waits for work that continues after an abort, but not forever: a lost device may never answer.
func (l *link) settled() {
	over := make(chan struct{})
	go func() {
		l.aborting.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(closing):
	}
}

// close ends a link.
func (l *link) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	l.finish(ctx)
	cancel()
	l.abort(errClosed)
	l.settled()
	l.carrier.release()
}
