package membership

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script drives machines by hand: every state sent arrives at once at all others that are not cut.
type script struct {
	t        *testing.T
	now      time.Duration
	machines []*Machine
	calls    []map[uint64]string // what Describe answers
	cut      map[int]bool
}

func newScript(t *testing.T, size int) *script {
	s := &script{t: t, cut: map[int]bool{}}
	for task := range size {
		calls := map[uint64]string{}
		s.calls = append(s.calls, calls)
		s.machines = append(s.machines, New(Config{Task: task, Size: size, Incarnation: uint64(100 + task), Heartbeat: 500 * time.Millisecond, Deadline: 5 * time.Second,
			Describe: func(sequence uint64) (string, bool) { d, ok := calls[sequence]; return d, ok }}, 0))
	}
	return s
}

// settle passes states around until nobody has anything new to say.
func (s *script) settle() {
	for quiet := false; !quiet; {
		quiet = true
		for task, m := range s.machines {
			state, ok := m.Poll(s.now)
			if !ok || s.cut[task] {
				continue
			}
			quiet = false
			data := Append(nil, 7, state)
			for other, receiver := range s.machines {
				if other != task && !s.cut[other] {
					received, err := Decode(data, 7)
					require.NoError(s.t, err)
					receiver.Receive(s.now, received)
				}
			}
		}
	}
}

func (s *script) pass(d time.Duration) {
	for end := s.now + d; s.now < end; {
		s.now += 100 * time.Millisecond
		for task, m := range s.machines {
			if !s.cut[task] {
				m.Tick(s.now)
			}
		}
		s.settle()
	}
}

func (s *script) gather(terms Terms) {
	for _, m := range s.machines {
		m.Gather(s.now, terms)
	}
	s.settle()
}

func TestFormation(t *testing.T) {
	s := newScript(t, 3)
	for task, m := range s.machines {
		m.Gather(0, Terms{Min: 3, Max: 3, Timeout: time.Minute, HasState: task > 0, Step: uint64(5 * task)})
	}
	s.settle()
	for task, m := range s.machines {
		require.Equal(t, Serving, m.Phase())
		require.Equal(t, s.machines[0].View(), m.View())
		require.Equal(t, task, m.View().Rank(task))
	}
	step, source := s.machines[0].View().Agreed()
	require.Equal(t, uint64(10), step)
	require.Equal(t, 2, source)
	require.False(t, s.machines[0].View().Shared)
}

func TestSharedNeedsAllReach(t *testing.T) {
	for missing := range 4 {
		s := newScript(t, 3)
		for task, m := range s.machines {
			m.Gather(0, Terms{Min: 3, Max: 3, Patience: time.Second, Timeout: time.Minute, Note: []byte("note")})
			for other := range 3 {
				if other != task {
					m.Reached(0, other, []byte("note"), task != missing || other != (missing+1)%3)
				}
			}
		}
		s.settle()
		require.Equal(t, missing == 3, s.machines[1].View().Shared)
	}
}

func TestJoinTimeout(t *testing.T) {
	s := newScript(t, 3)
	s.cut[2] = true
	s.gather(Terms{Min: 3, Max: 3, Timeout: 2 * time.Second})
	s.pass(3 * time.Second)
	for _, m := range s.machines[:2] {
		require.Equal(t, Failed, m.Phase())
		require.Equal(t, []int{2}, m.JoinError().Missing)
		require.ErrorContains(t, m.JoinError(), "missing [2]")
	}
}

func TestSilenceIsFoundAtTheDeadline(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 2, Max: 3, Patience: time.Second, Timeout: time.Minute})
	s.pass(2 * time.Second)
	s.cut[1] = true
	s.pass(4300 * time.Millisecond)
	require.Nil(t, s.machines[0].Verdict())
	s.pass(900 * time.Millisecond)
	for _, m := range []*Machine{s.machines[0], s.machines[2]} {
		require.NotNil(t, m.Verdict())
		require.Equal(t, []Accusation{{By: 0, Who: 1, Reason: Silent, Detail: "no sign of life for 5s"}}, m.Verdict().Removed)
	}
}

