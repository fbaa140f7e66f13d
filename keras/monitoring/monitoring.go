// Package monitoring measures the steps of Fit. It is a separate package so that other programs do not link a web
// server.
package monitoring

import (
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/monitor"
)

// Steps returns a callback that makes Fit tell m about every step, and makes m watch the group of workers of the
// model's strategy:
//
//	m := monitor.New(monitor.Options{Task: "worker:0"})
//	server, err := m.Serve("127.0.0.1:9100")
//	model.Fit(ctx, data, keras.Callbacks(monitoring.Steps(m)))
//
// With parameter servers a worker reports its own steps: communication is reading weights and sending gradients, and
// waiting is waiting for the previous step. The coordinator counts the steps of all workers; the time of each is that
// since the previous one.
//
// Validation, and the work of other callbacks at the ends of epochs, belong to no step. With k steps per execution, the
// phases of the last step are means over k steps.
func Steps(m *monitor.Monitor) callbacks.Callback { return &steps{monitor: m} }

type steps struct {
	callbacks.Base
	monitor *monitor.Monitor
	next    int  // the batch that ends next
	known   bool // next is known
	begun   bool // a step has begun
}

var _ callbacks.BatchCallback = (*steps)(nil)

// WantsBatches implements [callbacks.BatchCallback].
func (s *steps) WantsBatches() bool { return true }

// SetModel finds the group of workers.
func (s *steps) SetModel(m callbacks.Model) {
	s.Base.SetModel(m)
	var source monitor.Source
	if placed, ok := m.(interface{ Strategy() distribute.Strategy }); ok {
		source, _ = distribute.WorkersOf(placed.Strategy()).(monitor.Source) // nil if this process trains alone
	}
	s.monitor.Watch(source)
}

// OnEpochBegin starts measuring.
func (s *steps) OnEpochBegin(int) error {
	s.known, s.begun = false, false
	s.monitor.Start()
	return nil
}

// OnTrainBatchBegin is called when the batch is ready; on the coordinator of parameter servers, before earlier ones
// have ended.
func (s *steps) OnTrainBatchBegin(batch int) error {
	if !s.known {
		s.next, s.known = batch, true
	}
	s.begin()
	return nil
}

func (s *steps) begin() {
	if !s.begun {
		s.begun = true
		s.monitor.Begin()
	}
}

// OnTrainBatchEnd is called when the step is done.
func (s *steps) OnTrainBatchEnd(batch int, _ *callbacks.Logs) error {
	s.begin()
	s.monitor.End(batch - s.next + 1)
	s.next, s.begun = batch+1, false
	return nil
}

// OnWorkerStep is called on workers of parameter servers, whose other hooks run on the coordinator.
func (s *steps) OnWorkerStep(input, compute, communication, waiting time.Duration) {
	s.monitor.Record(monitor.Phases{Input: input, Compute: compute, Communication: communication, Waiting: waiting})
}
