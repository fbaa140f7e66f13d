package recovery

func (m *Machine) to(a Action) Action {
	m.action = a
	return a
}

// first returns an action of this worker alone, to be followed by the other action.
func (m *Machine) first(a, then Action) Action {
	m.then = then
	return m.to(a)
}

func (m *Machine) attempt() Action {
	m.trying = true
	return m.to(Attempt)
}

func (m *Machine) agree() Action {
	m.trying = false
	return m.to(Agree)
}

// wake agrees with the others, after this worker has received what their callbacks have set.
func (m *Machine) wake() Action {
	m.owed = false
	if m.asleep {
		m.asleep = false
		return m.first(Rewrite, Agree)
	}
	return m.agree()
}

// enter begins a Fit. A worker that joined later needs the state of the others first.
func (m *Machine) enter() Action {
	m.calls++
	m.own, m.owed, m.asleep, m.astray = 0, false, false, false
	m.state.Config = m.task.Config
	switch m.joining = m.task.Joining; {
	case m.late: // what a callback has loaded meanwhile is older
		return m.first(Rewrite, Transfer)
	case m.joining:
		return m.to(Transfer)
	}
	return m.attempt()
}

// next follows an action of this worker alone.
func (m *Machine) next() Action {
	switch m.then {
	case Attempt:
		return m.attempt()
	case Agree:
		return m.agree()
	case Transfer: // which was before this Fit
		return m.catchUp(m.got)
	}
	return m.to(m.then)
}

// done follows a completed attempt: this worker is at the next position. At the end of an epoch, callbacks come first.
func (m *Machine) done() Action {
	switch m.task.Kind {
	case Enter:
		m.state.Fits, m.state.Inside, m.state.Asides = m.calls, true, 0
		m.state.Position++
	case Step:
		m.state.Position++
	case Aside:
		if !m.inFit {
			m.state.Asides = m.own
			m.state.Position++
		}
	}
	return m.to(Proceed)
}

// agreed follows the agreement to continue or to stop.
func (m *Machine) agreed(stop bool) Action {
	switch {
	case m.task.Kind == Step && stop:
		return m.to(Stop)
	case m.task.Kind == Step || m.task.Kind == Epoch:
		return m.attempt()
	}
	return m.to(Proceed)
}

// aside does the requested work unless the job has already done it.
func (m *Machine) aside() Action {
	if !m.inFit && (m.late || m.own <= m.state.Asides) {
		return m.to(Skip)
	}
	return m.attempt()
}

// kept follows the transfer to others: what failed is repeated. The beginning of a Fit needs no agreement, because no
// worker is beyond it.
func (m *Machine) kept() Action {
	switch {
	case m.task.Kind == Aside:
		return m.aside()
	case m.task.Kind == Enter && m.trying:
		return m.first(Restore, Attempt)
	}
	return m.first(Restore, Agree)
}

// took follows the transfer to this worker.
func (m *Machine) took(s State) Action {
	before := m.state
	m.state.Position, m.got, m.asleep = s.Position, s, false
	switch {
	case m.task.Kind == Enter && (m.trying || m.joining):
		m.joining = false
		return m.catchUp(s)
	case m.task.Kind == Enter:
		return m.settle(s)
	case m.task.Kind == Aside && m.inFit: // it comes home at the next undertaking
		m.astray = true
		m.follow(s)
		return m.to(Skip)
	case m.task.Kind == Aside:
		m.follow(s)
		return m.aside()
	case m.trying && s.Position == before.Position+1 && s.Inside && s.Fits == before.Fits && s.Place == m.task.Next:
		m.asleep, m.owed = true, true
		return m.first(Restore, Skip)
	}
	m.follow(s)
	return m.first(Adopt, Move)
}

// catchUp moves a worker that begins a Fit to where the others are. If they have not reached that Fit, it begins with
// them.
func (m *Machine) catchUp(s State) Action {
	switch {
	case s.Fits < m.calls:
		m.state.Fits, m.state.Inside, m.late = s.Fits, false, false
		return m.attempt()
	case s.Fits == m.calls && s.Inside && s.Config != m.state.Config:
		return m.to(Refuse)
	}
	return m.settle(s)
}

// settle takes over the position of the others, and continues there as after a recovery.
func (m *Machine) settle(s State) Action {
	if m.follow(s); m.state.Inside {
		return m.first(Adopt, Agree)
	}
	return m.first(Adopt, Proceed)
}

// follow notes where the job is, according to the state of another worker.
func (m *Machine) follow(s State) {
	m.state.Fits, m.state.Asides = s.Fits, s.Asides
	m.state.Inside, m.late = s.Inside && s.Fits == m.calls, s.Fits > m.calls
}
