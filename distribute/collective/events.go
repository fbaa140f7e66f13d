package collective

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
	"github.com/gokeras/gokeras/internal/ports"
)

// update acts on a change of the state machine. The caller holds g.mu.
//
// Collectives learn of the end of their group when the other workers know of it too, or a quarter of the deadline
// later. So if a worker exits with that error, the others already have what they need to reach the same verdict.
func (g *Group) update() {
	if g.machine.Phase() == membership.Gathering {
		g.reach()
		g.retry()
	}
	if v := g.machine.View(); v != nil && (g.session == nil || g.session.view.ID != v.ID) {
		g.session = newSession(g, v)
		for _, m := range v.Members {
			g.told[m.Task] = m.About
		}
		g.attach()
		g.stats.Groups++
		g.announce()
		g.observe("group %d formed: %v", v.ID.Generation, g.tasks(v.Tasks()))
	}
	if s := g.session; s != nil && !s.ended() {
		if v := g.machine.Verdict(); v != nil && s.verdict == nil {
			s.verdict, s.decided = g.verdictError(v), g.now()
			for _, a := range v.Removed {
				if a.Who != g.settings.self && a.Reason != membership.Departed {
					g.stats.Lost++
				}
			}
		}
		if s.verdict != nil && (g.machine.Told(g.now()) || g.now()-s.decided >= g.settings.Deadline/4) {
			s.end(s.verdict)
			g.renew(s)
			g.announce()
			g.observe("%v", s.err)
		}
	}
	if e := g.machine.JoinError(); e != nil {
		g.machine.Explain(g.joinError(e).explanation())
		g.announce()
	}
	if state, ok := g.machine.Poll(g.now()); ok {
		g.transport.broadcast(membership.Append(nil, g.settings.job, state))
	}
}

// renew replaces connections that were silent for the deadline, and those of a worker that stalled: its states may
// arrive while the answers to them are lost, and then no data stream opens. Other connections stay, because they may
// still carry the last message of a worker that leaves. It is called when the others know the verdict; a worker that
// does not would take the end of its connection for the end of this worker.
func (g *Group) renew(s *session) {
	v := g.machine.Verdict()
	if v == nil {
		return
	}
	for _, a := range v.Removed {
		switch {
		case a.Reason != membership.Silent && a.Reason != membership.Stalled || a.Who >= len(g.settings.members):
		case a.Who != g.settings.self:
			g.transport.reset(a.Who, 0)
		default: // expelled: the others have replaced theirs
			for _, member := range s.view.Members {
				if member.Task != g.settings.self {
					g.transport.reset(member.Task, 0)
				}
			}
		}
	}
}

// retry replaces connections that are silent while a group is being formed, or over which nothing arrives, as the other
// end says: the host at that address has changed since they were made, or the network was interrupted.
func (g *Group) retry() {
	unheard := g.machine.Unheard()
	for task := range g.settings.members {
		s := g.machine.Peer(task)
		if slices.Contains(unheard, task) || s != nil && slices.Contains(s.Unheard, g.settings.self) {
			g.transport.reset(task, g.settings.Deadline)
		}
	}
}

func (g *Group) announce() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *Group) hear() {
	close(g.heard)
	g.heard = make(chan struct{})
}

func (g *Group) observe(format string, args ...any) {
	if g.settings.Observe != nil {
		g.settings.Observe(fmt.Sprintf(format, args...))
	}
}

// reach maps the memory of candidates that are on this host.
func (g *Group) reach() {
	if g.own == nil {
		return
	}
	for task := range g.settings.members {
		s := g.machine.Peer(task)
		if task == g.settings.self || s == nil || s.Phase != membership.Gathering || len(s.Note) == 0 || g.tried[task] == string(s.Note) {
			continue
		}
		g.tried[task] = string(s.Note)
		if old := g.mapped[task]; old != nil {
			old.close()
			delete(g.mapped, task)
		}
		m, err := openMapping(string(s.Note))
		if err == nil {
			g.mapped[task] = m
		}
		g.machine.Reached(g.now(), task, s.Note, err == nil)
		if g.machine.Phase() != membership.Gathering {
			return // that was the last thing the view waited for
		}
	}
}

