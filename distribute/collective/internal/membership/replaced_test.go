package membership

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// replaced plays what once left a worker with the memory of a dead one: one is killed, its replacement stopped soon
// after its start, another one killed and replaced meanwhile.
func (s *simulation) replaced() {
	first := s.rng.IntN(len(s.nodes))
	second := (first + 1 + s.rng.IntN(len(s.nodes)-1)) % len(s.nodes)
	again := func(task int) {
		if s.nodes[task].dead {
			s.start(task)
		}
	}
	s.kill(first, true)
	s.run(time.Duration(s.rng.IntN(100)) * time.Millisecond)
	again(first)
	s.run(time.Duration(10+s.rng.IntN(300)) * time.Millisecond)
	s.freeze(first, s.deadline*14/10)
	s.run(time.Duration(s.rng.IntN(300)) * time.Millisecond)
	s.kill(second, true)
	s.after(time.Duration(s.rng.IntN(int(s.deadline*14/10))), func() { again(second) })
	s.run(s.deadline * 2)
	again(second)
}

// A worker that was stopped while others came and went does not take the memory of a process that is gone for that of
// its successor.
func TestMemoryOfADeadProcess(t *testing.T) {
	runs := 60
	if testing.Short() {
		runs = 15
	}
	for seed := range runs {
		for _, c := range []struct{ size, least int }{{3, 3}, {3, 2}, {4, 3}} {
			s := newSimulation(t, uint64(seed), c.size, terms(c.least, c.size))
			s.run(2 * time.Second)
			s.faulty = seed%3 == 2
			for range 4 {
				s.replaced()
				s.heal()
				s.run(4 * time.Second)
				steps := s.steps
				s.run(2 * time.Second)
				if !s.together() || s.steps < steps+20 {
					t.Errorf("size %d, at least %d, seed %d: %d steps in two seconds after the faults", c.size, c.least, seed, s.steps-steps)
					s.dump()
					t.FailNow()
				}
			}
		}
	}
}

// Two workers that are killed one soon after the other and replaced at once are back together well before the deadline,
// whatever is heard first: the end of a connection to a process that is gone may be heard after its successor.
func TestReplacedOneAfterTheOther(t *testing.T) {
	seeds := []int{1129} // in which a proposal that could not be accepted any more once stood until the deadline
	for seed := range 200 {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		s := newSimulation(t, uint64(seed), 3, terms(3, 3))
		s.streams = true
		s.run(2 * time.Second)
		a := s.rng.IntN(3)
		b := (a + 1 + s.rng.IntN(2)) % 3
		s.kill(a, true)
		s.run(time.Duration(s.rng.IntN(60)) * time.Millisecond)
		early := s.rng.IntN(2) == 0
		if early {
			s.start(a)
			s.run(time.Duration(s.rng.IntN(60)) * time.Millisecond)
		}
		s.kill(b, true)
		s.run(time.Duration(s.rng.IntN(100)) * time.Millisecond)
		if !early {
			s.start(a)
			s.run(time.Duration(s.rng.IntN(50)) * time.Millisecond)
		}
		s.start(b)
		began, steps := s.now, s.steps
		for s.now-began < 3*s.deadline && (!s.together() || s.steps < steps+6) {
			s.run(5 * time.Millisecond)
		}
		if s.now-began > s.deadline*8/10 {
			t.Errorf("seed %d: together again after %v", seed, s.now-began)
			s.dump()
		}
	}
}

// A worker that was stopped before it heard any other one has not waited for them: it does not begin a group by itself
// beside theirs.
func TestStoppedNewcomerWaits(t *testing.T) {
	for seed := range 40 {
		s := newSimulation(t, uint64(seed), 3, terms(1, 3))
		s.run(2 * time.Second)
		require.True(t, s.together())
		victim := seed % 3
		s.kill(victim, true)
		s.run(time.Duration(s.rng.IntN(100)) * time.Millisecond)
		s.start(victim)
		s.freeze(victim, s.deadline*14/10)
		s.run(5 * time.Second)
		for id, members := range s.views {
			require.False(t, strings.HasPrefix(members, fmt.Sprintf("[{%d ", victim)) && strings.Count(members, "{") == 1, "seed %d: %d begins %v by itself: %s", seed, victim, id, members)
		}
		require.True(t, s.together())
	}
}

// Nobody waits for what cannot come, whatever the reason: when members do not see what others do, the view ends soon
// after the deadline.
func TestNobodyWaitsInVain(t *testing.T) {
	for seed := range 30 {
		for _, size := range []int{2, 3, 5} {
			s := newSimulation(t, uint64(seed), size, terms(size, size))
			s.run(2 * time.Second)
			require.True(t, s.together())
			for range 1 + s.rng.IntN(size) { // some see other memory than that of the others
				p := s.nodes[s.rng.IntN(size)]
				other := (p.task + 1 + s.rng.IntN(size-1)) % size
				p.shared[other] = "of a process that is gone"
				s.logf("%d does not see what %d does", p.task, other)
			}
			steps, began := s.steps, s.now
			for s.steps < steps+3*size && s.now-began < 10*s.deadline {
				s.run(10 * time.Millisecond)
			}
			if s.now-began > 2*s.deadline {
				t.Errorf("size %d, seed %d: no step for %v", size, seed, s.now-began)
				s.dump()
				t.FailNow()
			}
		}
	}
}

// A member that takes long over something of its own is waited for: nothing proves that it will not come.
func TestSlowMemberIsWaitedFor(t *testing.T) {
	s := newScript(t, 3)
	s.gather(Terms{Min: 3, Max: 3, Timeout: time.Minute})
	for _, m := range s.machines[:2] {
		m.Block(s.now, 4)
	}
	s.pass(time.Minute)
	require.Nil(t, s.machines[0].Verdict())
	s.machines[2].Complete(4) // now it is known to be beyond it
	s.pass(3 * time.Second)
	require.True(t, s.machines[2].Verdict().Removes(0))
	require.False(t, s.machines[2].Verdict().Removes(1))
	require.Equal(t, Stalled, s.machines[2].Verdict().Removed[0].Reason)
}
