package keras

import (
	"slices"
	"sync"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels"
)

// stepMemory is what a step reads and what it computes. Steps take turns in using it, also across collections of
// garbage: memory that is new costs as much as copying all of it. Servers of the same host read and write it in place,
// and so does the step on a device that shares the memory of the host.
type stepMemory struct {
	reads []*parameters.Read // of dense
	grads [][]float32        // of trained, perhaps where their values were
	moved [][]float32        // of those of trained that the step assigns
	rows  []*rowMemory       // of the tables that are looked up in

	values, gradients *parameters.Room
	watch             *stepWatch // of the step that uses it

	// ready is the last arrival among the steps that may begin with the values that are here: they waited when these
	// were asked for. 0: no step may.
	ready uint64
}

// next returns what a step that waits reads, to be filled while this one sends what it changes. Nobody waits: nothing,
// since values that lie here until a step is scheduled would be older than it may expect.
func (m *stepMemory) next(own, last uint64) []*parameters.Read {
	if last <= own {
		return nil
	}
	m.ready = last
	return m.reads
}

// filled notes whether the values have come.
func (m *stepMemory) filled() {
	for _, r := range m.reads {
		if !r.Came {
			m.ready = 0
		}
	}
}

// spoiled reports whether a message about the memory went wrong.
func (m *stepMemory) spoiled() bool {
	return m.values.Spoiled() || m.gradients.Spoiled() || slices.ContainsFunc(m.rows, (*rowMemory).spoiled)
}

func (m *stepMemory) close() {
	m.values.Close()
	if m.gradients != m.values {
		m.gradients.Close()
	}
	for _, r := range m.rows {
		r.close()
	}
}

// seen is how many gradients each server had applied when it was asked for a weight.
func (m *stepMemory) seen(dense []*serverWeight, w *serverWeight) []uint64 {
	for i, one := range dense {
		if one == w {
			return m.reads[i].Seen
		}
	}
	return nil
}

// stepMemories are those of a worker.
type stepMemories struct {
	mu   sync.Mutex
	free []*stepMemory // that no step uses
	old  []*stepMemory // that none will use; weights may still stand for their values
	over bool
}

// line is how many numbers begin where a vector does.
const line = 16

// memory returns memory for a step.
func (w *serverWorker) memory() *stepMemory {
	s := &w.memories
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		m := s.free[n-1]
		s.free = s.free[:n-1]
		return m
	}
	size := func(all []*serverWeight) (n int) {
		for _, one := range all {
			n += (one.local.Type().Shape.Size() + line - 1) / line * line
		}
		return n
	}
	m := &stepMemory{values: parameters.NewRoom(size(w.dense))}
	rest := m.values.Floats
	take := func(one *serverWeight) []float32 {
		n := one.local.Type().Shape.Size()
		own := rest[:n:n]
		rest = rest[(n+line-1)/line*line:]
		return own
	}
	for _, one := range w.dense {
		m.reads = append(m.reads, &parameters.Read{Variable: one.remote, Values: take(one), Room: m.values})
	}
	if w.inPlace() {
		m.gradients = m.values
		for i, one := range w.dense {
			if one.trained {
				m.grads = append(m.grads, m.reads[i].Values)
			}
		}
		return m
	}
	m.gradients = parameters.NewRoom(size(w.trained))
	rest = m.gradients.Floats
	for _, one := range w.trained {
		m.grads = append(m.grads, take(one))
	}
	return m
}

// giveBack takes memory back when what it holds has been sent, or given up.
func (w *serverWorker) giveBack(m *stepMemory) {
	s := &w.memories
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		m.close()
	case m.spoiled():
		s.old = append(s.old, m)
	default:
		s.free = append(s.free, m)
	}
}

// forget gives back what was spoiled. No weight stands for it any more.
func (s *stepMemories) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.old {
		m.close()
	}
	s.old = nil
}

// end gives all memory back, and what is still in use when it is released. No step runs any more.
func (s *stepMemories) end() {
	s.mu.Lock()
	s.old = append(s.old, s.free...)
	s.free, s.over = nil, true
	s.mu.Unlock()
	s.forget()
}

// lend lets a buffer stand for values until they are taken back, or copies them into it where they cannot be shared.
func lend(b kernels.Buffer, values []byte, inPlace bool) error {
	if borrower, ok := b.(kernels.Borrower); ok && inPlace {
		return borrower.Borrow(values)
	}
	return b.Write(values)
}

// takeBack lets a buffer stand for its own memory.
func takeBack(b kernels.Buffer) error {
	if borrower, ok := b.(kernels.Borrower); ok {
		return borrower.Borrow(nil)
	}
	return nil
}
