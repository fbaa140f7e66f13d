package callbacks

import (
	"fmt"
	"io"
	"time"
)

// ProgbarLogger shows a [Progbar] for each epoch of Fit, and for Evaluate and Predict on their own. Fit adds it unless
// verbosity is 0. Validation has no bar; its values are in the last line of the epoch.
type ProgbarLogger struct {
	Base
	verbose int
	w       io.Writer
	newBar  func(target int) *Progbar
	bar     *Progbar
	known   int // the number of steps, once an epoch has shown it; -1 before
	seen    int
	inFit   bool
}

// NewProgbarLogger returns a logger that prints to w with the given verbosity: 1 draws a bar, 2 prints a line for each
// epoch.
func NewProgbarLogger(verbose int, w io.Writer) *ProgbarLogger {
	return &ProgbarLogger{verbose: verbose, w: w, newBar: func(target int) *Progbar { return NewProgbar(w, target, verbose) }}
}

// newLoggerAt is NewProgbarLogger with a clock, and with terminal saying whether w is a terminal.
func newLoggerAt(verbose int, w io.Writer, terminal bool, now func() time.Time) *ProgbarLogger {
	return &ProgbarLogger{verbose: verbose, w: w, newBar: func(target int) *Progbar { return newProgbar(w, target, verbose, terminal, now) }}
}

func (l *ProgbarLogger) begin() error {
	target := l.Params().Steps
	if target < 0 && l.known > 0 {
		target = l.known
	}
	l.bar, l.seen = l.newBar(target), 0
	return nil
}

func (l *ProgbarLogger) update(batch int, logs *Logs) error {
	l.seen = batch + 1
	if l.verbose == 1 {
		l.bar.Update(l.seen, logs, false)
	}
	return logs.soFar()
}

func (l *ProgbarLogger) end(logs *Logs) error {
	if l.Params().Err != nil { // the run failed in the middle of the bar
		l.bar.interrupt()
		return nil
	}
	if l.bar.target < 0 {
		l.bar.target, l.known = l.seen, l.seen
	}
	l.bar.Update(l.bar.target, logs, true)
	return logs.soFar()
}

// OnTrainBegin records that validation belongs to a Fit and has no bar.
func (l *ProgbarLogger) OnTrainBegin() error {
	l.inFit, l.known = true, -1
	return nil
}

// OnTrainEnd ends that, and the line of a bar that the run did not complete.
func (l *ProgbarLogger) OnTrainEnd(*Logs) error {
	l.inFit = false
	if l.bar != nil {
		l.bar.interrupt()
	}
	return nil
}

// OnEpochBegin prints the epoch's number, if there are several epochs, and starts its bar.
func (l *ProgbarLogger) OnEpochBegin(epoch int) error {
	err := l.begin()
	if l.verbose > 0 && l.Params().Epochs > 1 {
		fmt.Fprintf(l.w, "Epoch %d/%d\n", epoch+1, l.Params().Epochs)
	}
	return err
}

// OnTrainBatchEnd advances the bar.
func (l *ProgbarLogger) OnTrainBatchEnd(batch int, logs *Logs) error { return l.update(batch, logs) }

// OnEpochEnd completes the bar.
func (l *ProgbarLogger) OnEpochEnd(_ int, logs *Logs) error { return l.end(logs) }

// OnTestBegin starts a bar for Evaluate.
func (l *ProgbarLogger) OnTestBegin() error {
	if l.inFit {
		return nil
	}
	return l.begin()
}

// OnTestBatchEnd advances the bar of Evaluate.
func (l *ProgbarLogger) OnTestBatchEnd(batch int, logs *Logs) error {
	if l.inFit {
		return nil
	}
	return l.update(batch, logs)
}

// OnTestEnd completes the bar of Evaluate.
func (l *ProgbarLogger) OnTestEnd(logs *Logs) error {
	if l.inFit {
		return nil
	}
	return l.end(logs)
}

// OnPredictBegin starts a bar for Predict.
func (l *ProgbarLogger) OnPredictBegin() error { return l.begin() }

// OnPredictBatchEnd advances the bar of Predict.
func (l *ProgbarLogger) OnPredictBatchEnd(batch int) error { return l.update(batch, nil) }

// OnPredictEnd completes the bar of Predict.
func (l *ProgbarLogger) OnPredictEnd() error { return l.end(nil) }

// WantsBatches reports that the bar moves with the batches. With verbosity 2 the line needs them only to count the
// steps if their number is unknown.
func (l *ProgbarLogger) WantsBatches() bool {
	return l.verbose == 1 || l.verbose == 2 && l.Params().Steps < 0
}
