package keras

import (
	"time"

	"github.com/gokeras/gokeras/callbacks"
)

// workerStepWatcher is implemented by callbacks that follow the steps of a worker of parameter servers; other hooks run
// on the coordinator. Steps end on any goroutine.
type workerStepWatcher interface {
	OnWorkerStep(input, compute, communication, waiting time.Duration)
}

// stepWatch measures the phases of a worker's step.
type stepWatch struct {
	watchers                               []workerStepWatcher
	mark                                   time.Time
	input, compute, communication, waiting time.Duration
}

// newStepWatch begins a step.
func newStepWatch(all []callbacks.Callback) *stepWatch {
	s := &stepWatch{}
	for _, c := range all {
		if one, ok := c.(workerStepWatcher); ok {
			s.watchers = append(s.watchers, one)
		}
	}
	s.mark = time.Now()
	return s
}

// lap adds the time since the previous lap to a phase.
func (s *stepWatch) lap(phase *time.Duration) {
	now := time.Now()
	*phase += now.Sub(s.mark)
	s.mark = now
}

// end tells the callbacks.
func (s *stepWatch) end() {
	for _, w := range s.watchers {
		w.OnWorkerStep(s.input, s.compute, s.communication, s.waiting)
	}
}
