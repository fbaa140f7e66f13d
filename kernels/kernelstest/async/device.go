package async

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/kernels"
)

// device does what it is given, in order. Its goroutine ends when there is nothing left.
type device struct {
	name   kernels.Device
	delay  time.Duration
	random *rand.Rand // of the goroutine
	waits  *atomic.Int64
	taken  atomic.Int64 // bytes

	mu      sync.Mutex
	jobs    []job
	running bool
}

type job struct {
	work func() error
	end  *event
}

// take counts memory, and is an error where a device has less than that.
func (d *device) take(bytes, limit int64, what string) error {
	used := d.taken.Add(bytes)
	if limit == 0 || used <= limit {
		return nil
	}
	d.taken.Add(-bytes)
	return fmt.Errorf("async: out of memory on %v: %s needs %d bytes, %d of %d are in use", d.name, what, bytes, used-bytes, limit)
}

// do adds work and returns its event.
func (d *device) do(work func() error) *event {
	e := &event{over: make(chan struct{}), waits: d.waits}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = append(d.jobs, job{work, e})
	if !d.running {
		d.running = true
		go d.serve()
	}
	return e
}

func (d *device) serve() {
	for {
		d.mu.Lock()
		if len(d.jobs) == 0 {
			d.running = false
			d.mu.Unlock()
			return
		}
		j := d.jobs[0]
		d.jobs = d.jobs[1:]
		d.mu.Unlock()
		if d.delay > 0 && d.random.IntN(4) == 0 {
			time.Sleep(time.Duration(d.random.Int64N(int64(d.delay))))
		}
		j.end.err = j.work()
		close(j.end.over)
	}
}

// event is the end of a job.
type event struct {
	over  chan struct{}
	err   error
	waits *atomic.Int64
}

var _ kernels.Event = (*event)(nil)

// Done looks without waiting.
func (e *event) Done() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// Wait waits, and counts that somebody did.
func (e *event) Wait(ctx context.Context) error {
	if !e.Done() {
		e.waits.Add(1)
	}
	select {
	case <-e.over:
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
