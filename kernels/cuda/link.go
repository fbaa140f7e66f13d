//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// link is NCCL's side of a group: a communicator for each replica of this process. NCCL waits for ranks that do not
// come forever, in the devices' streams. So a goroutine watches what is under way, and aborts the communicators where a
// device or a connection is lost, where nothing ends for too long, or where the caller says so. An aborted link is
// never used again.
type link struct {
	api          nccl.API
	devices      []*device
	first, ranks int           // of the ranks of all processes
	timeout      time.Duration // the longest wait without progress
	broken       func(err error) error

	mu     sync.Mutex // guards what follows, and every call on a communicator
	comms  []*nccl.Comm
	err    error // why it was aborted
	flight []flight
	moved  time.Time     // when a launch ended, or the first one began
	work   chan struct{} // tells the watch that there is something
	over   chan struct{} // closed when the link is
}

// flight is the launches of a device that were put into its stream, in order.
type flight struct {
	events [2 * ringSize]driver.Handle
	begin  int
	end    int
}

// defaultTimeout is how long a collective may wait where nobody says: as long as the workers' groups wait.
const defaultTimeout = 10 * time.Minute

// errAborted is what a failure flag says that an aborted collective has left as it was.
var errAborted = errors.New("cuda: a collective was aborted")

// newLink connects the devices of this process with those of all. If others connect too, exchange reports what each
// has.
func (b *backend) newLink(ctx context.Context, o kernels.CommunicatorOptions, devices []*device) (*link, error) {
	id, err := b.rendezvous(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &link{
		api: b.nccl, devices: devices, first: o.First, ranks: o.Total(), timeout: o.Timeout, broken: o.Broken, flight: make([]flight, len(devices)),
		work: make(chan struct{}, 1), over: make(chan struct{}),
	}
	if l.timeout == 0 {
		l.timeout = defaultTimeout
	}
	for i, d := range devices {
		if err = d.Enter(); err == nil {
			c := new(nccl.Comm)
			if err = nccl.Check(l.api, l.api.InitRank(c, l.ranks, id, l.first+i), "ncclCommInitRankConfig", "replica %d of %d on %v", l.first+i, l.ranks, d.name); err == nil {
				l.comms = append(l.comms, c)
			}
			d.Leave()
		}
		if err != nil {
			l.abort(err)
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("cuda: not all of %d replicas have come to connect through NCCL within %v", l.ranks, l.timeout))
	defer cancel()
	if err = l.settle(ctx); err != nil {
		err = l.explain(fmt.Errorf("cuda: connecting replicas %d to %d of %d through NCCL: %w", l.first, l.first+len(devices)-1, l.ranks, err))
		l.abort(err)
		return nil, err
	}
	go l.watch()
	return l, nil
}

// records reports whether calls can be part of a graph.
func (l *link) records() bool { return len(l.devices) == 1 }

// settle waits until no call goes on any more.
func (l *link) settle(ctx context.Context) error {
	pause := time.Microsecond
	for i := 0; i < len(l.devices); {
		l.mu.Lock()
		if l.err != nil {
			l.mu.Unlock()
			return l.err
		}
		state, r := l.api.AsyncError(*l.comms[i])
		l.mu.Unlock()
		err := nccl.Check(l.api, r, "ncclCommGetAsyncError", "replica %d on %v", l.first+i, l.devices[i].name)
		if err == nil {
			err = nccl.Check(l.api, state, "NCCL", "replica %d on %v", l.first+i, l.devices[i].name)
		}
		if err != nil {
			return err
		}
		if state == nccl.Success {
			i++
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if pause *= 2; pause > time.Millisecond {
			pause = time.Millisecond
		}
		if pause > 16*time.Microsecond {
			time.Sleep(pause)
		} else {
			runtime.Gosched()
		}
	}
	return nil
}

// group makes the calls of f for every replica as one group, and returns when NCCL has put them into the streams. It
// returns the replica that failed.
func (l *link) group(f func(i int, c nccl.Comm, d *device) (nccl.Result, string)) (int, error) {
	if i, err := l.submit(f); err != nil {
		return i, err
	}
	return 0, l.settle(context.Background()) // an abort ends it
}

func (l *link) submit(f func(i int, c nccl.Comm, d *device) (nccl.Result, string)) (failed int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	runtime.LockOSThread() // groups belong to threads
	defer runtime.UnlockOSThread()
	if err := nccl.Check(l.api, l.api.GroupStart(), "ncclGroupStart", ""); err != nil {
		return 0, err
	}
	for i, d := range l.devices {
		if err = d.Enter(); err == nil {
			r, call := f(i, *l.comms[i], d)
			if r != nccl.Success && r != nccl.InProgress {
				err = nccl.Check(l.api, r, call, "replica %d on %v", l.first+i, d.name)
			}
			d.Leave()
		}
		if err != nil {
			failed = i
			break
		}
	}
	// also after a failure: the thread must come out of the group
	return failed, errors.Join(err, nccl.Check(l.api, l.api.GroupEnd(), "ncclGroupEnd", ""))
}

// launched notes what was put into the streams, for the watch.
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

// watchEvery is how often the watch looks while something is under way.
const watchEvery = 20 * time.Millisecond

// watch looks at what is under way until the link is over.
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

// waitError says that nothing came from other processes for too long.
type waitError struct{ text string }

func (e *waitError) Error() string { return e.text }

// explain asks why the connection to other processes broke, where err is that it did. Locks may not be held that an
// abort needs.
func (l *link) explain(err error) error {
	var call *nccl.Error
	var wait *waitError
	cut := errors.As(err, &wait) || errors.As(err, &call) && (call.Result == nccl.RemoteError || call.Result == nccl.SystemError)
	if l.broken == nil || !cut {
		return err
	}
	return l.broken(err)
}

// look takes out what has ended, and reports whether anything is left, and what is wrong.
func (l *link) look() (busy bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false, nil
	}
	for i, d := range l.devices {
		if state, r := l.api.AsyncError(*l.comms[i]); r != nccl.Success || state != nccl.Success && state != nccl.InProgress {
			return true, fmt.Errorf("cuda: replica %d on %v has lost the others: %w", l.first+i, d.name, nccl.Check(l.api, max(r, state), "ncclCommGetAsyncError", ""))
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
	if waits := time.Since(l.moved); busy && waits > l.timeout {
		return true, &waitError{fmt.Sprintf("cuda: replicas %d to %d of %d on %v have waited for the others in NCCL for %v; one of the others is lost or does not make the same calls", l.first, l.first+len(l.devices)-1, l.ranks, l.names(), l.timeout)}
	}
	return busy, nil
}

// names are the devices of this process.
func (l *link) names() []kernels.Device {
	names := make([]kernels.Device, len(l.devices))
	for i, d := range l.devices {
		names[i] = d.name
	}
	return names
}

// failure is why a collective was aborted: because the link was, or that of another process, whose flag came here.
func (l *link) failure() error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err == nil {
		return l.explain(&waitError{"cuda: another process has aborted a collective"})
	}
	return err
}

// reason completes an error with why the link was aborted, or, where it was not, with what is known about a connection
// that broke.
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

// abort ends whatever waits, for good. The first reason counts.
func (l *link) abort(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.giveBack(l.api.Abort)
	close(l.over)
}

// giveBack hands every communicator to f at the same time: the library may let the ends of one process wait for each
// other. The lock is held.
func (l *link) giveBack(f func(nccl.Comm) nccl.Result) {
	var all sync.WaitGroup
	for i, c := range l.comms {
		all.Go(func() {
			if l.devices[i].Enter() == nil { // without its context too: what waits must end
				defer l.devices[i].Leave()
			}
			f(*c)
		})
	}
	all.Wait()
	l.comms = nil
}

// closing is how long the end of a link waits for the other processes.
const closing = 5 * time.Second

// close ends a link that has not failed in good order, if the others do so too.
func (l *link) close() {
	l.mu.Lock()
	failed := l.err != nil
	for i := range l.comms {
		if !failed && l.devices[i].Enter() == nil {
			failed = nccl.Check(l.api, l.api.Finalize(*l.comms[i]), "ncclCommFinalize", "") != nil
			l.devices[i].Leave()
		}
	}
	l.mu.Unlock()
	if !failed {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		failed = l.settle(ctx) != nil
		cancel()
	}
	if failed {
		l.abort(errClosed)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = errClosed
		l.giveBack(l.api.Destroy)
		close(l.over)
	}
}
