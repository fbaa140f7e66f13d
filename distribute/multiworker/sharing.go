package multiworker

import (
	"sync"

	"github.com/gokeras/gokeras/internal/processors"
)

// sharing limits this worker to its share of the processors while other workers run on its host: threads that wait for
// each other's parts of one product would take processors from workers that compute.
type sharing struct {
	mu    sync.Mutex
	over  bool
	alone func() // takes back what was said last
}

// set sets how many workers of the group are on this host, or that this one has left for good.
func (s *sharing) set(workers int, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.alone
	s.over = s.over || over
	if s.alone = nil; !s.over {
		s.alone = processors.Share(workers)
	}
	if before != nil {
		before()
	}
}
