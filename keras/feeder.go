package keras

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/gokeras/gokeras/data"
)

// feeder makes a pass over a dataset in a goroutine, ahead of the steps on devices that have memory of their own: while
// a step runs, the next batches are made, checked and written to the memory that the device copies from.
type feeder struct {
	ahead  *ahead
	cancel context.CancelFunc
	free   chan *fedBatch
	ready  chan *fedBatch // closed when the goroutine ends
	done   chan struct{}
	inHand *fedBatch
	taken  int

	mu      sync.Mutex
	allowed int // number of batches that may be requested
	more    chan struct{}

	over  bool             // the pass reached its end; otherwise the dataset's goroutine ended by runtime.Goexit
	panic *data.PanicError // of the dataset
}

// fedBatch is a batch, or the error that ends the pass.
type fedBatch struct {
	data.Batch
	memory data.Batch // for copies of batches whose memory is reused
	err    error
}

// feederDepth is the number of batches that exist at once: one in use, one waiting, one being made.
const feederDepth = 3

// newFeeder starts a pass. At most allowed batches are requested before allow is called or a batch is taken.
func newFeeder(ctx context.Context, ds data.Dataset, epoch, allowed int, a *ahead) *feeder {
	f := &feeder{
		ahead: a, allowed: allowed,
		free: make(chan *fedBatch, feederDepth), ready: make(chan *fedBatch, feederDepth),
		more: make(chan struct{}, 1), done: make(chan struct{}),
	}
	for range feederDepth {
		f.free <- &fedBatch{}
	}
	ctx, f.cancel = context.WithCancel(ctx)
	_, keeps := ds.(*data.Pipeline) // its memory is never reused
	go func() {
		defer close(f.done)
		defer close(f.ready)
		defer func() {
			if v := recover(); v != nil {
				f.bury(v)
			}
		}()
		f.run(ctx, ds, epoch, keeps)
		f.over = true
	}()
	return f
}

// bury keeps a panic for the goroutine that asks for batches.
func (f *feeder) bury(v any) {
	e, ok := v.(*data.PanicError)
	if !ok {
		e = &data.PanicError{Value: v, Stack: debug.Stack()}
	}
	f.panic = e
}

// run is the body of the goroutine.
func (f *feeder) run(ctx context.Context, ds data.Dataset, epoch int, keeps bool) {
	if !f.mayGoOn(ctx, 0) {
		return
	}
	count := 0
	for batch, err := range ds.Batches(ctx, epoch) {
		var b *fedBatch
		select {
		case b = <-f.free:
		case <-ctx.Done():
			return
		}
		if b.err = err; err == nil {
			if b.Batch = batch; !keeps {
				copyBatch(&b.memory, &batch)
				b.Batch = b.memory
			}
			f.ahead.prepare(&b.Batch)
		}
		f.ready <- b // never blocks: the channel has room for all batches
		count++
		if err != nil || !f.mayGoOn(ctx, count) {
			return
		}
	}
}

// mayGoOn waits until a batch after the first count ones may be requested. It returns false when the pass is closed.
func (f *feeder) mayGoOn(ctx context.Context, count int) bool {
	for {
		f.mu.Lock()
		may := count < f.allowed
		f.mu.Unlock()
		if may {
			return ctx.Err() == nil
		}
		select {
		case <-f.more:
		case <-ctx.Done():
			return false
		}
	}
}

// allow lets the goroutine request n batches more than were taken; n = 0 allows any number.
func (f *feeder) allow(n int) {
	f.mu.Lock()
	if n == 0 {
		f.allowed = math.MaxInt
	} else {
		f.allowed = max(f.allowed, f.taken+n)
	}
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default: // it has been notified
	}
}

// next returns the next batch, which is valid until the next call, as iter.Pull2 does.
func (f *feeder) next() (*data.Batch, error, bool) {
	if f.inHand != nil {
		f.free <- f.inHand
		f.inHand = nil
	}
	if f.taken >= f.allowed { // which only this goroutine writes
		f.allow(1)
	}
	b, ok := <-f.ready
	if !ok {
		<-f.done
		switch {
		case f.panic != nil:
			panic(f.panic)
		case !f.over:
			runtime.Goexit()
		}
		return nil, nil, false
	}
	f.inHand = b
	f.taken++
	return &b.Batch, b.err, true
}

// stop ends the pass and waits for the goroutine.
func (f *feeder) stop() {
	f.cancel()
	<-f.done
	f.ahead.close()
}

// copyBatch copies a batch into memory that is reused if it fits.
func copyBatch(into, from *data.Batch) {
	to := components(into)
	for i, t := range components(from) {
		to[i].Names = t.Names
		if len(to[i].Arrays) != len(t.Arrays) {
			to[i].Arrays = make([]data.Array, len(t.Arrays))
		}
		for j, a := range t.Arrays {
			if own := to[i].Arrays[j]; own.IsZero() || a.IsZero() || !own.Type.Equal(a.Type) || len(own.Data) != len(a.Data) {
				to[i].Arrays[j] = a.Clone()
			} else {
				copy(own.Data, a.Data)
			}
		}
	}
}
