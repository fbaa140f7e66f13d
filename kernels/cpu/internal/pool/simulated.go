package pool

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// SimulatedVariable is the environment variable that makes the pool of the process a simulated one of that many
// workers.
const SimulatedVariable = "GOKERAS_SIMULATED_WORKERS"

// The costs of a region, and of handing out a chunk, on processors that share a third-level cache.
const (
	simulatedStart = 1500 * time.Nanosecond // until the other workers have seen the region
	simulatedChunk = 100 * time.Nanosecond
)

// simulation computes regions on their caller's goroutine, cut into chunks as for a pool of many workers, and adds up
// how much sooner that many workers would have finished. It shows how programs scale on machines that are not
// available. It does not model what workers compete for: bandwidth, caches and clock rates.
type simulation struct {
	busy  atomic.Bool // a region is being computed; no workers are left for one inside or beside it
	saved atomic.Int64
	free  []time.Duration // when each worker will be free, counted from the start of the region
}

// Simulated returns a pool that uses only its caller's goroutine. It behaves like a pool of the given number of
// workers, and records the time that they would have saved.
func Simulated(workers int) *Pool {
	p := New(workers)
	p.simulation = &simulation{free: make([]time.Duration, p.size)}
	return p
}

// Saved returns how much less time the regions would have taken in all with the workers of a simulated pool: subtract
// it from the processor time that they took. It is 0 for other pools.
func (p *Pool) Saved() time.Duration {
	if p == nil || p.simulation == nil {
		return 0
	}
	return time.Duration(p.simulation.saved.Load())
}

// IsSimulated reports whether [Simulated] made the pool.
func (p *Pool) IsSimulated() bool { return p != nil && p.simulation != nil }

// run computes a region and records what its workers would have saved: each chunk goes to the worker that is free
// first.
func (s *simulation) run(n, grain int, task Task) {
	if !s.busy.CompareAndSwap(false, true) {
		serial(n, grain, task)
		return
	}
	defer s.busy.Store(false)
	for i := range s.free {
		s.free[i] = simulatedStart
	}
	s.free[0] = 0 // the caller
	timed := simulatedTask{task: task, simulation: s, last: ThreadTime()}
	begin := timed.last
	serial(n, grain, &timed)
	end := s.free[0]
	for _, t := range s.free[1:] {
		if t > simulatedStart {
			end = max(end, t)
		}
	}
	s.saved.Add(int64(timed.last - begin - end))
}

// simulatedTask times the chunks of a task.
type simulatedTask struct {
	task       Task
	simulation *simulation
	last       time.Duration
}

func (t *simulatedTask) Run(worker, lo, hi int) {
	t.task.Run(worker, lo, hi)
	now := ThreadTime()
	free := t.simulation.free
	first := slices.Index(free, slices.Min(free))
	free[first] += max(now-t.last-threadTimeCost(), 0) + simulatedChunk
	t.last = now
}

// threadTimeCost is the time that ThreadTime takes.
var threadTimeCost = sync.OnceValue(func() time.Duration {
	const calls = 1000
	begin := ThreadTime()
	for range calls {
		ThreadTime()
	}
	return (ThreadTime() - begin) / calls
})

// newShared returns the pool of the process for that many workers.
func newShared(workers int) *Pool {
	if simulated, err := strconv.Atoi(os.Getenv(SimulatedVariable)); err == nil && simulated > 0 {
		return Simulated(simulated)
	}
	p := New(workers)
	p.dynamic = true
	return p
}

// Speedup calls f, which uses the simulated pool, several times. It returns how much faster its workers are than one,
// at best. Regions that f computes on other goroutines do not count.
func (p *Pool) Speedup(f func()) float64 {
	const runs = 5
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := 1.0
	for range runs {
		begin, saved := ThreadTime(), p.Saved()
		f()
		took := ThreadTime() - begin
		best = max(best, float64(took)/float64(max(took-(p.Saved()-saved), 1)))
	}
	return best
}
