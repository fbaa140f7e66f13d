//go:build linux

package cuda

import (
	"runtime"
	"sync"
	"time"
)

// Programs need not give models back: what belongs to a model that nobody can reach any more is given back when Go's
// collector finds it, and looked for where a device has too little memory. What was put into the stream before still
// finds the memory as it was, because it is given back in the order of the stream.

// morgue holds what the collector has found, until it is given back outside of the finalizers' goroutine, which must
// not wait for a device.
type morgue struct {
	mu   sync.Mutex
	dead []closer
	busy bool // somebody is giving things back
}

type closer interface{ discard() }

func (b *buffer) discard()       { b.Free() }
func (q *queue) discard()        { q.Close() }
func (s *session) discard()      { s.Close() }
func (c *communicator) discard() { c.Close() }

// watch gives x back when nobody can reach it.
func (m *morgue) watch(x closer) { runtime.SetFinalizer(x, m.take) }

// forget ends watch.
func forget(x closer) { runtime.SetFinalizer(x, nil) }

func (m *morgue) take(c closer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = append(m.dead, c)
	if !m.busy {
		m.busy = true
		go m.empty()
	}
}

func (m *morgue) empty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.dead) > 0 {
		all := m.dead
		m.dead = nil
		m.mu.Unlock()
		for _, c := range all {
			c.discard()
		}
		m.mu.Lock()
	}
	m.busy = false
}

// idle reports whether nothing waits.
func (m *morgue) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.busy
}

// patience is how long an allocation waits for what the collector finds to be given back.
const patience = 2 * time.Second

// collect has the collector look for what can be given back, and waits until it is. Sessions hold programs, and models
// sessions, so that it takes some rounds.
func (m *morgue) collect() {
	end := time.Now().Add(patience)
	for range 3 {
		found := make(chan struct{})
		mark := new([16]byte)
		runtime.SetFinalizer(mark, func(*[16]byte) { close(found) })
		runtime.KeepAlive(mark)
		runtime.GC()
		select {
		case <-found:
		case <-time.After(time.Until(end)):
			return
		}
		for !m.idle() && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
	}
}
