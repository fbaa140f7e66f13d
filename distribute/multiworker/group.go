package multiworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// group lets a strategy use a collective.Group.
type group struct {
	g          *collective.Group
	rank, size int

	mu      sync.Mutex // guards what follows: a strategy makes one call at a time, so nobody waits here
	options map[distribute.WorkerCall][]collective.CallOption
	tensors []collective.Tensor // of the call under way, used again
}

var _ distribute.WorkerGroup = (*group)(nil)

func newGroup(g *collective.Group) *group {
	return &group{g: g, rank: g.Rank(), size: g.Size(), options: map[distribute.WorkerCall][]collective.CallOption{}}
}

func (w *group) Rank() int { return w.rank }
func (w *group) Size() int { return w.size }

// maxCalls bounds the remembered options: calls with changing names are rare, but must not fill memory.
const maxCalls = 256

// optionsOf returns the options for a call, made once so that steps allocate nothing. The lock is held.
func (w *group) optionsOf(call distribute.WorkerCall) []collective.CallOption {
	list, ok := w.options[call]
	if !ok {
		list = []collective.CallOption{collective.Name(call.Name), collective.Program(call.Program)}
		if len(w.options) >= maxCalls {
			clear(w.options)
		}
		w.options[call] = list
	}
	return list
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
	return w.g.AllReduce(ctx, op, w.wrap(values), w.optionsOf(call)...)
}

// Broadcast implements [distribute.WorkerGroup].
func (w *group) Broadcast(ctx context.Context, call distribute.WorkerCall, root int, values []kernels.Array) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.g.Broadcast(ctx, root, w.wrap(values), w.optionsOf(call)...)
}

// AllGather implements [distribute.WorkerGroup].
func (w *group) AllGather(ctx context.Context, call distribute.WorkerCall, data []byte) ([][]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, err := w.g.AllGather(ctx, collective.Tensor{DType: ir.Uint8, Data: data}, w.optionsOf(call)...)
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
	return w.g.Barrier(ctx, w.optionsOf(call)...)
}

// tellWithin bounds how long a worker that failed waits for the others to hear of it.
const tellWithin = 5 * time.Second

// maxText bounds the text of an error that the others are told.
const maxText = 300

// Fail implements [distribute.WorkerGroup]. The others make other calls than the one made here, and so get an error with its name.
func (w *group) Fail(err error) {
	if err == nil || known(err) || w.g.Err() != nil {
		return
	}
	text := err.Error()
	if len(text) > maxText {
		text = text[:maxText]
		for !utf8.ValidString(text) && len(text) > maxText-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), tellWithin)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.g.Barrier(ctx, collective.Name(fmt.Sprintf("worker %d failed: %s", w.rank, text))) // fails on purpose
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
	if err := w.g.Close(); !errors.Is(err, collective.ErrClosed) {
		return err
	}
	return nil
}
