package keras

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fleet connects workers that come and go: a group consists of the workers that are present, as with
// distribute.Elastic. Events follow a schedule that counts collectives, so every run of it is the same.
type fleet struct {
	mu   sync.Mutex
	cond *sync.Cond
	n    int
	min  int // minimum number of workers in a group
	rng  *rand.Rand
	life func(w *fleetWorker) error // what a worker does
	plan []fleetFault
	dir  string // of the backup; "": none

	execution int                  // number of steps in one
	between   func(m *Model) error // what is done between two Fits

	lossy bool // faults may hit the last worker that has the state

	calls      int // collectives so far
	names      []string
	members    []*fleetWorker // by rank
	generation int
	job        int // number of groups that began without anybody's state
	broken     bool
	arrived    int
	deposit    []any
	absent     map[int]int // workers that come back as new processes, at the given call
	coming     int         // how many of those have started but not arrived yet
	lives      []*fleetWorker
	running    sync.WaitGroup
	left       bool // a worker has finished
	failed     error
	seen       map[[2]int]uint64 // job and step: the weights after it
	log        []string
}

// fleetFault is an event during a collective.
type fleetFault struct {
	call    int
	workers []int // those that are hit; none: the group breaks, but all workers remain
	dies    bool  // they end, and come back as new processes; otherwise they are excluded
	for_    int   // number of calls until they return
	whole   uint  // bits of the workers on which the collective still completes
}

func (f fleetFault) String() string {
	what := "are away"
	if f.dies {
		what = "die"
	}
	return fmt.Sprintf("call %d: workers %v %s for %d calls, it completes on %b", f.call, f.workers, what, f.for_, f.whole)
}

// fleetWorker is one life of a worker, and its end of the group.
type fleetWorker struct {
	f          *fleet
	index      int
	newcomer   bool
	strategy   *distribute.MultiWorkerMirroredStrategy
	rank, size int
	roster     distribute.Roster
	generation int // of the group that it is in
	standing   distribute.Standing
	waits      bool // it waits for the next group
	dead       bool
	awayUntil  int   // call; 0: it is not away
	calls      int   // that it has taken part in
	got        []any // from the last one
	outcome    error // of it
	ended      bool
	err        error
	result     recoveryRun
}

var _ distribute.ElasticGroup = (*fleetWorker)(nil)

// run lets all workers run to the end, and returns the last life of each.
func (f *fleet) run() []*fleetWorker {
	f.cond = sync.NewCond(&f.mu)
	f.absent, f.seen = map[int]int{}, map[[2]int]uint64{}
	watchdog := time.AfterFunc(2*time.Minute, func() { f.fail(errors.New("the workers hang")) })
	defer watchdog.Stop()
	f.mu.Lock()
	for i := range f.n {
		f.start(i)
	}
	f.mu.Unlock()
	f.running.Wait()
	last := make([]*fleetWorker, f.n)
	for _, w := range f.lives {
		last[w.index] = w
	}
	return last
}

func (f *fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
	f.cond.Broadcast()
}

// start begins a worker's life. The lock is held.
func (f *fleet) start(index int) {
	w := &fleetWorker{f: f, index: index, generation: -1, newcomer: f.calls > 0}
	f.lives = append(f.lives, w)
	f.coming++
	f.running.Go(func() {
		err := f.regroup(w, distribute.Standing{}) // Join
		if err == nil {
			err = f.life(w)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		w.err, w.ended, w.waits = err, true, false
		f.left = f.left || err == nil
		if err != nil && !w.dead && f.failed == nil && !errors.Is(err, distribute.ErrLeft) {
			f.failed = fmt.Errorf("worker %d ended: %w", index, err)
		}
		f.form()
		f.cond.Broadcast()
	})
}

func (f *fleet) note(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf("%d: ", f.calls)+fmt.Sprintf(format, args...))
}

// meet gives all workers what each has contributed.
func (f *fleet) meet(w *fleetWorker, name string, own any) ([]any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.barred(w); err != nil {
		return nil, err
	}
	before := w.calls
	f.deposit[w.rank] = own
	if f.arrived++; f.arrived == len(f.members) {
		f.complete(name)
	}
	for w.calls == before && f.failed == nil {
		f.cond.Wait()
	}
	if w.calls == before {
		return nil, f.failed
	}
	return w.got, w.outcome
}

// barred says why a worker cannot take part. The lock is held.
func (f *fleet) barred(w *fleetWorker) error {
	switch {
	case w.dead:
		return errDead
	case f.failed != nil:
		return f.failed
	case f.broken || w.generation != f.generation:
		return errLost
	}
	return nil
}

