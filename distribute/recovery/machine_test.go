package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// script is what happens to one worker: tasks, with the action that each begins with, and events, each with the action
// that follows.
type script []line

type line struct {
	task  *Task
	event Event
	want  Action
}

func begin(t Task, want Action) line { return line{task: &t, want: want} }

func then(o Outcome, want Action) line { return line{event: Event{Outcome: o}, want: want} }

func take(s State, want Action) line { return line{event: Event{Took, s}, want: want} }

func (s script) play(t *testing.T, m *Machine) {
	t.Helper()
	for i, l := range s {
		if l.task != nil {
			require.Equal(t, l.want, m.Undertake(*l.task), "line %d", i)
		} else {
			got, err := m.Apply(l.event)
			require.NoError(t, err, "line %d", i)
			require.Equal(t, l.want, got, "line %d: after %v", i, l.event.Outcome)
		}
		require.Equal(t, l.want, m.Action())
	}
}

var (
	enter    = Task{Kind: Enter, Config: "c"}
	step     = Task{Kind: Step, Next: Place{0, 1}}
	epoch    = Task{Kind: Epoch, Next: Place{1, 0}}
	boundary = Task{Kind: Boundary}
	aside    = Task{Kind: Aside}
	entered  = script{begin(enter, Attempt), then(Done, Proceed)}
)

// ahead is the state of a worker that is one position further than one that has entered.
func ahead(change func(*State)) State {
	s := State{Position: 2, Fits: 1, Inside: true, Config: "c", Place: Place{0, 1}}
	if change != nil {
		change(&s)
	}
	return s
}

// What a worker does after a loss, by what it undertook and by what it has missed.
func TestAfterLosses(t *testing.T) {
	for name, s := range map[string]struct {
		script
		want State
	}{
		"nothing is lost": {script{begin(step, Attempt), then(Done, Proceed), begin(boundary, Agree), then(Done, Proceed), begin(epoch, Attempt), then(Done, Proceed)},
			State{Position: 2, Fits: 1, Inside: true}},
		"a step is done again": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Agree), then(Done, Attempt), then(Done, Proceed)},
			State{Position: 2, Fits: 1, Inside: true}},
		"a loss in each part of the recovery begins it again": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), then(Lost, Form), then(Done, Transfer),
			then(Kept, Restore), then(Done, Agree), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Agree), then(Waiting, Form), then(Done, Transfer),
			then(Kept, Restore), then(Done, Agree), then(Done, Attempt)}, State{Position: 1, Fits: 1, Inside: true}},
		"all stop before the step": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Agree), then(Stopping, Stop)},
			State{Position: 1, Fits: 1, Inside: true}},
		"an epoch ends also where all stop": {script{begin(epoch, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Agree), then(Stopping, Attempt), then(Done, Proceed)},
			State{Position: 1, Fits: 1, Inside: true}},
		"the others have done the step": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Restore), then(Done, Skip),
			begin(boundary, Rewrite), then(Done, Agree), then(Done, Proceed), begin(step, Attempt)}, State{Position: 2, Fits: 1, Inside: true}},
		"in the middle of an execution the boundary comes before the next step": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Restore), then(Done, Skip),
			begin(Task{Kind: Step, Next: Place{0, 2}}, Rewrite), then(Done, Agree), then(Done, Attempt), then(Done, Proceed), begin(Task{Kind: Step, Next: Place{0, 3}}, Attempt)},
			State{Position: 3, Fits: 1, Inside: true}},
		"and stops it": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Restore), then(Done, Skip),
			begin(Task{Kind: Step, Next: Place{0, 2}}, Rewrite), then(Done, Agree), then(Stopping, Stop)}, State{Position: 2, Fits: 1, Inside: true}},
		"the others are two positions further": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Position = 3 }), Adopt), then(Done, Move)},
			State{Position: 3, Fits: 1, Inside: true}},
		"the others are elsewhere": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Place = Place{1, 0} }), Adopt), then(Done, Move)},
			State{Position: 2, Fits: 1, Inside: true}},
		"the others have ended the Fit": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Inside, s.Asides = false, 2 }), Adopt), then(Done, Move)},
			State{Position: 2, Fits: 1, Asides: 2}},
		"the others are in the next Fit": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Fits = 2 }), Adopt), then(Done, Move)},
			State{Position: 2, Fits: 2}},
		"nothing can be skipped after an agreement": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Agree), then(Lost, Form), then(Done, Transfer),
			take(ahead(nil), Adopt), then(Done, Move)}, State{Position: 2, Fits: 1, Inside: true}},
		"away at a boundary": {script{begin(boundary, Agree), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Adopt), then(Done, Move)},
			State{Position: 2, Fits: 1, Inside: true}},
		"the others have left": {script{begin(boundary, Agree), then(Lost, Form), then(Left, Fail)}, State{Position: 1, Fits: 1, Inside: true}},
		"no group":             {script{begin(boundary, Agree), then(Lost, Form), then(Failed, Fail)}, State{Position: 1, Fits: 1, Inside: true}},
		"an error":             {script{begin(step, Attempt), then(Failed, Fail)}, State{Position: 1, Fits: 1, Inside: true}},
		"an aside within Fit":  {script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Attempt), then(Done, Proceed)}, State{Position: 1, Fits: 1, Inside: true}},
		"away in an aside after a skipped step": {script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Restore), then(Done, Skip), begin(aside, Attempt), then(Lost, Form), then(Done, Transfer),
			take(ahead(func(s *State) { s.Position = 5 }), Skip), begin(boundary, Adopt), then(Done, Move), begin(boundary, Agree)}, State{Position: 5, Fits: 1, Inside: true}},
		"the Fit ends while away in an aside within it": {script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Inside = false }), Skip), begin(boundary, Adopt), then(Done, Move)},
			State{Position: 2, Fits: 1}},
		"away in an aside within Fit": {script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Skip), begin(boundary, Adopt), then(Done, Move), begin(boundary, Agree)},
			State{Position: 2, Fits: 1, Inside: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var m Machine
			entered.play(t, &m)
			s.play(t, &m)
			s.want.Config = "c"
			require.Equal(t, s.want, m.State())
		})
	}
}

