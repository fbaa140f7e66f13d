package pool

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
)

// The state of a region in one word: its generation, the chunks claimed from the front, the chunks not yet claimed.
const (
	countBits = 20
	maxChunks = 1<<countBits - 1
	oneFront  = 1 << countBits // added with one chunk less
)

func generationOf(state uint64) uint64 { return state >> (2 * countBits) }
func frontOf(state uint64) int         { return int(state >> countBits & maxChunks) }
func unclaimedOf(state uint64) int     { return int(state & maxChunks) }

// region is a running call of Parallel. The caller writes its plain fields before it stores state. Workers read them
// only after they have claimed a chunk, which keeps the region from ending. So state orders all accesses.
type region struct {
	_     [cacheLine]byte
	state atomic.Uint64 // generation, chunks claimed from the front, chunks not yet claimed

	// Whoever has claimed a chunk already has this cache line, and needs these fields.
	n, grain, chunks int
	task             Task
	mode             flush.Mode // of the caller's arithmetic, which workers adopt
	done             chan struct{}

	_        [cacheLine]byte
	left     atomic.Int64 // chunks not yet finished or dropped
	waiting  atomic.Bool  // the caller blocks on done
	failure  atomic.Pointer[PanicError]
	_        [cacheLine]byte
	returned bool // the caller's own share ended by returning, not by runtime.Goexit
}

// publish makes the region's chunks claimable.
func (r *region) publish(n, grain, chunks int, task Task) {
	r.n, r.grain, r.chunks, r.task, r.mode = n, grain, chunks, task, flush.Current()
	if r.done == nil {
		r.done = make(chan struct{}, 1)
	}
	r.left.Store(int64(chunks))
	// With a new generation, the stale compare-and-swap of a worker that slept through the previous region fails.
	generation := generationOf(r.state.Load()) + 1
	r.state.Store(generation<<(2*countBits) | uint64(chunks))
}

func (r *region) unclaimed() bool { return unclaimedOf(r.state.Load()) != 0 }

// run claims and computes chunks until none is left, and reports whether it claimed any. The caller and workers with
// even numbers claim from the front, the others from the back. So in each region, a worker finds what it wrote in the
// previous one in its own cache.
func (r *region) run(p *Pool, worker int) bool {
	claimed, ended := 0, false
	var section flush.Section
	inside := false
	defer func() {
		if inside {
			section.Leave()
		}
		if !ended {
			r.fail(recover())
			claimed += r.drop()
		}
		if claimed > 0 {
			r.leave(claimed)
		}
	}()
	for worker == 0 || p.wanted(worker) {
		state := r.state.Load()
		unclaimed := unclaimedOf(state)
		if unclaimed == 0 {
			break
		}
		next := state - 1
		if worker%2 == 0 {
			next += oneFront
		}
		if !r.state.CompareAndSwap(state, next) {
			continue
		}
		if claimed == 0 && worker > 0 {
			section, inside = flush.Enter(r.mode), true
		}
		claimed++
		chunk := frontOf(state)
		if worker%2 != 0 {
			chunk += unclaimed - 1
		}
		lo := chunk * r.grain
		r.task.Run(worker, lo, min(lo+r.grain, r.n))
	}
	ended = true
	return claimed > 0
}

// drop claims all remaining chunks without computing them, and returns their number.
func (r *region) drop() int {
	for {
		state := r.state.Load()
		if r.state.CompareAndSwap(state, state&^maxChunks) {
			return unclaimedOf(state)
		}
	}
}

// leave counts chunks as finished. After that, the region may belong to another call.
func (r *region) leave(chunks int) {
	done := r.done
	if r.left.Add(int64(-chunks)) == 0 && r.waiting.CompareAndSwap(true, false) {
		done <- struct{}{}
	}
}

// waitTime is how long a caller spins for the last chunks: about as long as the longest chunk takes.
const waitTime = 100 * time.Microsecond

// wait returns when every chunk is finished or dropped. The chunks that it waits for are already running, so it spins
// first.
func (r *region) wait() {
	for i := 0; i < 256; i++ {
		if r.left.Load() == 0 {
			return
		}
		pause()
	}
	until := time.Now().Add(waitTime)
	for time.Now().Before(until) {
		for i := 0; i < 32; i++ {
			if r.left.Load() == 0 {
				return
			}
			pause()
		}
		yield()
	}
	// A worker of an earlier call may answer late, between its last count and its look at waiting. Hence the loop.
	for r.left.Load() != 0 {
		r.waiting.Store(true)
		if r.left.Load() == 0 && r.waiting.CompareAndSwap(true, false) {
			return // nobody has sent, and nobody will
		}
		<-r.done
	}
}

// PanicError is the value with which Parallel panics when a task panicked.
type PanicError struct {
	Value any    // what the task panicked with
	Stack []byte // the stack of the goroutine that panicked
}

// Error names the original panic and shows its stack, which the caller's own stack does not contain.
func (e *PanicError) Error() string {
	return fmt.Sprintf("panic in a parallel region: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

var errGoexit = errors.New("the task called runtime.Goexit")

// fail keeps the first failure of the region.
func (r *region) fail(value any) { r.failure.CompareAndSwap(nil, newPanicError(value)) }

func newPanicError(value any) *PanicError {
	if value == nil {
		value = errGoexit
	}
	if e, ok := value.(*PanicError); ok { // of a region inside the task
		return e
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}

// serial visits the chunks in order on the calling goroutine.
func serial(n, grain int, task Task) {
	ended := false
	defer func() {
		if ended {
			return
		}
		if value := recover(); value != nil {
			panic(newPanicError(value))
		}
	}()
	for lo := 0; lo < n; lo += grain {
		task.Run(0, lo, min(lo+grain, n))
	}
	ended = true
}
