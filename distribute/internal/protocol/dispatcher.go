package protocol

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// ErrCancelled is the result of closures that waited or ran when another one failed, or when the coordinator was
// closed.
var ErrCancelled = errors.New("parameterserver: the closure was cancelled")

// Worker names a run of a worker: a restarted process has another incarnation.
type Worker struct {
	Task        int
	Incarnation uint64
}

// Assignment is a closure to be run by a worker.
type Assignment struct {
	Closure ClosureID
	Low     uint64 // closures below have ended
	Attempt int    // from 1
	Call    any    // what was scheduled
}

// Outcome is how a closure ended.
type Outcome struct {
	Sequence uint64
	Value    []byte
	Err      error
}

// closure is one that has not ended.
type closure struct {
	sequence uint64
	call     any
	attempts int
	runs     []Worker // where it runs; several where a worker seemed to be lost
	waiting  bool
	tied     int // worker that alone can run it, -1: any
}

// Dispatcher decides which worker runs which closure. Every closure ends once: with a value, with an error of its own,
// or cancelled because another failed. The zero value is not usable.
type Dispatcher struct {
	term     uint64
	capacity int // closures in flight on one worker
	// Window bounds how far ahead closures run: a closure starts only after all closures scheduled Window or more
	// before it have ended. 0: no bound.
	Window  uint64
	next    uint64
	open    map[uint64]*closure
	queue   []*closure // that wait, in the order of their numbers
	workers map[int]*crew
	failed  error // of the first closure that failed since the last Fault
	failing bool  // no closure starts until those that run have ended
	ended   []Outcome
	low     uint64
	Retried uint64 // closures that were sent out again
}

// crew is the dispatcher's view of a worker.
type crew struct {
	Worker
	running map[uint64]struct{}
}

// NewDispatcher returns the dispatcher of a coordinator with the given term, with up to capacity closures in flight on
// each worker.
func NewDispatcher(term uint64, capacity int) *Dispatcher {
	return &Dispatcher{term: term, capacity: max(capacity, 1), next: 1, low: 1, open: map[uint64]*closure{}, workers: map[int]*crew{}}
}

// Schedule adds a closure and returns its number. After a failure it returns that error, until Fault has returned it.
func (d *Dispatcher) Schedule(call any, tied int) (uint64, error) {
	if d.failed != nil {
		return 0, d.Fault()
	}
	c := &closure{sequence: d.next, call: call, waiting: true, tied: tied}
	d.next++
	d.open[c.sequence] = c
	d.queue = append(d.queue, c)
	return c.sequence, nil
}

// Fault returns the error of the first closure that failed, once, when all closures that ran at the same time have
// ended.
func (d *Dispatcher) Fault() error {
	if d.failing {
		return nil
	}
	err := d.failed
	d.failed = nil
	return err
}

// Failed reports whether a closure has failed and Fault has not returned its error yet.
func (d *Dispatcher) Failed() bool { return d.failed != nil }

// Idle reports whether all closures have ended.
func (d *Dispatcher) Idle() bool { return len(d.open) == 0 }

// Waiting is the number of closures that no worker runs.
func (d *Dispatcher) Waiting() int { return len(d.queue) }

// Running is the number of closures that workers run.
func (d *Dispatcher) Running() int { return len(d.open) - len(d.queue) }

// Low is the smallest number of a closure that has not ended.
func (d *Dispatcher) Low() uint64 {
	for d.low < d.next && d.open[d.low] == nil {
		d.low++
	}
	return d.low
}

// Joined notes that a worker is present. The closures of an earlier incarnation are assigned again.
func (d *Dispatcher) Joined(w Worker) {
	if old := d.workers[w.Task]; old != nil {
		if old.Incarnation == w.Incarnation {
			return
		}
		d.Lost(old.Worker)
	}
	d.workers[w.Task] = &crew{Worker: w, running: map[uint64]struct{}{}}
}

// Lost notes that a worker is gone or silent. Its closures are assigned again; if it answers after all, the first
// answer counts.
func (d *Dispatcher) Lost(w Worker) {
	c := d.workers[w.Task]
	if c == nil || c.Incarnation != w.Incarnation {
		return
	}
	delete(d.workers, w.Task)
	for _, one := range d.open {
		if slices.Contains(one.runs, w) {
			one.runs = slices.DeleteFunc(one.runs, func(v Worker) bool { return v == w })
			d.again(one)
		}
	}
	d.settle()
}

