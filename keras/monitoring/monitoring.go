// Package monitoring measures the steps of Fit. It is a separate package so that other programs do not link a web
// server.
package monitoring

import (
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
// Validation, and what other callbacks do at the ends of epochs, belongs to no step. With steps per execution k the
// phases of the last step are means over k.
func Steps(m *monitor.Monitor) callbacks.Callback { return &steps{monitor: m} }

type steps struct {
	callbacks.Base
	monitor *monitor.Monitor
	first   int // batch of the execution that runs
}

var _ callbacks.BatchCallback = (*steps)(nil)

// WantsBatches implements [callbacks.BatchCallback].
func (s *steps) WantsBatches() bool { return true }

// SetModel finds the group of workers.
func (s *steps) SetModel(m callbacks.Model) {
	s.Base.SetModel(m)
	var source monitor.Source
	if placed, ok := m.(interface{ Strategy() distribute.Strategy }); ok {
		source, _ = distribute.WorkersOf(placed.Strategy()).(monitor.Source) // nil where this process trains alone
	}
	s.monitor.Watch(source)
}

// OnEpochBegin begins to measure.
func (s *steps) OnEpochBegin(int) error {
	s.monitor.Start()
	return nil
}

// OnTrainBatchBegin is called when the batch is there.
func (s *steps) OnTrainBatchBegin(batch int) error {
	s.first = batch
	s.monitor.Begin()
	return nil
}

// OnTrainBatchEnd is called when the step is done.
func (s *steps) OnTrainBatchEnd(batch int, _ *callbacks.Logs) error {
	s.monitor.End(batch - s.first + 1)
	return nil
}
