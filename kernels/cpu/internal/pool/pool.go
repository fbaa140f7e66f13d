package pool

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/internal/processors"
)

// Task is the body of a parallel region.
type Task interface {
	// Run computes the indices [lo, hi), which is one chunk. Worker is in [0, Pool.Size()) and differs between the
	// goroutines that work on one region at the same time, so it may index scratch memory that belongs to the region;
	// the caller's goroutine is worker 0. Nothing that outlives the region may depend on it.
	Run(worker, lo, hi int)
}

const (
	maxRegions = 8 // regions open at the same time; one more runs serially
	cacheLine  = 128
)

// Pool runs parallel regions. The zero value is not usable: call [Shared] or [New].
//
// Its fields are grouped by who writes them and when: if one processor writes a cache line that another has just read,
// that costs both some hundred nanoseconds.
type Pool struct {
	size       int          // bound of worker numbers, the caller's 0 included
	dynamic    bool         // follow processors.Count, up to size
	simulation *simulation  // of the workers other than the caller; nil: they are real
	active     atomic.Int32 // workers with a number below this one may claim
	parked     atomic.Int32
	closed     atomic.Bool

	_    [cacheLine]byte
	open atomic.Uint32 // bit i: regions[i] may have unclaimed chunks
	_    [cacheLine]byte
	busy atomic.Uint32 // bit i: regions[i] belongs to a caller; workers do not look at it
	_    [cacheLine]byte

	_       [cacheLine]byte
	callers atomic.Int32 // programs that compute, each on a processor of its own
	_       [cacheLine]byte

	regions [maxRegions]region

	mu      sync.Mutex     // guards starting and closing
	started atomic.Int32   // len(workers), readable without mu
	workers []*worker      // workers[i] has number i+1
	live    sync.WaitGroup // running worker goroutines
}

// worker is what others need to know about a worker goroutine.
type worker struct {
	asleep atomic.Bool   // the worker waits on wake, or is about to
	wake   chan struct{} // capacity 1; sent to by whoever turned asleep from true to false
}

var shared = sync.OnceValue(func() *Pool {
	return newShared(max(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
})

// Shared returns the pool of the process. It uses as many workers, the caller included, as [processors.Count] returns,
// and follows later changes up to its [Pool.Size]. It starts its goroutines when first needed and is never closed.
func Shared() *Pool { return shared() }

// New returns a separate pool with the given number of workers, the caller included; numbers below 1 count as 1. Close
// it after use.
func New(workers int) *Pool {
	p := &Pool{size: max(workers, 1)}
	p.active.Store(int32(p.size))
	return p
}

// Size is an upper bound of the number of goroutines that work on one region. Scratch memory that is indexed by worker
// needs that size. It never changes. A nil pool has size 1.
func (p *Pool) Size() int {
	if p == nil {
		return 1
	}
	return p.size
}

// Workers returns how many goroutines would work on a large region now, the caller included: at most [Pool.Size].
func (p *Pool) Workers() int { return p.available(maxChunks) }

// Parallel runs task on [0, n) in chunks of grain indices and returns when all of it is done. A grain below 1 counts as
// 1. A nil or closed pool, a pool of one worker and a region of one chunk run on the caller's goroutine alone.
//
// Choose grain so that a chunk takes between about 5 and 100 microseconds. Derive it from the problem's size, not from
// the number of workers; otherwise results that depend on chunk boundaries differ between machines.
func (p *Pool) Parallel(n, grain int, task Task) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	chunks := (n-1)/grain + 1
	workers := p.available(chunks)
	if workers <= 1 {
		serial(n, grain, task)
		return
	}
	if p.simulation != nil {
		p.simulation.run(n, grain, task)
		return
	}
	r, bit := p.acquire()
	if r == nil {
		serial(n, grain, task)
		return
	}
	defer p.finish(r, bit)
	r.publish(n, grain, chunks, task)
	p.open.Or(bit)
	p.summon(workers - 1)
	r.run(p, 0)
	r.returned = true
}

// available returns how many goroutines may work on a region of the given number of chunks, the caller included.
func (p *Pool) available(chunks int) int {
	if p == nil || p.size == 1 || chunks == 1 || chunks > maxChunks || p.closed.Load() {
		return 1
	}
	procs := p.size
	if p.dynamic {
		procs = min(processors.Count(), p.size)
		if int(p.active.Load()) != procs {
			p.active.Store(int32(procs))
		}
	}
	return min(max(procs-p.others(), 1), chunks)
}

// Enter says that the calling goroutine begins to compute a program, which opens regions until Leave. Workers leave it
// a processor: of n programs that run at the same time on as many processors each computes on its own, since workers
// that look for work would keep the goroutines of others from running. A nil pool ignores it.
func (p *Pool) Enter() {
	if p != nil {
		p.callers.Add(1)
	}
}

// Leave ends what Enter began, also for a while in which the program waits for others.
func (p *Pool) Leave() {
	if p != nil {
		p.callers.Add(-1)
	}
}

// others is how many programs compute beside one.
func (p *Pool) others() int { return max(int(p.callers.Load())-1, 0) }

// wanted reports whether the worker with the given number may take chunks, and so a processor.
func (p *Pool) wanted(number int) bool { return number+p.others() < int(p.active.Load()) }

// acquire reserves a free region, or returns nil.
func (p *Pool) acquire() (*region, uint32) {
	for {
		busy := p.busy.Load()
		i := bits.TrailingZeros32(^busy)
		if i >= maxRegions {
			return nil, 0
		}
		bit := uint32(1) << i
		if p.busy.CompareAndSwap(busy, busy|bit) {
			return &p.regions[i], bit
		}
	}
}

// finish waits for the chunks that workers have started, frees the region, and passes on a panic.
func (p *Pool) finish(r *region, bit uint32) {
	p.open.And(^bit)
	r.wait()
	failure, returned := r.failure.Load(), r.returned
	r.task, r.returned = nil, false
	r.failure.Store(nil)
	p.busy.And(^bit)
	if failure != nil && (returned || failure.Value != errGoexit) {
		panic(failure)
	}
}

// summon makes sure that want workers are awake or starting.
func (p *Pool) summon(want int) {
	started := int(p.started.Load())
	if started < want {
		started = p.start(want)
	}
	parked := int(p.parked.Load())
	if parked == 0 {
		return
	}
	want -= started - parked // those that are awake look by themselves
	p.mu.Lock()
	workers := p.workers
	p.mu.Unlock()
	for _, w := range workers {
		if want <= 0 {
			return
		}
		if w.rouse(p) {
			want--
		}
	}
}

// start brings the number of workers up to want and returns how many there are.
func (p *Pool) start(want int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.workers) < want && !p.closed.Load() {
		w := &worker{wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.started.Store(int32(len(p.workers)))
		p.live.Add(1)
		go p.work(w, len(p.workers))
	}
	return len(p.workers)
}

// Close ends the pool's goroutines and returns when they are gone. It must not be called while a region is open;
// regions opened later run serially. Closing twice is harmless, closing the shared pool is a mistake that makes
// everything serial.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed.Store(true)
	workers := p.workers
	p.mu.Unlock()
	for _, w := range workers {
		w.rouse(p)
	}
	p.live.Wait()
}