// again returns a closure that no worker runs any more to its place in the queue.
func (d *Dispatcher) again(c *closure) {
	if len(c.runs) > 0 || c.waiting {
		return
	}
	if d.failing {
		d.end(c, nil, ErrCancelled)
		return
	}
	c.waiting = true
	d.Retried++
	at, _ := slices.BinarySearchFunc(d.queue, c.sequence, func(o *closure, s uint64) int {
		if o.sequence < s {
			return -1
		}
		return 1
	})
	d.queue = slices.Insert(d.queue, at, c)
}

// Workers lists the workers that are present.
func (d *Dispatcher) Workers() []Worker {
	var all []Worker
	for _, c := range d.workers {
		all = append(all, c.Worker)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Task < all[j].Task })
	return all
}

// Crowd is the number of workers that are present.
func (d *Dispatcher) Crowd() int { return len(d.workers) }

// Next returns the next closure for a worker, or false if there is none or the worker has enough to do.
func (d *Dispatcher) Next(w Worker) (Assignment, bool) {
	c := d.workers[w.Task]
	if c == nil || c.Incarnation != w.Incarnation || len(c.running) >= d.capacity || d.failing {
		return Assignment{}, false
	}
	for i, one := range d.queue {
		if d.Window > 0 && one.sequence >= d.Low()+d.Window {
			break
		}
		if one.tied >= 0 && one.tied != w.Task {
			continue
		}
		d.queue = slices.Delete(d.queue, i, i+1)
		one.waiting = false
		one.runs = append(one.runs, w)
		one.attempts++
		c.running[one.sequence] = struct{}{}
		return Assignment{Closure: ClosureID{d.term, one.sequence}, Low: d.Low(), Attempt: one.attempts, Call: one.call}, true
	}
	return Assignment{}, false
}

// Result notes the result of a run of a closure. retry says that it could not be run, for reasons that may not apply to
// another attempt. Result reports whether this ended the closure; a late answer for a closure that has ended changes
// nothing.
func (d *Dispatcher) Result(w Worker, sequence uint64, value []byte, err error, retry bool) bool {
	if crew := d.workers[w.Task]; crew != nil && crew.Incarnation == w.Incarnation {
		delete(crew.running, sequence)
	}
	c := d.open[sequence]
	if c == nil {
		return false
	}
	ran := slices.Contains(c.runs, w)
	c.runs = slices.DeleteFunc(c.runs, func(v Worker) bool { return v == w })
	if err != nil && (retry || !ran) { // a run that was given up does not decide that a closure failed
		d.again(c)
		d.settle()
		return false
	}
	if c.waiting {
		d.queue = slices.DeleteFunc(d.queue, func(o *closure) bool { return o == c })
	}
	if err != nil && d.failed == nil {
		d.failed, d.failing = err, true
	}
	d.end(c, value, err)
	if d.failing {
		for _, o := range d.queue {
			d.end(o, nil, fmt.Errorf("%w because another one failed: %w; schedule it again if it is still wanted", ErrCancelled, d.failed))
		}
		d.queue = nil
	}
	d.settle()
	return true
}

func (d *Dispatcher) end(c *closure, value []byte, err error) {
	delete(d.open, c.sequence)
	d.ended = append(d.ended, Outcome{c.sequence, value, err})
}

// settle ends a failure when nothing runs any more.
func (d *Dispatcher) settle() {
	if d.failing && len(d.open) == 0 {
		d.failing = false
	}
}

// Cancel ends all closures with an error, including running ones.
func (d *Dispatcher) Cancel(err error) {
	d.queue = nil
	for s := d.low; s < d.next; s++ {
		if c := d.open[s]; c != nil {
			d.end(c, nil, err)
		}
	}
	d.settle()
}

// Ended returns the closures that have ended since it was last called.
func (d *Dispatcher) Ended() []Outcome {
	out := d.ended
	d.ended = nil
	return out
}

// Reserve returns a name for changes that the coordinator makes itself. They count as a closure that runs until
// Release.
func (d *Dispatcher) Reserve() (id ClosureID, low uint64) {
	c := &closure{sequence: d.next, tied: -1}
	d.next++
	d.open[c.sequence] = c
	return ClosureID{d.term, c.sequence}, d.Low()
}

// Release ends what Reserve began.
func (d *Dispatcher) Release(id ClosureID) {
	delete(d.open, id.Sequence)
	d.settle()
}
