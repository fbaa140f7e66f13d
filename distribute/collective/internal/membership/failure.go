package membership

import (
	"fmt"
	"slices"
	"time"
)

// watch accuses members that show no life and those that are elsewhere.
func (m *Machine) watch(now time.Duration) {
	if m.phase != Serving || m.Verdict() != nil {
		return
	}
	for _, member := range m.view.Members {
		p := &m.peers[member.Task]
		switch {
		case member.Task == m.config.Task:
		case p.down:
			m.accuse(now, member.Task, Lost, "the connection broke")
		case now-p.heard >= m.config.Deadline:
			m.accuse(now, member.Task, Silent, fmt.Sprintf("no sign of life for %v", m.config.Deadline))
		}
	}
}

// consider looks at the state of another worker for signs that the view has ended.
func (m *Machine) consider(now time.Duration, s *State) {
	if m.phase != Serving || m.Verdict() != nil {
		return
	}
	rank := m.view.Rank(s.Task)
	switch {
	case rank < 0:
		p := &m.peers[s.Task]
		if s.Phase != Serving || p.rival != s.View {
			p.rival, p.rivalSince = s.View, now
		}
		// One that was stopped for a while still means its old view, and leaves it as soon as it hears of this one.
		if s.Phase == Serving && now-p.rivalSince >= m.config.Deadline/2 && larger(s, m.view) {
			m.accuse(now, m.config.Task, Split, fmt.Sprintf("a group of %d works without this one", s.ViewSize))
		}
		return
	case s.Incarnation != m.view.Members[rank].Incarnation:
		m.accuse(now, s.Task, Restarted, "its process was replaced")
	case s.Phase == Left && !(s.View == m.view.ID && slices.ContainsFunc(s.Accusations, func(a Accusation) bool { return a.By == s.Task && a.Who == s.Task })):
		m.note(now, Accusation{s.Task, s.Task, Departed, ""}) // else it says itself why, below
	case s.View.Generation > m.view.ID.Generation:
		// The others went on without this worker; their verdict about its view is gone.
		m.accuse(now, m.config.Task, Moved, fmt.Sprintf("expelled: the others are in generation %d", s.View.Generation))
	case (s.Phase == Gathering || s.Phase == Failed) && s.View != m.view.ID && s.Promised > m.view.ID.Generation:
		m.accuse(now, s.Task, Moved, "it accepted another proposal before it installed this view")
	case m.deserted(s) && (m.waiting != nil || len(m.accusations) > 0):
		m.desert(now, s.Task)
	}
	if s.View == m.view.ID {
		for _, a := range s.Accusations {
			m.note(now, a)
		}
	}
}

// deserted reports whether a member has left the view without a verdict about it, as when it asked for the next group
// while this one stood. It will no longer take part in a verdict.
func (m *Machine) deserted(s *State) bool {
	return (s.Phase == Gathering || s.Phase == Failed) && s.View == m.view.ID && (s.Verdict == nil || s.Verdict.View != m.view.ID)
}

// desert notes that a member has deserted. It says so itself, so that nobody is blamed for saying it.
func (m *Machine) desert(now time.Duration, task int) {
	m.note(now, Accusation{task, task, Moved, "it asked for a new group"})
}

// larger reports whether the view of s prevails over v when two groups meet.
func larger(s *State, v *View) bool {
	if s.ViewSize != len(v.Members) {
		return s.ViewSize > len(v.Members)
	}
	if s.View.Generation != v.ID.Generation {
		return s.View.Generation > v.ID.Generation
	}
	return s.View.Digest > v.ID.Digest
}

func (m *Machine) accuse(now time.Duration, who int, reason Reason, detail string) {
	m.note(now, Accusation{m.config.Task, who, reason, detail})
}

// note adds an accusation. If its author has made one against the same member already, for another reason, all members
// keep the same one of the two, whichever they heard first.
func (m *Machine) note(now time.Duration, a Accusation) {
	if m.Verdict() != nil || m.view.Rank(a.By) < 0 || m.view.Rank(a.Who) < 0 {
		return
	}
	at, found := slices.BinarySearchFunc(m.accusations, a, compareAccusations)
	if found {
		if old := &m.accusations[at]; a.Reason < old.Reason || a.Reason == old.Reason && a.Detail < old.Detail {
			*old, m.dirty = a, true
		}
		return
	}
	if len(m.accusations) == 0 {
		m.accused = now
	}
	m.accusations = slices.Insert(m.accusations, at, a)
	m.dirty = true
}

