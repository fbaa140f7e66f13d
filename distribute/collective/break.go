package collective

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Break says that this worker has lost the others by another way than the group's, as devices that meet by a library of
// their own do. It waits for Options.Deadline until the group has ended because a member is gone; where none is, this
// worker withdraws. It returns why the group has ended, and an error with the text where it does not end.
func (g *Group) Break(text string) error {
	g.mu.Lock()
	s := g.session
	g.mu.Unlock()
	return g.breakOff(s, text)
}

// breakOff is Break of a session. One that has ended meanwhile, and that another may have followed, gives its reason.
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

// Called reports whether another worker calls the roll, by Missing, and this one has not answered. Who waits by another
// way than the group's then calls Missing, too, though it does not wait for long: else it would be taken for missing.
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

// Missing says that this worker waits for others by another way than the group's, and that they do not come, though no
// connection is lost. Workers that wait as well say so, too; a member that does not within Options.Deadline is lost,
// and the error names it. A collective that is under way here finds out itself who is missing: from now on it waits for
// at most Options.Deadline. Where all come to both, Missing is Break.
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

// turn locks g.opMu when no collective is under way, unless the session ends before. Those that are hurry.
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
