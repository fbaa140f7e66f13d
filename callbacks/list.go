package callbacks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
)

// List calls a number of callbacks in order.
type List struct {
	all     []Callback
	names   []string // for traces
	params  Params
	batches bool

	recording *tracing.Slot // of the run, or nil
}

// watcher is a callback that observes what happens under the run's context.
type watcher interface {
	watch(ctx context.Context) context.Context
}

// Context returns the context for the run, through which callbacks such as [Trace] and [Profile] observe the run. It is
// called before the first hook.
func (l *List) Context(ctx context.Context) context.Context {
	for _, c := range l.all {
		if w, ok := c.(watcher); ok {
			ctx = w.watch(ctx)
		}
	}
	l.recording = tracing.SlotOf(ctx)
	return ctx
}

// NewList prepares callbacks for a run.
func NewList(all []Callback, m Model, p Params) *List {
	l := &List{params: p}
	for _, c := range all {
		if c == nil {
			continue
		}
		l.all = append(l.all, c)
		c.SetModel(m)
		c.SetParams(p)
		l.names = append(l.names, fmt.Sprintf("%T", c))
		b, ok := c.(BatchCallback)
		l.batches = l.batches || !ok || b.WantsBatches()
	}
	return l
}

// SetParams tells all callbacks about a changed run.
func (l *List) SetParams(p Params) {
	l.params = p
	for _, c := range l.all {
		c.SetParams(p)
	}
}

// Fail tells all callbacks why the run ends, before its end hooks are called.
func (l *List) Fail(err error) {
	p := l.params
	p.Err = err
	l.SetParams(p)
}

// WantsBatches reports whether any callback uses the batch hooks.
func (l *List) WantsBatches() bool { return l.batches }

// Each calls f for every callback and returns the first error.
func (l *List) Each(f func(Callback) error) error {
	for i, c := range l.all {
		rec, begin := l.recording.Active(), time.Time{}
		if rec != nil {
			begin = time.Now()
		}
		err := f(c)
		if rec != nil {
			rec.Span(tracing.Loop, "callback", l.names[i], "", 0, begin)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EachAlways calls f for every callback, also after an error, and returns all errors joined. It is for the end hooks,
// which must close what the begin hooks opened.
func (l *List) EachAlways(f func(Callback) error) error {
	var errs []error
	for _, c := range l.all {
		errs = append(errs, f(c))
	}
	return errors.Join(errs...)
}