// The end of an epoch counts when callbacks have been told, unless the others have done both.
func TestEndsOfEpochs(t *testing.T) {
	var m Machine
	entered.play(t, &m)
	script{begin(epoch, Attempt), then(Done, Proceed)}.play(t, &m)
	require.True(t, m.EndEpoch())
	require.EqualValues(t, 2, m.State().Position)

	m = Machine{}
	entered.play(t, &m)
	script{begin(epoch, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Place = Place{1, 0} }), Restore), then(Done, Skip)}.play(t, &m)
	require.False(t, m.EndEpoch())
	require.EqualValues(t, 2, m.State().Position)
	script{begin(boundary, Rewrite), then(Done, Agree), then(Done, Proceed), begin(step, Attempt)}.play(t, &m)

	m = Machine{}
	entered.play(t, &m)
	script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Skip), begin(aside, Skip)}.play(t, &m)
	require.False(t, m.EndEpoch())
	m.EndFit()
	require.EqualValues(t, 2, m.State().Position, "the others count it")
	require.False(t, m.State().Inside)
	script{begin(aside, Attempt), begin(enter, Attempt)}.play(t, &m)
}

// What a Fit that failed leaves behind is nothing to the next one.
func TestAfterFailures(t *testing.T) {
	skipped := script{begin(step, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Restore), then(Done, Skip)}
	for name, s := range map[string]script{
		"a step is skipped before a step":      append(skipped, begin(enter, Attempt), then(Done, Proceed), begin(step, Attempt)),
		"a step is skipped before a boundary":  append(skipped, begin(enter, Attempt), then(Done, Proceed), begin(boundary, Agree)),
		"away in an aside":                     {begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(nil), Skip), begin(enter, Attempt), then(Done, Proceed), begin(step, Attempt)},
		"a worker that came later does asides": {begin(Task{Kind: Enter, Joining: true}, Transfer), then(Failed, Fail), begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), then(Lost, Form)},
	} {
		t.Run(name, func(t *testing.T) {
			var m Machine
			entered.play(t, &m)
			s.play(t, &m)
		})
	}
	var m Machine
	entered.play(t, &m)
	script{begin(enter, Attempt), then(Failed, Fail), begin(enter, Attempt), then(Lost, Form), then(Done, Transfer), take(State{Position: 9, Fits: 2, Asides: 1}, Attempt)}.play(t, &m)
	require.Equal(t, State{Position: 9, Fits: 2, Config: "c"}, m.State(), "as it tells others")
}

