package keras

import (
	"io"
	"sync/atomic"
)

// fitRun is what is known of a run of Fit or Evaluate while it lasts, as callbacks see it through the model's methods.
// The model keeps the last one, which says how it went.
type fitRun struct {
	fit        *trainer // while Fit lasts
	output     io.Writer
	history    *History
	stopped    atomic.Bool
	at         progress        // how far Fit has come
	resume     *progress       // where to begin instead of at InitialEpoch, set by a callback when training begins
	restored   *progress       // what the last backup that was loaded said
	measures   measures        // of a part of an epoch, from there or from another worker
	validating *measures       // those of training, whose variables the validation that is under way uses, too
	remembered []callbackState // by callbacks, in the same backup
	recovery   *recoverer      // of a job that outlives lost workers, which goes on from run to run; nil: another one
}

// lastRun returns the run under way or the last one; before the first it is one that nobody looks at.
func (m *Model) lastRun() *fitRun {
	if r := m.run.Load(); r != nil {
		return r
	}
	return &fitRun{}
}

// beginRun makes a run that follows the last one. Fit has its own history and its own way from here.
func (m *Model) beginRun(output io.Writer) *fitRun {
	last := m.lastRun()
	r := &fitRun{output: output, history: last.history, at: last.at, recovery: last.recovery}
	m.run.Store(r)
	return r
}

// Stop makes Fit end after the current batch; callbacks call it.
func (m *Model) Stop() { m.lastRun().stopped.Store(true) }

// History returns the record of the last Fit, or nil.
func (m *Model) History() *History { return m.lastRun().history }
