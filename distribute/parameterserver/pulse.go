package parameterserver

import (
	"context"
	"sync"
	"time"
)

// pulse notices that this process was stopped, by a signal or with its machine. What came meanwhile has not been read
// when it goes on, while the time in which something had to come is over: others would be blamed for it.
type pulse struct {
	mu   sync.Mutex
	last time.Time // of the beats
	end  time.Time // of the last stop
}

// beatsPerDeadline is how often the pulse beats.
const beatsPerDeadline = 8

// run beats until ctx ends, and calls f when the process was stopped for longer than half of the deadline.
func (p *pulse) run(ctx context.Context, deadline time.Duration, f func(gap time.Duration)) {
	tick := time.NewTicker(deadline / beatsPerDeadline)
	defer tick.Stop()
	for {
		if gap := p.beat(time.Now(), deadline/2); gap > 0 {
			f(gap)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// beat returns how long ago the last one was where that is more than most, else 0.
func (p *pulse) beat(now time.Time, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.last
	p.last = now
	if gap := now.Sub(before); !before.IsZero() && gap > most {
		p.end = now
		return gap
	}
	return 0
}

// stopped reports whether the process was stopped within a time before now. It may ask before the beat after the stop.
func (p *pulse) stopped(now time.Time, within time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.last.IsZero() && now.Sub(p.last) > within/2 || !p.end.IsZero() && now.Sub(p.end) < within
}

// silence calls f when nothing is heard for a deadline. Where the process was stopped meanwhile it waits for another
// one, once.
func (p *pulse) silence(deadline time.Duration, f func()) *silence {
	s := &silence{deadline: deadline}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(deadline, func() {
		s.mu.Lock()
		again := !s.extended && p.stopped(time.Now(), deadline)
		if again {
			s.extended = true
			s.timer.Reset(deadline)
		}
		s.mu.Unlock()
		if !again {
			f()
		}
	})
	return s
}

// silence is a wait for a sign of somebody.
type silence struct {
	deadline time.Duration
	mu       sync.Mutex
	timer    *time.Timer
	extended bool
}

// heard begins the wait anew.
func (s *silence) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extended = false
	s.timer.Reset(s.deadline)
}
