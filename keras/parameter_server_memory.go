package keras

import (
	"slices"
	"sync"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels"
)

// stepMemory holds what a step reads and computes. Steps take turns using it, and it survives garbage collections: new
// memory costs as much as copying all of its contents. Servers on the same host read and write it in place, and so does
// the step on a device that shares the host's memory.
type stepMemory struct {
	reads []*parameters.Read // of dense
	grads [][]float32        // of trained; may use the memory of their values
	moved [][]float32        // new values of those trained weights that the step assigns
	rows  []*rowMemory       // of the tables with lookups

	values, gradients *parameters.Room
	watch             *stepWatch // of the step that uses it

	// ready is the number of the last arrival among the steps that may start with these values: they were already
	// waiting when the values were requested. 0: no step may.
	ready uint64
}

// next returns what a waiting step reads, to be fetched while this step sends its changes. If no step waits it returns
// nothing: the values would be older than a step scheduled later may expect.
func (m *stepMemory) next(own, last uint64) []*parameters.Read {
	if last <= own {
		return nil
	}
	m.ready = last
	return m.reads
}

// filled records whether the values have arrived.
func (m *stepMemory) filled() {
	for _, r := range m.reads {
		if !r.Came {
			m.ready = 0
		}
	}
}

// spoiled reports whether a message that uses the memory failed.
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

// seen returns how many gradients each server had applied when a weight was read from it.
func (m *stepMemory) seen(dense []*serverWeight, w *serverWeight) []uint64 {
	for i, one := range dense {
		if one == w {
			return m.reads[i].Seen
		}
	}
	return nil
}

// stepMemories are the memories of a worker.
type stepMemories struct {
	mu   sync.Mutex
	free []*stepMemory // that no step uses
	old  []*stepMemory // that no step will use; weights may still refer to them
	over bool
}

// line is the alignment of vectors, in numbers.
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

// giveBack returns memory when its contents have been sent or abandoned.
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

// forget releases spoiled memory. No weight refers to it any more.
func (s *stepMemories) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.old {
		m.close()
	}
	s.old = nil
}

// end releases all memory; memory in use follows when it is given back. No step runs any more.
func (s *stepMemories) end() {
	s.mu.Lock()
	s.old = append(s.old, s.free...)
	s.free, s.over = nil, true
	s.mu.Unlock()
	s.forget()
}

// lend makes a buffer use values in place until takeBack, or copies them into it if they cannot be shared.
func lend(b kernels.Buffer, values []byte, inPlace bool) error {
	if borrower, ok := b.(kernels.Borrower); ok && inPlace {
		return borrower.Borrow(values)
	}
	return b.Write(values)
}

// takeBack makes a buffer use its own memory again.
func takeBack(b kernels.Buffer) error {
	if borrower, ok := b.(kernels.Borrower); ok {
		return borrower.Borrow(nil)
	}
	return nil
}
