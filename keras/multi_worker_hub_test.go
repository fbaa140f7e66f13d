package keras

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

var (
	errLost = errors.New("a worker is lost")
	errDead = errors.New("this worker is dead")
)

// hub connects workers that are goroutines of one test, and loses one of them in a chosen collective.
type hub struct {
	mu    sync.Mutex
	cond  *sync.Cond
	n     int
	calls int // collectives so far
	names []string

	failAt int              // the collective that fails; 0: none
	fails  func(r int) bool // on which workers it fails; the others complete it
	states bool             // the model has a layer that keeps a state between batches
	own    bool             // the model has steps of its own
	kind   string           // of the workers' devices; "" is the CPU
	dies   int              // the worker that is lost then, and returns as a new one; -1: none

	arrived    int // in the call under way
	round      int
	deposit    []any
	result     []any
	broken     bool
	generation int
	standings  []distribute.Standing
	roster     distribute.Roster
	here       int
	left       bool  // a worker has finished
	failed     error // error of one worker, reported to all
}

func newHub(n int) *hub {
	h := &hub{n: n, deposit: make([]any, n), standings: make([]distribute.Standing, n), dies: -1, roster: distribute.Roster{Source: -1}}
	h.cond = sync.NewCond(&h.mu)
	return h
}

// device returns the device of a worker.
func (h *hub) device(rank int) string {
	if h.kind == "" {
		return "cpu:0"
	}
	return fmt.Sprintf("%s:%d", h.kind, rank)
}

// meet gives all workers what each has contributed.
func (h *hub) meet(rank int, name string, own any) ([]any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed != nil {
		return nil, h.failed
	}
	if h.broken {
		return nil, errLost
	}
	round := h.round
	h.deposit[rank] = own
	if h.arrived++; h.arrived == h.n {
		h.calls++
		h.names = append(h.names, name)
		h.result = append([]any(nil), h.deposit...)
		h.arrived = 0
		h.round++
		h.broken = h.failAt == h.calls
		h.cond.Broadcast()
	}
	for h.round == round && !h.broken && h.failed == nil {
		h.cond.Wait()
	}
	if h.round == round && h.failed != nil {
		return nil, h.failed
	}
	if h.round == round || h.broken && h.fails(rank) {
		return nil, errLost
	}
	return h.result, nil
}

// regroup waits for all workers, one of which may be new.
func (h *hub) regroup(rank int, own distribute.Standing) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken && h.dies == rank && own.HasState {
		h.dies = -1
		return errDead
	}
	generation := h.generation
	h.standings[rank] = own
	if h.here++; h.here == h.n {
		h.generation++
		h.here, h.arrived, h.broken, h.failAt = 0, 0, false, 0
		h.roster = distribute.Roster{Source: -1}
		for r, s := range h.standings {
			if s.HasState && (h.roster.Source < 0 || s.Step > h.roster.Step) {
				h.roster.Source, h.roster.Step = r, s.Step
			}
		}
		for r, s := range h.standings {
			if h.roster.Source >= 0 && (!s.HasState || s.Step < h.roster.Step) {
				h.roster.Behind = append(h.roster.Behind, r)
			}
		}
		h.cond.Broadcast()
	}
	for h.generation == generation && !h.left && h.failed == nil {
		h.cond.Wait()
	}
	if h.failed != nil {
		return h.failed
	}
	if h.generation == generation {
		return distribute.ErrLeft
	}
	return nil
}

// leave is called by a worker at its end.
func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = true
	h.cond.Broadcast()
}

// hubWorker is one worker's end of a hub.
type hubWorker struct {
	h    *hub
	rank int
}

var _ distribute.ElasticGroup = (*hubWorker)(nil)

func (w *hubWorker) Rank() int           { return w.rank }
func (w *hubWorker) Size() int           { return w.h.n }
func (w *hubWorker) Lost(err error) bool { return errors.Is(err, errLost) }
func (w *hubWorker) Pending() bool       { return false }
func (w *hubWorker) First() bool         { return w.Rank() == 0 }
func (w *hubWorker) Close() error        { return nil }

func (w *hubWorker) Fail(err error) {
	if err == nil || errors.Is(err, errLost) || errors.Is(err, errDead) {
		return
	}
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	if w.h.failed == nil {
		w.h.failed = fmt.Errorf("worker %d failed: %w", w.rank, err)
	}
	w.h.cond.Broadcast()
}

func (w *hubWorker) Roster() distribute.Roster {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	return w.h.roster
}

func (w *hubWorker) Regroup(_ context.Context, own distribute.Standing) error {
	return w.h.regroup(w.rank, own)
}

func (w *hubWorker) Agree(_ context.Context, call distribute.WorkerCall) error {
	all, err := w.h.meet(w.rank, call.Name, call)
	for _, other := range all {
		if err == nil && other != any(call) {
			err = fmt.Errorf("workers disagree: %v and %v", call, other)
		}
	}
	return err
}

func (w *hubWorker) AllGather(_ context.Context, call distribute.WorkerCall, own []byte) ([][]byte, error) {
	all, err := w.h.meet(w.rank, call.Name, append([]byte(nil), own...))
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = all[i].([]byte)
	}
	return out, nil
}

func clones(values []kernels.Array) []kernels.Array {
	out := make([]kernels.Array, len(values))
	for i, a := range values {
		out[i] = kernels.Array{Type: a.Type, Data: append([]byte(nil), a.Data...)}
	}
	return out
}

func (w *hubWorker) Broadcast(_ context.Context, call distribute.WorkerCall, root int, values []kernels.Array) error {
	all, err := w.h.meet(w.rank, call.Name, clones(values))
	if err != nil {
		return err
	}
	for i, a := range all[root].([]kernels.Array) {
		copy(values[i].Data, a.Data)
	}
	return nil
}

func (w *hubWorker) AllReduce(_ context.Context, call distribute.WorkerCall, kind ir.Kind, values []kernels.Array) error {
	all, err := w.h.meet(w.rank, call.Name, clones(values))
	if err != nil {
		return err
	}
	return reduceInto(all, kind, values)
}

// reduceInto combines the contributions of all workers.
func reduceInto(all []any, kind ir.Kind, values []kernels.Array) error {
	for i, a := range values {
		sum := all[0].([]kernels.Array)[i].Float64s()
		for _, other := range all[1:] {
			for k, x := range other.([]kernels.Array)[i].Float64s() {
				if kind == ir.Max {
					sum[k] = max(sum[k], x)
				} else {
					sum[k] += x
				}
			}
		}
		r, err := kernels.FromFloat64s(a.Type.DType, a.Type.Shape, sum)
		if err != nil {
			return err
		}
		copy(a.Data, r.Data)
	}
	return nil
}
