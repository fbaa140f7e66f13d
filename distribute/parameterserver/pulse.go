package parameterserver

import (
	"context"
	"sync"
	"time"
)

// pulse notices that this process was stopped, by a signal or together with its machine. When it continues, deadlines
// have passed although messages that arrived in the meantime are still unread. Without pulse, other processes would be
// blamed for that silence.
type pulse struct {
	mu   sync.Mutex
	last time.Time // of the beats
	end  time.Time // of the last stop
}

// beatsPerDeadline is the number of beats of the pulse in one deadline.
const beatsPerDeadline = 8

// run beats until ctx ends, and calls f if the process was stopped for longer than half of the deadline.
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

// beat returns the time since the last beat if that is more than most, otherwise 0.
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

// silence calls f when nothing is heard for a deadline. If the process was stopped meanwhile, it waits for one more
// deadline, once.
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

// silence is a wait for a heartbeat of another process.
type silence struct {
	deadline time.Duration
	mu       sync.Mutex
	timer    *time.Timer
	extended bool
}

// heard restarts the wait.
func (s *silence) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extended = false
	s.timer.Reset(s.deadline)
}
