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
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// ends is a link through NCCL: a communicator for each replica of this process.
type ends struct {
	link  *link
	api   nccl.API
	comms []*nccl.Comm // guarded by the link
}

// byNCCL connects the devices of a link.
func (b *backend) byNCCL(ctx context.Context, o kernels.CommunicatorOptions, l *link, id nccl.ID) (carrier, error) {
	e := &ends{link: l, api: b.nccl}
	l.carrier = e
	err := e.come(id)
	if err = l.compare(ctx, o, err); err != nil {
		l.abort(err)
		l.settled()
		return nil, err
	}
	late := &waitError{fmt.Sprintf("cuda: not all of %d replicas have come to connect through NCCL within %v%s", l.ranks, l.timeout, l.others()), true}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, late)
	defer cancel()
	if err := e.settle(ctx); err != nil {
		err = l.explain(fmt.Errorf("cuda: connecting replicas %d to %d of %d on %v through NCCL: %w", l.first, l.first+len(l.devices)-1, l.ranks, l.names(), err))
		l.abort(err)
		l.settled()
		return nil, err
	}
	return e, nil
}

// compare tells all processes whether this one is able to connect, and learns whether they are. NCCL would wait for one
// that is not.
func (l *link) compare(ctx context.Context, o kernels.CommunicatorOptions, own error) error {
	if o.Exchange == nil {
		return own
	}
	all, err := exchange(ctx, o, invitation{}, own)
	if err == nil {
		for rank, i := range all {
			if i.Problem != "" {
				err = fmt.Errorf("cuda: %s cannot connect through NCCL: %s", l.everybody[rank].who(rank), i.Problem)
				break
			}
		}
	}
	if own != nil {
		return own
	}
	return err
}

// come makes the communicators, which connect meanwhile.
func (e *ends) come(id nccl.ID) error {
	l := e.link
	for i, d := range l.devices {
		err := d.Enter()
		if err == nil {
			c := new(nccl.Comm)
			if err = nccl.Check(e.api, e.api.InitRank(c, l.ranks, id, l.first+i), "ncclCommInitRankConfig", "replica %d of %d on %v", l.first+i, l.ranks, d.name); err == nil {
				e.comms = append(e.comms, c)
			}
			d.Leave()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *ends) name() string { return "NCCL" }

// records is false if any process has several devices, unless capturing is requested: whether a call is captured must
// be the same for all ranks; see [recording].
func (e *ends) records() bool {
	l := e.link
	if l.captured {
		return true
	}
	if len(l.everybody) < 2 {
		return len(l.devices) == 1
	}
	return len(l.everybody) == l.ranks
}

func (e *ends) begin(*group) {}

func (e *ends) end(*group) (int, error) { return 0, nil }

func (e *ends) lost(i int) error {
	state, r := e.api.AsyncError(*e.comms[i])
	if r == nccl.Success && (state == nccl.Success || state == nccl.InProgress) {
		return nil
	}
	return nccl.Check(e.api, max(r, state), "ncclCommGetAsyncError", "")
}

func (e *ends) abort() {
	comms := e.comms
	e.comms = nil
	e.link.aborting.Go(func() { e.giveBack(comms, e.api.Abort) })
}

// finish tells the others that this process ends, and waits for them.
func (e *ends) finish(ctx context.Context) error {
	l := e.link
	l.mu.Lock()
	failed := l.err
	for i := range e.comms {
		if failed == nil {
			failed = l.devices[i].Enter()
		}
		if failed == nil {
			failed = nccl.Check(e.api, e.api.Finalize(*e.comms[i]), "ncclCommFinalize", "")
			l.devices[i].Leave()
		}
	}
	l.mu.Unlock()
	if failed == nil {
		failed = e.settle(ctx)
	}
	return failed
}

func (e *ends) release() {
	e.link.mu.Lock()
	comms := e.comms
	e.comms = nil
	e.link.mu.Unlock()
	e.giveBack(comms, e.api.Destroy)
}

// settle waits until no call is in progress.
func (e *ends) settle(ctx context.Context) error {
	l := e.link
	pause, looked := time.Microsecond, time.Now()
	for i := 0; i < len(l.devices); {
		l.mu.Lock()
		if l.err != nil {
			l.mu.Unlock()
			return l.err
		}
		state, r := e.api.AsyncError(*e.comms[i])
		l.mu.Unlock()
		err := nccl.Check(e.api, r, "ncclCommGetAsyncError", "replica %d on %v", l.first+i, l.devices[i].name)
		if err == nil {
			err = nccl.Check(e.api, state, "NCCL", "replica %d on %v", l.first+i, l.devices[i].name)
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
		if time.Since(looked) > answerAfter {
			if looked = time.Now(); l.rollCalled() {
				return l.answer()
			}
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
func (e *ends) group(f func(i int, c nccl.Comm, d *device) (nccl.Result, string)) (int, error) {
	if i, err := e.submit(f); err != nil {
		return i, err
	}
	return 0, e.settle(context.Background()) // an abort ends it
}

func (e *ends) submit(f func(i int, c nccl.Comm, d *device) (nccl.Result, string)) (failed int, err error) {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	runtime.LockOSThread() // groups belong to threads
	defer runtime.UnlockOSThread()
	if err := nccl.Check(e.api, e.api.GroupStart(), "ncclGroupStart", ""); err != nil {
		return 0, err
	}
	for i, d := range l.devices {
		if err = d.Enter(); err == nil {
			r, call := f(i, *e.comms[i], d)
			if r != nccl.Success && r != nccl.InProgress {
				err = nccl.Check(e.api, r, call, "replica %d on %v", l.first+i, d.name)
			}
			d.Leave()
		}
		if err != nil {
			failed = i
			break
		}
	}
	// also after a failure, because the thread must leave the group
	return failed, errors.Join(err, nccl.Check(e.api, e.api.GroupEnd(), "ncclGroupEnd", ""))
}

// giveBack passes communicators that nobody calls any more to f, all at the same time, because the library may make
// those of one process wait for each other.
func (e *ends) giveBack(comms []*nccl.Comm, f func(nccl.Comm) nccl.Result) {
	var all sync.WaitGroup
	for i, c := range comms {
		all.Go(func() {
			if e.link.devices[i].Enter() == nil { // even without its context, because waiting calls must end
				defer e.link.devices[i].Leave()
			}
			f(*c)
		})
	}
	all.Wait()
}
