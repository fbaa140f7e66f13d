package recovery

import "fmt"

// Machine is one worker's side of the recovery. The zero value is a worker that has not reached a Fit. It is a value
// that can be compared and copied. Its methods must not be called concurrently.
type Machine struct {
	state State
	calls int   // calls of Fit of this process: fewer than those of the job where it came later
	own   int   // asides of this process since its last Fit
	got   State // the last one received

	late   bool // got is of a later Fit than this process has come to
	owed   bool // a step was skipped, and the boundary that follows each recovery has yet to come
	asleep bool // the variables are those after an undertaking that was skipped; its callbacks come yet
	astray bool // the place of got has yet to be adopted: it came in an aside within Fit

	task    Task
	action  Action
	then    Action // what follows when an action of this worker alone is done
	trying  bool   // the group was lost in the attempt, not in the agreement before or after it
	joining bool   // this worker has no state
	inFit   bool   // the aside is one within Fit
}

// Undertake begins an undertaking and returns the first action, whose outcome must be passed to [Machine.Apply]. It
// drops an unfinished undertaking.
func (m *Machine) Undertake(t Task) Action {
	m.task, m.joining = t, false
	switch {
	case !m.astray || t.Kind == Enter:
	case t.Kind == Aside:
		return m.to(Skip) // the others are elsewhere
	default:
		m.astray = false
		return m.first(Adopt, Move)
	}
	switch t.Kind {
	case Enter:
		return m.enter()
	case Aside:
		if m.inFit = m.state.Inside; !m.inFit {
			m.own++
		}
		return m.aside()
	case Boundary:
		return m.wake()
	case Step:
		if m.owed { // in the middle of the steps of an execution
			return m.wake()
		}
	}
	return m.attempt()
}

// Apply receives the outcome of the action and returns the next one. An outcome that the action cannot have is an error
// and changes nothing.
func (m *Machine) Apply(e Event) (Action, error) {
	if e.Outcome == Failed && m.action != Idle && !m.action.Ends() {
		return m.to(Fail), nil
	}
	switch m.action {
	case Attempt, Agree:
		return m.together(e)
	case Form:
		switch {
		case e.Outcome == Done:
			return m.to(Transfer), nil
		case e.Outcome == Left && m.task.Kind == Aside:
			return m.to(Proceed), nil // they have, when it was done
		case e.Outcome == Left:
			return m.to(Fail), nil
		}
	case Rejoin:
		switch e.Outcome {
		case Done:
			return m.to(Transfer), nil
		case Kept:
			m.joining = false
			return m.attempt(), nil
		}
	case Transfer:
		switch {
		case e.Outcome == Lost && m.joining:
			return m.to(Rejoin), nil
		case e.Outcome == Lost:
			return m.to(Form), nil
		case e.Outcome == Kept && !m.joining:
			return m.kept(), nil
		case e.Outcome == Took:
			return m.took(e.State), nil
		}
	case Restore, Adopt, Rewrite:
		if e.Outcome == Done {
			return m.next(), nil
		}
	}
	return m.action, fmt.Errorf("recovery: received that it is %v with %v, in the undertaking %v; expected another outcome", e.Outcome, m.action, m.task.Kind)
}

// together returns what follows an action of all workers.
func (m *Machine) together(e Event) (Action, error) {
	switch {
	case e.Outcome == Lost:
		return m.to(Form), nil
	case m.action == Attempt && e.Outcome == Done:
		return m.done(), nil
	case m.action == Agree && e.Outcome == Waiting:
		return m.to(Form), nil
	case m.action == Agree && (e.Outcome == Done || e.Outcome == Stopping):
		return m.agreed(e.Outcome == Stopping), nil
	}
	return m.action, fmt.Errorf("recovery: received that it is %v with %v; expected done, failed or lost", e.Outcome, m.action)
}

// EndEpoch notes that the callbacks at the end of an epoch were called. It returns false if this worker received the
// end of the epoch from the others, so that it has nothing to tell them.
func (m *Machine) EndEpoch() bool {
	if m.asleep || m.astray {
		return false
	}
	m.state.Position++
	return true
}

// EndFit notes the end of Fit.
func (m *Machine) EndFit() {
	if m.state.Inside && !m.astray {
		m.state.Position++
	}
	m.state.Inside, m.astray = false, false
}

// Action returns what to do now, or how the last undertaking ended.
func (m *Machine) Action() Action { return m.action }

// State returns where this worker is, without its place.
func (m *Machine) State() State { return m.state }

// Received returns the last state that came from another worker.
func (m *Machine) Received() State { return m.got }

// Calls returns how many Fits this worker has entered.
func (m *Machine) Calls() int { return m.calls }

// Late reports whether the others are in a later Fit than this worker has reached.
func (m *Machine) Late() bool { return m.late }

// At sets the position, if it is also counted elsewhere.
func (m *Machine) At(position uint64) { m.state.Position = position }