// attach gives the new session the memory of its members, if all can map each other's.
func (g *Group) attach() {
	s := g.session
	if s.n > 1 && s.view.Shared && g.own != nil {
		s.shared = make([]*mapping, s.n)
		for rank, member := range s.view.Members {
			if member.Task == g.settings.self {
				s.shared[rank] = g.own
			} else if membership.IDOf([]byte(g.tried[member.Task])) == member.Note { // not what the task told of later, or a process before
				s.shared[rank] = g.mapped[member.Task]
				delete(g.mapped, member.Task)
			}
		}
		if slices.Contains(s.shared, nil) { // somebody gathered once more; the view ends
			s.release()
		}
		if runtime.NumCPU() >= s.n {
			s.spins = 2000
		} else {
			s.spins = 100
		}
	}
	g.dropMapped()
}

func (g *Group) dropMapped() {
	for task, m := range g.mapped {
		m.close()
		delete(g.mapped, task)
	}
}

func (g *Group) tasks(numbers []int) []cluster.Task {
	list := make([]cluster.Task, len(numbers))
	for i, n := range numbers {
		list[i] = g.settings.members[n].Task
	}
	return list
}

func (g *Group) lost(a membership.Accusation) Lost {
	m := g.settings.members[a.Who]
	return Lost{m.Task, m.Address, a.Reason.String(), a.Detail, g.told[a.Who]}
}

func (g *Group) verdictError(v *membership.Verdict) error {
	if d := v.Difference; d != nil {
		valid := func(task int) bool { return task < len(g.settings.members) }
		if !valid(d.A) || !valid(d.B) {
			return fmt.Errorf("collective: group %d ended in disorder", v.View.Generation)
		}
		a, b := g.settings.members[d.A], g.settings.members[d.B]
		return failed(&OrderError{Generation: v.View.Generation, Sequence: d.Sequence, A: a.Task, B: b.Task, AddressA: a.Address, AddressB: b.Address,
			CallA: d.CallA, CallB: d.CallB, AboutA: g.told[d.A], AboutB: g.told[d.B]})
	}
	e := &MemberError{Generation: v.View.Generation}
	for _, a := range v.Removed {
		if a.Who >= len(g.settings.members) {
			continue
		}
		if a.Who == g.settings.self {
			own := g.lost(a)
			e := &ExpelledError{Generation: v.View.Generation, Own: own}
			if a.Reason == membership.Lost && a.By == a.Who {
				e.Unreached = g.unreached()
			}
			return e
		}
		e.Lost = append(e.Lost, g.lost(a))
	}
	return e
}

// unreached lists the workers that cannot be reached; one of them may be the cause of the failure. The caller holds
// g.mu.
func (g *Group) unreached() []Lost {
	var list []Lost
	for task, m := range g.settings.members {
		if why, ok := g.lastSeen[task]; ok {
			list = append(list, Lost{m.Task, m.Address, why, "", g.told[task]})
		}
	}
	return list
}

func (g *Group) joinError(e *membership.JoinError) *JoinError {
	out := &JoinError{Present: g.tasks(e.Present), Min: e.Min, After: e.After, tells: g.settings.About != ""}
	for _, task := range e.Missing {
		m := g.settings.members[task]
		l := Lost{m.Task, m.Address, didNotCome, g.lastSeen[task], g.told[task]}
		if r, refuses := g.refusals[task]; refuses { // though it may be gone by now
			l.Reason, l.Detail = foreign, r.why
		}
		switch s := g.machine.Peer(task); {
		case s != nil && s.Why != "":
			l.Reason, l.Detail = gaveUp, s.Why
		case slices.Contains(e.Busy, task):
			l.Reason, l.Detail = "is alive in a group that it does not leave", ""
		}
		out.Missing = append(out.Missing, l)
	}
	for _, a := range e.Apart {
		m, by := g.settings.members[a.Who], g.settings.members[a.By]
		out.Missing = append(out.Missing, Lost{m.Task, m.Address, "is there", fmt.Sprintf("but %v (%s) does not hear it", by.Task, by.Address), g.told[a.Who]})
	}
	return out
}

// unheard says from which workers nothing has been heard, and why. The caller holds g.mu.
func (g *Group) unheard() string {
	var lines []string
	for task, m := range g.settings.members {
		if task != g.settings.self && (g.machine.Peer(task) == nil || g.lastSeen[task] != "") {
			lines = append(lines, Lost{m.Task, m.Address, didNotCome, g.lastSeen[task], ""}.String())
		}
	}
	if lines == nil {
		return ""
	}
	return ", in which " + strings.Join(lines, "; ")
}