// A process that was itself stopped must not take others' silence for their death.
func TestOwnStop(t *testing.T) {
	s := newScript(t, 2)
	s.gather(Terms{Min: 2, Max: 2, Timeout: time.Minute})
	s.machines[0].Tick(30 * time.Second)
	require.Nil(t, s.machines[0].Verdict())
}

// While workers start, some do not listen yet. The failed attempts of then, also those reported late, accuse nobody of
// the group that formed meanwhile; later ones do.
func TestEarlyDisconnection(t *testing.T) {
	s := newScript(t, 3)
	s.now = time.Second
	s.machines[2].Gather(s.now, Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.machines[1].Gather(s.now, Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.settle()
	s.machines[2].Disconnected(s.now, s.now, 1, "connection refused")
	s.machines[0].Gather(s.now, Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.settle()
	require.Equal(t, Serving, s.machines[2].Phase())
	began := s.now
	s.pass(time.Second)
	s.machines[2].Disconnected(s.now, began-time.Millisecond, 1, "connection refused")
	s.pass(time.Second)
	for _, m := range s.machines {
		require.Nil(t, m.Verdict())
	}
	s.cut[1] = true
	s.machines[2].Disconnected(s.now, s.now, 1, "connection refused")
	s.settle()
	require.Equal(t, []Accusation{{By: 2, Who: 1, Reason: Lost, Detail: "connection refused"}}, s.machines[0].Verdict().Removed)
}

// A candidate that was heard stays one when an attempt to reach it fails that began before it listened: otherwise the
// group forms a heartbeat later than it could. An attempt that began after says that it is gone.
func TestLateNewsOfAnEarlyAttempt(t *testing.T) {
	for since, forms := range map[time.Duration]bool{500 * time.Millisecond: true, 1500 * time.Millisecond: false} {
		s := newScript(t, 2)
		s.machines[1].Gather(0, Terms{Min: 2, Max: 2, Timeout: time.Minute})
		s.now = time.Second
		s.settle() // the first has heard the second
		s.now = 2 * time.Second
		s.machines[0].Disconnected(s.now, since, 1, "connection refused")
		s.machines[0].Gather(s.now, Terms{Min: 2, Max: 2, Timeout: time.Minute})
		s.cut[1] = true
		s.settle()
		s.cut[1] = false
		state, _ := s.machines[0].Poll(s.now + time.Second)
		require.Equal(t, forms, state.Proposal != nil, "an attempt at %v", since)
	}
}

func TestDisagreement(t *testing.T) {
	s := newScript(t, 4)
	s.gather(Terms{Min: 4, Max: 4, Timeout: time.Minute})
	for task := range s.machines {
		s.calls[task][6] = "all_reduce a"
		s.calls[task][7] = "all_reduce float32 [10]"
	}
	s.calls[2][7] = "all_reduce float32 [11]"
	s.machines[1].Report(s.now, Call{7, s.calls[1][7]})
	s.settle()
	for _, m := range s.machines {
		require.Equal(t, &Difference{7, 0, 2, "all_reduce float32 [10]", "all_reduce float32 [11]"}, m.Verdict().Difference)
		require.Empty(t, m.Verdict().Removed)
	}
	// The next group of the same members works.
	s.gather(Terms{Min: 4, Max: 4, Timeout: time.Minute})
	require.Nil(t, s.machines[3].Verdict())
	require.Equal(t, Serving, s.machines[3].Phase())
}

// A member that has not come to the collective yet is asked, and answers when it gets there.
func TestLateDisagreement(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	for _, task := range []int{0, 1} {
		s.calls[task][1] = "a"
		s.machines[task].Report(s.now, Call{1, "a"})
	}
	s.settle()
	require.Equal(t, []int{2}, s.machines[0].Behind(1))
	require.True(t, s.machines[2].Asked())
	s.pass(time.Second)
	require.Nil(t, s.machines[0].Verdict())
	s.calls[2][1] = "b"
	s.machines[2].Began(s.now)
	s.settle()
	for _, m := range s.machines {
		require.Equal(t, &Difference{1, 0, 2, "a", "b"}, m.Verdict().Difference)
	}
}

func TestStallAndWithdraw(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 2, Max: 3, Patience: time.Second, Timeout: time.Minute})
	s.machines[0].Stall(s.now, []int{1}, "did not reach collective 3 within 10s")
	s.settle()
	for _, m := range s.machines {
		require.Equal(t, Stalled, m.Verdict().Removed[0].Reason)
		require.True(t, m.Verdict().Removes(1))
	}
	s.gather(Terms{Min: 2, Max: 3, Patience: time.Second, Timeout: time.Minute})
	s.machines[2].Withdraw(s.now, "context canceled")
	s.settle()
	for _, m := range s.machines {
		require.Equal(t, []Accusation{{2, 2, Withdrew, "context canceled"}}, m.Verdict().Removed)
	}
	s.gather(Terms{Min: 2, Max: 3, Patience: time.Second, Timeout: time.Minute})
	s.machines[0].Leave(s.now)
	s.settle()
	require.Equal(t, []Accusation{{0, 0, Departed, ""}}, s.machines[1].Verdict().Removed)
	require.Equal(t, s.machines[1].Verdict(), s.machines[2].Verdict())
}

// A worker that withdraws and leaves at once has not departed in good order, also if its word of the one comes with
// that of the other.
func TestWithdrawAndLeave(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 2, Max: 3, Patience: time.Second, Timeout: time.Minute})
	s.machines[1].Withdraw(s.now, "the device is lost")
	s.machines[1].Leave(s.now)
	s.settle()
	for _, m := range s.machines {
		require.Equal(t, []Accusation{{1, 1, Withdrew, "the device is lost"}}, m.Verdict().Removed)
	}
}