// A worker that comes to a Fit goes where the others are.
func TestNewcomers(t *testing.T) {
	joining := Task{Kind: Enter, Config: "c", Joining: true}
	for name, c := range map[string]struct {
		script
		want State
		late bool
	}{
		"before the Fit":       {script{begin(joining, Transfer), take(State{Position: 7}, Attempt), then(Done, Proceed)}, State{Position: 8, Fits: 1, Inside: true}, false},
		"in its middle":        {script{begin(joining, Transfer), take(ahead(nil), Adopt), then(Done, Agree), then(Done, Proceed)}, State{Position: 2, Fits: 1, Inside: true}, false},
		"of another program":   {script{begin(joining, Transfer), take(ahead(func(s *State) { s.Config = "d" }), Refuse)}, State{Position: 2}, false},
		"after its end":        {script{begin(joining, Transfer), take(ahead(func(s *State) { s.Inside, s.Config = false, "d" }), Adopt), then(Done, Proceed)}, State{Position: 2, Fits: 1}, false},
		"in a later Fit":       {script{begin(joining, Transfer), take(ahead(func(s *State) { s.Fits, s.Config = 2, "d" }), Adopt), then(Done, Proceed)}, State{Position: 2, Fits: 2}, true},
		"the group is lost":    {script{begin(joining, Transfer), then(Lost, Rejoin), then(Done, Transfer), take(ahead(nil), Adopt)}, State{Position: 2, Fits: 1, Inside: true}, false},
		"nobody has a state":   {script{begin(joining, Transfer), then(Lost, Rejoin), then(Kept, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Attempt), then(Done, Proceed)}, State{Position: 1, Fits: 1, Inside: true}, false},
		"the begin is lost":    {script{begin(enter, Attempt), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Attempt), then(Done, Proceed)}, State{Position: 1, Fits: 1, Inside: true}, false},
		"the others begin":     {script{begin(enter, Attempt), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Position = 1 }), Adopt), then(Done, Agree), then(Done, Proceed)}, State{Position: 1, Fits: 1, Inside: true}, false},
		"others have an aside": {script{begin(enter, Attempt), then(Lost, Form), then(Done, Transfer), take(State{Position: 3}, Attempt), then(Done, Proceed)}, State{Position: 4, Fits: 1, Inside: true}, false},
		"the others train on":  {script{begin(joining, Transfer), take(ahead(nil), Adopt), then(Done, Agree), then(Lost, Form), then(Done, Transfer), take(ahead(func(s *State) { s.Position = 4 }), Adopt), then(Done, Agree), then(Done, Proceed)}, State{Position: 4, Fits: 1, Inside: true}, false},
		"a loss on the way":    {script{begin(joining, Transfer), take(ahead(nil), Adopt), then(Done, Agree), then(Lost, Form), then(Done, Transfer), then(Kept, Restore), then(Done, Agree), then(Done, Proceed)}, State{Position: 2, Fits: 1, Inside: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var m Machine
			c.play(t, &m)
			c.want.Config = "c"
			require.Equal(t, c.want, m.State())
			require.Equal(t, c.late, m.Late())
			require.Equal(t, 1, m.Calls())
		})
	}
	// The state of a later Fit waits for that.
	var m Machine
	later := ahead(func(s *State) { s.Fits, s.Config = 2, "d" })
	script{begin(joining, Transfer), take(later, Adopt), then(Done, Proceed)}.play(t, &m)
	require.Equal(t, later, m.Received())
	m.EndFit()
	require.EqualValues(t, 2, m.State().Position, "it was not inside")
	script{begin(aside, Skip), begin(Task{Kind: Enter, Config: "d"}, Rewrite), then(Done, Adopt), then(Done, Agree), then(Done, Proceed)}.play(t, &m)
	require.False(t, m.Late())
	require.True(t, m.State().Inside)

	m = Machine{}
	script{begin(joining, Transfer), take(later, Adopt), then(Done, Proceed), begin(enter, Rewrite), then(Failed, Fail), begin(enter, Rewrite), then(Done, Attempt)}.play(t, &m)
	require.False(t, m.Late(), "it has come beyond")
}

