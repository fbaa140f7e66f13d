package coordinator

import (
	"sync"

	"github.com/gokeras/gokeras/distribute/parameters"
)

// scratch is memory that closures use in turn: large lookups would otherwise allocate it from the system each time.
// Unlike memory in a sync.Pool it survives garbage collection.
type scratch struct {
	plans      []*lookupPlan
	rooms      []*parameters.Room
	block      []float32 // of rows that are updated
	plan, next int       // in use
}

var scratches struct {
	sync.Mutex
	free []*scratch
}

// keptScratches is the number of closures that are expected to run at the same time.
const keptScratches = 16

// takeScratch returns memory that no other closure uses.
func takeScratch() *scratch {
	scratches.Lock()
	defer scratches.Unlock()
	n := len(scratches.free)
	if n == 0 {
		return &scratch{}
	}
	s := scratches.free[n-1]
	scratches.free = scratches.free[:n-1]
	return s
}

func (s *scratch) takePlan() *lookupPlan {
	if s.plan++; s.plan > len(s.plans) {
		s.plans = append(s.plans, &lookupPlan{})
	}
	return s.plans[s.plan-1]
}

// room returns room for n numbers, which servers on this host read and write in place.
func (s *scratch) room(n int) *parameters.Room {
	if s.next++; s.next > len(s.rooms) {
		s.rooms = append(s.rooms, parameters.NewRoom(n))
	}
	r := s.rooms[s.next-1]
	if len(r.Floats) < n || r.Spoiled() {
		r.Close()
		r = parameters.NewRoom(n + n/4) // the next lookup may have a few rows more
		s.rooms[s.next-1] = r
	}
	return r
}

// release takes the memory back. nil is fine.
func (s *scratch) release() {
	if s == nil {
		return
	}
	s.plan, s.next = 0, 0
	scratches.Lock()
	defer scratches.Unlock()
	if len(scratches.free) < keptScratches {
		scratches.free = append(scratches.free, s)
		return
	}
	s.close()
}

func (s *scratch) close() {
	for _, r := range s.rooms {
		r.Close()
	}
}
