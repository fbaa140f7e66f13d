package membership

import (
	"fmt"
	"slices"
	"time"
)

// grace is how long the first member, after it has seen two members disagree, waits for the rest.
const grace = 50 * time.Millisecond

// Report says that this worker cannot complete a collective: it has waited longer than usual, or received data that do
// not belong to it.
func (m *Machine) Report(now time.Duration, call Call) {
	if m.phase != Serving {
		return
	}
	if len(call.Description) > MaxText {
		call.Description = call.Description[:MaxText]
	}
	if m.waiting == nil || *m.waiting != call {
		m.waiting, m.dirty = &call, true
	}
	for _, member := range m.view.Members { // what was no concern before may be one now
		if s := m.peers[member.Task].state; s != nil && member.Task != m.config.Task {
			m.consider(now, s)
		}
	}
	m.step(now)
}

// Block says that this worker has received nothing, in a collective, for the deadline. If signs of life prove that what
// it waits for cannot come, the view ends: no member waits for another that is elsewhere.
func (m *Machine) Block(now time.Duration, sequence uint64) {
	if m.phase == Serving && m.blocked != sequence {
		m.blocked, m.blockedAt, m.dirty = sequence, now, true
		m.step(now)
	}
}

// Unblock says that something has arrived.
func (m *Machine) Unblock() {
	if m.blocked != 0 {
		m.blocked, m.dirty = 0, true
	}
}

// elsewhere makes this member leave if it receives nothing although no other member has anything left to do for it:
// each has completed the collective in which this one waits, or waits in vain itself. Of the members that wait in vain,
// the one furthest behind leaves; in a tie, the lowest task.
func (m *Machine) elsewhere(now time.Duration) {
	if m.phase != Serving || m.Verdict() != nil || m.blocked == 0 || now-m.blockedAt < 2*m.config.Heartbeat {
		return
	}
	for _, member := range m.view.Members {
		if member.Task == m.config.Task {
			continue
		}
		p := &m.peers[member.Task]
		if p.state == nil || p.heard < m.blockedAt+m.config.Heartbeat { // what it said before may be overtaken by what is on its way
			return
		}
		s := p.state
		beyond := s.View != m.view.ID || s.Completed >= m.blocked
		vain := s.Blocked > m.blocked || s.Blocked == m.blocked && member.Task > m.config.Task
		if !beyond && !vain {
			return
		}
	}
	m.accuse(now, m.config.Task, Stalled, fmt.Sprintf("nothing came for it in collective %d for %v, though no other member has anything left to do there", m.blocked, m.config.Deadline))
}

// Done says that the collective last reported was completed.
func (m *Machine) Done() {
	if m.waiting != nil {
		m.waiting, m.dirty = nil, true
	}
}

// Complete says that this worker has completed a collective. It reports whether another worker asked about that.
func (m *Machine) Complete(sequence uint64) bool {
	m.completed = sequence
	if m.phase != Serving {
		return false
	}
	for _, member := range m.view.Members {
		if s := m.peers[member.Task].state; s != nil && s.Settling && s.View == m.view.ID {
			m.dirty = true
			return true
		}
	}
	return false
}

// Settle begins to leave the view in peace: the others are asked whether they have completed what this worker has.
// Messages of collectives could still be on their way to them.
func (m *Machine) Settle() { m.settling, m.dirty = true, true }

// Settled reports whether all others have completed what this worker has completed, or are gone.
func (m *Machine) Settled(now time.Duration) bool {
	if m.phase != Serving || m.Verdict() != nil {
		return true
	}
	for _, member := range m.view.Members {
		if s := m.peers[member.Task].state; m.fresh(member.Task, now) && (s.View != m.view.ID || s.Phase == Serving && s.Completed < m.completed) {
			return false
		}
	}
	return true
}

// ask notes the collective in which another member waits, to answer what this worker does there.
func (m *Machine) ask(s *State) {
	if m.phase != Serving || s.View != m.view.ID || s.Waiting == nil || m.config.Describe == nil {
		return
	}
	sequence := s.Waiting.Sequence
	if slices.ContainsFunc(m.answers, func(c Call) bool { return c.Sequence == sequence }) || slices.Contains(m.asked, sequence) {
		return
	}
	m.asked = append(m.asked, sequence)
	if len(m.asked) > maxAnswers {
		m.asked = m.asked[1:]
	}
	m.answer()
}

// Asked reports whether others wait in a collective that this worker has not begun. The layer above then calls Began.
func (m *Machine) Asked() bool { return len(m.asked) > 0 }

// Began says that this worker began another collective.
func (m *Machine) Began(now time.Duration) {
	m.answer()
	m.step(now)
}

func (m *Machine) answer() {
	m.asked = slices.DeleteFunc(m.asked, func(sequence uint64) bool {
		description, ok := m.config.Describe(sequence)
		if ok {
			m.answers = append(m.answers, Call{sequence, description[:min(len(description), MaxText)]})
			m.answers = m.answers[max(0, len(m.answers)-maxAnswers):]
			m.dirty = true
		}
		return ok
	})
}

// callOf returns the call that a member is known to make as a collective.
func (m *Machine) callOf(task int, sequence uint64) (string, bool) {
	if task == m.config.Task {
		if m.waiting != nil && m.waiting.Sequence == sequence {
			return m.waiting.Description, true
		}
		for _, c := range m.answers {
			if c.Sequence == sequence {
				return c.Description, true
			}
		}
		return "", false
	}
	s := m.peers[task].state
	if s == nil || s.View != m.view.ID {
		return "", false
	}
	if s.Waiting != nil && s.Waiting.Sequence == sequence {
		return s.Waiting.Description, true
	}
	for _, c := range s.Answers {
		if c.Sequence == sequence {
			return c.Description, true
		}
	}
	return "", false
}

// Behind lists the members that are not known to have begun a collective.
func (m *Machine) Behind(sequence uint64) []int {
	var tasks []int
	if m.view == nil {
		return nil
	}
	for _, member := range m.view.Members {
		if _, ok := m.callOf(member.Task, sequence); !ok && member.Task != m.config.Task {
			tasks = append(tasks, member.Task)
		}
	}
	return tasks
}

// order lets the first member of the view judge whether members disagree about a collective.
func (m *Machine) order(now time.Duration) {
	if m.phase != Serving || m.Verdict() != nil || m.view.Members[0].Task != m.config.Task || len(m.accusations) > 0 {
		return
	}
	var sequences []uint64
	if m.waiting != nil {
		sequences = append(sequences, m.waiting.Sequence)
	}
	for _, member := range m.view.Members {
		if s := m.peers[member.Task].state; member.Task != m.config.Task && s != nil && s.View == m.view.ID && s.Waiting != nil {
			sequences = append(sequences, s.Waiting.Sequence)
		}
	}
	slices.Sort(sequences)
	for _, sequence := range slices.Compact(sequences) {
		d, all := m.difference(sequence)
		if d == nil {
			continue
		}
		if m.differed == 0 {
			m.differed = now
		}
		if all || now-m.differed >= grace {
			m.end(&Verdict{View: m.view.ID, Difference: d})
		}
		return
	}
}

// difference compares what members say of a collective with the first that says something. all is false if some said
// nothing.
func (m *Machine) difference(sequence uint64) (d *Difference, all bool) {
	first, said := -1, ""
	all = true
	for _, member := range m.view.Members {
		call, ok := m.callOf(member.Task, sequence)
		switch {
		case !ok:
			all = false
		case first < 0:
			first, said = member.Task, call
		case call != said && d == nil:
			d = &Difference{sequence, first, member.Task, said, call}
		}
	}
	return d, all
}