// spinTime is how long an idle worker looks for work before it parks.
const spinTime = 500 * time.Microsecond

// work is the life of the worker with the given number.
func (p *Pool) work(w *worker, number int) {
	alive := true
	defer func() {
		if alive { // a task called runtime.Goexit: its region knows, and a new worker takes this one's place
			go p.work(w, number)
			return
		}
		p.live.Done()
	}()
	for !p.closed.Load() {
		if p.serve(number) {
			continue
		}
		if p.spin(number) {
			continue
		}
		p.park(w, number)
	}
	alive = false
}

// serve helps every open region until nothing is left to claim. It reports whether it did anything.
func (p *Pool) serve(number int) bool {
	if !p.wanted(number) {
		return false
	}
	helped := false
	// Workers start at different regions, so that two callers share them.
	open := uint64(p.open.Load())
	open |= open << maxRegions
	first := number % maxRegions
	for open >>= first; open != 0; open &= open - 1 {
		i := (first + bits.TrailingZeros64(open)) % maxRegions
		if p.regions[i].run(p, number) {
			helped = true
		}
	}
	return helped
}

// spin waits for an open region with unclaimed chunks. It reports whether it saw one within spinTime.
func (p *Pool) spin(number int) bool {
	until := time.Now().Add(spinTime)
	for i := 1; ; i++ {
		if p.pending(number) || p.closed.Load() {
			return true
		}
		pause()
		if i%16 == 0 && !p.wanted(number) {
			return false
		}
		if i%256 == 0 {
			yield()
			if time.Now().After(until) {
				return false
			}
		}
	}
}

// pending reports whether a region has unclaimed chunks for this worker.
func (p *Pool) pending(number int) bool {
	open := p.open.Load()
	if open == 0 || !p.wanted(number) {
		return false
	}
	for ; open != 0; open &= open - 1 {
		if p.regions[bits.TrailingZeros32(open)].unclaimed() {
			return true
		}
	}
	return false
}

// park sleeps until the worker is roused.
func (p *Pool) park(w *worker, number int) {
	p.parked.Add(1)
	w.asleep.Store(true)
	// A region may have opened between the last look and setting asleep; its caller has then not seen this worker as
	// parked.
	if (p.pending(number) || p.closed.Load()) && w.asleep.CompareAndSwap(true, false) {
		p.parked.Add(-1)
		return
	}
	<-w.wake
}

// rouse wakes the worker if it is parked and reports whether it did.
func (w *worker) rouse(p *Pool) bool {
	if !w.asleep.Load() || !w.asleep.CompareAndSwap(true, false) {
		return false
	}
	p.parked.Add(-1)
	w.wake <- struct{}{}
	return true
}
