package membership

import (
	"fmt"
	"slices"
	"time"
)

// peer is what this worker knows about another one.
type peer struct {
	state *State        // the newest; nil: never heard of
	heard time.Duration // when it arrived
	down  bool          // the connection broke since

	rival      ViewID // another view that it is at work in
	rivalSince time.Duration
}

// Machine is one worker's side of the protocol. Its methods must not be called concurrently, and times must not
// decrease.
type Machine struct {
	config Config
	peers  []peer
	phase  Phase
	serial uint64
	dirty  bool          // the state changed since it was sent last
	sent   time.Duration // when it was sent last
	ticked time.Duration // the last time seen
	deaf   []int         // tasks of which nothing came for the deadline

	view      *View         // the last one installed
	installed time.Duration // when
	verdict   *Verdict
	promised  uint64

	// Gathering; see gather.go.
	terms     Terms
	began     time.Duration
	patient   time.Duration // since when it waits for more candidates than it needs
	ownNote   NoteID        // of the note in terms
	reach     []Trial
	beyond    []Trial
	ready     time.Duration // when the terms were met first
	proposal  *View         // own
	proposed  time.Duration
	offered   *View // the last one accepted, by whomever
	proposer  int
	accepted  ViewID
	joinError *JoinError
	why       string // this worker has given up

	// The view's failure; see failure.go.
	accusations []Accusation
	accused     time.Duration // when the first came in

	// The view's collectives; see order.go.
	completed uint64
	told      uint64 // completed as sent last
	settling  bool
	waiting   *Call
	answers   []Call
	asked     []uint64 // sequences that others wait in and this member has not begun
	differed  time.Duration
	blocked   uint64 // the collective in which nothing came for the deadline
	blockedAt time.Duration
}

// New returns a worker that has not asked for a group.
func New(config Config, now time.Duration) *Machine {
	m := &Machine{config: config, peers: make([]peer, config.Size), ticked: now, dirty: true}
	for task := range m.peers {
		m.peers[task].heard = now
	}
	return m
}

// Phase returns what the worker is doing.
func (m *Machine) Phase() Phase { return m.phase }

// View returns the last view installed, or nil.
func (m *Machine) View() *View { return m.view }

// Verdict returns how the last view ended, or nil while it stands.
func (m *Machine) Verdict() *Verdict {
	if m.view == nil || m.verdict == nil || m.verdict.View != m.view.ID {
		return nil
	}
	return m.verdict
}

// JoinError returns why gathering ended without a view, or nil.
func (m *Machine) JoinError() *JoinError { return m.joinError }

