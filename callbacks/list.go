package callbacks

import "errors"

// List calls a number of callbacks in order.
type List struct {
	all     []Callback
	params  Params
	batches bool
}

// NewList prepares callbacks for a run.
func NewList(all []Callback, m Model, p Params) *List {
	l := &List{all: all, params: p}
	for _, c := range all {
		c.SetModel(m)
		c.SetParams(p)
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
	for _, c := range l.all {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

// EachAlways calls f for every callback, also after an error, and returns all errors joined. It is for the end hooks, which
// close what the begin hooks opened.
func (l *List) EachAlways(f func(Callback) error) error {
	var errs []error
	for _, c := range l.all {
		errs = append(errs, f(c))
	}
	return errors.Join(errs...)
}
