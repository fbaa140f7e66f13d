package multiworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// group adapts a collective.Group to a strategy.
type group struct {
	g           *collective.Group
	workers     int           // of the job
	least, most int           // of a group; see distribute.Elastic
	patience    time.Duration // how long to wait for more than least
	wire        ir.DType      // of the sums of gradients; Invalid: their own

	rank, size atomic.Int64
	sharing    sharing

	mu      sync.Mutex // guards what follows: a strategy makes one call at a time, so nobody waits here
	options map[optionKey][]collective.CallOption
	tensors []collective.Tensor // of the call under way, used again
	riders  riders
}

var (
	_ distribute.ElasticGroup = (*group)(nil)
	_ distribute.EndingGroup  = (*group)(nil)
)

func newGroup(g *collective.Group, e *distribute.Elastic, workers int, wire ir.DType) *group {
	if e == nil {
		e = &distribute.Elastic{} // as BackupAndRestore asks for
	}
	w := &group{g: g, workers: workers, wire: wire, patience: e.Wait(), options: map[optionKey][]collective.CallOption{}}
	w.least, w.most = e.Bounds(workers)
	w.look()
	return w
}

// look notes this worker's rank in the group, which changes with the group, and which other workers compute on this
// host.
func (w *group) look() {
	w.rank.Store(int64(w.g.Rank()))
	w.size.Store(int64(w.g.Size()))
	v := w.g.View()
	all := make([]string, len(v.Members))
	for i, m := range v.Members {
		all[i] = m.Address
	}
	w.sharing.set(ports.Neighbours(all[v.Rank], all), false)
}

func (w *group) Rank() int { return int(w.rank.Load()) }
func (w *group) Size() int { return int(w.size.Load()) }

// Lost implements [distribute.ElasticGroup]. A group that broke without naming a lost member can be formed again too.
func (w *group) Lost(err error) bool {
	var member *collective.MemberError
	var expelled *collective.ExpelledError
	if errors.As(err, &member) || errors.As(err, &expelled) {
		return true
	}
	why := w.g.Err()
	var order *collective.OrderError
	return why != nil && errors.Is(err, why) && !errors.As(why, &order) && !errors.Is(why, collective.ErrClosed)
}

// Regroup implements [distribute.ElasticGroup].
func (w *group) Regroup(ctx context.Context, own distribute.Standing) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { w.watchLeft(stop, cancel) })
	err := w.g.Regroup(ctx, collective.Terms{HasState: own.HasState, Step: own.Step, Min: w.least, Max: w.most, Patience: w.patience})
	close(stop)
	watch.Wait()
	cancel(nil)
	if err == nil {
		w.look()
	} else if cause := context.Cause(ctx); errors.Is(cause, distribute.ErrLeft) {
		err = cause
	}
	return err
}

// watchLeft ends the wait for a group that cannot form because too many workers have left for good.
func (w *group) watchLeft(stop chan struct{}, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if left := w.g.Left(); w.workers-len(left) < w.least {
			cancel(fmt.Errorf("the next group of workers lacks %v: %w", left[0], distribute.ErrLeft))
			return
		}
	}
}

// Roster implements [distribute.ElasticGroup].
func (w *group) Roster() distribute.Roster {
	v := w.g.View()
	return distribute.Roster{Generation: v.Generation, Step: v.Step, Source: v.Source, Behind: v.Behind}
}

// First implements [distribute.ElasticGroup].
func (w *group) First() bool { return w.g.First() }

// Pending implements [distribute.ElasticGroup].
func (w *group) Pending() bool { return w.Size() < w.most && len(w.g.Pending()) > 0 }

// maxCalls bounds the number of cached options: calls with changing names are rare, but must not fill memory.
const maxCalls = 256

// optionsOf returns the options for a call, created once so that steps allocate nothing. The caller holds the lock.
func (w *group) optionsOf(call distribute.WorkerCall, narrow bool) []collective.CallOption {
	key := optionKey{call, narrow}
	list, ok := w.options[key]
	if !ok {
		list = []collective.CallOption{collective.Name(call.Name), collective.Program(call.Program)}
		if narrow {
			list = append(list, collective.Wire(w.wire))
		}
		if len(w.options) >= maxCalls {
			clear(w.options)
		}
		w.options[key] = list
	}
	return list
}

type optionKey struct {
	call   distribute.WorkerCall
	narrow bool // sent as another type
}

// wideBytes is the size in bytes of the largest sum that is never sent as another type: short messages gain nothing
// from it, and short values are often not gradients.
const wideBytes = 16 << 10