// complete ends a collective, and triggers the schedule's events. The lock is held.
func (f *fleet) complete(name string) {
	f.calls++
	f.names = append(f.names, name)
	result := append([]any(nil), f.deposit...)
	f.arrived = 0
	for _, w := range f.members {
		w.calls++
		w.got, w.outcome = result, nil
	}
	for _, fault := range f.plan {
		if fault.call == f.calls {
			f.strike(fault)
		}
	}
	for index, call := range f.absent {
		if call <= f.calls {
			delete(f.absent, index)
			f.note("worker %d comes as a new process", index)
			f.start(index)
		}
	}
	for _, w := range f.lives {
		if w.awayUntil > 0 && w.awayUntil <= f.calls {
			f.note("worker %d is there again", w.index)
			w.awayUntil = 0
		}
	}
	f.cond.Broadcast()
}

// strike triggers a fault. The lock is held.
func (f *fleet) strike(fault fleetFault) {
	if !f.lossy {
		fault = f.keepingState(fault)
	}
	f.note("%v", fault)
	f.broken = true
	for _, w := range f.members {
		if fault.whole>>w.index&1 == 0 {
			w.outcome = errLost
		}
		if !slices.Contains(fault.workers, w.index) {
			continue
		}
		if fault.dies {
			w.dead, w.outcome = true, errDead
			f.absent[w.index] = f.calls + fault.for_
		} else {
			w.awayUntil = f.calls + fault.for_
		}
	}
}

// keepingState changes a fault so that some remaining worker has all the state that any worker has: training after the
// loss of that is a different case. All members wait in a collective. The lock is held.
func (f *fleet) keepingState(fault fleetFault) fleetFault {
	var latest uint64
	has := false
	for _, w := range f.members {
		if at := w.at(); at.HasState {
			has, latest = true, max(latest, at.Step)
		}
	}
	stays, completes := !has, !has
	for _, w := range f.members {
		if at := w.at(); at.HasState && at.Step == latest && !slices.Contains(fault.workers, w.index) {
			stays, completes = true, completes || fault.whole>>w.index&1 != 0
		}
	}
	if !stays {
		fault.workers = nil
	}
	if !completes {
		for _, index := range fault.workers {
			fault.whole &^= 1 << index
		}
	}
	return fault
}

// at returns the position of a worker that waits in a collective.
func (w *fleetWorker) at() distribute.Standing {
	if w.strategy == nil {
		return distribute.Standing{}
	}
	return w.strategy.Standing()
}

// regroup waits for the next group.
func (f *fleet) regroup(w *fleetWorker, own distribute.Standing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.generation < 0 {
		f.coming--
	}
	w.waits, w.standing = true, own
	f.form()
	f.cond.Broadcast()
	for w.waits && !w.dead && f.failed == nil && !f.left {
		f.cond.Wait()
	}
	switch {
	case w.dead:
		return errDead
	case f.failed != nil:
		return f.failed
	case w.waits:
		return distribute.ErrLeft
	}
	return nil
}

// form forms a group when all present workers wait for it. The lock is held.
func (f *fleet) form() {
	if f.coming > 0 || f.left {
		return
	}
	var there []*fleetWorker
	for _, w := range f.lives {
		switch {
		case w.dead || w.ended || w.awayUntil > 0:
		case w.waits:
			there = append(there, w)
		default:
			return // it is on its way, or the group goes on
		}
	}
	if len(there) < f.min {
		for index := range f.absent {
			delete(f.absent, index)
			f.start(index)
		}
		for _, w := range f.lives {
			w.awayUntil = 0
		}
		if f.coming == 0 && !slices.ContainsFunc(f.lives, func(w *fleetWorker) bool { return !w.dead && !w.ended && !w.waits }) && len(f.lives) > len(there) {
			f.formOf(f.thereAtAll())
		}
		return
	}
	f.formOf(there)
}

func (f *fleet) thereAtAll() (list []*fleetWorker) {
	for _, w := range f.lives {
		if !w.dead && !w.ended && w.waits {
			list = append(list, w)
		}
	}
	return list
}

