package membership

import (
	"slices"
	"sort"
	"time"
)

// Gather asks for the next view. A current view is given up.
func (m *Machine) Gather(now time.Duration, terms Terms) {
	m.phase, m.dirty = Gathering, true
	m.terms, m.ownNote, m.began, m.patient, m.reach, m.beyond, m.ready = terms, IDOf(terms.Note), now, now, nil, nil, 0
	m.proposal, m.accepted, m.offered, m.joinError, m.why = nil, ViewID{}, nil, nil, ""
	m.accusations, m.waiting, m.answers, m.asked = nil, nil, nil, nil
	m.settling, m.blocked = false, 0
	m.step(now)
}

// Abandon ends gathering: the layer above no longer waits for a group. If one formed meanwhile, its members are told.
func (m *Machine) Abandon(now time.Duration, detail string) {
	if m.phase == Gathering {
		m.why = detail
		m.stopGathering()
	}
	m.Withdraw(now, detail)
}

// stopGathering ends gathering without a view. A view that this worker has accepted will lack it: it promises not to
// install it, which tells those who do.
func (m *Machine) stopGathering() {
	if m.offered != nil {
		m.promised = max(m.promised, m.offered.ID.Generation+1)
	}
	m.phase, m.dirty = Failed, true
	m.proposal, m.accepted, m.offered = nil, ViewID{}, nil
}

// Reached says whether this process can use a note of a candidate (map its shared memory). It says nothing about an
// earlier or a later note of the same task, which may be that of another process.
func (m *Machine) Reached(now time.Duration, task int, note []byte, ok bool) {
	if m.phase != Gathering {
		return
	}
	earlier := func(t Trial) bool { return t.Task == task }
	m.reach, m.beyond = slices.DeleteFunc(m.reach, earlier), slices.DeleteFunc(m.beyond, earlier)
	if trial := (Trial{task, IDOf(note)}); ok {
		m.reach = append(m.reach, trial)
	} else {
		m.beyond = append(m.beyond, trial)
	}
	m.dirty = true
	m.step(now)
}

// tried reports whether all members have tried each other's notes.
func (m *Machine) tried(members []int) bool {
	for _, a := range members {
		reach, beyond := m.trials(a)
		for _, b := range members {
			trial := Trial{b, m.noteOf(b)}
			if a != b && m.noteOf(a) != 0 && trial.Note != 0 && !slices.Contains(reach, trial) && !slices.Contains(beyond, trial) {
				return false
			}
		}
	}
	return true
}

// noteOf names the current note of a candidate.
func (m *Machine) noteOf(task int) NoteID {
	if task == m.config.Task {
		return m.ownNote
	}
	return IDOf(m.peers[task].state.Note)
}

// trials lists the notes that worked at a candidate, and those that did not.
func (m *Machine) trials(task int) (reach, beyond []Trial) {
	if task == m.config.Task {
		return m.reach, m.beyond
	}
	return m.peers[task].state.Reach, m.peers[task].state.Beyond
}

func (m *Machine) gather(now time.Duration) {
	if m.phase != Gathering {
		return
	}
	m.accept(now)
	if m.phase != Gathering {
		return
	}
	present, _ := m.candidates(now)
	leader := present[0]
	switch {
	case leader != m.config.Task:
		if m.proposal != nil { // never committed, so nobody can be at work in it
			m.proposal, m.accepted, m.dirty = nil, ViewID{}, true
		}
	case m.proposal == nil:
		m.propose(now)
	case m.stale(now):
		m.proposal, m.accepted, m.dirty = nil, ViewID{}, true
		m.propose(now)
	}
	if m.proposal != nil && m.agreed() {
		m.install(now, m.proposal)
		return
	}
	if now-m.began >= m.terms.Timeout {
		m.giveUp(now)
	}
}