// Pending lists the tasks outside the view that wait to join and that all members of the view can work with.
func (m *Machine) Pending(now time.Duration) []int {
	var tasks []int
	for task := range m.peers {
		if m.fresh(task, now) && m.peers[task].state.Phase == Gathering && (m.view == nil || m.view.Rank(task) < 0 && m.heardByAll(task)) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// heardByAll reports whether a task and each member of the view hear each other.
func (m *Machine) heardByAll(task int) bool {
	for _, member := range m.view.Members {
		if !m.hears(member.Task, task) || !m.hears(task, member.Task) {
			return false
		}
	}
	return true
}

// hears reports whether, as far as this worker knows, one task hears another.
func (m *Machine) hears(by, who int) bool {
	if by == m.config.Task {
		return !slices.Contains(m.deaf, who)
	}
	s := m.peers[by].state
	return s == nil || !slices.Contains(s.Unheard, who)
}

// listen notes from which tasks nothing arrives. The state reports it to the others, because the broken link may not be
// one of theirs.
func (m *Machine) listen(now time.Duration) {
	gone := func(task int) bool { return task != m.config.Task && now-m.peers[task].heard >= m.config.Deadline }
	same, n := true, 0
	for task := range m.peers {
		if gone(task) {
			same = same && n < len(m.deaf) && m.deaf[n] == task
			n++
		}
	}
	if same && n == len(m.deaf) {
		return
	}
	m.deaf, m.dirty = nil, true // others may have been given the old list
	for task := range m.peers {
		if gone(task) {
			m.deaf = append(m.deaf, task)
		}
	}
}

// Unheard lists the tasks from which nothing has arrived for the deadline, without those that have left.
func (m *Machine) Unheard() []int {
	var tasks []int
	for _, task := range m.deaf {
		if s := m.peers[task].state; s == nil || s.Phase != Left {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Peer returns the newest state of a task, or nil.
func (m *Machine) Peer(task int) *State { return m.peers[task].state }

func (m *Machine) currentView() ViewID {
	if m.view == nil {
		return ViewID{}
	}
	return m.view.ID
}

// First reports whether this worker is the first of those members of the last view that are still there: those before
// it are gone, but not through [Machine.Leave], and it has not been removed itself.
func (m *Machine) First(now time.Duration) bool {
	if m.view == nil {
		return false
	}
	if v := m.Verdict(); v != nil && v.Removes(m.config.Task) && m.phase != Left {
		return false
	}
	for _, member := range m.view.Members {
		if member.Task == m.config.Task {
			return true
		}
		if s := m.peers[member.Task].state; s != nil && s.Incarnation == member.Incarnation && (s.Phase == Left || m.fresh(member.Task, now)) {
			return false
		}
	}
	return false
}

// fresh reports whether a task is known to be alive.
func (m *Machine) fresh(task int, now time.Duration) bool {
	p := &m.peers[task]
	return task != m.config.Task && p.state != nil && !p.down && now-p.heard < m.config.Deadline && p.state.Phase != Left
}

// Tick lets time pass. It must be called at least once per heartbeat.
func (m *Machine) Tick(now time.Duration) {
	if now-m.ticked > m.config.Deadline/2 {
		// This process itself was stopped. Messages of others may still be unread, so they are not to blame for the
		// silence.
		for task := range m.peers {
			m.peers[task].heard = now
		}
		m.patient = now // nor has it waited for more candidates
	}
	m.ticked = now
	m.step(now)
}

// step does everything that follows from the current knowledge.
func (m *Machine) step(now time.Duration) {
	m.listen(now)
	m.gather(now)
	m.watch(now)
	m.order(now)
	m.elsewhere(now)
	m.decide(now)
}

// Poll returns the state to send to everybody, if it is time.
func (m *Machine) Poll(now time.Duration) (*State, bool) {
	if !m.dirty && now-m.sent < m.config.Heartbeat {
		return nil, false
	}
	m.dirty, m.sent = false, now
	m.serial++
	s := &State{
		Task: m.config.Task, Incarnation: m.config.Incarnation, Serial: m.serial, Phase: m.phase, View: m.currentView(),
		Promised: m.promised, Accusations: slices.Clone(m.accusations), Verdict: m.verdict, Answers: slices.Clone(m.answers),
		Completed: m.completed, Settling: m.settling, Unheard: m.deaf, Blocked: m.blocked, Why: m.why,
	}
	m.told = m.completed
	if m.view != nil {
		s.ViewSize = len(m.view.Members)
	}
	if m.phase == Gathering {
		s.HasState, s.Step, s.Note, s.About = m.terms.HasState, m.terms.Step, m.terms.Note, m.config.About
		s.Reach, s.Beyond, s.Accepted, s.Proposal = slices.Clone(m.reach), slices.Clone(m.beyond), m.accepted, m.proposal
	}
	if m.waiting != nil {
		call := *m.waiting
		s.Waiting = &call
	}
	return s, true
}

// Receive processes a state that another worker has sent.
func (m *Machine) Receive(now time.Duration, s *State) {
	if s.Task < 0 || s.Task >= len(m.peers) || s.Task == m.config.Task {
		return
	}
	p := &m.peers[s.Task]
	if old := p.state; old != nil {
		before := s.Incarnation < old.Incarnation
		// Where nothing has come of the process that is known it is gone, and the clock with which this one began is
		// behind: that of another machine, or one that was set back.
		if before && now-p.heard < m.config.Deadline || s.Incarnation == old.Incarnation && s.Serial <= old.Serial {
			return // overtaken by a newer one
		}
	}
	p.state, p.heard, p.down = s, now, false
	m.adopt(now, s)
	m.consider(now, s)
	m.ask(s)
	if s.Settling && s.View == m.currentView() && m.told != m.completed {
		m.dirty = true
	}
	m.step(now)
}

// Disconnected says that the connection to a task broke (since is now), or could not be made by an attempt that began
// at since. An attempt from before the view says nothing about its members, because some may not have listened yet
// while workers started. An attempt that began before a candidate was heard is ignored too; otherwise the candidate
// would be left out until its next heartbeat.
func (m *Machine) Disconnected(now, since time.Duration, task int, detail string) {
	if m.phase == Serving && since < m.installed || m.phase != Serving && since < m.peers[task].heard {
		return
	}
	m.peers[task].down = true
	if m.phase == Serving && m.view.Rank(task) >= 0 {
		m.accuse(now, task, Lost, detail)
	}
	m.step(now)
}

// Leave makes the worker leave its view or gathering for good.
func (m *Machine) Leave(now time.Duration) {
	if m.phase == Serving {
		m.accuse(now, m.config.Task, Departed, "")
	}
	m.phase, m.dirty = Left, true
	m.proposal, m.accepted = nil, ViewID{}
	m.decide(now)
}

// Explain says why this worker has given up, for those that ask for it later.
func (m *Machine) Explain(why string) {
	if why = why[:min(len(why), MaxText)]; why != m.why && (m.phase == Failed || m.phase == Left) {
		m.why, m.dirty = why, true
	}
}

// Told reports whether all other members of an ended view that are still there know of its end. Members that stalled
// count as still there.
func (m *Machine) Told(now time.Duration) bool {
	v := m.Verdict()
	if v == nil {
		return true
	}
	for _, member := range m.view.Members {
		stalled := slices.ContainsFunc(v.Removed, func(a Accusation) bool { return a.Who == member.Task && a.Reason == Stalled })
		if v.Removes(member.Task) && !stalled || !m.fresh(member.Task, now) {
			continue
		}
		if s := m.peers[member.Task].state; s.View == m.view.ID && s.Phase == Serving {
			return false
		}
	}
	return true
}

// Withdraw ends the view because this worker gave up one of its collectives.
func (m *Machine) Withdraw(now time.Duration, detail string) {
	if m.phase == Serving {
		m.accuse(now, m.config.Task, Withdrew, detail)
		m.step(now)
	}
}

// Stall ends the view because the given members did not reach a collective in time.
func (m *Machine) Stall(now time.Duration, tasks []int, detail string) {
	if m.phase != Serving {
		return
	}
	for _, task := range tasks {
		if task != m.config.Task && m.view.Rank(task) >= 0 {
			m.accuse(now, task, Stalled, detail)
		}
	}
	m.step(now)
}

// String describes the machine for logs and tests.
func (m *Machine) String() string {
	return fmt.Sprintf("task %d %v view %v promised %d accepted %v accusations %v verdict %+v", m.config.Task, m.phase, m.currentView(), m.promised,
		m.accepted, m.accusations, m.verdict)
}
