package keras

import (
	"io"
	"sync/atomic"
)

// fitRun is the state of a run of Fit or Evaluate, as callbacks see it through the model's methods. The model keeps the
// last one, which records how the run went.
type fitRun struct {
	fit        *trainer // while Fit lasts
	output     io.Writer
	history    *History
	stopped    atomic.Bool
	at         progress        // the position of Fit
	resume     *progress       // where to begin instead of InitialEpoch, set by a callback when training begins
	restored   *progress       // the position in the last backup that was loaded
	measures   measures        // of a part of an epoch, from a backup or another worker
	validating *measures       // those of training, set aside because the running validation uses the same variables
	remembered []callbackState // by callbacks, from the same backup
	recovery   *recoverer      // of a job that survives the loss of workers, kept from run to run; nil: another job
}

// lastRun returns the current or last run. Before the first run it returns an empty one.
func (m *Model) lastRun() *fitRun {
	if r := m.run.Load(); r != nil {
		return r
	}
	return &fitRun{}
}

// beginRun starts a run from the state of the last one. Fit then sets its own history and position.
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