// Remove says which of the members have to go, given who accuses whom, so that no two of the rest accuse each other.
// Members that accuse themselves go first. Then, as long as there are accusations among the rest, the member with the
// most accusations around it goes, whether made or received; among equals the one that is accused more than it accuses;
// then the one with the highest number. That somebody stalls speaks against it alone: whoever says so hears it, and is
// not cut off, however many it says it of. The result is sorted and depends on the accusations alone.
func Remove(members []int, accusations []Accusation) []int {
	gone := map[int]bool{}
	for _, a := range accusations {
		if a.By == a.Who {
			gone[a.Who] = true
		}
	}
	for {
		around, balance := map[int]map[int]bool{}, map[int]int{}
		link := func(a, b int) {
			if around[a] == nil {
				around[a] = map[int]bool{}
			}
			around[a][b] = true
		}
		for _, a := range accusations {
			if !gone[a.By] && !gone[a.Who] {
				link(a.Who, a.By)
				if a.Reason == Stalled {
					continue
				}
				link(a.By, a.Who)
				balance[a.Who]++
				balance[a.By]--
			}
		}
		worst := -1
		for _, task := range members {
			if len(around[task]) == 0 {
				continue
			}
			if worst < 0 || len(around[task]) > len(around[worst]) ||
				len(around[task]) == len(around[worst]) && (balance[task] > balance[worst] || balance[task] == balance[worst] && task > worst) {
				worst = task
			}
		}
		if worst < 0 {
			break
		}
		gone[worst] = true
	}
	var removed []int
	for _, task := range members {
		if gone[task] {
			removed = append(removed, task)
		}
	}
	return removed
}

// decide reaches a verdict when all that would survive hold the same accusations.
func (m *Machine) decide(now time.Duration) {
	if m.view == nil || m.Verdict() != nil || len(m.accusations) == 0 || m.phase != Serving && m.phase != Left {
		return
	}
	removed := Remove(m.view.Tasks(), m.accusations)
	if slices.Contains(removed, m.config.Task) {
		own := slices.ContainsFunc(m.accusations, func(a Accusation) bool { return a.By == m.config.Task && a.Who == m.config.Task })
		if own || now-m.accused >= m.config.Deadline || now-m.accused >= m.config.Heartbeat && m.unheard(now, removed) { // nobody told the verdict in time
			m.conclude(removed)
		}
		return
	}
	for _, member := range m.view.Members {
		if member.Task == m.config.Task || slices.Contains(removed, member.Task) {
			continue
		}
		s := m.peers[member.Task].state
		switch {
		case s == nil || s.View != m.view.ID:
			return
		case m.deserted(s): // it was no concern before there were accusations
			m.desert(now, member.Task)
			m.decide(now)
			return
		case !slices.Equal(s.Accusations, m.accusations):
			return
		}
	}
	m.conclude(removed)
}

// unheard reports whether none of those that would survive can tell a verdict: the connections to them are broken,
// nothing has come of them for the deadline, or there are other processes in their place.
func (m *Machine) unheard(now time.Duration, removed []int) bool {
	return !slices.ContainsFunc(m.view.Members, func(member Member) bool {
		p := &m.peers[member.Task]
		silent := p.down || now-p.heard >= m.config.Deadline
		return !slices.Contains(removed, member.Task) && !silent && (p.state == nil || p.state.Incarnation == member.Incarnation)
	})
}

func (m *Machine) conclude(removed []int) {
	v := &Verdict{View: m.view.ID}
	for _, task := range removed {
		v.Removed = append(v.Removed, m.strongest(task))
	}
	m.end(v)
}

// strongest picks the accusation that explains best why a task is removed: what it says of itself, else that of the
// first survivor.
func (m *Machine) strongest(task int) Accusation {
	best := Accusation{By: -1}
	for _, a := range m.accusations {
		if a.Who == task && (best.By < 0 || a.By == task) {
			best = a
		}
	}
	if best.By < 0 { // it is removed for what it says of others
		best = Accusation{task, task, Lost, "it lost the connections to most of the others"}
	}
	return best
}

func (m *Machine) end(v *Verdict) {
	m.verdict, m.dirty = v, true
	if m.phase == Serving {
		m.phase = Failed
	}
}

// adopt takes over the verdict of another member about this worker's view.
func (m *Machine) adopt(now time.Duration, s *State) {
	if m.phase != Serving || m.Verdict() != nil || s.Verdict == nil || s.Verdict.View != m.view.ID || m.view.Rank(s.Task) < 0 {
		return
	}
	if s.Verdict.Difference != nil {
		m.end(s.Verdict)
		return
	}
	// A member that is removed by its own verdict decided without the survivors, and one that was cut off decided alone
	// about all others. They are not believed by those who know that; what they say is still true.
	known := slices.Concat(m.accusations, s.Accusations, s.Verdict.Removed)
	expelled := s.Verdict.Removes(s.Task)
	if !expelled && !slices.Contains(Remove(m.view.Tasks(), known), s.Task) {
		m.end(s.Verdict)
		return
	}
	for _, a := range s.Verdict.Removed {
		m.note(now, a)
	}
	own := func(a Accusation) bool { return a.By == s.Task && a.Who == s.Task }
	switch {
	case !expelled:
		m.accuse(now, s.Task, Moved, "it ended the group alone")
	case !slices.ContainsFunc(s.Verdict.Removed, own): // whatever the others make of what it says, it is not in the group any more
		m.note(now, Accusation{s.Task, s.Task, Moved, "it ended the group for itself"})
	}
}
