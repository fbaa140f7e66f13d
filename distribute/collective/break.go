package collective

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Break reports that this worker has lost the others on a connection outside the group, such as that of a library with
// which devices communicate. It waits up to Options.Deadline for the group to end because a member is gone; if none is,
// this worker withdraws. It returns the reason why the group has ended, or an error with the text if the group does not
// end.
func (g *Group) Break(text string) error {
	g.mu.Lock()
	s := g.session
	g.mu.Unlock()
	return g.breakOff(s, text)
}

// breakOff is Break for a session. If the session has already ended, and another may have followed, it returns the
// reason for that end.
func (g *Group) breakOff(s *session, text string) error {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed || s == nil {
		return ErrClosed
	}
	for range 2 {
		select {
		case <-s.over:
			return s.err
		case <-time.After(g.settings.Deadline):
			g.withdraw(s, bounded(text))
		}
	}
	select {
	case <-s.over:
		return s.err
	default:
		return fmt.Errorf("collective: this worker cannot withdraw: %s", text)
	}
}

// rollCall is the name of the collective by which workers find out who is missing. The call must be the same on all.
const rollCall = "roll call of workers whose devices wait in vain"

// Called reports whether another worker calls the roll, by Missing, and this one has not answered. A worker that is
// waiting outside the group then calls Missing too, even if it has not waited for long; otherwise it would be
// considered missing.
func (g *Group) Called() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.session
	if s == nil || s.ended() {
		return false
	}
	s.callsMu.Lock()
	begun := s.sequence
	s.callsMu.Unlock()
	for _, member := range s.view.Members {
		if p := g.machine.Peer(member.Task); p != nil && p.View == s.view.ID && p.Waiting != nil && p.Waiting.Sequence > begun && strings.HasPrefix(p.Waiting.Description, calledRoll) {
			return true
		}
	}
	return false
}

var calledRoll = (&call{kind: barrier, name: rollCall}).opening()

// Missing reports that this worker waits in vain for others outside the group, although no connection is lost. Other
// workers that wait call it too; a member that does not call it within Options.Deadline is lost, and the error names
// it. A collective in progress on this worker finds out itself who is missing: from now on it waits for at most
// Options.Deadline. If all workers come to the collective and to Missing, Missing does the same as Break.
func (g *Group) Missing(text string) error {
	g.mu.Lock()
	s := g.session
	g.mu.Unlock()
	if s != nil && s.n > 1 && g.turn(s) {
		c := newCall(call{kind: barrier, name: rollCall, timeout: g.settings.Deadline})
		var err error
		if !s.ended() { // no other session can begin meanwhile
			err = g.perform(context.Background(), c, 0, func(s *session) error { return s.allReduce(context.Background(), c, vector{}) })
		}
		calls.Put(c)
		g.opMu.Unlock()
		if err != nil {
			return err
		}
	}
	return g.breakOff(s, text)
}

// turn locks g.opMu when no collective is in progress, unless the session ends first. Collectives in progress get a
// shorter timeout.
func (g *Group) turn(s *session) bool {
	began := time.Now()
	s.hurried.CompareAndSwap(nil, &began)
	for !g.opMu.TryLock() {
		select {
		case <-s.over:
			return false
		case <-time.After(patience / 10):
		}
		if time.Since(began) >= 3*g.settings.Deadline { // one after the other, and they take their time
			return false
		}
	}
	return true
}