// received implements handler.
func (g *Group) received(s *membership.State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	delete(g.lastSeen, s.Task)
	delete(g.refusals, s.Task)
	if s.Phase == membership.Gathering && s.Task < len(g.settings.members) {
		g.told[s.Task] = s.About
	}
	g.machine.Receive(g.now(), s)
	g.update()
	g.hear()
}

// refusal records when a worker first and last refused this one; in between nothing else was heard from it.
type refusal struct {
	first, last time.Time
	why         string
}

// refused implements handler.
func (g *Group) refused(task int, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.refusals[task]
	r.why = why
	if r.last = time.Now(); r.first.IsZero() {
		r.first = r.last
	}
	g.refusals[task] = r
}

// excluded reports whether too few workers are left for the first group because the others have refused this one for
// the deadline: their cluster, secret or protocol differs, and waiting does not help. Processes of an earlier job are
// gone from their addresses by then. The caller holds g.mu.
func (g *Group) excluded(least int) bool {
	n := 0
	for _, r := range g.refusals {
		if r.last.Sub(r.first) >= g.settings.Deadline && time.Since(r.first) >= 2*g.settings.Deadline {
			n++
		}
	}
	return g.session == nil && len(g.settings.members)-n < least
}

// disconnected implements handler.
func (g *Group) disconnected(task int, since time.Time, detail string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.lastSeen[task] = detail
	g.machine.Disconnected(g.now(), since.Sub(g.start), task, detail)
	g.update()
	g.hear()
}

// exhausted implements handler. If this process cannot open a socket, the worker at the other end is not to blame.
func (g *Group) exhausted(task int, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.lastSeen[task] = why
	g.machine.Withdraw(g.now(), bounded(fmt.Sprintf("it cannot open a connection to %v: %s; %s", g.settings.members[task].Task, why, ports.RaiseLimit)))
	g.update()
	g.hear()
}

// frames implements handler: it passes the frames of a data stream to the session of its view.
func (g *Group) frames(ctx context.Context, task int, view uint64, next func() (*frame, error)) error {
	s := g.awaitSession(ctx, view)
	if s == nil {
		return errors.New("collective: no such group")
	}
	rank := s.view.Rank(task)
	if rank < 0 {
		return errors.New("collective: not a member of the group")
	}
	for {
		f, err := next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		select {
		case s.in[rank] <- f:
		case <-s.over:
			f.free()
			return nil
		case <-ctx.Done():
			f.free()
			return ctx.Err()
		}
	}
}

// awaitSession returns the session of a view, which may be installed here a little later than elsewhere.
func (g *Group) awaitSession(ctx context.Context, view uint64) *session {
	timeout := time.NewTimer(g.settings.Deadline)
	defer timeout.Stop()
	for {
		g.mu.Lock()
		s, changed := g.session, g.changed
		g.mu.Unlock()
		if s != nil && s.view.ID.Digest == view {
			return s
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-g.stop:
			return nil
		}
	}
}

// describe returns which collective this worker makes with that sequence number. The state machine calls it, with g.mu
// held.
func (g *Group) describe(sequence uint64) (string, bool) {
	if g.session == nil || g.machine.View() == nil || g.session.view.ID != g.machine.View().ID {
		return "", false
	}
	return g.session.describe(sequence)
}

// with runs f with the state machine if the session is the current one.
func (g *Group) with(s *session, f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && g.session == s {
		f()
		g.update()
	}
}

func (g *Group) report(s *session, c *call) {
	g.with(s, func() { g.machine.Report(g.now(), membership.Call{Sequence: c.sequence, Description: c.describe()}) })
}

func (g *Group) withdraw(s *session, detail string) {
	g.with(s, func() { g.machine.Withdraw(g.now(), detail) })
}

// straggling names the workers that the others wait for.
func (g *Group) straggling(s *session, c *call) {
	g.with(s, func() {
		if behind := g.machine.Behind(c.sequence); len(behind) > 0 {
			g.observe("waiting for %v, not yet in collective %d, %s", g.tasks(behind), c.sequence, c.describe())
		}
	})
}

func (g *Group) stall(s *session, c *call, limit time.Duration) {
	g.with(s, func() {
		detail := fmt.Sprintf("did not complete collective %d, %s, within %v", c.sequence, c.describe(), limit)
		behind := g.machine.Behind(c.sequence)
		if len(behind) == 0 { // all have begun it, and yet nothing comes
			g.machine.Withdraw(g.now(), detail)
			return
		}
		g.machine.Stall(g.now(), behind, detail)
	})
}
