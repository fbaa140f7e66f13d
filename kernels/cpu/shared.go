package cpu

import (
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// shared is memory that sessions share which do not run at the same time: see [kernels.Scratch]. A session finds
// nothing there that it wrote in an earlier run; what outlives a run, such as constants, has memory of its own.
type shared struct {
	mu       sync.Mutex
	arena    []byte
	workers  [][]byte // scratch memory of each
	spare    []byte   // see spareMatrix
	sessions map[*session]struct{}
}

// sharedBy returns the memory that this backend keeps in s.
func sharedBy(s *kernels.Scratch) *shared {
	m, ok := s.Memory.(*shared)
	if !ok {
		m = &shared{sessions: map[*session]struct{}{}}
		s.Memory = m
	}
	return m
}

// admit gives a new session its part of the memory. If there is too little, all sessions move to larger memory.
func (m *shared) admit(e *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.rt.shared = m
	m.sessions[e] = struct{}{}
	grown := false
	if need := e.schedule.bytes; need > len(m.arena) {
		// Sequences that grow step by step shall not move all sessions in each step.
		m.arena, grown = plan.AlignedBytes(max(need, len(m.arena)/4*5)), true
	}
	for i := range e.rt.workers {
		if i == len(m.workers) {
			m.workers = append(m.workers, nil)
		}
		if need := e.rt.scratch; need > len(m.workers[i]) {
			m.workers[i], grown = plan.AlignedBytes(plan.RoundUp(need, 4096)), true
		}
	}
	if !grown {
		m.give(e)
		return
	}
	for other := range m.sessions {
		m.give(other)
	}
}

// give makes a session use the memory.
func (m *shared) give(e *session) {
	e.moveTo(m.arena)
	for i := range e.rt.workers {
		e.rt.workers[i].scratch = m.workers[i]
	}
}

// leave is called when a session is closed.
func (m *shared) leave(e *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, e)
}