// candidates lists the tasks that could be in a view now, of which each hears each other one, and those alive that have
// not left theirs. There is always one that could be.
func (m *Machine) candidates(now time.Duration) (present, busy []int) {
	present, busy = m.gathered(now)
	if apart := m.apart(present); len(apart) > 0 {
		gone := Remove(present, apart)
		present = slices.DeleteFunc(present, func(task int) bool { return slices.Contains(gone, task) })
	}
	return present, busy
}

// apart lists the pairs in which one does not hear the other.
func (m *Machine) apart(tasks []int) []Accusation {
	var pairs []Accusation
	for _, by := range tasks {
		for _, who := range tasks {
			if by != who && !m.hears(by, who) {
				pairs = append(pairs, Accusation{By: by, Who: who})
			}
		}
	}
	return pairs
}

// gathered lists the tasks that wait for a view, this one among them, and those alive that have not left theirs.
func (m *Machine) gathered(now time.Duration) (present, busy []int) {
	for task := range m.peers {
		if task == m.config.Task {
			present = append(present, task)
		} else if m.fresh(task, now) {
			switch m.peers[task].state.Phase {
			case Gathering:
				present = append(present, task)
			case Serving, Failed:
				busy = append(busy, task)
			}
		}
	}
	return present, busy
}

// propose makes a proposal if the terms allow it.
func (m *Machine) propose(now time.Duration) {
	present, busy := m.candidates(now) // with this one, which leads them
	full := len(present) >= min(m.terms.Max, m.config.Size)
	if len(busy) > 0 || len(present) < m.terms.Min || !full && now-m.patient < m.terms.Patience {
		m.ready = 0
		return
	}
	if m.ready == 0 {
		m.ready = now
	}
	if !m.tried(present) && now-m.ready < m.config.Deadline/10 {
		return
	}
	members := make([]Member, 0, len(present))
	generation := max(m.promised, m.currentView().Generation)
	for task := range m.peers {
		if s := m.peers[task].state; s != nil {
			generation = max(generation, s.Promised, s.View.Generation)
		}
	}
	for _, task := range present {
		if task == m.config.Task {
			members = append(members, m.self())
		} else {
			s := m.peers[task].state
			members = append(members, Member{task, s.Incarnation, s.HasState, s.Step, IDOf(s.Note), s.About})
		}
	}
	if len(members) > m.terms.Max { // those that bring the state go first, but the proposer stays
		sort.SliceStable(members, func(i, j int) bool { return weight(members[i], m.config.Task) > weight(members[j], m.config.Task) })
		members = members[:m.terms.Max]
		sort.Slice(members, func(i, j int) bool { return members[i].Task < members[j].Task })
	}
	v := &View{ID: ViewID{Generation: generation + 1}, Members: members}
	v.ID.Digest = v.digest(m.config.Task)
	v.Shared = m.shared(v)
	m.proposal, m.proposed = v, now
	m.offered, m.proposer, m.accepted, m.promised = v, m.config.Task, v.ID, v.ID.Generation
	m.dirty = true
}

// self is this worker as a member of a view.
func (m *Machine) self() Member {
	return Member{m.config.Task, m.config.Incarnation, m.terms.HasState, m.terms.Step, m.ownNote, m.config.About}
}

func weight(m Member, proposer int) int {
	switch {
	case m.Task == proposer:
		return 2
	case m.HasState:
		return 1
	}
	return 0
}

// shared reports whether each member has reached each other one's note.
func (m *Machine) shared(v *View) bool {
	return !slices.ContainsFunc(v.Members, func(a Member) bool {
		reach, _ := m.trials(a.Task)
		return !reaches(reach, a.Task, v)
	})
}

// reaches reports whether a member has reached the notes of which a view is made.
func reaches(reach []Trial, task int, v *View) bool {
	return !slices.ContainsFunc(v.Members, func(b Member) bool { return b.Task != task && !slices.Contains(reach, Trial{b.Task, b.Note}) })
}

