package parameterserver

import (
	"fmt"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// Reports about a coordinator that does not come. Workers end after JoinTimeout; a server may stay ready for days.

// miss reports, once, that a worker has had no coordinator since the given time.
func (w *worker) miss(since time.Time) {
	silent := time.Since(since)
	w.mu.Lock()
	first := !w.missed && silent > w.s.Deadline && w.alone.Equal(since)
	w.missed = w.missed || first
	w.mu.Unlock()
	if first {
		w.s.Observe(fmt.Sprintf("%v has heard of no coordinator for %v; waiting up to %v for %s", w.s.task, silent.Round(time.Millisecond), w.s.JoinTimeout, w.s.chief()))
	}
}

// chief names the coordinator, with its address if it has one.
func (s *settings) chief() string {
	if all, err := s.spec.JobTasks(cluster.Chief); err == nil && len(all) > 0 {
		return "it (chief:0 at " + all[0] + ")"
	}
	return "it"
}

// stand reports that a server waits for a coordinator, first after the deadline and then every JoinTimeout, until a
// coordinator comes or the server ends.
func (s *Server) stand(ended <-chan struct{}) {
	began := time.Now()
	timer := time.NewTimer(s.settings.Deadline)
	defer timer.Stop()
	for {
		select {
		case <-ended:
			return
		case <-timer.C:
		}
		if s.coordinated.Load() {
			return
		}
		s.settings.Observe(fmt.Sprintf("%v has heard of no coordinator for %v; it serves until one ends the job", s.settings.task, time.Since(began).Round(time.Millisecond)))
		timer.Reset(s.settings.JoinTimeout)
	}
}

// noteCoordinator notes that a coordinator has come.
func (s *Server) noteCoordinator(c protocol.Command) {
	if _, ok := c.(*protocol.Take); ok {
		s.base().coordinated.Store(true)
	}
}
