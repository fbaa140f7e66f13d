// Package fairclock measures time for limits in tests. On an overloaded machine a correct program may stall for
// seconds. Such pauses do not count here; a program that hangs although it could run still exceeds its limit.
package fairclock

import (
	"sync"
	"testing"
	"time"
)

const (
	tick = 5 * time.Millisecond
	late = 4 * tick // what a tick counts at most
)

// Clock is a stopwatch.
type Clock struct {
	mu      sync.Mutex
	elapsed time.Duration
	stop    chan struct{}
	once    sync.Once
}

// Start starts one. Stop ends it.
func Start() *Clock {
	c := &Clock{stop: make(chan struct{})}
	go func() {
		for before := time.Now(); ; {
			select {
			case <-c.stop:
				return
			case <-time.After(tick):
			}
			now := time.Now()
			c.mu.Lock()
			c.elapsed += min(now.Sub(before), late)
			c.mu.Unlock()
			before = now
		}
	}()
	return c
}

// Elapsed is the time since the start without the pauses.
func (c *Clock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

// Receive returns the next value of a channel, and fails the test when none comes within the limit.
func Receive[T any](t testing.TB, c *Clock, limit time.Duration, from <-chan T, what string) T {
	t.Helper()
	for began := c.Elapsed(); ; {
		select {
		case value := <-from:
			return value
		case <-time.After(tick):
		}
		if waited := c.Elapsed() - began; waited > limit {
			t.Fatalf("%s: nothing after %v", what, limit)
		}
	}
}

// Stop ends the clock. A second call does nothing.
func (c *Clock) Stop() { c.once.Do(func() { close(c.stop) }) }