// narrows reports whether a call sends its values as another type; see [collective.CommunicationOptions].
func (w *group) narrows(call distribute.WorkerCall, kind ir.Kind, values []kernels.Array) bool {
	if w.wire == ir.Invalid || kind != ir.Sum || call.Program == 0 {
		return false
	}
	size := 0
	for _, a := range values {
		size += len(a.Data)
	}
	return size > wideBytes
}

func (w *group) wrap(values []kernels.Array) []collective.Tensor {
	w.tensors = w.tensors[:0]
	for _, a := range values {
		w.tensors = append(w.tensors, collective.Tensor{DType: a.Type.DType, Shape: a.Type.Shape, Data: a.Data})
	}
	return w.tensors
}

var reductions = map[ir.Kind]collective.Reduction{
	ir.Sum: collective.Sum, ir.Mean: collective.Mean, ir.Max: collective.Max, ir.Min: collective.Min, ir.Prod: collective.Product,
}

// AllReduce implements [distribute.WorkerGroup].
func (w *group) AllReduce(ctx context.Context, call distribute.WorkerCall, kind ir.Kind, values []kernels.Array) error {
	op, ok := reductions[kind]
	if !ok {
		return fmt.Errorf("multiworker: values of several workers cannot be combined by %q", kind)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	tensors, options := w.wrap(values), w.optionsOf(call, w.narrows(call, kind, values))
	if call.Program == 0 || kind != ir.Sum {
		return w.g.AllReduce(ctx, op, tensors, options...)
	}
	tensors, riding := w.riders.board(tensors)
	w.tensors = tensors // its memory is used again
	err := w.g.AllReduce(ctx, op, tensors, options...)
	if riding && err == nil {
		w.riders.arrive(tensors[len(tensors)-1].DType)
	}
	return err
}

// Broadcast implements [distribute.WorkerGroup].
func (w *group) Broadcast(ctx context.Context, call distribute.WorkerCall, root int, values []kernels.Array) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.g.Broadcast(ctx, root, w.wrap(values), w.optionsOf(call, false)...)
}

// AllGather implements [distribute.WorkerGroup].
func (w *group) AllGather(ctx context.Context, call distribute.WorkerCall, data []byte) ([][]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, err := w.g.AllGather(ctx, collective.Tensor{DType: ir.Uint8, Data: data}, w.optionsOf(call, false)...)
	out := make([][]byte, len(all))
	for i, t := range all {
		out[i] = t.Data
	}
	return out, err
}

// Agree implements [distribute.WorkerGroup].
func (w *group) Agree(ctx context.Context, call distribute.WorkerCall) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.g.Barrier(ctx, w.optionsOf(call, false)...)
}

// tellWithin bounds how long a worker that failed waits for the others to hear of it.
const tellWithin = 5 * time.Second

// Ended implements [distribute.EndingGroup].
func (w *group) Ended() (<-chan struct{}, func() error) {
	return w.g.Ended()
}

// Called tells devices that other workers are finding out who is missing.
func (w *group) Called() bool { return w.g.Called() }

// Break implements [distribute.EndingGroup].
func (w *group) Break(err error) error {
	end := w.g.Break
	if errors.Is(err, kernels.ErrNotComing) {
		end = w.g.Missing
	}
	return fmt.Errorf("%w (%w)", end(err.Error()), err)
}

// Fail implements [distribute.WorkerGroup]. The call in which the others wait ends with an error that names this worker
// and the cause: at once if it is a call of the group, after a while if it is in a library of their devices. A worker
// whose device is lost, or that panics, counts as lost.
func (w *group) Fail(err error) {
	if err == nil || known(err) || w.g.Err() != nil {
		return
	}
	var end interface{ Withdraws() bool }
	if errors.Is(err, kernels.ErrDeviceLost) || errors.As(err, &end) && end.Withdraws() {
		w.g.Withdraw(err.Error())
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), tellWithin, err)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.g.Fail(ctx, err.Error()) // fails on purpose
}

// known reports whether all workers know of an error.
func known(err error) bool {
	var member *collective.MemberError
	var expelled *collective.ExpelledError
	var order *collective.OrderError
	return errors.As(err, &member) || errors.As(err, &expelled) || errors.As(err, &order) || errors.Is(err, collective.ErrClosed)
}

// Close implements [distribute.WorkerGroup]. A second call does nothing.
func (w *group) Close() error {
	w.sharing.set(0, true)
	if err := w.g.Close(); !errors.Is(err, collective.ErrClosed) {
		return err
	}
	return nil
}