func TestAbandon(t *testing.T) {
	s := newScript(t, 3)
	s.cut[2] = true
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.machines[1].Abandon(s.now, "cancelled")
	s.cut[2] = false
	s.machines[2].Gather(s.now, Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.settle()
	require.Equal(t, []Phase{Gathering, Failed, Gathering}, []Phase{s.machines[0].Phase(), s.machines[1].Phase(), s.machines[2].Phase()})
	s.machines[1].Gather(s.now, Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.settle()
	require.Equal(t, Serving, s.machines[0].Phase())
	s.machines[1].Abandon(s.now, "cancelled")
	s.settle()
	require.True(t, s.machines[0].Verdict().Removes(1))
}

// What an earlier process of a task still had on the way is ignored.
func TestOldIncarnation(t *testing.T) {
	m := newScript(t, 2).machines[0]
	m.Receive(0, &State{Task: 1, Incarnation: 9, Serial: 1, Phase: Gathering})
	m.Receive(0, &State{Task: 1, Incarnation: 8, Serial: 50, Phase: Serving})
	require.Equal(t, Gathering, m.Peer(1).Phase)
	m.Receive(0, &State{Task: 1, Incarnation: 9, Serial: 1, Phase: Failed})
	require.Equal(t, Gathering, m.Peer(1).Phase, "the same serial again")
	m.Receive(0, &State{Task: 1, Incarnation: 10, Serial: 1, Phase: Failed})
	require.Equal(t, Failed, m.Peer(1).Phase)
}

// A process whose clock is behind that of the one before it, as on another machine, is taken for a new one when nothing
// has come of the other for the deadline.
func TestClockBehind(t *testing.T) {
	m := newScript(t, 2).machines[0]
	m.Receive(0, &State{Task: 1, Incarnation: 9, Serial: 7, Phase: Serving})
	for now := range 6 {
		m.Receive(time.Duration(now)*time.Second, &State{Task: 1, Incarnation: 8, Serial: uint64(1 + now), Phase: Gathering})
		require.Equal(t, now == 5, m.Peer(1).Phase == Gathering, "after %d of 5 seconds", now)
	}
}

// A proposal is above all that anybody has promised or worked in.
func TestGenerations(t *testing.T) {
	for _, s := range []*State{
		{Task: 1, Incarnation: 1, Serial: 1, Phase: Gathering, Promised: 41},
		{Task: 1, Incarnation: 1, Serial: 1, Phase: Gathering, View: ViewID{Generation: 41}},
	} {
		m := newScript(t, 2).machines[0]
		m.Gather(0, Terms{Min: 2, Max: 2, Timeout: time.Minute})
		m.Receive(0, s)
		own, ok := m.Poll(0)
		require.True(t, ok)
		require.Equal(t, uint64(42), own.Proposal.ID.Generation)
	}
}

func TestSettle(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.machines[0].Complete(5)
	s.machines[1].Complete(5)
	s.machines[2].Complete(4)
	s.machines[0].Settle()
	s.settle()
	require.False(t, s.machines[0].Settled(s.now))
	require.True(t, s.machines[2].Complete(5), "somebody asks")
	s.settle()
	require.True(t, s.machines[0].Settled(s.now))
	s.machines[1].Settle()
	s.settle()
	require.True(t, s.machines[1].Settled(s.now))
}

func TestMaximum(t *testing.T) {
	s := newScript(t, 3)
	for task, m := range s.machines {
		m.Gather(0, Terms{Min: 1, Max: 2, Patience: time.Second, Timeout: time.Minute, HasState: task == 2})
	}
	s.settle()
	s.pass(2 * time.Second)
	require.Equal(t, []int{0, 1}, s.machines[0].View().Tasks())
	require.Equal(t, []int{2}, s.machines[0].Pending(s.now))
}

func sampleState() *State {
	view := &View{ID: ViewID{9, 8}, Members: []Member{{0, 5, true, 7, 1 << 60, "on cuda:0"}, {3, 6, false, 0, 3, ""}}, Shared: true}
	return &State{Task: 3, Incarnation: 1 << 60, Serial: 77, Phase: Gathering, View: ViewID{4, 5}, ViewSize: 2, HasState: true, Step: 9, Note: []byte("note"), About: "on cuda:1", Why: "enough", Reach: []Trial{{0, 7}, {1, 1 << 63}}, Beyond: []Trial{{2, 9}}, Unheard: []int{1, 4},
		Promised: 9, Accepted: view.ID, Proposal: view, Accusations: []Accusation{{0, 1, Silent, "x"}, {1, 0, Lost, ""}},
		Verdict: &Verdict{ViewID{1, 2}, []Accusation{{0, 1, Silent, "x"}}, &Difference{3, 0, 1, "a", "b"}}, Completed: 4, Settling: true, Waiting: &Call{5, "d"}, Blocked: 5, Answers: []Call{{4, "e"}}}
}

func TestCodec(t *testing.T) {
	want := sampleState()
	data := Append(nil, 99, want)
	got, err := Decode(data, 99)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = Decode(data, 98)
	require.ErrorIs(t, err, ErrJob)
	for n := range data {
		_, err := Decode(data[:n], 99)
		require.Error(t, err, "cut at %d", n)
	}
	_, err = Decode(append(data, 0), 99)
	require.ErrorIs(t, err, ErrMalformed)
	data[0]++
	_, err = Decode(data, 99)
	require.ErrorIs(t, err, ErrVersion)
	require.Less(t, len(Append(nil, 99, &State{Task: 1, Incarnation: 1 << 60, Serial: 1e6, Phase: Serving, View: ViewID{9, 1}, ViewSize: 3, Promised: 9})), 80,
		"a heartbeat is small")
}

func FuzzDecode(f *testing.F) {
	f.Add(Append(nil, 1, sampleState()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data, 1)
		if err != nil {
			return
		}
		again, err := Decode(Append(nil, 1, s), 1)
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

// Whatever a stranger that knows the job's name says, the machine goes on.
func FuzzReceive(f *testing.F) {
	f.Add(Append(nil, 1, sampleState()))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data, 1)
		if err != nil {
			return
		}
		for _, m := range newScript(t, 4).machines {
			m.Gather(0, Terms{Min: 1, Max: 4, Timeout: time.Minute})
			m.Receive(0, s)
			m.Tick(time.Millisecond)
			m.Tick(time.Second)
			m.Poll(time.Second)
		}
	})
}
