// Package unreachable gives back what belongs to models that are garbage. Programs need not give models back: Go's
// collector finds what nobody can reach any more, but knows nothing of memory on devices, so backends have it look when
// a device has too little.
package unreachable

import (
	"runtime"
	"sync"
	"time"
)

// Discarder is an object with something to give back, which may be done at most once or be repeated without harm.
type Discarder interface{ Discard() }

// List holds what the collector has found, until it is given back outside of the finalizers' goroutine, which must not
// wait for a device. The zero value is ready.
type List struct {
	mu   sync.Mutex
	dead []Discarder
	busy bool // somebody is giving things back
}

// Watch discards x when nobody can reach it.
func (l *List) Watch(x Discarder) { runtime.SetFinalizer(x, l.take) }

// Forget ends Watch.
func Forget(x Discarder) { runtime.SetFinalizer(x, nil) }

func (l *List) take(x Discarder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = append(l.dead, x)
	if !l.busy {
		l.busy = true
		go l.empty()
	}
}

func (l *List) empty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.dead) > 0 {
		all := l.dead
		l.dead = nil
		l.mu.Unlock()
		for _, x := range all {
			x.Discard()
		}
		l.mu.Lock()
	}
	l.busy = false
}

// idle reports whether nothing waits.
func (l *List) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.busy
}

// patience is how long an allocation waits for what the collector finds to be given back.
const patience = 2 * time.Second

// Collect has the collector look for what can be given back, and waits until it is. Sessions hold programs, and models
// sessions, so that it takes some rounds.
func (l *List) Collect() {
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
		for !l.idle() && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
	}
}
