package membership

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mishap does something to a task: it is killed or leaves and comes back, is stopped for a while, gives up, or takes
// another one for lost.
func (s *simulation) mishap(task int) {
	p := s.nodes[task]
	back := func() {
		s.after(time.Duration(s.rng.IntN(400))*time.Millisecond, func() {
			if s.nodes[task].dead {
				s.start(task)
			}
		})
	}
	switch kind := s.rng.IntN(8); {
	case kind < 3 && !p.dead:
		s.kill(task, true)
		back()
	case kind == 3:
		s.freeze(task, time.Duration(s.rng.IntN(2000))*time.Millisecond)
	case p.dead || p.stopped():
	case kind == 4:
		s.logf("%d withdraws", task)
		p.machine.Withdraw(s.now, "withdrew")
		p.react()
	case kind == 5:
		s.logf("%d leaves", task)
		p.machine.Leave(s.now)
		p.react()
		p.dead = true
		back()
	default:
		if other := s.rng.IntN(len(s.nodes)); other != task {
			s.logf("%d takes %d for lost", task, other)
			p.machine.Disconnected(s.now, s.now, other, fmt.Sprint("a stream was reset at ", s.now))
			p.react()
		}
	}
}

// unsettled returns how long a member that is well has held accusations without a verdict.
func (s *simulation) unsettled() (longest time.Duration) {
	for _, p := range s.nodes {
		if m := p.machine; !p.dead && !p.stopped() && m.Phase() == Serving && len(m.accusations) > 0 {
			longest = max(longest, s.now-m.accused)
		}
	}
	return longest
}

// Whatever happens, in whatever order it is heard: once a member is accused, a verdict follows within three deadlines.
// Otherwise collectives would wait for a word that never comes.
func TestVerdictsComeSoon(t *testing.T) {
	seeds := []int{515, 1142, 1198} // in which it once never came
	for seed := range 150 {
		seeds = append(seeds, seed)
	}
	if testing.Short() {
		seeds = seeds[:20]
	}
	for _, seed := range seeds {
		size := 3 + seed%3
		least := []int{size, size - 1, 2, 1}[seed%4]
		s := newSimulation(t, uint64(seed), size, Terms{Min: least, Max: size, Timeout: time.Hour, Patience: time.Duration(seed%3) * 200 * time.Millisecond})
		s.faulty, s.streams = seed%4 >= 2, true
		s.run(3 * time.Second)
		watch := func(steps int) {
			for range steps {
				s.run(10 * time.Millisecond)
				if d := s.unsettled(); d > 3*s.deadline {
					t.Errorf("seed %d: no verdict for %v", seed, d)
					s.dump()
					t.FailNow()
				}
			}
		}
		for range 12 {
			s.mishap(s.rng.IntN(size))
			watch(s.rng.IntN(60))
		}
		watch(500)
	}
}

// A member that asks for the next group while this one stands takes no part in a verdict about it. The others do not
// wait for it.
func TestDesertedBeforeTheVerdict(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.machines[1].Gather(s.now, Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.settle()
	require.Nil(t, s.machines[0].Verdict())
	s.cut[2] = true
	s.machines[0].Disconnected(s.now, s.now, 2, "connection reset")
	s.settle()
	require.NotNil(t, s.machines[0].Verdict())
	require.True(t, s.machines[0].Verdict().Removes(2))
}

// A member that gives up between accepting a view and installing it is missed by those who installed it.
func TestGaveUpBeforeInstalling(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := newScript(t, 2)
		terms := Terms{Min: 2, Max: 2, Timeout: time.Minute}
		pass := func(from, to int) {
			state, ok := s.machines[from].Poll(s.now)
			require.True(t, ok)
			s.machines[to].Receive(s.now, state)
		}
		for _, m := range s.machines {
			m.Gather(s.now, terms)
		}
		pass(1, 0)
		pass(0, 1) // the proposal
		pass(1, 0) // accepted
		require.Equal(t, Serving, s.machines[0].Phase())
		require.Equal(t, Gathering, s.machines[1].Phase())
		s.machines[1].Abandon(s.now, "cancelled")
		if again {
			s.machines[1].Gather(s.now, terms)
		}
		pass(1, 0)
		require.NotNil(t, s.machines[0].Verdict())
		require.True(t, s.machines[0].Verdict().Removes(1))
	}
}

// Two accounts of the same thing, heard in different orders, end as one.
func TestTwoReasonsForTheSame(t *testing.T) {
	left, withdrew := Accusation{2, 2, Departed, ""}, Accusation{2, 2, Withdrew, "context canceled"}
	for _, order := range [][2]Accusation{{left, withdrew}, {withdrew, left}} {
		s := newScript(t, 3)
		s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
		for _, a := range order {
			s.machines[0].note(s.now, a)
		}
		require.Equal(t, []Accusation{left}, s.machines[0].accusations)
	}
	s := newScript(t, 3)
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	s.machines[0].note(s.now, withdrew)
	s.machines[1].note(s.now, left)
	s.cut[2] = true
	s.settle()
	s.pass(time.Second)
	require.Equal(t, []Accusation{left}, s.machines[0].Verdict().Removed)
	require.Equal(t, s.machines[0].Verdict(), s.machines[1].Verdict())
}

// The first of those that are left does what a chief does at the end.
func TestFirst(t *testing.T) {
	s := newScript(t, 3)
	require.False(t, s.machines[0].First(0))
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	first := func() (list []int) {
		for task, m := range s.machines {
			if !s.cut[task] && m.First(s.now) {
				list = append(list, task)
			}
		}
		return list
	}
	require.Equal(t, []int{0}, first())
	s.cut[0] = true
	s.machines[1].Disconnected(s.now, s.now, 0, "connection reset")
	s.machines[2].Disconnected(s.now, s.now, 0, "connection reset")
	s.settle()
	require.Equal(t, []int{1}, first())
	require.NotNil(t, s.machines[1].Verdict())
	// Another process of the same task has nothing to save.
	for _, m := range s.machines[1:] {
		m.Receive(s.now, &State{Task: 0, Incarnation: 1000, Serial: 1, Phase: Gathering})
	}
	require.Equal(t, []int{1}, first())
	// One that leaves in good order has saved; one that was removed is not asked.
	s.machines[1].Leave(s.now)
	s.settle()
	require.False(t, s.machines[2].First(s.now))
	expelled := newScript(t, 3)
	expelled.gather(Terms{Min: 2, Max: 3, Patience: time.Second, Timeout: time.Minute})
	expelled.pass(time.Second)
	expelled.machines[0].Withdraw(expelled.now, "cancelled")
	require.False(t, expelled.machines[0].First(expelled.now))
}