// What one worker does for all is done once.
func TestAsides(t *testing.T) {
	between := func() *Machine {
		var m Machine
		entered.play(t, &m)
		m.EndFit()
		require.Equal(t, State{Position: 2, Fits: 1, Config: "c"}, m.State())
		m.EndFit()
		require.EqualValues(t, 2, m.State().Position, "it has ended before")
		return &m
	}
	m := between()
	script{begin(aside, Attempt), then(Done, Proceed), begin(aside, Attempt), then(Done, Proceed)}.play(t, m)
	require.Equal(t, State{Position: 4, Fits: 1, Asides: 2, Config: "c"}, m.State())
	script{begin(enter, Attempt), then(Done, Proceed)}.play(t, m)
	require.Zero(t, m.State().Asides)
	m.EndFit()
	script{begin(aside, Attempt), then(Done, Proceed)}.play(t, m)
	require.Equal(t, State{Position: 7, Fits: 2, Asides: 1, Config: "c"}, m.State())

	m = between()
	script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), then(Lost, Form), then(Done, Transfer), then(Kept, Attempt), then(Done, Proceed)}.play(t, m)
	m = between()
	done := State{Position: 4, Fits: 1, Asides: 2}
	script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), take(done, Skip), begin(aside, Skip), begin(aside, Attempt)}.play(t, m)
	m = between()
	script{begin(aside, Attempt), then(Lost, Form), then(Done, Transfer), take(State{Position: 5, Fits: 2}, Skip)}.play(t, m)
	require.True(t, m.Late())
	m = between()
	script{begin(aside, Attempt), then(Lost, Form), then(Left, Proceed)}.play(t, m)
}

// Outcomes that an action cannot have are errors that change nothing.
func TestUnexpectedOutcomes(t *testing.T) {
	fits := map[Action][]Outcome{
		Attempt: {Done, Failed, Lost}, Agree: {Done, Failed, Lost, Waiting, Stopping}, Form: {Done, Failed, Left}, Rejoin: {Done, Failed, Kept},
		Transfer: {Failed, Lost, Took, Kept}, Restore: {Done, Failed}, Adopt: {Done, Failed}, Rewrite: {Done, Failed},
	}
	for a := Idle; a <= Fail; a++ {
		for o := Done; o <= Left; o++ {
			m := Machine{action: a, then: Proceed}
			before := m
			_, err := m.Apply(Event{Outcome: o})
			expected := false
			for _, f := range fits[a] {
				expected = expected || f == o
			}
			if expected {
				require.NoError(t, err, "%v after %v", o, a)
				require.NotEqual(t, before, m)
				continue
			}
			require.ErrorContains(t, err, o.String(), "%v after %v", o, a)
			require.ErrorContains(t, err, a.String())
			require.Equal(t, before, m)
		}
	}
	m := Machine{action: Transfer, joining: true}
	_, err := m.Apply(Event{Outcome: Kept})
	require.Error(t, err, "a worker without state keeps none")
	require.Equal(t, "invalid", (Fail + 1).String())
	require.Equal(t, "aside", Aside.String())
}