// stale reports whether this worker's proposal can no longer be accepted by all.
func (m *Machine) stale(now time.Duration) bool {
	if now-m.proposed >= m.config.Deadline {
		return true
	}
	for _, member := range m.proposal.Members {
		if member.Task == m.config.Task {
			continue
		}
		s := m.peers[member.Task].state
		if !m.fresh(member.Task, now) || s.Incarnation != member.Incarnation || s.Phase != Gathering || s.Promised > m.proposal.ID.Generation ||
			IDOf(s.Note) != member.Note || s.Promised == m.proposal.ID.Generation && s.Accepted != m.proposal.ID {
			return true // the last: it accepted this one, lost the proposer for a moment, and cannot accept it again; or it accepted another one
		}
	}
	return m.promised > m.proposal.ID.Generation || m.proposal.Shared && !m.shared(m.proposal)
}

// agreed reports whether all members of this worker's proposal have accepted it.
func (m *Machine) agreed() bool {
	for _, member := range m.proposal.Members {
		if member.Task != m.config.Task && m.peers[member.Task].state.Accepted != m.proposal.ID {
			return false
		}
	}
	return m.accepted == m.proposal.ID
}

// accept accepts proposals of others, and installs one that is known to be agreed.
func (m *Machine) accept(now time.Duration) {
	for task := range m.peers {
		if !m.fresh(task, now) {
			continue
		}
		s := m.peers[task].state
		if v := s.Proposal; s.Phase == Gathering && v != nil && v.ID.Generation > m.promised {
			if slices.Contains(v.Members, m.self()) && v.Members[0].Task == task && (!v.Shared || reaches(m.reach, m.config.Task, v)) {
				m.offered, m.proposer, m.accepted, m.promised = v, task, v.ID, v.ID.Generation
				m.proposal, m.dirty = nil, true
			}
		}
		if s.Phase == Serving && m.offered != nil && s.View == m.offered.ID && m.promised == s.View.Generation && m.offered.Rank(task) >= 0 {
			m.install(now, m.offered)
			return
		}
	}
	if m.accepted != (ViewID{}) && m.proposer != m.config.Task {
		s := m.peers[m.proposer].state
		if !m.fresh(m.proposer, now) || s.Phase == Gathering && (s.Proposal == nil || s.Proposal.ID != m.accepted) {
			m.accepted, m.dirty = ViewID{}, true // withdrawn; m.offered stays for the case that it was agreed before
		}
	}
}

func (m *Machine) install(now time.Duration, v *View) {
	m.view, m.installed, m.phase, m.dirty = v, now, Serving, true
	m.proposal, m.accepted, m.offered, m.joinError = nil, ViewID{}, nil, nil
	m.accusations, m.waiting, m.answers, m.asked, m.differed = nil, nil, nil, nil, 0
	m.completed, m.told, m.settling, m.blocked = 0, 0, false, 0
	// What broke before may have healed unheard: the next attempt to connect, or the deadline, shows who is gone.
	for _, member := range v.Members {
		p := &m.peers[member.Task]
		p.heard, p.down = now, false
	}
	if v.Shared && !reaches(m.reach, m.config.Task, v) { // what it accepted has changed since: somebody gathered once more
		m.accuse(now, m.config.Task, Moved, "it cannot reach the memory of the others any more")
	}
}

// GiveUp ends gathering early, because no view can form.
func (m *Machine) GiveUp(now time.Duration) {
	if m.phase == Gathering {
		m.giveUp(now)
		m.joinError.After = (now - m.began).Round(time.Millisecond)
	}
}

func (m *Machine) giveUp(now time.Duration) {
	present, busy := m.gathered(now)
	e := &JoinError{Present: present, Busy: busy, Apart: m.apart(present), Min: m.terms.Min, After: m.terms.Timeout}
	for task := range m.config.Size {
		if !slices.Contains(present, task) {
			e.Missing = append(e.Missing, task)
		}
	}
	m.joinError = e
	m.stopGathering()
}
