package cpu

import (
	"context"
	"time"
	"unsafe"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// maxPointers is the number of memory operands and registers that one elementwise group may use.
const maxPointers = 192

// worker is the scratch memory of one goroutine that works for an executable.
type worker struct {
	ptrs    [maxPointers]unsafe.Pointer
	steps   [vec.MaxChain]vec.ChainStep
	lookups lookupState
	scratch []byte
	_       [64]byte // keep workers' fields off each other's cache lines
}

// runtime is the state that all schedules of an executable share while it runs.
type runtime struct {
	pool    *pool.Pool
	workers []worker // indexed by the pool's worker numbers
	scratch int      // bytes that each worker needs
	ctx     context.Context
	comm    kernels.Communicator
	// overlapper is comm if its all-reduces run while the replica computes, else nil.
	overlapper kernels.Overlapper
	outside    bool  // comm is not one of this backend
	err        error // the first failure; no step runs after it

	spare  []byte  // see spareMatrix
	shared *shared // lends the memory instead; may be nil
	ahead  []span  // memory that the next steps of a loop use; a product prefetches it

	profiling bool
	nested    time.Duration // time spent in sub-programs, while steps are timed
}

// need asks for at least the given number of bytes of scratch memory for each worker; allocate provides it. A size that
// overflowed counts as more memory than can be addressed.
func (r *runtime) need(bytes int) {
	if bytes < 0 || bytes > memory.Addressable {
		bytes = memory.Addressable
	}
	r.scratch = max(r.scratch, bytes)
}

// check fails if the machine lacks memory for the workers' scratch memory and for the others bytes of the program.
func (r *runtime) check(name string, others int) error {
	return plan.CheckMemory("the program "+name, float64(others)+float64(r.scratch)*float64(len(r.workers)))
}

// allocate gives the workers scratch memory if there is enough.
func (r *runtime) allocate(name string, others int) error {
	if err := r.check(name, others); err != nil {
		return err
	}
	r.provide()
	return nil
}

// provide gives the workers scratch memory.
func (r *runtime) provide() {
	for i := range r.workers {
		if len(r.workers[i].scratch) < r.scratch {
			r.workers[i].scratch = plan.AlignedBytes(plan.RoundUp(r.scratch, 4096))
		}
	}
}

// spareMemory returns the memory of [build.spareMatrix].
func (r *runtime) spareMemory() *[]byte {
	if r.shared != nil {
		return &r.shared.spare
	}
	return &r.spare
}

// fail records the first error of a run.
func (r *runtime) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// scratchOf returns n elements of the worker's scratch memory. The builder of the loop must have asked for it with
// need.
func scratchOf[T any](w *worker, n int) []T {
	return block.View[T](unsafe.Pointer(unsafe.SliceData(w.scratch)), n)
}

// loop is a parallel loop that is built once and run many times.
type loop struct {
	rt   *runtime
	body func(w *worker, lo, hi int)
}

// Run implements pool.Task.
func (l *loop) Run(number, lo, hi int) { l.body(&l.rt.workers[number], lo, hi) }

// parallel returns a function that runs body over [0, n) in chunks of grain indices.
//
//go:noinline
func (r *runtime) parallel(n, grain int, body func(w *worker, lo, hi int)) func() {
	if n <= 0 {
		return func() {}
	}
	l := &loop{r, body}
	if grain >= n {
		return func() { l.body(&r.workers[0], 0, n) }
	}
	return func() { r.pool.Parallel(n, grain, l) }
}

// chunkWork is how much work one chunk of a parallel loop should have, in elementary operations. It takes about ten
// microseconds in plain Go.
const chunkWork = 1 << 15

// grain returns how many items make a chunk if each is the given amount of work.
func grain(work int) int { return max(chunkWork/max(work, 1), 1) }

// step is one scheduled operation with everything resolved.
type step struct {
	run   func()
	name  string // its ops, for profiles
	scope string
	calls int
	time  time.Duration
	bytes int64
	flops int64
	role  role
}

// schedule is a compiled program or sub-program.
type schedule struct {
	steps    []step
	prologue []step // computes constants; run once when the program is compiled
	storages []*plan.Storage
	inputs   []*plan.Storage // by program input
	outputs  []*plan.Storage // by program output
	bytes    int             // size of the arena
	largest  string          // describes its largest value, if that is large
	children []child
	nodes    int // of the normalized program
}

// child is the schedule of a sub-program. Its arena is part of its parent's.
type child struct {
	schedule *schedule
	arena    *plan.Storage
	share    *timeShare // for children that run in parallel with others, else nil
}

// timeShare is the time that children running in parallel took together, and the sum of the times of their steps.
type timeShare struct{ took, spent time.Duration }

// place sets the addresses of all storages in the arena that begins at base.
func (s *schedule) place(base unsafe.Pointer) {
	for _, m := range s.storages {
		if m.Kind == plan.InArena && m.Bytes > 0 {
			m.Ptr = unsafe.Add(base, m.Offset)
		}
	}
	for _, c := range s.children {
		c.schedule.place(c.arena.Ptr)
	}
}

// prepare computes the constants.
func (s *schedule) prepare() {
	for i := range s.prologue {
		s.prologue[i].run()
	}
	for _, c := range s.children {
		c.schedule.prepare()
	}
}

// execute runs all steps. Inputs and outputs must have been bound.
func (s *schedule) execute(rt *runtime) {
	if rt.profiling {
		s.timed(rt)
		return
	}
	for i := range s.steps {
		s.steps[i].run()
		if rt.err != nil {
			return
		}
	}
}