func (f *fleet) formOf(list []*fleetWorker) {
	if len(list) < f.min {
		return
	}
	f.rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	f.members, f.broken, f.arrived, f.deposit = list, false, 0, make([]any, len(list))
	f.generation++
	roster := distribute.Roster{Generation: uint64(f.generation), Source: -1}
	for r, w := range list {
		if w.standing.HasState && (roster.Source < 0 || w.standing.Step > roster.Step) {
			roster.Source, roster.Step = r, w.standing.Step
		}
	}
	var names []string
	for r, w := range list {
		if roster.Source >= 0 && (!w.standing.HasState || w.standing.Step < roster.Step) {
			roster.Behind = append(roster.Behind, r)
		}
		names = append(names, fmt.Sprintf("%d at %v", w.index, w.standing))
	}
	for r, w := range list {
		w.rank, w.size, w.roster, w.generation, w.waits = r, len(list), roster, f.generation, false
	}
	if roster.Source < 0 {
		f.job++
	}
	f.note("group %d: %s", f.generation, strings.Join(names, ", "))
	f.cond.Broadcast()
}

// check compares the weights after a step with those of the others: a state determines its successor.
func (f *fleet) check(w *fleetWorker, step int, values map[string][]float64) error {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	h := fnv.New64a()
	for _, name := range names {
		fmt.Fprintln(h, name, values[name])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key, sum := [2]int{f.job, step}, h.Sum64()
	if before, known := f.seen[key]; known && before != sum {
		return fmt.Errorf("worker %d has other weights after step %d than the others", w.index, step)
	}
	f.seen[key] = sum
	return nil
}

func (w *fleetWorker) Rank() int           { w.f.mu.Lock(); defer w.f.mu.Unlock(); return w.rank }
func (w *fleetWorker) Size() int           { w.f.mu.Lock(); defer w.f.mu.Unlock(); return w.size }
func (w *fleetWorker) Lost(err error) bool { return errors.Is(err, errLost) }
func (w *fleetWorker) First() bool         { return w.Rank() == 0 }
func (w *fleetWorker) Close() error        { return nil }

func (w *fleetWorker) Fail(err error) {
	if err != nil && !errors.Is(err, errLost) && !errors.Is(err, errDead) && !errors.Is(err, distribute.ErrLeft) {
		w.f.fail(fmt.Errorf("worker %d failed: %w", w.index, err))
	}
}

// Pending reports whether workers are waiting to join.
func (w *fleetWorker) Pending() bool {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for w.generation == f.generation && f.settling() && f.failed == nil {
		f.cond.Wait()
	}
	if w.generation != f.generation {
		return false
	}
	return slices.ContainsFunc(f.lives, func(o *fleetWorker) bool { return o.waits && o.awayUntil == 0 && !o.dead })
}

// settling reports whether a worker outside the group is about to join. The lock is held.
func (f *fleet) settling() bool {
	return f.coming > 0 || slices.ContainsFunc(f.lives, func(o *fleetWorker) bool {
		return !o.dead && !o.ended && !o.waits && o.awayUntil == 0 && o.generation != f.generation
	})
}

func (w *fleetWorker) Roster() distribute.Roster {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.roster
}

func (w *fleetWorker) Regroup(_ context.Context, own distribute.Standing) error {
	return w.f.regroup(w, own)
}

func (w *fleetWorker) Agree(_ context.Context, call distribute.WorkerCall) error {
	all, err := w.f.meet(w, call.Name, call)
	for _, other := range all {
		if err == nil && other != any(call) {
			err = fmt.Errorf("workers disagree: %v and %v", call, other)
		}
	}
	return err
}

// named is a worker's contribution to a collective, which must be the same one for all.
type named struct {
	name  string
	value any
}

func (w *fleetWorker) gather(call distribute.WorkerCall, own any) ([]any, error) {
	all, err := w.f.meet(w, call.Name, named{call.Name, own})
	if err != nil {
		return nil, err
	}
	out := make([]any, len(all))
	for i, a := range all {
		n, ok := a.(named)
		if !ok || n.name != call.Name {
			return nil, fmt.Errorf("workers disagree: one is at %q, another one at %v", call.Name, a)
		}
		out[i] = n.value
	}
	return out, nil
}

func (w *fleetWorker) AllGather(_ context.Context, call distribute.WorkerCall, own []byte) ([][]byte, error) {
	all, err := w.gather(call, append([]byte(nil), own...))
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = all[i].([]byte)
	}
	return out, nil
}

func (w *fleetWorker) Broadcast(_ context.Context, call distribute.WorkerCall, root int, values []kernels.Array) error {
	all, err := w.gather(call, clones(values))
	if err != nil {
		return err
	}
	for i, a := range all[root].([]kernels.Array) {
		copy(values[i].Data, a.Data)
	}
	return nil
}

func (w *fleetWorker) AllReduce(_ context.Context, call distribute.WorkerCall, kind ir.Kind, values []kernels.Array) error {
	all, err := w.gather(call, clones(values))
	if err != nil {
		return err
	}
	return reduceInto(all, kind, values)
}
